//! A rule and a region enter; a tree whose leaves refute every cell leaves, or a counter-example, or why neither was found.
//!
//! Open regions wait on a stack, the latest on top. Round by round the top ones are bounded on all cores; each is closed, broken by a
//! counter-example, or split on a feature or on the sign of a relu. What happens to a region depends on the region alone and rounds
//! end together, so the result does not depend on the number of cores.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use deepsade_check::{Bounds, Lines, MAX_ATOMS, MAX_DEPTH, Tree};
use deepsade_net::Activation;
use deepsade_solve::parallel;
use deepsade_spec::cells::cells;
use deepsade_spec::{Cut, Region};

use super::attack::{CounterExample, Effort, Target};
use super::bound::{CellForms, Ground, with_signs};
use super::pass::{Kind, Pass, Sign};
use super::plan::{Boxes, Inputs, Step};
use crate::limits::{self, MAX_CELLS};

/// Coefficients of atoms in all.
const MAX_NUMBERS_IN_ALL: usize = 50_000_000;
/// Regions bounded in one round.
const ROUND: usize = 64;
/// Splits above a region: fewer than the checker reads, so that there is room for those of a leaf that it does not accept.
const DEEPEST: usize = MAX_DEPTH - 10;
/// Up to so many free features regions are split on features at first: with few of them that shrinks a region fastest.
const FEW_FEATURES: usize = 8;
/// With so few relus left whose sign is open, and which count, their signs are split: that ends, whatever the function's shape;
const FEW_UNITS: usize = 8;
/// so it does in a network with so few of them;
const SMALL: usize = 64;
/// and where so many splits for each feature were not enough.
const MOST_SPLITS: usize = 10;
/// Signs known at once before features are split again.
const MAX_SIGNS: usize = 60;

/// What a search works on.
pub(super) struct RegionSearch<'a> {
    /// The rule, which is attacked on the way; whether to stop is asked after every round, too.
    pub target: Target<'a>,
    pub threads: usize,
    pub seed: u64,
    /// Open regions that may wait at once.
    pub most_open: usize,
    /// Regions that may be bounded.
    pub most_regions: usize,
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

/// A region that is not closed yet.
#[derive(Clone)]
struct Open {
    slot: usize,
    region: Region,
    signs: Vec<Sign>,
    depth: usize,
    /// Boxes of the parts that cells leave of this region, or of a larger one.
    boxes: Option<Arc<KnownBoxes>>,
}

/// Boxes of the parts that cells leave of a region.
struct KnownBoxes {
    region: Region,
    parts: BTreeMap<Region, Arc<(Inputs, Boxes)>>,
}

/// A place in the tree.
enum Slot {
    Open,
    Leaf(Bounds, Vec<Vec<u64>>, Vec<Lines>),
    Split(usize, Cut, [usize; 2]),
    Unit(usize, usize, [usize; 2]),
}

/// The state of a search, which can go on.
pub(super) struct State {
    cells: Vec<CellForms>,
    slots: Vec<Slot>,
    open: Vec<Open>,
    /// Regions bounded so far.
    pub regions: usize,
    /// Whether leaves that only exact arithmetic can tell to be closed count as such until the checker says no.
    lenient: bool,
    tentative: Vec<Open>,
}

enum Bounded {
    Closed(Leaf),
    Refuted(CounterExample),
    Split(usize, Cut, Arc<KnownBoxes>),
    Unit(usize, usize, Arc<KnownBoxes>),
    Stuck,
}

/// What the certificate says about a region, and whether only exact arithmetic can tell that it is true.
struct Leaf {
    bounds: Bounds,
    lists: Vec<Vec<u64>>,
    lines: Vec<Lines>,
    tentative: bool,
}

impl RegionSearch<'_> {
    /// A search over a region, nothing done yet; `None` if the rule has too many cells.
    pub fn start(&self, region: Region) -> Option<State> {
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
        let open = vec![Open { slot: 0, region, signs: Vec::new(), depth: 0, boxes: None }];
        Some(State { cells: found, slots: vec![Slot::Open], open, regions: 0, lenient: true, tentative: Vec::new() })
    }

    /// Attacks every cell on the whole region.
    pub fn attack(&self, state: &State, effort: Effort) -> Option<CounterExample> {
        let region = &state.open.first()?.region;
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

    /// Attacks a rule that has too many cells.
    pub fn attack_near(&self, region: &Region, effort: Effort) -> Option<CounterExample> {
        self.target.search_near(region, effort, self.seed, &|| (self.target.stop)().is_some())
    }

    /// Goes on until the search ends.
    pub fn run(&self, state: &mut State) -> SearchEnd {
        let mut margin = false;
        while !state.open.is_empty() {
            if let Some(halt) = (self.target.stop)() {
                return SearchEnd::Open(LeftOpen::Halted(halt));
            }
            if state.regions >= self.most_regions {
                return SearchEnd::Open(LeftOpen::TooManyRegions);
            }
            let batch = state.open.split_off(state.open.len().saturating_sub(ROUND));
            let results = self.round(&state.cells, &batch, state.lenient);
            state.regions += batch.len();
            for (open, result) in batch.into_iter().zip(results) {
                match result {
                    Bounded::Refuted(example) => return SearchEnd::Refuted(example),
                    Bounded::Closed(leaf) => {
                        state.slots[open.slot] = Slot::Leaf(leaf.bounds, leaf.lists, leaf.lines);
                        if leaf.tentative {
                            state.tentative.push(Open { boxes: None, ..open });
                        }
                    }
                    Bounded::Stuck => margin = true,
                    Bounded::Split(feature, cut, boxes) => match open.region.split(feature, &cut) {
                        Ok(parts) => {
                            let children = parts.map(|region| (region, open.signs.clone(), Some(boxes.clone())));
                            let ids = state.add(&open, children);
                            state.slots[open.slot] = Slot::Split(feature, cut, ids);
                        }
                        Err(_) => margin = true,
                    },
                    Bounded::Unit(node, unit, boxes) => {
                        let child = |above| {
                            let mut signs = open.signs.clone();
                            signs.push(Sign { node, unit, above });
                            (open.region.clone(), signs, Some(boxes.clone()))
                        };
                        let ids = state.add(&open, [child(false), child(true)]);
                        state.slots[open.slot] = Slot::Unit(node, unit, ids);
                    }
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

    fn round(&self, cells: &[CellForms], batch: &[Open], lenient: bool) -> Vec<Bounded> {
        let bound = |pass: &mut Pass, open: &Open| self.bound(cells, open, lenient, pass);
        let results = parallel::map(batch, self.threads, &|| false, Pass::default, bound);
        results.into_iter().map(|step| step.expect("every region was bounded")).collect()
    }

    /// Bounds one region: closed if every cell is refuted, else split where the first open cell says. Signs of units that are known
    /// on a larger region are taken from there at first, which saves most of the work; the checker looks at each leaf afresh, so
    /// a region is closed only if it closes without them, too.
    fn bound(&self, cells: &[CellForms], open: &Open, lenient: bool, pass: &mut Pass) -> Bounded {
        let larger = open.boxes.as_deref().filter(|k| k.region != open.region && self.target.plan.piecewise_linear());
        if larger.is_some() {
            match self.bound_from(cells, open, larger, lenient, pass) {
                Bounded::Closed(..) | Bounded::Unit(..) => {}
                other => return other,
            }
        }
        self.bound_from(cells, open, None, lenient, pass)
    }

    fn bound_from(
        &self,
        cells: &[CellForms],
        open: &Open,
        larger: Option<&KnownBoxes>,
        lenient: bool,
        pass: &mut Pass,
    ) -> Bounded {
        let parts: Vec<(&CellForms, Region)> =
            cells.iter().map(|cell| (cell, cell.part(&open.region))).filter(|(_, part)| !part.is_empty()).collect();
        let closed = |bounds, lists, lines, tentative| Bounded::Closed(Leaf { bounds, lists, lines, tentative });
        if parts.is_empty() {
            return closed(Bounds::Interval, Vec::new(), Vec::new(), false);
        }
        if open.signs.is_empty()
            && let Some((lists, tentative)) = self.by_intervals(&parts, lenient, pass)
        {
            return closed(Bounds::Interval, lists, Vec::new(), tentative);
        }
        let mut known = KnownBoxes { region: open.region.clone(), parts: BTreeMap::new() };
        let same = open.boxes.as_ref().filter(|k| k.region == open.region);
        let (mut lists, mut lines, mut tentative) = (Vec::new(), Vec::new(), false);
        for (cell, part) in &parts {
            let here = known.parts.entry(part.clone()).or_insert_with(|| {
                same.and_then(|k| k.parts.get(part)).cloned().unwrap_or_else(|| {
                    let inputs = self.target.plan.inputs(part);
                    let prior = larger.and_then(|k| k.parts.get(&cell.part(&k.region)));
                    let boxes = self.target.plan.boxes(&inputs, Kind::Lines, prior.map(|p| &p.1), pass);
                    Arc::new((inputs, boxes))
                })
            });
            let (inputs, base) = (here.0.clone(), here.clone());
            let Some(boxes) = with_signs(self.target.plan, &base.1, &open.signs) else {
                lists.push(cell.atoms.iter().map(|_| 1).collect());
                lines.push(Lines { signs: vec![0.0; open.signs.len()], slopes: Vec::new() });
                continue;
            };
            let ground = Ground { plan: self.target.plan, kind: Kind::Lines, boxes: &boxes, inputs: &inputs, signs: &open.signs };
            let found = cell.bound(ground, pass);
            if found.refuted || lenient && found.tight {
                let (list, line) = cell.numbers(ground, &found);
                lists.push(list);
                lines.push(line);
                tentative |= !found.refuted;
                continue;
            }
            let from = [pass.best_input(self.target.plan)];
            let choice = self.apart(&open.region, &parts).or_else(|| self.choose(open, part, &boxes, &inputs, pass));
            let effort = Effort { starts: 1, steps: 6 };
            if let Some(example) = self.target.search(cell, part, &inputs, effort, &from, self.seed ^ open.slot as u64) {
                return Bounded::Refuted(example);
            }
            return match choice {
                Some(Choice::Feature(feature, cut)) => Bounded::Split(feature, cut, Arc::new(known)),
                Some(Choice::Unit(node, unit)) => {
                    // Cells that come later keep their boxes, too.
                    known.parts.extend(same.iter().flat_map(|k| k.parts.clone()));
                    Bounded::Unit(node, unit, Arc::new(known))
                }
                None => Bounded::Stuck,
            };
        }
        if open.signs.is_empty() && lines.iter().all(|l| l.slopes.is_empty()) {
            lines.clear();
        }
        closed(Bounds::Relational, lists, lines, tentative)
    }

    /// Multipliers for all cells with intervals alone, which are the quickest to check; and whether only exact arithmetic can tell.
    fn by_intervals(&self, parts: &[(&CellForms, Region)], lenient: bool, pass: &mut Pass) -> Option<(Vec<Vec<u64>>, bool)> {
        let mut boxes: BTreeMap<&Region, (Inputs, Boxes)> = BTreeMap::new();
        let (mut lists, mut tentative) = (Vec::new(), false);
        for (cell, part) in parts {
            let (inputs, boxes) = boxes.entry(part).or_insert_with(|| {
                let inputs = self.target.plan.inputs(part);
                let boxes = self.target.plan.boxes(&inputs, Kind::Interval, None, pass);
                (inputs, boxes)
            });
            let ground = Ground { plan: self.target.plan, kind: Kind::Interval, boxes, inputs, signs: &[] };
            let found = cell.bound(ground, pass);
            if !(found.refuted || lenient && found.tight) {
                return None;
            }
            tentative |= !found.refuted;
            lists.push(cell.numbers(ground, &found).0);
        }
        Some((lists, tentative))
    }

    /// A cut along the border of a part, where cells leave different parts of a region: each then has its own regions.
    fn apart(&self, region: &Region, parts: &[(&CellForms, Region)]) -> Option<Choice> {
        let first = &parts[0].1;
        if parts.iter().all(|(_, part)| part == first) {
            return None;
        }
        let cut = |part: &Region, f: usize| {
            let cut = match (region.range(f), part.range(f)) {
                (Some((_, hi)), Some((_, end))) if end < hi => Cut::At(end as f32),
                (Some((lo, _)), Some((end, _))) if end > lo => {
                    Cut::At(region.step(f).map_or((end as f32).next_down(), |step| (end - step) as f32))
                }
                _ => match (region.levels(f), part.levels(f)) {
                    (Some(all), Some(own)) if all != own => Cut::Levels((0..own.len()).filter(|l| own[*l]).collect()),
                    _ => return None,
                },
            };
            region.split(f, &cut).is_ok_and(|sides| !sides.iter().any(Region::is_empty)).then_some(Choice::Feature(f, cut))
        };
        let features = 0..self.target.plan.first.len();
        features.into_iter().find_map(|f| parts.iter().find_map(|(_, part)| cut(part, f)))
    }

    fn choose(&self, open: &Open, part: &Region, boxes: &Boxes, inputs: &Inputs, pass: &Pass) -> Option<Choice> {
        if open.depth >= DEEPEST {
            return None;
        }
        let free = (0..self.target.plan.first.len()).filter(|f| width(part, *f) > 0.0).count();
        let by_feature = || self.feature(part, boxes, inputs, pass).map(|(f, cut)| Choice::Feature(f, cut));
        if open.signs.len() >= MAX_SIGNS || !self.target.plan.piecewise_linear() {
            return by_feature();
        }
        let (unit, count) = self.unit(boxes, pass);
        let by_unit = unit.map(|(k, i)| Choice::Unit(k, i));
        // Signs say nothing about which whole numbers, multiples and levels there are.
        let stepwise = (0..self.target.plan.first.len())
            .any(|f| width(part, f) > 0.0 && (part.range(f).is_none() || part.step(f).is_some()));
        let splits = open.depth - open.signs.len();
        let small = self.target.plan.relus() <= SMALL || count <= FEW_UNITS || splits > MOST_SPLITS * free;
        let first = free <= FEW_FEATURES && open.signs.is_empty() && (stepwise || !small);
        if first { by_feature().or(by_unit) } else { by_unit.or_else(by_feature) }
    }

    /// The relu whose line lies farthest from it where the bound is taken, and how many have a line at all.
    fn unit(&self, boxes: &Boxes, pass: &Pass) -> (Option<(usize, usize)>, usize) {
        let mut count = 0;
        let mut best: Option<(f64, (usize, usize))> = None;
        for (k, step) in self.target.plan.steps.iter().enumerate() {
            let Step::Act(Activation::Relu, from) = step else { continue };
            for (i, a) in pass.a[k + 1].iter().enumerate() {
                let (l, u) = (boxes.lo[*from][i], boxes.hi[*from][i]);
                // Written so that ends which are not numbers, of values beyond float64, are left out.
                let open = l < 0.0 && u > 0.0;
                if !open || *a == 0.0 {
                    continue;
                }
                count += 1;
                let v = pass.values[*from][i].clamp(l, u);
                let (s, t) = pass.lines[k][i];
                let here = a.abs() * (s * v + t - v.max(0.0)).abs();
                let room = if *a > 0.0 { -l * u / (u - l) } else { (-l * s).max(u * (1.0 - s)) };
                let score = here + 0.1 * a.abs() * room;
                if best.is_none_or(|(b, _)| score > b) {
                    best = Some((score, (k, i)));
                }
            }
        }
        (best.map(|(_, place)| place), count)
    }

    /// The feature on which the bound depends most, and the middle of its range.
    fn feature(&self, part: &Region, boxes: &Boxes, inputs: &Inputs, pass: &Pass) -> Option<(usize, Cut)> {
        let smooth = !self.target.plan.piecewise_linear();
        let weights =
            if smooth { self.target.plan.sensitivity(&pass.a[self.target.plan.output()], boxes) } else { pass.a[0].clone() };
        let mut reach = vec![0.0f64; self.target.plan.first.len()];
        for (f, reach) in reach.iter_mut().enumerate() {
            let first = self.target.plan.first[f];
            if part.range(f).is_some() {
                *reach = weights[first].abs() * (inputs.hi[first] - inputs.lo[first]);
            } else if let Some(allowed) = part.levels(f) {
                let weight = |l: usize| l.checked_sub(self.target.plan.dropped).map_or(0.0, |l| weights[first + l]);
                let left = (0..allowed.len()).filter(|l| allowed[*l]).map(weight);
                let (lo, hi) = left.fold((f64::MAX, f64::MIN), |(a, b), w| (a.min(w), b.max(w)));
                *reach = if smooth { hi.max(-lo) * f64::from(u8::from(width(part, f) > 0.0)) } else { hi - lo };
            }
        }
        let total = reach.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        let whole = Region::whole(&self.target.spec.schema).ok()?;
        // A feature that the last lines do not mention may still widen the boxes: its share of the domain counts a little.
        let score = |f: usize| reach[f] / total + 0.05 * width(part, f) / width(&whole, f).max(f64::MIN_POSITIVE);
        let free = (0..reach.len()).filter(|f| width(part, *f) > 0.0);
        let best = free.max_by(|a, b| score(*a).total_cmp(&score(*b)).then(b.cmp(a)))?;
        Some((best, middle(part, best)?))
    }
}

enum Choice {
    Feature(usize, Cut),
    Unit(usize, usize),
}

/// The range of a number, or how many levels too many a category has.
fn width(region: &Region, feature: usize) -> f64 {
    match region.range(feature) {
        Some((lo, hi)) => hi - lo,
        None => region.levels(feature).map_or(0.0, |l| l.iter().filter(|a| **a).count() as f64 - 1.0),
    }
}

/// A cut that leaves something on both sides.
fn middle(region: &Region, feature: usize) -> Option<Cut> {
    if let Some((lo, hi)) = region.range(feature) {
        let at = f64::midpoint(lo, hi) as f32;
        let at = if f64::from(at) >= hi { at.next_down() } else { at };
        let at = region.step(feature).map_or(at, |step| ((f64::midpoint(lo, hi) / step).floor() * step) as f32);
        return (f64::from(at) >= lo && f64::from(at) < hi).then_some(Cut::At(at));
    }
    let allowed: Vec<usize> = region.levels(feature)?.iter().enumerate().filter(|(_, a)| **a).map(|(l, _)| l).collect();
    (allowed.len() > 1).then(|| Cut::Levels(allowed[..allowed.len() / 2].to_vec()))
}

impl State {
    fn add(&mut self, parent: &Open, children: [(Region, Vec<Sign>, Option<Arc<KnownBoxes>>); 2]) -> [usize; 2] {
        children.map(|(region, signs, boxes)| {
            let slot = self.slots.len();
            self.slots.push(Slot::Open);
            self.open.push(Open { slot, region, signs, depth: parent.depth + 1, boxes });
            slot
        })
    }

    /// The tree as the certificate has it; open places as leaves without cells, which prove nothing.
    pub fn tree(&self) -> Tree {
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

    /// Opens all leaves again that were only hoped to be closed, for good; false if there is none.
    pub fn doubt(&mut self) -> bool {
        self.lenient = false;
        let tentative = std::mem::take(&mut self.tentative);
        let any = !tentative.is_empty();
        tentative.iter().for_each(|open| self.slots[open.slot] = Slot::Open);
        self.open.extend(tentative);
        any
    }

    /// Opens a leaf again that the checker did not accept, split in the middle of its widest feature; false if it can't be.
    pub fn reopen(&mut self, whole: &Region, path: &[bool]) -> bool {
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
                    signs.push(Sign { node: *node, unit: *unit, above });
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
        let Some(cut) = middle(&region, feature) else { return false };
        let Ok(parts) = region.split(feature, &cut) else { return false };
        let parent = Open { slot, region, signs: signs.clone(), depth, boxes: None };
        let ids = self.add(&parent, parts.map(|part| (part, signs.clone(), None)));
        self.slots[slot] = Slot::Split(feature, cut, ids);
        true
    }
}
