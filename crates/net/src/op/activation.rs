//! Activation, element by element: max(0, x), 1 / (1 + exp(-x)) or tanh(x).

use crate::ball::{ACTIVATION_ERROR, Ball};
use crate::{Activation, Matrix};

pub(crate) fn forward(f: Activation, x: &Matrix) -> Matrix {
    let apply: fn(f32) -> f32 = match f {
        // Not f32::max, which would turn the NaN of an overflow into a harmless looking 0.
        Activation::Relu => |x| if x < 0.0 { 0.0 } else { x },
        Activation::Sigmoid => |x| 1.0 / (1.0 + (-x).exp()),
        Activation::Tanh => f32::tanh,
    };
    Matrix { rows: x.rows, cols: x.cols, data: x.data.iter().map(|&x| apply(x)).collect() }
}

/// All three are monotone with a known steepest slope (1, 1/4, 1), which bounds how much of the incoming radius gets through.
pub(crate) fn enclose(f: Activation, x: &[Ball]) -> Vec<Ball> {
    x.iter()
        .map(|x| match f {
            Activation::Relu => Ball { centre: x.centre.max(0.0), radius: x.radius },
            Activation::Sigmoid => Ball { centre: 1.0 / (1.0 + (-x.centre).exp()), radius: x.radius / 4.0 + ACTIVATION_ERROR },
            Activation::Tanh => Ball { centre: x.centre.tanh(), radius: x.radius + ACTIVATION_ERROR },
        })
        .collect()
}
