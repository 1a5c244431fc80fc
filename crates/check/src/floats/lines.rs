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
    pub(super) relus: Vec<Vec<UnitLines>>,
}

/// The lines of a unit that is not 0 in every evaluation: of one that is, terms are 0 whatever the coefficient.
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

impl Floats<'_> {
    /// The lines of all relus whose ends are known.
    pub(super) fn lines(&self, boxes: &Boxes, bounds: Bounds, slopes: &LowerSlopes) -> RegionLines {
        if bounds == Bounds::Interval {
            return RegionLines::default();
        }
        let line = |k: usize, from: usize, unit: usize| {
            let (l, u) = (boxes.lo[from][unit], boxes.hi[from][unit]);
            let [above, (below, _)] = relu(l, u, slopes.get(&(k, unit)).copied());
            let flush = if below > 0.0 { self.tiny } else { 0.0 };
            (u > 0.0).then(|| UnitLines { unit, above, below, cost: boxes.size(from, unit) * self.theta, flush })
        };
        let known = self.network.nodes.iter().enumerate().take(boxes.lo.len() - 1);
        let relus = known.map(|(k, node)| match node.op {
            Op::Act(Activation::Relu) => (0..self.widths[k + 1]).filter_map(|unit| line(k, node.from[0], unit)).collect(),
            _ => Vec::new(),
        });
        RegionLines { relational: true, relus: relus.collect() }
    }
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
