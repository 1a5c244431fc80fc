//! Arrays of shapes that fit enter; one array leaves, made element by element.
//!
//! Axes on which the same operands have one element are merged, so that equal shapes become one long loop, a row or a column against
//! rows one loop a row, and a single number one loop with that number; anything else is a walk over more than one outer axis.

use super::error::Wrong;
use super::value::{Array, Room};

/// How to walk over the operands of an element-wise operator.
pub(super) struct Strides<const N: usize> {
    /// The shape of the result.
    pub(super) dims: Vec<usize>,
    /// Number of elements of the result.
    pub(super) len: usize,
    /// Length of the innermost loop.
    pub(super) cols: usize,
    /// Which operands advance in the innermost loop; the others stand still.
    pub(super) moves: [bool; N],
    /// The outer loops, innermost first.
    outer: Vec<Loop<N>>,
}

struct Loop<const N: usize> {
    count: usize,
    /// How far each operand advances.
    step: [usize; N],
}

impl<const N: usize> Strides<N> {
    pub(super) fn new(operands: [&[usize]; N], room: Room) -> Result<Self, Wrong> {
        let dims = operands.iter().try_fold(Vec::new(), |dims, operand| joined(&dims, operand))?;
        let len = room.len(&dims)?;
        let (mut loops, mut size) = (Vec::<Loop<N>>::new(), [1; N]);
        let mut merged = [true; N];
        for (back, &count) in dims.iter().rev().enumerate().filter(|(_, d)| **d != 1) {
            let has = operands.map(|o| o.len() > back && o[o.len() - 1 - back] != 1);
            match loops.last_mut() {
                Some(inner) if merged == has => inner.count *= count,
                _ => loops.push(Loop { count, step: std::array::from_fn(|k| if has[k] { size[k] } else { 0 }) }),
            }
            (0..N).filter(|k| has[*k]).for_each(|k| size[k] *= count);
            merged = has;
        }
        let inner = if loops.is_empty() { Loop { count: 1, step: [1; N] } } else { loops.remove(0) };
        Ok(Self { dims, len, cols: inner.count, moves: inner.step.map(|s| s != 0), outer: loops })
    }

    /// Visits the innermost loops in order, with the place in each operand where they begin.
    pub(super) fn each(&self, mut visit: impl FnMut([usize; N])) {
        if self.len == 0 {
            return;
        }
        let (mut at, mut count) = ([0; N], vec![0; self.outer.len()]);
        'rows: loop {
            visit(at);
            for (i, axis) in self.outer.iter().enumerate() {
                count[i] += 1;
                (0..N).for_each(|k| at[k] += axis.step[k]);
                if count[i] < axis.count {
                    continue 'rows;
                }
                count[i] = 0;
                (0..N).for_each(|k| at[k] -= axis.step[k] * axis.count);
            }
            return;
        }
    }
}

/// The shape that two shapes have together: axes are matched from the end, and a length of 1 fits every other.
fn joined(a: &[usize], b: &[usize]) -> Result<Vec<usize>, Wrong> {
    let rank = a.len().max(b.len());
    let dim = |dims: &[usize], i: usize| (i + dims.len()).checked_sub(rank).map_or(1, |i| dims[i]);
    let one = |i| match (dim(a, i), dim(b, i)) {
        (a, b) if a == b || b == 1 => Some(a),
        (1, b) => Some(b),
        _ => None,
    };
    (0..rank).map(one).collect::<Option<_>>().ok_or_else(|| Wrong::Shapes { a: a.to_vec(), b: b.to_vec() })
}

/// `f` of each pair of elements.
pub(super) fn zip<A, B, C>(a: &Array<A>, b: &Array<B>, room: Room, f: impl Fn(&A, &B) -> C) -> Result<Array<C>, Wrong> {
    let plan = Strides::new([&a.dims, &b.dims], room)?;
    let (cols, mut data) = (plan.cols, Vec::with_capacity(plan.len));
    plan.each(|[i, j]| match plan.moves {
        [true, true] => data.extend(a.data[i..i + cols].iter().zip(&b.data[j..j + cols]).map(|(a, b)| f(a, b))),
        [true, false] => {
            let b = &b.data[j];
            data.extend(a.data[i..i + cols].iter().map(|a| f(a, b)));
        }
        [false, _] => {
            let a = &a.data[i];
            data.extend(b.data[j..j + cols].iter().map(|b| f(a, b)));
        }
    });
    Ok(Array { dims: plan.dims, data })
}

/// Elements of `x` where the condition holds, of `y` elsewhere.
pub(super) fn choose<T: Copy>(condition: &Array<bool>, x: &Array<T>, y: &Array<T>, room: Room) -> Result<Array<T>, Wrong> {
    let plan = Strides::new([&condition.dims, &x.dims, &y.dims], room)?;
    let (cols, mut data) = (plan.cols, Vec::with_capacity(plan.len));
    // Both are read before one is chosen, so that there is no branch.
    let pick = |c: &bool, x: T, y: T| if *c { x } else { y };
    plan.each(|[c, i, j]| {
        let [one, x_moves, y_moves] = plan.moves;
        if !one {
            let (from, at, moves) = if condition.data[c] { (x, i, x_moves) } else { (y, j, y_moves) };
            if moves {
                data.extend_from_slice(&from.data[at..at + cols]);
            } else {
                data.extend(std::iter::repeat_n(from.data[at], cols));
            }
            return;
        }
        let c = condition.data[c..c + cols].iter();
        match (x_moves, y_moves) {
            (true, true) => {
                let both = x.data[i..i + cols].iter().zip(&y.data[j..j + cols]);
                data.extend(c.zip(both).map(|(c, (x, y))| pick(c, *x, *y)));
            }
            (true, false) => {
                let y = y.data[j];
                data.extend(c.zip(&x.data[i..i + cols]).map(|(c, x)| pick(c, *x, y)));
            }
            (false, true) => {
                let x = x.data[i];
                data.extend(c.zip(&y.data[j..j + cols]).map(|(c, y)| pick(c, x, *y)));
            }
            (false, false) => {
                let (x, y) = (x.data[i], y.data[j]);
                data.extend(c.map(|c| pick(c, x, y)));
            }
        }
    });
    Ok(Array { dims: plan.dims, data })
}
