//! What became of each region enters; the tree and the regions that are still open leave.

use std::sync::Arc;

use deepsade_check::{Bounds, Lines, Tree};
use deepsade_spec::{Cut, Region};

use super::super::bound::CellForms;
use super::super::pass::UnitSign;
use super::KnownBoxes;
use super::split::{SplitAt, width};

/// Regions bounded in one round.
const ROUND: usize = 64;
/// Of these the ones in which an attack came nearest: the rest are the top of the stack, so that few wait.
const PROMISING: usize = 16;

/// A region that is not closed yet.
#[derive(Clone)]
pub(super) struct Open {
    pub(super) slot: usize,
    pub(super) region: Region,
    pub(super) signs: Vec<UnitSign>,
    pub(super) depth: usize,
    /// Boxes of the parts that cells leave of this region, or of a larger one.
    pub(super) boxes: Option<Arc<KnownBoxes>>,
    /// How near an attack on the region above it came: the least atom, which is above zero where the rule is broken.
    pub(super) nearest: f64,
}

/// A place in the tree.
pub(super) enum Slot {
    Open,
    Leaf(Bounds, Vec<Vec<u64>>, Vec<Lines>),
    Split(usize, Cut, [usize; 2]),
    Unit(usize, usize, [usize; 2]),
}

/// The state of a search, which can go on.
pub(in super::super) struct SearchState {
    pub(super) cells: Vec<CellForms>,
    /// The region that is searched.
    pub(super) whole: Region,
    pub(super) slots: Vec<Slot>,
    pub(super) open: Vec<Open>,
    /// Regions bounded so far.
    pub(in super::super) regions: usize,
    /// Rounds begun so far.
    pub(super) rounds: usize,
    /// Whether leaves that only exact arithmetic can tell to be closed count as such until the checker says no.
    pub(super) lenient: bool,
    pub(super) tentative: Vec<Open>,
}

/// Where a region is split, with the boxes of its sides, and how near an attack on it came.
pub(super) struct SplitRegion {
    pub(super) place: SplitAt,
    pub(super) boxes: [Arc<KnownBoxes>; 2],
    pub(super) nearest: f64,
}

impl SearchState {
    /// The regions that are bounded next: the top of the stack, and those in which an attack came nearest unless too many wait.
    pub(super) fn next_round(&mut self, most_open: usize) -> Vec<Open> {
        let mut batch = self.open.split_off(self.open.len().saturating_sub(ROUND - PROMISING));
        let wanted = (ROUND - batch.len()).min(self.open.len());
        if wanted == 0 || self.open.len() > most_open / 2 {
            let top = self.open.len().saturating_sub(wanted);
            batch.splice(0..0, self.open.split_off(top));
            return batch;
        }
        let mut order: Vec<usize> = (0..self.open.len()).collect();
        let nearer = |a: &usize, b: &usize| self.open[*b].nearest.total_cmp(&self.open[*a].nearest).then(b.cmp(a));
        order.select_nth_unstable_by(wanted - 1, nearer);
        let mut taken = vec![false; self.open.len()];
        order[..wanted].iter().for_each(|k| taken[*k] = true);
        let (mut promising, mut left) = (Vec::with_capacity(ROUND), Vec::with_capacity(self.open.len()));
        for (open, taken) in std::mem::take(&mut self.open).into_iter().zip(taken) {
            if taken { promising.push(open) } else { left.push(open) }
        }
        self.open = left;
        promising.append(&mut batch);
        promising
    }

    /// Puts both sides of a region where it was; false if it can't be split there.
    pub(super) fn split(&mut self, open: &Open, SplitRegion { place, boxes: [low, high], nearest }: SplitRegion) -> bool {
        match place {
            SplitAt::Feature(feature, cut) => {
                let Ok([below, above]) = open.region.split(feature, &cut) else { return false };
                let child = |region, boxes| (region, open.signs.clone(), Some(boxes));
                let ids = self.add(open.depth, nearest, [child(below, low), child(above, high)]);
                self.slots[open.slot] = Slot::Split(feature, cut, ids);
            }
            SplitAt::Unit(node, unit) => {
                let child = |above, boxes| {
                    let mut signs = open.signs.clone();
                    signs.push(UnitSign { node, unit, above });
                    (open.region.clone(), signs, Some(boxes))
                };
                let ids = self.add(open.depth, nearest, [child(false, low), child(true, high)]);
                self.slots[open.slot] = Slot::Unit(node, unit, ids);
            }
        }
        true
    }

    fn add(&mut self, above: usize, nearest: f64, children: [(Region, Vec<UnitSign>, Option<Arc<KnownBoxes>>); 2]) -> [usize; 2] {
        children.map(|(region, signs, boxes)| {
            let slot = self.slots.len();
            self.slots.push(Slot::Open);
            self.open.push(Open { slot, region, signs, depth: above + 1, boxes, nearest });
            slot
        })
    }

    /// The tree as the certificate has it; open places as leaves without cells, which prove nothing.
    pub(in super::super) fn tree(&self) -> Tree {
        self.subtree(0)
    }

    fn subtree(&self, slot: usize) -> Tree {
        let part = |slot: usize| Box::new(self.subtree(slot));
        match &self.slots[slot] {
            Slot::Open => Tree::Leaf { bounds: Bounds::Interval, cells: Vec::new(), lines: Vec::new() },
            Slot::Leaf(bounds, cells, lines) => Tree::Leaf { bounds: *bounds, cells: cells.clone(), lines: lines.clone() },
            Slot::Split(feature, cut, [a, b]) => {
                Tree::Split { feature: *feature, cut: cut.clone(), below: part(*a), above: part(*b) }
            }
            Slot::Unit(node, unit, [a, b]) => Tree::Unit { node: *node, unit: *unit, below: part(*a), above: part(*b) },
        }
    }

    /// Whether some leaf is only hoped to be closed.
    pub(in super::super) fn hopes(&self) -> bool {
        !self.tentative.is_empty()
    }

    /// Opens all leaves again that were only hoped to be closed, for good; false if there is none.
    pub(in super::super) fn doubt(&mut self) -> bool {
        self.lenient = false;
        let tentative = std::mem::take(&mut self.tentative);
        let any = !tentative.is_empty();
        tentative.iter().for_each(|open| self.slots[open.slot] = Slot::Open);
        self.open.extend(tentative);
        any
    }

    /// Opens a leaf again that the checker did not accept, split in the middle of its widest feature; false if it can't be.
    pub(in super::super) fn reopen(&mut self, whole: &Region, path: &[bool]) -> bool {
        let (mut slot, mut region, mut signs, mut depth) = (0, whole.clone(), Vec::new(), 0);
        for &above in path {
            depth += 1;
            match &self.slots[slot] {
                Slot::Split(feature, cut, ids) => {
                    let Ok(parts) = region.split(*feature, cut) else { return false };
                    region = parts[usize::from(above)].clone();
                    slot = ids[usize::from(above)];
                }
                Slot::Unit(node, unit, ids) => {
                    signs.push(UnitSign { node: *node, unit: *unit, above });
                    slot = ids[usize::from(above)];
                }
                _ => return false,
            }
        }
        let features = 0..usize::MAX;
        let known = features.take_while(|f| region.range(*f).is_some() || region.levels(*f).is_some());
        let share = |f: usize| width(&region, f) / width(whole, f).max(f64::MIN_POSITIVE);
        let Some(feature) = known.filter(|f| width(&region, *f) > 0.0).max_by(|a, b| share(*a).total_cmp(&share(*b))) else {
            return false;
        };
        let Some(cut) = region.middle(feature) else { return false };
        let Ok(parts) = region.split(feature, &cut) else { return false };
        let ids = self.add(depth, f64::NEG_INFINITY, parts.map(|part| (part, signs.clone(), None)));
        self.slots[slot] = Slot::Split(feature, cut, ids);
        true
    }
}
