//! A rule and a region enter; a tree whose leaves refute every cell leaves, or a counter-example, or why neither was found.
//!
//! Open regions wait on a stack, the latest on top. Round by round the top ones are bounded on all cores, and those beside them in
//! which an attack came nearest to breaking the rule; each is closed, broken by a counter-example, or split on a feature or on the sign
//! of a relu. What happens to a region depends on the region alone and rounds end together, so the result does not depend on the
//! number of cores.

mod split;
mod state;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};

use deepsade_check::{Bounds, Lines, MAX_ATOMS, MAX_DEPTH};
use deepsade_solve::parallel;
use deepsade_spec::Region;
use deepsade_spec::cells::cells;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::attack::{Attacked, CounterExample, Effort};
use super::bound::{CellForms, KnownRegion, with_signs};
use super::pass::{Pass, Reach};
use super::plan::{InputBox, SearchBoxes};
use crate::limits::{self, MAX_CELLS};
use split::SplitAt;
pub(super) use state::SearchState;
use state::{Open, Slot, SplitRegion};

/// Coefficients of atoms in all.
const MAX_NUMBERS_IN_ALL: usize = 50_000_000;
/// Splits above a region: fewer than the checker reads, so that there is room for those of a leaf that it does not accept.
pub(super) const DEEPEST: usize = MAX_DEPTH - 10;
/// Down to this depth every free feature is tried, and the best kept: near the root a bad split costs whole trees.
const TRIED_DEPTH: usize = 12;
/// One in so many open regions is attacked in earnest, the others from the point where their bound is taken, with one step;
const ATTACKED: usize = 4;
/// so many steps that takes.
const ATTACK_STEPS: usize = 20;

/// What a search works on.
pub(super) struct RegionSearch<'a> {
    /// The rule, which is attacked on the way; whether to stop is asked after every round, too.
    pub target: Attacked<'a>,
    pub threads: usize,
    pub seed: u64,
    /// Open regions that may wait at once.
    pub most_open: usize,
    /// Regions that may be bounded.
    pub most_regions: usize,
    /// Boxes of the region that is searched, which all rules share.
    pub root: &'a OnceLock<Arc<KnownBoxes>>,
}

/// Why a search ends early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Halt {
    /// The time is over.
    Timeout,
    /// It was told to stop.
    Interrupted,
}

/// How a search ended.
pub(super) enum SearchEnd {
    Proved,
    Refuted(CounterExample),
    Open(LeftOpen),
}

/// Why a search ended without an answer.
pub(super) enum LeftOpen {
    Halted(Halt),
    /// A region that can't be split has neither a proof nor a counter-example: rounding decides there.
    Margin,
    TooManyOpen,
    TooManyRegions,
}

/// Boxes of the parts that cells leave of a region.
pub(super) struct KnownBoxes {
    region: Region,
    parts: BTreeMap<Region, Arc<(InputBox, SearchBoxes)>>,
}

enum BoundedRegion {
    Closed(LeafProof),
    Refuted(CounterExample),
    Split(SplitRegion),
    Stuck,
}

/// What the certificate says about a region, and whether only exact arithmetic can tell that it is true.
struct LeafProof {
    bounds: Bounds,
    lists: Vec<Vec<u64>>,
    lines: Vec<Lines>,
    tentative: bool,
}

impl RegionSearch<'_> {
    /// A search over a region, nothing done yet; `None` if the rule has too many cells.
    pub fn start(&self, region: Region) -> Option<SearchState> {
        let negation = self.target.spec.rules[self.target.rule].claim.negated();
        if negation.longest_cell() > MAX_ATOMS {
            return None;
        }
        // Counted before they are kept: an atom holds a coefficient for every column.
        let (mut count, mut in_all) = (0, 0);
        let numbers = self.target.plan.widths[0] + self.target.plan.widths[self.target.plan.output()];
        let full = cells(&negation, &mut |atoms| {
            count += 1;
            in_all += atoms.len();
            let most = limits::MAX_ATOMS.min(MAX_NUMBERS_IN_ALL / numbers);
            if count > MAX_CELLS || in_all > most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        if full.is_break() {
            return None;
        }
        let mut found = Vec::with_capacity(count);
        let _ = cells::<()>(&negation, &mut |atoms| {
            found.push(CellForms::new(self.target.plan, atoms));
            ControlFlow::Continue(())
        });
        let boxes = found.iter().any(|cell| cell.part(&region) == region).then(|| self.root.get_or_init(|| self.known(&region)));
        let whole = region.clone();
        let open = vec![Open { slot: 0, region, signs: Vec::new(), depth: 0, boxes: boxes.cloned(), nearest: f64::NEG_INFINITY }];
        let slots = vec![Slot::Open];
        Some(SearchState { cells: found, whole, slots, open, regions: 0, rounds: 0, lenient: true, tentative: Vec::new() })
    }

    /// The boxes of a whole region.
    fn known(&self, region: &Region) -> Arc<KnownBoxes> {
        let inputs = self.target.plan.inputs(region);
        let boxes = self.target.plan.boxes(&inputs, Reach::Lines, None, &mut Pass::default());
        let parts = BTreeMap::from([(region.clone(), Arc::new((inputs, boxes)))]);
        Arc::new(KnownBoxes { region: region.clone(), parts })
    }

    /// Attacks every cell on the whole region.
    pub fn attack(&self, state: &SearchState, region: &Region, effort: Effort) -> Option<CounterExample> {
        let target = &self.target;
        // Many cells share the effort.
        let starts = (effort.starts * 8 / state.cells.len().max(8)).max(3);
        state.cells.iter().enumerate().find_map(|(k, cell)| {
            let part = cell.part(region);
            if part.is_empty() || (self.target.stop)().is_some() {
                return None;
            }
            let inputs = self.target.plan.inputs(&part);
            target.search(cell, &part, &inputs, Effort { starts, ..effort }, &[], self.seed ^ k as u64)
        })
    }

    /// One more attack on the whole region, each time on the next cell and from another point: regions are bounded where the bounds are
    /// worst, which may be far from where a rule is broken.
    fn attack_again(&self, state: &mut SearchState) -> Option<CounterExample> {
        state.rounds += 1;
        let (cells, rounds) = (state.cells.len(), state.rounds);
        let cell = state.cells.get(rounds % cells.max(1))?;
        let part = cell.part(&state.whole);
        if part.is_empty() {
            return None;
        }
        let inputs = self.target.plan.inputs(&part);
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed.wrapping_add(rounds as u64));
        let from = self.target.drawn(cell, &part, &inputs, rounds, &mut rng);
        self.target.climb(cell, &part, &inputs, ATTACK_STEPS, from, &mut rng).ok()
    }

    /// Attacks a rule that has too many cells.
    pub fn attack_near(&self, region: &Region, effort: Effort) -> Option<CounterExample> {
        self.target.search_near(region, effort, self.seed, &|| (self.target.stop)().is_some())
    }

    /// Goes on until the search ends.
    pub fn run(&self, state: &mut SearchState) -> SearchEnd {
        let mut margin = false;
        while !state.open.is_empty() {
            if let Some(halt) = (self.target.stop)() {
                return SearchEnd::Open(LeftOpen::Halted(halt));
            }
            if state.regions >= self.most_regions {
                return SearchEnd::Open(LeftOpen::TooManyRegions);
            }
            // Not before the first bounds: what they close need not be attacked.
            if state.regions > 0
                && let Some(example) = self.attack_again(state)
            {
                return SearchEnd::Refuted(example);
            }
            let batch = state.next_round(self.most_open);
            let results = self.round(&state.cells, &batch, state.lenient);
            for (open, result) in batch.into_iter().zip(results) {
                // The time was over before it was come to.
                let Some(result) = result else {
                    state.open.push(open);
                    continue;
                };
                state.regions += 1;
                match result {
                    BoundedRegion::Refuted(example) => return SearchEnd::Refuted(example),
                    BoundedRegion::Closed(leaf) => {
                        state.slots[open.slot] = Slot::Leaf(leaf.bounds, leaf.lists, leaf.lines);
                        if leaf.tentative {
                            state.tentative.push(Open { boxes: None, ..open });
                        }
                    }
                    BoundedRegion::Stuck => margin = true,
                    BoundedRegion::Split(split) => margin |= !state.split(&open, split),
                }
            }
            if margin {
                return SearchEnd::Open(LeftOpen::Margin);
            }
            if state.open.len() > self.most_open {
                return SearchEnd::Open(LeftOpen::TooManyOpen);
            }
        }
        SearchEnd::Proved
    }

    fn round(&self, cells: &[CellForms], batch: &[Open], lenient: bool) -> Vec<Option<BoundedRegion>> {
        let bound = |pass: &mut Pass, open: &Open| self.bound(cells, open, lenient, pass);
        parallel::map(batch, self.threads, &|| (self.target.stop)().is_some(), Pass::default, bound)
    }

    /// The boxes of the part that a cell leaves of a region, no wider than those of a region above it.
    fn boxes_of(
        &self,
        known: &mut KnownBoxes,
        above: Option<&KnownBoxes>,
        cell: &CellForms,
        part: &Region,
        pass: &mut Pass,
    ) -> Arc<(InputBox, SearchBoxes)> {
        if let Some(here) = known.parts.get(part) {
            return here.clone();
        }
        let inputs = self.target.plan.inputs(part);
        let prior = above.and_then(|k| k.parts.get(&cell.part(&k.region)));
        let boxes = self.target.plan.boxes(&inputs, Reach::Lines, prior.map(|p| &p.1), pass);
        let here = Arc::new((inputs, boxes));
        known.parts.insert(part.clone(), here.clone());
        here
    }

    /// Bounds one region: closed if every cell is refuted, else split where the first open cell says.
    fn bound(&self, cells: &[CellForms], open: &Open, lenient: bool, pass: &mut Pass) -> BoundedRegion {
        let parts: Vec<(&CellForms, Region)> =
            cells.iter().map(|cell| (cell, cell.part(&open.region))).filter(|(_, part)| !part.is_empty()).collect();
        let closed = |bounds, lists, lines, tentative| BoundedRegion::Closed(LeafProof { bounds, lists, lines, tentative });
        if parts.is_empty() {
            return closed(Bounds::Interval, Vec::new(), Vec::new(), false);
        }
        if open.depth == 0
            && let Some((lists, tentative)) = self.by_intervals(&parts, lenient, pass)
        {
            return closed(Bounds::Interval, lists, Vec::new(), tentative);
        }
        let same = open.boxes.as_deref().filter(|k| k.region == open.region);
        let above = open.boxes.as_deref().filter(|k| k.region != open.region);
        let mut known = KnownBoxes { region: open.region.clone(), parts: same.map_or_else(BTreeMap::new, |k| k.parts.clone()) };
        let (mut lists, mut lines, mut tentative) = (Vec::new(), Vec::new(), false);
        for (cell, part) in &parts {
            let here = self.boxes_of(&mut known, above, cell, part, pass);
            let (inputs, base) = &*here;
            let Some(boxes) = with_signs(self.target.plan, base, &open.signs) else {
                lists.push(cell.atoms.iter().map(|_| 1).collect());
                lines.push(Lines { signs: vec![0.0; open.signs.len()], slopes: Vec::new() });
                continue;
            };
            let ground = KnownRegion { plan: self.target.plan, kind: Reach::Lines, boxes: &boxes, inputs, signs: &open.signs };
            let found = cell.bound(ground, pass);
            if found.refuted || lenient && found.tight {
                let (list, line) = cell.numbers(ground, &found, pass);
                lists.push(list);
                lines.push(line);
                tentative |= !found.refuted;
                continue;
            }
            let apart = self.apart(&open.region, &parts);
            let tried = apart.is_none();
            let choice = apart.or_else(|| self.choose(open, part, &boxes, inputs, pass));
            let nearest = match self.attack_open(open, cell, part, inputs, pass.best_input(self.target.plan)) {
                Ok(example) => return BoundedRegion::Refuted(example),
                Err(nearest) => nearest,
            };
            let Some(place) = choice else { return BoundedRegion::Stuck };
            if let SplitAt::Feature(..) = place
                && tried
                && open.depth < TRIED_DEPTH
                && open.signs.is_empty()
                && let Some((place, boxes)) = self.try_features(&open.region, cell, &known, &found.lambda, pass)
            {
                return BoundedRegion::Split(SplitRegion { place, boxes, nearest });
            }
            let known = Arc::new(known);
            return BoundedRegion::Split(SplitRegion { place, boxes: [known.clone(), known], nearest });
        }
        if open.signs.is_empty() && lines.iter().all(|l| l.slopes.is_empty()) {
            lines.clear();
        }
        closed(Bounds::Inherited, lists, lines, tentative)
    }

    /// Attacks a cell on a region that is not closed, from the point where its bound is taken: a counter-example, or how near it came.
    fn attack_open(
        &self,
        open: &Open,
        cell: &CellForms,
        part: &Region,
        inputs: &InputBox,
        mut from: Vec<f64>,
    ) -> Result<CounterExample, f64> {
        if (self.target.stop)().is_some() {
            return Err(f64::NEG_INFINITY);
        }
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed ^ open.slot as u64);
        let steps = if open.slot.is_multiple_of(ATTACKED) { ATTACK_STEPS } else { 1 };
        self.target.snap(&mut from, part);
        self.target.climb(cell, part, inputs, steps, from, &mut rng).map_err(|end| self.target.least(cell, &end))
    }

    /// Multipliers for all cells with intervals alone, which are the quickest to check; and whether only exact arithmetic can tell.
    fn by_intervals(&self, parts: &[(&CellForms, Region)], lenient: bool, pass: &mut Pass) -> Option<(Vec<Vec<u64>>, bool)> {
        let mut boxes: BTreeMap<&Region, (InputBox, SearchBoxes)> = BTreeMap::new();
        let (mut lists, mut tentative) = (Vec::new(), false);
        for (cell, part) in parts {
            let (inputs, boxes) = boxes.entry(part).or_insert_with(|| {
                let inputs = self.target.plan.inputs(part);
                let boxes = self.target.plan.boxes(&inputs, Reach::Interval, None, pass);
                (inputs, boxes)
            });
            let ground = KnownRegion { plan: self.target.plan, kind: Reach::Interval, boxes, inputs, signs: &[] };
            let found = cell.bound(ground, pass);
            if !(found.refuted || lenient && found.tight) {
                return None;
            }
            tentative |= !found.refuted;
            lists.push(cell.numbers(ground, &found, pass).0);
        }
        Some((lists, tentative))
    }
}
