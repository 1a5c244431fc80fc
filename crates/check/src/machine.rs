//! A network in one arithmetic, and what is known of its values on a region.

use std::collections::BTreeMap;

use deepsade_net::{Activation, Network, Op};

use crate::certificate::Arithmetic;
use crate::dyadic::{Dyadic, Interval};
use crate::layout::Layout;
use crate::rejected::Misfit;

/// A network over the columns of a schema, in one arithmetic.
#[derive(Clone, Copy)]
pub(crate) struct Machine<'n> {
    pub(crate) network: &'n Network,
    pub(crate) layout: &'n Layout,
    pub(crate) arithmetic: Arithmetic,
}

/// The known sign of what a relu reads, as computed: at most 0, or at least 0.
#[derive(Clone, Copy)]
pub(crate) struct Sign {
    pub(crate) value: usize,
    pub(crate) unit: usize,
    pub(crate) above: bool,
    pub(crate) node: usize,
}

/// What is known of the network on a region: per value and column the interval, and the error of the node's own operation.
#[derive(Default, Clone)]
pub(crate) struct Known {
    pub(crate) values: Vec<Vec<Interval>>,
    pub(crate) errors: Vec<Vec<Dyadic>>,
    /// Slopes of lower lines, by relu node and unit, where the usual ones are not taken.
    pub(crate) slopes: BTreeMap<(usize, usize), Dyadic>,
}

impl Known {
    /// The same with signs known, which are facts about the computed values; `None` if no evaluation has them. Where a relu reads a
    /// number at most 0 it gives 0, flushed or not.
    pub(crate) fn with(&self, signs: &[Sign]) -> Option<Self> {
        let (mut known, zero) = (self.clone(), Dyadic::default());
        for Sign { node, value, unit, above } in signs {
            let v = &mut known.values[*value][*unit];
            if *above {
                v.lo = v.lo.clone().max(zero.clone());
            } else {
                v.hi = v.hi.clone().min(zero.clone());
            }
            if v.lo > v.hi {
                return None;
            }
            if !above {
                known.values[node + 1][*unit] = Interval { lo: zero.clone(), hi: zero.clone() };
            }
        }
        Some(known)
    }
}

impl Machine<'_> {
    /// A side of a split on a unit, if there is such a relu.
    pub(crate) fn sign(&self, node: usize, unit: usize, above: bool) -> Result<Sign, Misfit> {
        let relu = self.network.nodes.get(node).filter(|n| n.op == Op::Act(Activation::Relu));
        let value = relu.filter(|_| Some(unit) < self.network.width(node + 1)).map(|n| n.from[0]);
        value.map(|value| Sign { value, unit, above, node }).ok_or(Misfit::NoUnit { node, unit })
    }
}

impl Arithmetic {
    /// 2^-126, the most that flushing a denormal can cost; 0 in real arithmetic.
    pub(crate) fn tiny(self) -> Dyadic {
        if self == Self::Real { Dyadic::default() } else { Dyadic::power(-126) }
    }

    /// 2^-24, the relative error of one rounding; 0 in real arithmetic.
    pub(crate) fn unit(self) -> Dyadic {
        if self == Self::Real { Dyadic::default() } else { Dyadic::power(-24) }
    }
}
