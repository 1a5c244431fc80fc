//! The ends of what relus read enter; lines above and below each of them leave, made once for all forms on a region.

use std::collections::BTreeMap;

use deepsade_net::{Activation, Op};

use super::columns::ColumnTerm;
use super::{Boxes, Floats, power};
use crate::certificate::Bounds;
use crate::linear::{relu_below, relu_slope};

/// Slopes of lower lines by relu node and unit, where the usual ones are not taken.
pub(crate) type LowerSlopes = BTreeMap<(usize, usize), f64>;

/// How forms go back on a region: through activations by lines, or by intervals, up to them.
#[derive(Default)]
pub(super) struct RegionLines {
    pub(super) relational: bool,
    /// By node, those of the units of a relu; of a unit that is 0 in every evaluation none: its term is 0 whatever the coefficient.
    pub(super) relus: Vec<Vec<Option<UnitLines>>>,
    /// Of so many nodes they are known.
    nodes: usize,
}

/// The lines of a unit of a relu. Where its sign is known to be positive both are what it reads, but for flushing.
pub(super) struct UnitLines {
    /// Slope and offset.
    above: (f64, f64),
    /// Slope.
    below: f64,
    /// What a contribution of 1 pays for float64.
    cost: f64,
    /// What flushing costs along the line below.
    flush: f64,
}

impl RegionLines {
    /// None yet, in the same memory; no line of another region is left.
    pub(super) fn clear(&mut self, bounds: Bounds) {
        (self.relational, self.nodes) = (bounds != Bounds::Interval, 0);
        self.relus.iter_mut().for_each(Vec::clear);
    }
}

impl Floats<'_> {
    /// Adds the lines of the relus whose ends became known.
    pub(super) fn extend(&self, lines: &mut RegionLines, boxes: &Boxes, slopes: &LowerSlopes) {
        if !lines.relational {
            return;
        }
        for (k, node) in self.network.nodes.iter().enumerate().take(boxes.lo.len() - 1).skip(lines.nodes) {
            let from = node.from[0];
            let units = if node.op == Op::Act(Activation::Relu) { self.widths[k + 1] } else { 0 };
            let line = |unit: usize| {
                let (l, u) = (boxes.lo[from][unit], boxes.hi[from][unit]);
                if u <= 0.0 {
                    return None;
                }
                let [above, (below, _)] = relu(l, u, slopes.get(&(k, unit)).copied());
                let (cost, flush) = (boxes.size(from, unit) * self.theta, if below > 0.0 { self.tiny } else { 0.0 });
                Some(UnitLines { above, below, cost, flush })
            };
            lines.relus.resize_with(self.network.nodes.len(), Vec::new);
            lines.relus[k].extend((0..units).map(line));
            lines.nodes = k + 1;
        }
    }
}

/// Appends coefficients of the units of a relu, times slopes, as those of what they read; what that costs the constant: from 0 on, or
/// not a number.
#[inline(never)]
pub(super) fn back<const L: usize>(lines: &[Option<UnitLines>], a: &[ColumnTerm<L>], into: &mut Vec<ColumnTerm<L>>) -> [f64; L] {
    let mut paid = [0.0; L];
    into.reserve(a.len());
    for (unit, a) in a {
        let Some(UnitLines { above, below, cost, flush }) = &lines[*unit] else { continue };
        // One of both is 0; what is not a number stays so in the second.
        let (up, down) = halves(*a);
        let mut passed = [0.0; L];
        (0..L).for_each(|l| passed[l] = up[l] * above.0 + down[l] * below);
        (0..L).for_each(|l| paid[l] += up[l] * above.1);
        (0..L).for_each(|l| paid[l] += down[l].abs() * flush);
        (0..L).for_each(|l| paid[l] += passed[l].abs() * cost);
        into.push((*unit, passed));
    }
    paid
}

/// The positive parts of numbers, and what is left of them.
#[inline]
fn halves<const L: usize>(a: [f64; L]) -> ([f64; L], [f64; L]) {
    let (mut up, mut down) = ([0.0; L], [0.0; L]);
    (0..L).for_each(|l| up[l] = if a[l] > 0.0 { a[l] } else { 0.0 });
    (0..L).for_each(|l| down[l] = a[l] - up[l]);
    (up, down)
}

/// Slopes and offsets of lines above and below relu on [l, u] (see `Machine::relu`); the offset is rounded up.
#[inline]
pub(super) fn relu(l: f64, u: f64, lower: Option<f64>) -> [(f64, f64); 2] {
    if u <= 0.0 {
        return [(0.0, 0.0); 2];
    }
    if l >= 0.0 {
        return [(1.0, 0.0); 2];
    }
    let s = f64::from(relu_slope(l, u));
    let offset = (-s * l).max((1.0 - s) * u) * (1.0 + power(-50)) + f64::MIN_POSITIVE;
    [(s, offset), (lower.unwrap_or_else(|| relu_below(l, u)), 0.0)]
}
