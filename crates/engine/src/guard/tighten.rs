//! Rules' regions enter with a budget; regions that bound the hidden units more tightly leave.
//!
//! Of all features that a region leaves open, the one is cut whose two halves have the smallest boxes: what counts is the larger
//! of the two sums of radii, with the network as it is initialised.

use deepsade_spec::cells::cells;
use deepsade_spec::{Cut, Region};
use std::ops::ControlFlow;

use super::build::{Cuts, FixedParts};
use crate::bounds::HiddenBounds;

/// Features looked at for each cut: enough for tables, and an end for images.
const MAX_FEATURES: usize = 64;

impl FixedParts<'_> {
    /// Cuts the regions of a rule until there are `leaves` of them, or none can be cut.
    pub(super) fn tighten(&self, rule: usize, cuts: &mut Cuts, leaves: usize) {
        let parameters: Vec<f32> = self.network.parameters().collect();
        for _ in (1..leaves).take_while(|_| !self.stopped()) {
            let Ok(whole) = Region::domain(&self.spec.schema) else { return };
            let mut widest = None;
            self.loosest(rule, cuts, &whole, &parameters, &mut widest);
            let Some((_, leaf, region)) = widest else { return };
            let Some((feature, cut)) = self.best_cut(&region, &parameters) else { return };
            *leaf = Cuts::Split(feature, cut, Box::new(Cuts::Whole), Box::new(Cuts::Whole));
        }
    }

    /// The leaf with the widest boxes, and what the rule's own conditions leave of it.
    fn loosest<'c>(
        &self,
        rule: usize,
        cuts: &'c mut Cuts,
        region: &Region,
        parameters: &[f32],
        widest: &mut Option<(f64, &'c mut Cuts, Region)>,
    ) {
        match cuts {
            Cuts::Split(feature, cut, below, above) => {
                if let Ok([low, high]) = region.split(*feature, cut) {
                    self.loosest(rule, below, &low, parameters, widest);
                    self.loosest(rule, above, &high, parameters, widest);
                }
            }
            // Each leaf is looked at anew for every cut, and a rule may be long.
            Cuts::Whole if self.stopped() => {}
            Cuts::Whole => {
                let Some(part) = self.first_part(rule, region) else { return };
                let spread = self.spread(&part, parameters);
                if widest.as_ref().is_none_or(|(s, ..)| spread > *s) {
                    *widest = Some((spread, cuts, part));
                }
            }
        }
    }

    /// What the first cell that is not void leaves of a region.
    fn first_part(&self, rule: usize, region: &Region) -> Option<Region> {
        let negated = self.spec.rules[rule].claim.negated();
        let end = cells(&negated, &mut |atoms| {
            let part = region.cut_by(atoms);
            if part.is_empty() { ControlFlow::Continue(()) } else { ControlFlow::Break(part) }
        });
        end.break_value()
    }

    fn best_cut(&self, region: &Region, parameters: &[f32]) -> Option<(usize, Cut)> {
        let mut best: Option<(f64, usize, Cut)> = None;
        for f in 0..self.spec.schema.features.len().min(MAX_FEATURES) {
            let Some(cut) = region.middle(f) else { continue };
            let Ok(halves) = region.split(f, &cut) else { continue };
            let spread = halves.iter().map(|half| self.spread(half, parameters)).fold(0.0, f64::max);
            if best.as_ref().is_none_or(|(s, ..)| spread < *s) {
                best = Some((spread, f, cut));
            }
        }
        best.map(|(_, f, cut)| (f, cut))
    }

    /// The sum of the radii of what the last layer reads.
    fn spread(&self, region: &Region, parameters: &[f32]) -> f64 {
        let mut bounds = HiddenBounds::new(self.network, &self.spec.schema, std::slice::from_ref(region));
        bounds.update(parameters);
        bounds.last_input(0).r.iter().map(|r| f64::from(*r)).sum()
    }
}
