//! Add, Sub, Mul, Div by constants, products with a gate, and the activations -> Affine, Gate, Act.

use super::builder::{Rows, Value};
use super::fusion::Written;
use super::node::Reader;
use crate::onnx::error::ImportError;
use crate::onnx::proto::{TensorProto, element};
use crate::onnx::tensor;
use crate::{Activation, Op};

/// The two operands of an operator that wants one constant.
enum Pair<'a> {
    RowsConstant(Rows, &'a TensorProto),
    ConstantRows(&'a TensorProto, Rows),
    RowsRows(Rows, Rows),
}

impl<'a> Reader<'_, 'a> {
    fn pair(&self) -> Result<Pair<'a>, ImportError> {
        match (self.operand(0)?, self.operand(1)?) {
            (Value::Rows(x), Value::Constant(c)) => Ok(Pair::RowsConstant(x, c)),
            (Value::Constant(c), Value::Rows(x)) => Ok(Pair::ConstantRows(c, x)),
            (Value::Rows(x), Value::Rows(y)) => Ok(Pair::RowsRows(x, y)),
            _ => self.usage("both operands are constant", "one must depend on the input; fold constants before exporting"),
        }
    }

    pub(super) fn add(&mut self) -> Result<Rows, ImportError> {
        match self.pair()? {
            Pair::RowsConstant(x, c) | Pair::ConstantRows(c, x) => self.shift(x, c, 1.0),
            Pair::RowsRows(..) => self.usage("it adds two computed values", "one operand must be constant"),
        }
    }

    /// `x - c` adds -c, which is the same operation bit for bit; `c - x` is `-1 x + c`, and the product with -1 is exact.
    pub(super) fn sub(&mut self) -> Result<Rows, ImportError> {
        match self.pair()? {
            Pair::RowsConstant(x, c) => self.shift(x, c, -1.0),
            Pair::ConstantRows(c, x) => {
                let shift = self.spread(c, &x.shape)?;
                self.affine(x, vec![-1.0; shift.len()], shift, c)
            }
            Pair::RowsRows(..) => self.usage("it subtracts two computed values", "one operand must be constant"),
        }
    }

    pub(super) fn mul(&mut self) -> Result<Rows, ImportError> {
        match self.pair()? {
            Pair::RowsConstant(x, c) | Pair::ConstantRows(c, x) => {
                let scale = self.spread(c, &x.shape)?;
                let rows = self.scaled(x, scale, c)?;
                Ok(Rows { open: true, ..rows })
            }
            Pair::RowsRows(x, y) => self.gate(x, y),
        }
    }

    /// Multiplication commutes exactly, so the single column may stand on either side.
    fn gate(&mut self, x: Rows, y: Rows) -> Result<Rows, ImportError> {
        let place = self.place();
        match (&x.shape[..], &y.shape[..]) {
            ([_], [1]) => self.builder.push(&place, Op::Gate, vec![x.index, y.index], x.shape),
            ([1], [_]) => self.builder.push(&place, Op::Gate, vec![y.index, x.index], y.shape),
            _ => self.usage(
                format!("it multiplies rows of shape {:?} and {:?}", x.shape, y.shape),
                "a product of two computed values needs one of them to be a single column",
            ),
        }
    }

    pub(super) fn div(&mut self) -> Result<Rows, ImportError> {
        let Pair::RowsConstant(x, c) = self.pair()? else {
            return self.usage("its divisor is computed from the input", "it must be constant");
        };
        let divisor = self.spread(c, &x.shape)?;
        if !divisor.iter().all(|&d| is_power_of_two(d) && d.recip().is_normal()) {
            self.inexact("a division became a product with the rounded reciprocal");
        }
        self.scaled(x, divisor.iter().map(|d| d.recip()).collect(), c)
    }

    /// `scale x`, the numbers from `c`. A product with 1 leaves an open product of matrices open: runtimes remove it, and what is added
    /// behind it then starts the sums.
    fn scaled(&mut self, x: Rows, scale: Vec<f32>, c: &TensorProto) -> Result<Rows, ImportError> {
        let product = x.index.checked_sub(1).filter(|_| x.open).map(|node| &self.builder.network.nodes[node].op);
        if matches!(product, Some(Op::Dense { .. })) && scale.iter().all(|s| *s == 1.0) {
            return Ok(x);
        }
        let shift = vec![0.0; scale.len()];
        let rows = self.affine(x, scale, shift, c)?;
        if tensor::dims(c)?.iter().product::<usize>() == 1 {
            self.builder.mark(&rows, Written::Scale);
        }
        Ok(rows)
    }

    /// scikit-learn's `StandardScaler`, `(x - offset) scale`: two nodes, because the difference is rounded before the product.
    pub(super) fn scaler(&mut self) -> Result<Rows, ImportError> {
        let (x, width) = self.vector(0)?;
        let numbers = |name: &str| {
            let floats = self.attribute(name).map_or(&[][..], |a| &a.floats);
            TensorProto {
                dims: vec![floats.len() as i64],
                data_type: element::FLOAT,
                float_data: floats.to_vec(),
                name: name.into(),
                ..TensorProto::default()
            }
        };
        let (offset, scale) = (numbers("offset"), numbers("scale"));
        let shift: Vec<f32> = self.spread(&offset, &[width])?.iter().map(|o| -o).collect();
        let factors = self.spread(&scale, &[width])?;
        let centred = self.affine(x, vec![1.0; width], shift, &offset)?;
        self.affine(centred, factors, vec![0.0; width], &scale)
    }

    /// `x + sign c`, joined to the `MatMul` or Mul that computes x where nothing else reads x.
    fn shift(&mut self, x: Rows, c: &TensorProto, sign: f32) -> Result<Rows, ImportError> {
        let mut shift = self.spread(c, &x.shape)?;
        for s in &mut shift {
            *s *= sign;
        }
        // Runtimes remove a sum with 0: the next one is then the first.
        let nothing = shift.iter().all(|s| *s == 0.0);
        if let Some(node) = x.index.checked_sub(1).filter(|_| x.open) {
            match &mut self.builder.network.nodes[node].op {
                Op::Dense { b: offset, .. } | Op::Affine { shift: offset, .. } => *offset = shift,
                other => unreachable!("only dense and affine values are open, not {}", other.name()),
            }
            return Ok(Rows { open: nothing, ..x });
        }
        self.affine(x, vec![1.0; shift.len()], shift, c)
    }

    /// Adds an Affine node; `source` is where its numbers come from.
    pub(super) fn affine(
        &mut self,
        x: Rows,
        scale: Vec<f32>,
        shift: Vec<f32>,
        source: &TensorProto,
    ) -> Result<Rows, ImportError> {
        if !scale.iter().chain(&shift).all(|v| v.is_finite()) {
            return Err(ImportError::NotFinite { place: self.place(), tensor: source.name.clone() });
        }
        self.push_like(Op::Affine { scale, shift }, x)
    }

    /// The finite constants that numpy's broadcasting puts beside the elements of a row of this shape.
    pub(super) fn spread(&mut self, c: &TensorProto, shape: &[usize]) -> Result<Vec<f32>, ImportError> {
        let dims = tensor::dims(c)?;
        let place = self.place();
        // The batch is one more dimension in front, along which a constant cannot vary.
        let full: Vec<usize> = std::iter::once(1).chain(shape.iter().copied()).collect();
        let aligned = full.len().checked_sub(dims.len()).map(|skipped| &full[skipped..]);
        if !aligned.is_some_and(|full| dims.iter().zip(full).all(|(d, n)| *d == 1 || d == n)) {
            return self.usage(
                format!("the constant '{}' of shape {dims:?} meets rows of shape {shape:?}", c.name),
                "the constant must broadcast to one row",
            );
        }
        let width = self.builder.fits(&place, shape)?;
        // Twice: an Affine has a scale and a shift. And the constants themselves.
        self.builder.charge(&place, width.saturating_mul(2).saturating_add(dims.iter().product()))?;
        let data = tensor::floats(c)?;
        if !data.iter().all(|v| v.is_finite()) {
            return Err(ImportError::NotFinite { place, tensor: c.name.clone() });
        }
        Ok((0..width).map(|element| data[source_index(element, shape, &dims)]).collect())
    }

    pub(super) fn activation(&mut self, f: Activation) -> Result<Rows, ImportError> {
        let x = self.rows(0)?;
        self.push_like(Op::Act(f), x)
    }

    /// Clip is a Relu when it cuts at 0 from below only, and nothing when it cuts at neither end. Attributes before opset 11, operands
    /// since.
    pub(super) fn clip(&mut self) -> Result<Rows, ImportError> {
        let x = self.rows(0)?;
        let low = self.limit(1, "min", f32::NEG_INFINITY)?;
        let high = self.limit(2, "max", f32::INFINITY)?;
        match (low, high >= f32::MAX) {
            (low, true) if low <= f32::MIN => Ok(x),
            (0.0, true) => self.push_like(Op::Act(Activation::Relu), x),
            _ => self.usage(format!("it clips to [{low}, {high}]"), "only [0, infinity], which is Relu, is supported"),
        }
    }

    fn limit(&self, k: usize, attribute: &str, default: f32) -> Result<f32, ImportError> {
        let Some(t) = self.constant(k)? else { return self.float(attribute, default) };
        match tensor::floats(t)?[..] {
            [limit] => Ok(limit),
            _ => self.usage(format!("its {attribute} has several numbers"), "it must be one number"),
        }
    }
}

/// Where in a constant of shape `dims` the number beside `element` of a row stands: dimensions of size 1 repeat.
fn source_index(mut element: usize, shape: &[usize], dims: &[usize]) -> usize {
    let (mut index, mut stride) = (0, 1);
    for (n, d) in shape.iter().rev().zip(dims.iter().rev()) {
        index += if *d == 1 { 0 } else { (element % n) * stride };
        stride *= d;
        element /= n;
    }
    index
}

/// Exactly a power of two, positive or negative.
pub(super) fn is_power_of_two(x: f32) -> bool {
    x.is_normal() && x.to_bits().trailing_zeros() >= f32::MANTISSA_DIGITS - 1
}
