//! A cell of a rule's negation on a leaf enters; the margin by which its multipliers refute it leaves, or why they do not.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use dashu::integer::IBig;
use deepsade_spec::{Atom, Linear, Rational, Region, Var, common_denominator};

use crate::certificate::{Bounds, Lines, SLOPES};
use crate::dyadic::Dyadic;
use crate::floats::{Boxes, FloatScratch, Floats};
use crate::linear::{Form, GateEnd};
use crate::machine::{Known, Machine, Sign};
use crate::rejected::{Misfit, Overflow, Why};

/// Parts of one region whose bounds are kept for the next cells and rules.
const KEPT_REGIONS: usize = 64;
/// A bound in float64 that is above zero by more than this share of its terms is not below zero in exact arithmetic either, but for
/// a choice between two lines that happens to fall differently; refusing is always sound.
const CLEAR: f64 = 1e-6;

/// What bounds cells: float64 where that decides, exact arithmetic else.
pub(crate) struct Refuter<'n> {
    pub(crate) machine: Machine<'n>,
    /// `None` where exact arithmetic alone is asked for, or has the operators.
    floats: Option<Arc<Floats<'n>>>,
    boxes: TreeBounds<Boxes>,
    scratch: FloatScratch,
    known: TreeBounds<Known>,
    parts: CellParts,
}

/// Where a cell is refuted: the regions from the root of the tree down to the leaf, and the signs that are known there.
pub(crate) struct Leaf<'l> {
    pub(crate) regions: &'l [Arc<Region>],
    pub(crate) bounds: Bounds,
    pub(crate) signs: &'l [Sign],
    /// Which of the rule's cells it is.
    pub(crate) cell: usize,
}

/// What cells leave of the regions of a tree, of those from the root down: exact arithmetic, done once for all leaves below a region.
#[derive(Default)]
pub(crate) struct CellParts(Vec<Option<RegionParts>>);

/// A region, and what is left of it by the number of the cell.
type RegionParts = (Arc<Region>, BTreeMap<usize, Region>);

impl CellParts {
    /// What the atoms of a rule's cell leave of a region at this depth. The region that is kept is the very same one, and each rule has
    /// regions of its own.
    pub(crate) fn at(&mut self, depth: usize, region: &Arc<Region>, cell: usize, atoms: &[Atom]) -> &Region {
        if self.0.len() <= depth {
            self.0.resize_with(depth + 1, || None);
        }
        let kept = self.0[depth].take().filter(|(of, parts)| Arc::ptr_eq(of, region) && parts.len() < KEPT_REGIONS);
        let (_, parts) = self.0[depth].insert(kept.unwrap_or_else(|| (region.clone(), BTreeMap::new())));
        parts.entry(cell).or_insert_with(|| region.cut_by(atoms))
    }
}

/// Bounds of what cells leave of regions: of those from the root of a tree down, one list each. Bounds of kinds that inherit nothing
/// all stand in the first.
struct TreeBounds<T>(Vec<Vec<(Region, Bounds, T)>>);

/// Makes the bounds of a region, given those of a larger one.
type Make<'m, T> = dyn FnMut(&Region, Option<&T>) -> Result<T, Overflow> + 'm;

impl<T> TreeBounds<T> {
    /// The bounds of what atoms leave of the leaf's region. Those of a larger region hold on a smaller one, too: so inherited ones
    /// are made from those of the region above, and they from those above them.
    fn at(&mut self, leaf: &Leaf, atoms: &[Atom], parts: &mut CellParts, make: &mut Make<T>) -> Result<&T, Why> {
        let from = if leaf.bounds == Bounds::Inherited { 0 } else { leaf.regions.len() - 1 };
        let depths = leaf.regions.len() - from;
        if self.0.len() < depths {
            self.0.resize_with(depths, Vec::new);
        }
        let mut found = |d: usize| {
            let part = parts.at(from + d, &leaf.regions[from + d], leaf.cell, atoms);
            self.0[d].iter().position(|(of, bounds, _)| *bounds == leaf.bounds && of == part).map(|place| (d, place))
        };
        let mut known = (0..depths).rev().find_map(&mut found);
        for d in known.map_or(0, |(d, _)| d + 1)..depths {
            let part = parts.at(from + d, &leaf.regions[from + d], leaf.cell, atoms);
            let made = make(part, known.map(|(d, place)| &self.0[d][place].2))?;
            if self.0[d].len() == KEPT_REGIONS {
                self.0[d].clear();
            }
            self.0[d].push((part.clone(), leaf.bounds, made));
            known = Some((d, self.0[d].len() - 1));
        }
        known.map(|(d, place)| &self.0[d][place].2).ok_or(Why::Misfit(Misfit::BoundsLost))
    }
}

/// What float64 says of a form.
enum ByFloats {
    /// No evaluation has the leaf's signs.
    NoEvaluation,
    /// An upper bound, whose sign is certain.
    Most(Dyadic),
    /// Exact arithmetic must tell.
    Open,
}

impl<'n> Refuter<'n> {
    pub(crate) fn new(machine: Machine<'n>, exactly: bool) -> Self {
        Self::over(machine, if exactly { None } else { Floats::new(&machine).map(Arc::new) })
    }

    /// One for another thread, that knows of no region yet.
    pub(crate) fn another(&self) -> Self {
        Self::over(self.machine, self.floats.clone())
    }

    fn over(machine: Machine<'n>, floats: Option<Arc<Floats<'n>>>) -> Self {
        let (boxes, known) = (TreeBounds(Vec::new()), TreeBounds(Vec::new()));
        Self { machine, floats, boxes, scratch: FloatScratch::new(), known, parts: CellParts::default() }
    }

    /// Whether every value is finite on a region, in float32 where that is asked for.
    pub(crate) fn stays_finite(&self, region: &Region) -> Result<(), Overflow> {
        let finite = |floats: &Arc<Floats>| floats.boxes(region, Bounds::Interval, None, &mut FloatScratch::new()).is_ok();
        if self.floats.as_ref().is_some_and(finite) {
            return Ok(());
        }
        self.machine.known(region, Bounds::Interval).map(drop)
    }

    /// Forgets the bounds of regions below so many of a tree.
    pub(crate) fn leave(&mut self, regions: usize) {
        self.boxes.0.truncate(regions.max(1));
        self.known.0.truncate(regions.max(1));
    }

    /// Whether the atoms of a rule's cell leave nothing of a leaf's region.
    pub(crate) fn leaves_nothing(&mut self, leaf: &Leaf, atoms: &[Atom]) -> bool {
        let last = leaf.regions.len() - 1;
        self.parts.at(last, &leaf.regions[last], leaf.cell, atoms).is_empty()
    }

    /// The margin by which multipliers refute a cell. Were there a point where every atom holds (each >= 0, strict ones > 0), the
    /// weighted sum would be >= 0, and > 0 if a strict atom has weight; and no less with a known sign's `v >= 0` or `-v >= 0` added
    /// to it; but it is at most `most`.
    pub(crate) fn cell(&mut self, atoms: &[Atom], multipliers: &[u64], leaf: &Leaf, lines: Option<&Lines>) -> Result<f64, Why> {
        if multipliers.len() != atoms.len() {
            return Err(Misfit::Multipliers { found: multipliers.len(), atoms: atoms.len() }.into());
        }
        let (mut sum, mut weight, mut strict) = (Linear::default(), IBig::ZERO, false);
        for (atom, l) in atoms.iter().zip(multipliers) {
            sum.add_scaled(&Rational::from(*l), &atom.linear);
            weight += *l;
            strict |= atom.strict && *l > 0;
        }
        if weight.is_zero() {
            return Err(Misfit::AllZero.into());
        }
        let (mut form, denominator) = self.form(&sum)?;
        let none = Lines::default();
        if let Some(lines) = lines {
            if lines.signs.len() != leaf.signs.len() {
                return Err(Misfit::SignMultipliers { found: lines.signs.len(), signs: leaf.signs.len() }.into());
            }
            for (sign, l) in leaf.signs.iter().zip(&lines.signs) {
                let l = &Dyadic::from(if sign.above { *l } else { -l }) * &Dyadic::int(denominator.clone());
                let width = self.machine.network.width(sign.value).unwrap_or_default();
                form.add(sign.value, width, [(sign.unit, l)].into_iter());
            }
        }
        let slopes = &lines.unwrap_or(&none).slopes;
        let margin = |most: &Dyadic| (-most).over_down(&(&denominator * &weight));
        match self.by_floats(&form, atoms, leaf, slopes) {
            ByFloats::NoEvaluation => return Ok(f64::INFINITY),
            ByFloats::Most(most) if most.is_negative() => return Ok(margin(&most)),
            ByFloats::Most(most) => return Err(Why::NotRefuted(-margin(&most))),
            ByFloats::Open => {}
        }
        let Some(most) = self.exactly(&form, atoms, leaf, slopes)? else { return Ok(f64::INFINITY) };
        if most.is_negative() || strict && most.is_zero() {
            return Ok(margin(&most));
        }
        Err(Why::NotRefuted(-margin(&most)))
    }

    /// An upper bound of a form on what atoms leave of a leaf, if float64 tells its sign.
    fn by_floats(&mut self, form: &Form, atoms: &[Atom], leaf: &Leaf, slopes: &[[usize; 3]]) -> ByFloats {
        let Some(floats) = &self.floats else { return ByFloats::Open };
        let scratch = &mut self.scratch;
        let mut make = |region: &Region, larger: Option<&Boxes>| floats.boxes(region, leaf.bounds, larger, scratch);
        let made = self.boxes.at(leaf, atoms, &mut self.parts, &mut make);
        let Ok(boxes) = made else { return ByFloats::Open };
        let with_signs = if leaf.signs.is_empty() { Some(Cow::Borrowed(boxes)) } else { boxes.with(leaf.signs).map(Cow::Owned) };
        let Some(boxes) = with_signs else { return ByFloats::NoEvaluation };
        let last = leaf.regions.len() - 1;
        let part = self.parts.at(last, &leaf.regions[last], leaf.cell, atoms);
        let slopes = slopes.iter().map(|[node, unit, n]| ((*node, *unit), *n as f64 / SLOPES as f64)).collect();
        let upper = floats.most(form, (&boxes, part), leaf.bounds, (&slopes, &mut self.scratch));
        let clear = upper.most < 0.0 || upper.most > CLEAR * (upper.size + 1e-100);
        if clear { ByFloats::Most(Dyadic::float(upper.most)) } else { ByFloats::Open }
    }

    /// The same in exact arithmetic.
    fn exactly(&mut self, form: &Form, atoms: &[Atom], leaf: &Leaf, slopes: &[[usize; 3]]) -> Result<Option<Dyadic>, Why> {
        let machine = &self.machine;
        let known = self
            .known
            .at(leaf, atoms, &mut self.parts, &mut |region, larger| machine.known_within(region, leaf.bounds, larger))?;
        let Some(mut known) = known.with(leaf.signs) else { return Ok(None) };
        let slope = |n: usize| Dyadic::from(n as f32 / SLOPES as f32);
        known.slopes = slopes.iter().map(|[node, unit, n]| ((*node, *unit), slope(*n))).collect();
        let last = leaf.regions.len() - 1;
        let part = self.parts.at(last, &leaf.regions[last], leaf.cell, atoms).clone();
        Ok(Some(self.most(form, &known, &part, leaf.bounds)))
    }

    /// A linear form of a rule times its common denominator, over outputs and input columns; and the denominator.
    fn form(&self, sum: &Linear) -> Result<(Form, IBig), Misfit> {
        let last = self.machine.network.nodes.len();
        let denominator = common_denominator(sum.terms.values().chain([&sum.constant]));
        let scaled = |c: &Rational| Dyadic::int((c * Rational::from(denominator.clone())).numerator().clone());
        let mut form = Form::new(self.machine.layout.width(), last);
        form.constant = scaled(&sum.constant);
        let outputs = self.machine.network.outputs();
        for (var, c) in &sum.terms {
            match var {
                Var::Output(j) if *j < outputs => form.add(last, outputs, [(*j, scaled(c))].into_iter()),
                Var::Output(j) => return Err(Misfit::NoOutput(*j)),
                input => self.machine.layout.add(*input, &scaled(c), &mut form.coefficients[0], &mut form.constant),
            }
        }
        Ok((form, denominator))
    }

    /// The best of several bounds: back through the network (at both ends of a gate; relational ones are not always the better, so
    /// both kinds), and the outputs' intervals as they stand.
    fn most(&self, form: &Form, known: &Known, region: &Region, bounds: Bounds) -> Dyadic {
        let machine = &self.machine;
        let back = |end: Option<&GateEnd>| {
            let by = |bounds: Bounds| machine.upper(form.clone(), known, region, bounds, end);
            if bounds == Bounds::Interval { by(bounds) } else { by(bounds).min(by(Bounds::Interval)) }
        };
        let through = machine.gate_ends(region).map_or_else(|| back(None), |[lo, hi]| back(Some(&lo)).max(back(Some(&hi))));
        let mut direct = &form.constant + &machine.layout.most(region, &form.coefficients[0]);
        for (coefficients, values) in form.coefficients.iter().zip(&known.values).skip(1) {
            coefficients.iter().zip(values).for_each(|(a, y)| direct += &y.most(a));
        }
        through.min(direct)
    }
}
