//! Convolution: `y = sum of w x over a window + b`, a sparse row of a linear layer for each result.

use super::window::Window;
use crate::Matrix;
use crate::ball::{self, Ball};

/// A convolution. Its results stand channel by channel, line by line.
#[derive(Debug, Clone, PartialEq)]
pub struct Conv {
    /// What is read.
    pub window: Window,
    /// Channels are split into so many groups, each of which sees its own part of what is read.
    pub groups: usize,
    /// Weights: for each channel of the result those of the channels of its group, each a window line by line.
    pub w: Vec<f32>,
    /// Offset, one a channel of the result.
    pub b: Vec<f32>,
}

impl Conv {
    /// How many results there are: the rows of the linear layer.
    pub fn rows(&self) -> usize {
        let places = self.window.places().map_or(0, |[down, right]| down.saturating_mul(right));
        self.b.len().saturating_mul(places)
    }

    /// Whether it gives what it reads: each column times 1.
    pub(crate) fn is_identity(&self) -> bool {
        let Window { input, size, stride, pads, .. } = &self.window;
        let one = *size == [1, 1] && *stride == [1, 1] && *pads == [0; 4] && self.groups == input[0] && self.b.len() == input[0];
        one && self.w.iter().all(|w| *w == 1.0) && self.b.iter().all(|b| *b == 0.0)
    }

    /// How many weights each channel of the result has.
    pub(crate) fn weights(&self) -> Option<usize> {
        let [down, right] = self.window.size;
        (self.window.input[0].checked_div(self.groups)?).checked_mul(down)?.checked_mul(right)
    }

    /// `W x + b`, in float64.
    pub fn times(&self, x: &[f64]) -> Vec<f64> {
        let mut row = Vec::new();
        let each = |o| {
            let b = f64::from(self.row(o, &mut row));
            row.iter().map(|(i, w)| f64::from(*w) * x[*i]).sum::<f64>() + b
        };
        (0..self.rows()).map(each).collect()
    }

    /// `into += a' W`, in float64; `a . b` is returned.
    pub fn back(&self, a: &[f64], into: &mut [f64]) -> f64 {
        let (mut row, mut constant) = (Vec::new(), 0.0);
        for (o, a) in a.iter().enumerate().filter(|(_, a)| **a != 0.0) {
            constant += a * f64::from(self.row(o, &mut row));
            row.iter().for_each(|(i, w)| into[*i] += a * f64::from(*w));
        }
        constant
    }

    /// Puts row `o` into `row`: columns and their weights that are not 0. The offset of the row is returned.
    pub fn row(&self, o: usize, row: &mut Vec<(usize, f32)>) -> f32 {
        row.clear();
        let [down, right] = self.window.places().unwrap_or([1, 1]);
        let (channel, place) = (o / (down * right), o % (down * right));
        let (size, each) = (self.window.size[0] * self.window.size[1], self.window.input[0] / self.groups);
        let first = channel / (self.b.len() / self.groups) * each;
        for c in 0..each {
            let w = &self.w[(channel * each + c) * size..][..size];
            self.window.read(first + c, (place / right, place % right), |column, k| {
                if w[k] != 0.0 {
                    row.push((column, w[k]));
                }
            });
        }
        self.b[channel]
    }
}

pub(crate) fn forward(conv: &Conv, x: &Matrix) -> Matrix {
    let mut y = Matrix::zeros(x.rows, conv.rows());
    let mut row = Vec::new();
    for o in 0..y.cols {
        let b = conv.row(o, &mut row);
        for r in 0..x.rows {
            let from = x.row(r);
            y.row_mut(r)[o] = row.iter().map(|(i, w)| w * from[*i]).sum::<f32>() + b;
        }
    }
    y
}

pub(crate) fn enclose(conv: &Conv, x: &[Ball]) -> Vec<Ball> {
    let mut row = Vec::new();
    let each = (0..conv.rows()).map(|o| {
        let b = conv.row(o, &mut row);
        let (w, read): (Vec<f32>, Vec<Ball>) = row.iter().map(|(i, w)| (*w, x[*i])).unzip();
        ball::dot(&w, &read, b)
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::max_pool;

    fn window(input: [usize; 3], size: [usize; 2], pads: [usize; 4]) -> Window {
        Window { input, size, stride: [1, 2], dilation: [1, 1], pads }
    }

    /// Two lines of three, `[1 2 3; 4 5 6]`, one line of zeros above, one column to the right, by hand.
    #[test]
    fn a_picture_by_hand() {
        let x = Matrix { rows: 1, cols: 6, data: vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0] };
        let conv =
            Conv { window: window([1, 2, 3], [2, 2], [1, 0, 0, 1]), groups: 1, w: vec![1.0, 10.0, 100.0, 1000.0], b: vec![0.5] };
        assert_eq!(forward(&conv, &x).data, [2100.5, 300.5, 5421.5, 603.5]);
        let pool = window([1, 2, 3], [2, 2], [1, 0, 0, 1]);
        assert_eq!(max_pool::forward(&pool, &x).data, [2.0, 3.0, 5.0, 6.0]);
        let mut row = Vec::new();
        // What is not there, and what has no weight, is no term.
        assert_eq!((conv.row(1, &mut row), &row[..]), (0.5, &[(2, 100.0)][..]));
    }

    /// Two groups of one channel each, and two results a group: each sees its own channel.
    #[test]
    fn groups_see_their_own_channels() {
        let conv =
            Conv { window: window([2, 1, 2], [1, 2], [0; 4]), groups: 2, w: (1..9).map(|k| k as f32).collect(), b: vec![0.0; 4] };
        let x = Matrix { rows: 1, cols: 4, data: vec![1.0, 10.0, 100.0, 1000.0] };
        assert_eq!(forward(&conv, &x).data, [21.0, 43.0, 6500.0, 8700.0]);
        let balls: Vec<Ball> = x.data.iter().map(|v| Ball { centre: f64::from(*v), radius: 0.0 }).collect();
        assert!(enclose(&conv, &balls).iter().zip([21.0, 43.0, 6500.0, 8700.0]).all(|(ball, y)| ball.contains(y)));
    }
}
