//! Gemm, `MatMul` and `BatchNormalization` with constant parameters -> Dense, Select, Affine.

use super::arithmetic::is_power_of_two;
use super::builder::TensorView;
use super::fusion::Written;
use super::node::NodeReader;
use crate::onnx::error::ImportError;
use crate::onnx::proto::TensorProto;
use crate::onnx::tensor;
use crate::{Matrix, Op};

impl<'a> NodeReader<'_, 'a> {
    /// `alpha x B + beta C`. A diagonal B as the exporter writes it (transB = 0) is an Affine.
    pub(super) fn gemm(&mut self) -> Result<TensorView, ImportError> {
        if self.int("transA", 0)? != 0 {
            return self.usage("transA is 1", "the rows of the batch must stay rows");
        }
        self.with_batch()?;
        let (x, width) = self.vector(0)?;
        let transposed = self.int("transB", 0)? != 0;
        let (b, name) = self.matrix(1)?;
        let mut w = if transposed { b } else { transpose(&b) };
        self.same_width(&w, width, name)?;
        let (alpha, beta) = (self.float("alpha", 1.0)?, self.float("beta", 1.0)?);
        // Runtimes multiply sums, partial sums or weights by alpha, and each may overflow or vanish where the others do not. A change
        // of sign is the same everywhere.
        let vanishes = |v: &f32| v.is_normal() && !(v * alpha).is_normal();
        if alpha != 0.0 && w.data.iter().any(vanishes) {
            let found = format!("alpha = {alpha:e} times a weight is no normal float32 number");
            return self.usage(found, "multiply alpha into the weights, and write the file without it");
        }
        w.data.iter_mut().for_each(|v| *v *= alpha);
        if alpha.abs() != 1.0 {
            self.inexact("alpha was multiplied into the weights");
        }
        let mut bias = vec![0.0; w.rows];
        if let Some(c) = self.constant(2)? {
            bias = self.spread(c, &[w.rows])?;
            if !fold(beta, &mut bias) {
                self.inexact("beta was multiplied into the constants that are added");
            }
        }
        if !w.data.iter().chain(&bias).all(|v| v.is_finite()) {
            return Err(ImportError::NotFinite { place: self.place(), tensor: name.into() });
        }
        if !transposed && let Some(scale) = diagonal(&w) {
            return self.push_like(Op::Affine { scale, shift: bias }, x);
        }
        self.dense(&x, w, bias)
    }

    /// `x B`: the listed columns of x where B has a single 1 in each column, else a Dense that an Add may still give its bias.
    pub(super) fn matmul(&mut self) -> Result<TensorView, ImportError> {
        let (x, width) = self.vector(0)?;
        let (b, name) = self.matrix(1)?;
        let w = transpose(&b);
        self.same_width(&w, width, name)?;
        if let Some(columns) = selection(&w) {
            let place = self.place();
            let rows = self.builder.push(&place, Op::Select(columns), vec![x.index], vec![w.rows])?;
            self.builder.mark(&rows, Written::Product);
            return Ok(rows);
        }
        let bias = vec![0.0; w.rows];
        let rows = self.dense(&x, w, bias)?;
        self.builder.mark(&rows, Written::Product);
        Ok(TensorView { open: true, ..rows })
    }

    fn dense(&mut self, x: &TensorView, w: Matrix, b: Vec<f32>) -> Result<TensorView, ImportError> {
        let place = self.place();
        let shape = vec![w.rows];
        self.builder.push(&place, Op::Dense { w, b }, vec![x.index], shape)
    }

    /// `(x - mean) / sqrt(var + epsilon) scale + B`, folded into one scale and shift a channel.
    pub(super) fn batch_normalization(&mut self) -> Result<TensorView, ImportError> {
        if self.int("training_mode", 0)? != 0 || self.int("spatial", 1)? != 1 {
            return self.usage("it is in training mode, or not per channel", "export the model in inference mode");
        }
        let x = self.rows(0)?;
        let channels = x.shape.first().copied().unwrap_or(1);
        let [scale, offset, mean, var] =
            [self.channel(1, channels)?, self.channel(2, channels)?, self.channel(3, channels)?, self.channel(4, channels)?];
        let epsilon = f64::from(self.float("epsilon", 1e-5)?);
        let place = self.place();
        let width = self.builder.fits(&place, &x.shape)?;
        self.builder.charge(&place, width.saturating_mul(2))?;
        let inner = width / channels.max(1);
        self.inexact("mean, variance, scale and offset were folded into one scale and shift");
        let factor = |c: usize| f64::from(scale[c]) / (f64::from(var[c]) + epsilon).sqrt();
        let shift = |c: usize, factor: f64| f64::from(offset[c]) - f64::from(mean[c]) * factor;
        // A Reshape may have changed what the channels are.
        if let Some(conv) = self.builder.own_convolution(&x).filter(|conv| conv.b.len() == channels) {
            let each = conv.w.len() / channels.max(1);
            for (c, (w, b)) in conv.w.chunks_exact_mut(each).zip(&mut conv.b).enumerate() {
                let factor = factor(c);
                *b = (f64::from(*b) * factor + shift(c, factor)) as f32;
                w.iter_mut().for_each(|w| *w = (f64::from(*w) * factor) as f32);
            }
            return Ok(TensorView { open: false, ..x });
        }
        let (mut factors, mut shifts) = (Vec::with_capacity(width), Vec::with_capacity(width));
        for c in 0..channels {
            let factor = factor(c);
            let shift = shift(c, factor);
            factors.extend(std::iter::repeat_n(factor as f32, inner));
            shifts.extend(std::iter::repeat_n(shift as f32, inner));
        }
        let source = self.constant(1)?.cloned().unwrap_or_default();
        self.affine(x, factors, shifts, &source)
    }

    /// One number a channel.
    fn channel(&mut self, k: usize, channels: usize) -> Result<Vec<f32>, ImportError> {
        match self.constant(k)? {
            Some(t) if tensor::dims(t)?[..] == [channels] => {
                let place = self.place();
                self.builder.charge(&place, channels)?;
                tensor::floats(t)
            }
            _ => self.usage(format!("operand {k} is not a vector of {channels} constants"), "it needs one number a channel"),
        }
    }

    /// The constant matrix that is operand `k`, and its name.
    pub(super) fn matrix(&mut self, k: usize) -> Result<(Matrix, &'a str), ImportError> {
        let Some(t) = self.constant(k)? else {
            return self.usage(format!("operand {k} is missing"), "it must be a constant matrix");
        };
        let dims = tensor::dims(t)?;
        let [rows, cols] = dims[..] else {
            return self.usage(format!("the constant '{}' has shape {dims:?}", t.name), "it must be a matrix");
        };
        let place = self.place();
        // Twice: as read, and transposed.
        self.builder.charge(&place, rows.saturating_mul(cols).saturating_mul(2))?;
        self.builder.charge(&place, rows.saturating_add(cols))?;
        self.finite(t).map(|data| (Matrix { rows, cols, data }, t.name.as_str()))
    }

    pub(super) fn finite(&self, t: &TensorProto) -> Result<Vec<f32>, ImportError> {
        let data = tensor::floats(t)?;
        if data.iter().all(|v| v.is_finite()) {
            Ok(data)
        } else {
            Err(ImportError::NotFinite { place: self.place(), tensor: t.name.clone() })
        }
    }

    fn same_width(&self, w: &Matrix, width: usize, name: &str) -> Result<(), ImportError> {
        if w.cols == width && w.rows > 0 {
            return Ok(());
        }
        let found = format!("it reads rows of width {width}, and the matrix '{name}' takes {} to {}", w.cols, w.rows);
        self.usage(found, "both widths must agree and none be 0")
    }
}

/// Multiplies constants that are added once, so that each product stands alone; `false` where it may round or vanish.
fn fold(factor: f32, parameters: &mut [f32]) -> bool {
    if factor == 1.0 {
        return true;
    }
    let mut exact = is_power_of_two(factor);
    for p in parameters {
        let folded = *p * factor;
        exact &= *p == 0.0 || (p.is_normal() && folded.is_normal());
        *p = folded;
    }
    exact
}

fn transpose(m: &Matrix) -> Matrix {
    let data = (0..m.cols).flat_map(|c| (0..m.rows).map(move |r| m.data[r * m.cols + c])).collect();
    Matrix { rows: m.cols, cols: m.rows, data }
}

/// The diagonal of a square matrix that is zero elsewhere.
fn diagonal(w: &Matrix) -> Option<Vec<f32>> {
    let off = |(k, v): (usize, &f32)| k / w.cols == k % w.cols || *v == 0.0;
    (w.rows == w.cols && w.data.iter().enumerate().all(off)).then(|| (0..w.rows).map(|i| w.row(i)[i]).collect())
}

/// Where the single 1 of each row stands, if all else is 0.
fn selection(w: &Matrix) -> Option<Vec<usize>> {
    (0..w.rows)
        .map(|r| {
            let one = w.row(r).iter().position(|v| *v != 0.0)?;
            let alone = w.row(r)[one] == 1.0 && w.row(r)[one + 1..].iter().all(|v| *v == 0.0);
            alone.then_some(one)
        })
        .collect()
}
