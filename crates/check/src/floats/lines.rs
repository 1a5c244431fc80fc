//! The ends of what relus read enter; lines above and below each of them leave, made once for all forms on a region.

use std::collections::BTreeMap;

use deepsade_net::{Activation, Op};

use super::{Boxes, Floats, power};
use crate::certificate::Bounds;
use crate::linear::{relu_below, relu_slope};

/// Slopes of lower lines by relu node and unit, where the usual ones are not taken.
pub(crate) type LowerSlopes = BTreeMap<(usize, usize), f64>;

/// How forms go back on a region: through activations by lines, or by intervals, up to them.
#[derive(Default)]
pub(super) struct RegionLines {
    pub(super) relational: bool,
    /// By node.
    pub(super) relus: Vec<ReluLines>,
}

/// The lines of the units of a relu, but for those that are 0 in every evaluation: their terms are 0 whatever the coefficient.
#[derive(Default)]
pub(super) struct ReluLines {
    pub(super) open: Vec<UnitLines>,
    /// Units that are what they read, but for flushing, and what a contribution of 1 pays for float64.
    pub(super) above: Vec<(usize, f64)>,
}

/// The lines of a unit whose sign is open.
pub(super) struct UnitLines {
    pub(super) unit: usize,
    /// Slope and offset.
    pub(super) above: (f64, f64),
    /// Slope.
    pub(super) below: f64,
    /// What a contribution of 1 pays for float64.
    pub(super) cost: f64,
    /// What flushing costs along the line below.
    pub(super) flush: f64,
}

impl RegionLines {
    /// None yet.
    pub(super) fn new(bounds: Bounds) -> Self {
        Self { relational: bounds != Bounds::Interval, relus: Vec::new() }
    }
}

impl Floats<'_> {
    /// The lines of all relus whose ends are known.
    pub(super) fn lines(&self, boxes: &Boxes, bounds: Bounds, slopes: &LowerSlopes) -> RegionLines {
        let mut lines = RegionLines::new(bounds);
        self.extend(&mut lines, boxes, slopes);
        lines
    }

    /// Adds the lines of the relus whose ends became known.
    pub(super) fn extend(&self, lines: &mut RegionLines, boxes: &Boxes, slopes: &LowerSlopes) {
        if !lines.relational {
            return;
        }
        for (k, node) in self.network.nodes.iter().enumerate().take(boxes.lo.len() - 1).skip(lines.relus.len()) {
            let from = node.from[0];
            let units = if node.op == Op::Act(Activation::Relu) { self.widths[k + 1] } else { 0 };
            let mut relu_lines = ReluLines { open: Vec::with_capacity(units), above: Vec::with_capacity(units) };
            for unit in 0..units {
                let (l, u) = (boxes.lo[from][unit], boxes.hi[from][unit]);
                if u <= 0.0 {
                    continue;
                }
                let cost = boxes.size(from, unit) * self.theta;
                if l >= 0.0 {
                    relu_lines.above.push((unit, cost));
                    continue;
                }
                let [above, (below, _)] = relu(l, u, slopes.get(&(k, unit)).copied());
                let flush = if below > 0.0 { self.tiny } else { 0.0 };
                relu_lines.open.push(UnitLines { unit, above, below, cost, flush });
            }
            lines.relus.push(relu_lines);
        }
    }
}

impl ReluLines {
    /// Adds coefficients of the units, times slopes, to those of what they read; what that costs the constant: from 0 on, or not a
    /// number.
    #[inline(never)]
    pub(super) fn back<const L: usize>(&self, tiny: f64, a: &[[f64; L]], into: &mut [[f64; L]]) -> [f64; L] {
        let mut paid = [0.0; L];
        for UnitLines { unit, above, below, cost, flush } in &self.open {
            let (a, into) = (a[*unit], &mut into[*unit]);
            // One of both is 0; what is not a number stays so in the second.
            let (up, down) = halves(a);
            let mut passed = [0.0; L];
            (0..L).for_each(|l| passed[l] = up[l] * above.0 + down[l] * below);
            (0..L).for_each(|l| paid[l] += up[l] * above.1);
            (0..L).for_each(|l| paid[l] += down[l].abs() * flush);
            (0..L).for_each(|l| paid[l] += passed[l].abs() * cost);
            (0..L).for_each(|l| into[l] += passed[l]);
        }
        for (unit, cost) in &self.above {
            let (a, into) = (a[*unit], &mut into[*unit]);
            let (_, down) = halves(a);
            (0..L).for_each(|l| paid[l] += a[l].abs() * cost);
            (0..L).for_each(|l| paid[l] += down[l].abs() * tiny);
            (0..L).for_each(|l| into[l] += a[l]);
        }
        paid
    }
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
