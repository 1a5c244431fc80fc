//! Add, Sub, Mul, Div by constants, products with a gate, and the activations -> Affine, Gate, Act.

use super::builder::{Imported, TensorView};
use super::fusion::Written;
use super::node::NodeReader;
use crate::onnx::error::ImportError;
use crate::onnx::proto::{TensorProto, element};
use crate::onnx::tensor;
use crate::{Activation, Matrix, Node, Op};

/// The two operands of an operator that wants one constant.
enum OperandPair<'a> {
    RowsConstant(TensorView, &'a TensorProto),
    ConstantRows(&'a TensorProto, TensorView),
    RowsRows(TensorView, TensorView),
}

impl<'a> NodeReader<'_, 'a> {
    fn pair(&self) -> Result<OperandPair<'a>, ImportError> {
        match (self.operand(0)?, self.operand(1)?) {
            (Imported::Rows(x), Imported::Constant(c)) => Ok(OperandPair::RowsConstant(x, c)),
            (Imported::Constant(c), Imported::Rows(x)) => Ok(OperandPair::ConstantRows(c, x)),
            (Imported::Rows(x), Imported::Rows(y)) => Ok(OperandPair::RowsRows(x, y)),
            _ => self.usage("both operands are constant", "one must depend on the input; fold constants before exporting"),
        }
    }

    pub(super) fn add(&mut self) -> Result<TensorView, ImportError> {
        match self.pair()? {
            OperandPair::RowsConstant(x, c) | OperandPair::ConstantRows(c, x) => self.shift(x, c, 1.0),
            OperandPair::RowsRows(x, y) => self.sum(&x, &y, 1.0),
        }
    }

    /// `x - c` adds -c, which is the same operation bit for bit; `c - x` is `-1 x + c`, and the product with -1 is exact.
    pub(super) fn sub(&mut self) -> Result<TensorView, ImportError> {
        match self.pair()? {
            OperandPair::RowsConstant(x, c) => self.shift(x, c, -1.0),
            OperandPair::ConstantRows(c, x) => {
                let shift = self.spread(c, &x.shape)?;
                self.affine(x, vec![-1.0; shift.len()], shift, c)
            }
            OperandPair::RowsRows(x, y) => self.sum(&x, &y, -1.0),
        }
    }

    pub(super) fn mul(&mut self) -> Result<TensorView, ImportError> {
        match self.pair()? {
            OperandPair::RowsConstant(x, c) | OperandPair::ConstantRows(c, x) => {
                let scale = self.spread(c, &x.shape)?;
                let rows = self.scaled(x, scale, c)?;
                Ok(TensorView { open: true, ..rows })
            }
            OperandPair::RowsRows(x, y) => self.gate(x, y),
        }
    }

    /// `x + sign y`: a Dense over both, `[1 sign] [x; y]` column by column. Products with 1, -1 and 0 are exact, so it rounds once, as the
    /// sum in the file does. Where an operand is a `MatMul` that nothing else reads, runtimes may start its sums with the other one:
    /// its matrix then stands in the Dense itself, which is charged for any order of all terms.
    fn sum(&mut self, x: &TensorView, y: &TensorView, sign: f32) -> Result<TensorView, ImportError> {
        if x.shape != y.shape || x.shape.len() > 3 {
            let found = format!("it adds rows of shape {:?} and {:?}", x.shape, y.shape);
            return self.usage(found, "both must be of the same shape, with at most three dimensions");
        }
        if x.shape.len() > 1 {
            return self.picture_sum(x, y, sign);
        }
        let (place, width, twice) = (self.place(), x.width(), x.index == y.index);
        if twice && x.index.checked_sub(1).is_some_and(|k| self.builder.is_product(k)) {
            self.inexact("a runtime may start the matrix product before it with itself");
        }
        let mut parts = vec![];
        for (rows, factor) in [(x, 1.0), (y, sign)] {
            self.builder.charge(&place, width.saturating_mul(width))?;
            let product = rows.index.checked_sub(1).map(|k| (&self.builder.network.nodes[k], self.builder.is_product(k)));
            parts.push(match product {
                Some((Node { op: Op::Dense { w, b }, from }, true)) if !twice && b.iter().all(|b| *b == 0.0) => {
                    let joined = (from[0], Matrix { data: w.data.iter().map(|w| w * factor).collect(), ..*w }, rows.open);
                    if !rows.open {
                        self.inexact("a runtime may start the matrix product before it with the other operand, where other nodes that read it disappear");
                    }
                    joined
                }
                _ => {
                    let one = |k: usize| if k / width == k % width { factor } else { 0.0 };
                    (rows.index, Matrix { rows: width, cols: width, data: (0..width * width).map(one).collect() }, false)
                }
            });
        }
        let cols = parts.iter().map(|(_, w, _)| w.cols).sum();
        self.builder.charge(&place, width.saturating_mul(cols))?;
        let data = (0..width).flat_map(|r| parts.iter().flat_map(move |(_, w, _)| w.row(r).iter().copied())).collect();
        let from: Vec<usize> = parts.iter().map(|(from, ..)| *from).collect();
        let both = self.builder.push(&place, Op::Concat, from, vec![cols])?;
        let mut sum = self.builder.push(
            &place,
            Op::Dense { w: Matrix { rows: width, cols, data }, b: vec![0.0; width] },
            vec![both.index],
            x.shape.clone(),
        )?;
        // The later one first, so that the other keeps its place.
        let mut gone: Vec<usize> =
            parts.iter().zip([x, y]).filter(|((_, _, joined), _)| *joined).map(|(_, rows)| rows.index).collect();
        gone.sort_unstable_by(|a, b| b.cmp(a));
        for value in gone {
            self.builder.remove(value);
            sum.index -= 1;
        }
        Ok(sum)
    }

    /// Multiplication commutes exactly, so the single column may stand on either side.
    fn gate(&mut self, x: TensorView, y: TensorView) -> Result<TensorView, ImportError> {
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

    pub(super) fn div(&mut self) -> Result<TensorView, ImportError> {
        let OperandPair::RowsConstant(x, c) = self.pair()? else {
            return self.usage("its divisor is computed from the input", "it must be constant");
        };
        let divisor = self.spread(c, &x.shape)?;
        if let Some(rows) = self.divide_picture(&x, &divisor)? {
            return Ok(rows);
        }
        if !divisor.iter().all(|&d| is_power_of_two(d) && d.recip().is_normal()) {
            self.inexact("a division became a product with the rounded reciprocal");
        }
        self.scaled(x, divisor.iter().map(|d| d.recip()).collect(), c)
    }

    /// `scale x`, the numbers from `c`. A product with 1 leaves an open product of matrices open: runtimes remove it, and what is added
    /// behind it then starts the sums.
    fn scaled(&mut self, x: TensorView, scale: Vec<f32>, c: &TensorProto) -> Result<TensorView, ImportError> {
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
    pub(super) fn scaler(&mut self) -> Result<TensorView, ImportError> {
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
    fn shift(&mut self, x: TensorView, c: &TensorProto, sign: f32) -> Result<TensorView, ImportError> {
        let mut shift = self.spread(c, &x.shape)?;
        for s in &mut shift {
            *s *= sign;
        }
        // Runtimes remove a sum with 0: the next one is then the first.
        let nothing = shift.iter().all(|s| *s == 0.0);
        if let Some(node) = x.index.checked_sub(1).filter(|_| x.open) {
            match &mut self.builder.network.nodes[node].op {
                Op::Dense { b: offset, .. } | Op::Affine { shift: offset, .. } => *offset = shift,
                // One number a channel, or else a sum of its own.
                Op::Conv(conv) => {
                    let size = shift.len() / conv.b.len();
                    if !shift.chunks_exact(size).all(|c| c.iter().all(|s| s.to_bits() == c[0].to_bits())) {
                        return self.affine(x, vec![1.0; shift.len()], shift, c);
                    }
                    conv.b = shift.iter().step_by(size).copied().collect();
                }
                other => unreachable!("only dense, affine and convolved values are open, not {}", other.name()),
            }
            return Ok(TensorView { open: nothing, ..x });
        }
        self.affine(x, vec![1.0; shift.len()], shift, c)
    }

    /// Adds an Affine node; `source` is where its numbers come from.
    pub(super) fn affine(
        &mut self,
        x: TensorView,
        scale: Vec<f32>,
        shift: Vec<f32>,
        source: &TensorProto,
    ) -> Result<TensorView, ImportError> {
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

    pub(super) fn activation(&mut self, f: Activation) -> Result<TensorView, ImportError> {
        let x = self.rows(0)?;
        self.push_like(Op::Act(f), x)
    }

    /// Clip is a Relu when it cuts at 0 from below only, and nothing when it cuts at neither end. Attributes before opset 11, operands
    /// since.
    pub(super) fn clip(&mut self) -> Result<TensorView, ImportError> {
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
