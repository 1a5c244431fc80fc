//! Rules, a network and the units of its outputs enter; the cells on their regions leave, and a guard if they can be emptied.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

use dashu::base::BitTest;
use deepsade_check::Bounds;
use deepsade_net::ball::UNIT;
use deepsade_net::{Network, Op};
use deepsade_solve::irreducible::irreducible;
use deepsade_spec::cells::cells;
use deepsade_spec::{Atom, ColumnKind, Formula, Linear, NormalSpec, Rational, Schema, Var};
use deepsade_spec::{Cut, Region};

use super::cell::{Cell, CellScratch, Margin, Term};
use super::change::Changes;
use super::metric::Metric;
use super::projection::Projection;
use super::trees::Regions;
use super::{Favoured, Guard, GuardError, Obstacle, Tightness, start};
use crate::bounds::{HiddenBounds, Origin, RelationScratch};
use crate::limits::{MAX_ATOMS, MAX_CELLS};
use crate::signs::Signs;
use crate::units::Units;

/// Atoms in all cells of a leaf that are looked at: cells may be as long as the rule, or void by the million.
const MAX_ATOMS_SEEN: usize = 20_000_000;
/// Times that regions may be split to find a first solution.
const MAX_SPLITS: usize = 24;

/// Beyond this a number is taken for it: no sum of outputs and inputs, float32 numbers all of them, comes near.
const FARTHEST: f64 = 1e250;

/// Everything that does not move during training.
pub(super) struct FixedParts<'a> {
    pub spec: &'a NormalSpec,
    pub network: &'a Network,
    pub units: &'a Units,
    pub kind: Bounds,
    /// Columns of what the last layer reads that come straight from the input.
    pub origins: Vec<Option<Origin>>,
    /// The gate's feature column and factor.
    pub gate: Option<Origin>,
    pub margin: Margin,
    /// How large outputs are.
    pub sizes: &'a [f64],
    /// How much wider than what rounding is known to take margins are.
    pub strictness: f64,
    pub besides: Besides<'a>,
}

/// What is no part of the rules or the network.
#[derive(Clone, Copy)]
pub(super) struct Besides<'a> {
    /// What the data favour.
    pub favoured: Option<&'a Favoured>,
    /// Whether to end.
    pub stop: &'a (dyn Fn() -> bool + Sync),
}

impl Besides<'static> {
    /// Nothing is favoured, and all is done to the end.
    pub const NOTHING: Self = Self { favoured: None, stop: &|| false };
}

/// A rule's regions before cells are attached: where they are cut.
#[derive(Debug, Clone)]
pub(super) enum Cuts {
    Whole,
    Split(usize, Cut, Box<Cuts>, Box<Cuts>),
}

pub(super) fn guard(
    spec: &NormalSpec,
    network: &Network,
    units: &Units,
    tightness: Tightness,
    besides: Besides,
) -> Result<Guard, GuardError> {
    let frame = FixedParts { besides, ..frame(spec, network, units, tightness.bounds, 1.0)? };
    let mut cuts: Vec<Cuts> = spec.rules.iter().map(|_| Cuts::Whole).collect();
    for (rule, cuts) in cuts.iter_mut().enumerate() {
        frame.tighten(rule, cuts, tightness.regions);
    }
    for _ in 0..=MAX_SPLITS {
        frame.go_on()?;
        let all: Vec<usize> = (0..spec.rules.len()).collect();
        let mut guard = frame.attach(&cuts, &all)?;
        match start::safe(&mut guard, &frame) {
            Ok(()) => return Ok(guard),
            Err(stuck) => {
                // Without cells only rules between two inputs stand in the way: no split helps.
                let Some(cell) = guard.cells.get(stuck) else { break };
                if !frame.split(&mut cuts[cell.rule], cell) {
                    break;
                }
            }
        }
    }
    let set = frame.smallest_infeasible(&cuts);
    frame.go_on()?;
    let mut rules: Vec<String> = set.iter().map(|r| spec.rules[*r].name.clone()).collect();
    if rules.is_empty() {
        rules.extend(spec.pairs.iter().map(|r| r.name.clone()));
    }
    Err(GuardError::Infeasible { rules, why: frame.why(&cuts, &set) })
}

/// A guard on given regions, without a safe last layer.
pub(super) fn attach(
    spec: &NormalSpec,
    network: &Network,
    units: &Units,
    sizes: &[f64],
    (kind, strictness): (Bounds, f64),
    cuts: &[Cuts],
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Guard, GuardError> {
    let all: Vec<usize> = (0..spec.rules.len()).collect();
    let besides = Besides { stop, ..Besides::NOTHING };
    FixedParts { sizes, besides, ..frame(spec, network, units, kind, strictness)? }.attach(cuts, &all)
}

fn frame<'a>(
    spec: &'a NormalSpec,
    network: &'a Network,
    units: &'a Units,
    kind: Bounds,
    strictness: f64,
) -> Result<FixedParts<'a>, GuardError> {
    let whole = Region::domain(&spec.schema).map_err(GuardError::Domain)?;
    let shape = HiddenBounds::new(network, &spec.schema, std::slice::from_ref(&whole));
    let gate = match network.nodes.last() {
        Some(node) if matches!(node.op, Op::Gate) => shape.origins_of(node.from[1]).first().copied().flatten(),
        _ => None,
    };
    let origins = shape.origins();
    let relative = strictness * 4.0 * (origins.len() as f64 + 8.0) * UNIT;
    Ok(FixedParts {
        spec,
        network,
        units,
        kind,
        origins,
        gate,
        margin: Margin { relative, absolute: 0.0 },
        sizes: &units.scale,
        strictness,
        besides: Besides::NOTHING,
    })
}

/// A number as float64.
fn near(value: &Rational) -> f64 {
    value.to_f64().value().clamp(-FARTHEST, FARTHEST)
}

/// A linear form, divided by 2^k if its coefficients are too large or too small for float64; and that k.
pub(super) fn readable(linear: &Linear) -> (Cow<'_, Linear>, isize) {
    let outputs = linear.mentions_output();
    let counts = linear.terms.iter().filter(|(var, _)| var.is_output() == outputs).map(|(_, c)| c);
    let size = |c: &Rational| c.numerator().bit_len() as isize - c.denominator().bit_len() as isize;
    match counts.map(size).max() {
        Some(power) if power.abs() > 500 => (Cow::Owned(linear.scaled(&Rational::from(2).pow(-power))), power),
        _ => (Cow::Borrowed(linear), 0),
    }
}

impl FixedParts<'_> {
    pub(super) fn stopped(&self) -> bool {
        (self.besides.stop)()
    }

    fn go_on(&self) -> Result<(), GuardError> {
        if self.stopped() { Err(GuardError::Stopped) } else { Ok(()) }
    }

    /// Cells of the chosen rules on their regions.
    fn attach(&self, cuts: &[Cuts], chosen: &[usize]) -> Result<Guard, GuardError> {
        let schema = &self.spec.schema;
        let mut attached = Attached { regions: BTreeMap::new(), cells: Vec::new() };
        let mut trees = Vec::new();
        for &rule in chosen {
            let whole = Region::domain(schema).map_err(GuardError::Domain)?;
            let before = attached.cells.len();
            trees.push(self.leaves(rule, &cuts[rule], &whole, &mut attached, before)?);
        }
        let Attached { regions, cells } = attached;
        let mut list: Vec<(Region, usize)> = regions.into_iter().collect();
        list.sort_by_key(|(_, index)| *index);
        let list: Vec<Region> = list.into_iter().map(|(region, _)| region).collect();
        let outputs = schema.task.outputs();
        let mut guard = Guard {
            bounds: HiddenBounds::new(self.network, schema, &list),
            cells,
            cuts: chosen.iter().map(|r| cuts[*r].clone()).collect(),
            trees,
            rules: chosen.iter().map(|r| self.spec.rules[*r].name.clone()).collect(),
            safe: super::Safe::default(),
            metric: Metric::plain(self.origins.len()),
            margin: self.margin,
            kind: self.kind,
            nearest: Projection::default(),
            scratch: CellScratch::default(),
            kept: Vec::new(),
            kept_count: 0,
            point: Vec::new(),
            relation: RelationScratch::default(),
            outputs,
            inputs: self.origins.len(),
            signs: Signs::kept_by(self.spec, self.network).map(|signs| {
                let last = (self.origins.len() + 1) * outputs;
                signs.of(signs.len() - last..signs.len())
            }),
            changes: Changes::new(self.spec, self.network, self.units, self.strictness),
            settled: false,
            sizes: self.sizes.to_vec(),
            effort: start::EFFORT,
            distinct: Vec::new(),
        };
        guard.distinct = (0..guard.cells.len()).collect();
        Ok(guard)
    }

    fn leaves(
        &self,
        rule: usize,
        cuts: &Cuts,
        region: &Region,
        attached: &mut Attached,
        before: usize,
    ) -> Result<Regions, GuardError> {
        if let Cuts::Split(feature, cut, below, above) = cuts {
            let [low, high] = region.split(*feature, cut).map_err(GuardError::Cut)?;
            return Ok(Regions::Split {
                feature: *feature,
                cut: cut.clone(),
                below: Box::new(self.leaves(rule, below, &low, attached, before)?),
                above: Box::new(self.leaves(rule, above, &high, attached, before)?),
            });
        }
        self.go_on()?;
        let mut leaf = Vec::new();
        let negated = self.spec.rules[rule].claim.negated();
        let (mut seen, mut kept) = (0, 0);
        let end = cells(&negated, &mut |atoms| {
            seen += atoms.len();
            if seen > MAX_ATOMS_SEEN {
                return ControlFlow::Break(());
            }
            let mut part = region.clone();
            for atom in atoms {
                part.cut(atom);
                if part.is_empty() {
                    return ControlFlow::Continue(());
                }
            }
            kept += atoms.len();
            if attached.cells.len() - before == MAX_CELLS || kept > MAX_ATOMS {
                return ControlFlow::Break(());
            }
            leaf.push(attached.cells.len());
            let next = attached.regions.len();
            let index = *attached.regions.entry(part.clone()).or_insert(next);
            attached.cells.push(self.cell(rule, index, &part, atoms));
            ControlFlow::Continue(())
        });
        match end {
            ControlFlow::Continue(()) => Ok(Regions::Leaf(leaf)),
            ControlFlow::Break(()) => Err(GuardError::TooManyCells { rule: self.spec.rules[rule].name.clone(), most: MAX_CELLS }),
        }
    }

    fn cell(&self, rule: usize, region: usize, part: &Region, atoms: &[Atom]) -> Cell {
        let clauses = self.besides.favoured.and_then(|favoured| favoured.clauses.as_ref());
        let favoured = clauses.and_then(|(clauses, _)| clauses.multipliers(atoms));
        let mut atoms: Vec<Term> = atoms.iter().map(|atom| self.term(atom, part)).collect();
        let several = atoms.iter().filter(|a| a.free).count() > 1;
        atoms.iter_mut().for_each(|atom| atom.in_unit(self.unit(atom, several)));
        let scales = atoms.iter().filter(|a| a.free).all(|a| a.c.is_empty() && a.d == 0.0);
        let ends = self.gate.map(|gate| {
            let feature = self.spec.schema.columns()[gate.column].feature;
            let (lo, hi) = part.range(feature).unwrap_or((0.0, 1.0));
            [lo, hi].map(|end| end * gate.scale + gate.shift)
        });
        let rho = match ends {
            // A factor that may be negative turns atoms round.
            Some(ends) if !scales || ends.iter().any(|rho| *rho < 0.0) => ends.to_vec(),
            _ => vec![1.0],
        };
        let mut cell = Cell::new(rule, region, atoms, rho);
        cell.favoured = favoured;
        cell
    }

    /// An atom in training units. A feature that does not reach the last layer takes its worst value.
    fn term(&self, atom: &Atom, part: &Region) -> Term {
        let inputs = atom.linear.terms.keys().filter(|v| !v.is_output()).count();
        let (linear, power) = readable(&atom.linear);
        let map = self.spec.schema.column_map();
        let mut term =
            Term { d: near(&linear.constant), free: atom.linear.mentions_output() || inputs > 1, power, ..Term::default() };
        for (var, c) in &linear.terms {
            let c = near(c);
            match *var {
                Var::Output(j) => {
                    term.a.push((j, c * self.units.scale[j]));
                    term.d += c * self.units.shift[j];
                }
                Var::Feature(f) => match map.first(f) {
                    column if self.gate.is_some_and(|g| g.column == column) => {
                        let (scale, shift) = self.gate.map_or((1.0, 0.0), |g| (g.scale, g.shift));
                        term.gate += c / scale;
                        term.d -= c * shift / scale;
                    }
                    column if self.add(&mut term, column, c) => {}
                    _ => {
                        let (lo, hi) = part.range(f).unwrap_or((0.0, 0.0));
                        term.d += (c * lo).max(c * hi);
                    }
                },
                level @ Var::Level(..) => {
                    let constant = map.of(level).times(&c, |column, c| {
                        if !self.add(&mut term, column, c) {
                            term.d += c.max(0.0);
                        }
                    });
                    term.d += constant;
                }
            }
        }
        term
    }

    /// What an atom is divided by, so that it does not matter in which units a rule is written: its largest coefficient of an output,
    /// in the rule's units or, where multipliers weigh atoms against each other, in sizes of outputs; of an input where it speaks of no
    /// output.
    fn unit(&self, atom: &Term, several: bool) -> f64 {
        let output = |(j, a): &(usize, f64)| a.abs() / self.units.scale[*j] * if several { self.sizes[*j] } else { 1.0 };
        let outputs = atom.a.iter().map(output).fold(0.0, f64::max);
        let inputs = atom.c.iter().map(|(_, c)| c.abs()).fold(atom.gate.abs(), f64::max);
        let usable = |size: &f64| size.is_normal();
        Some(outputs).filter(usable).or(Some(inputs).filter(usable)).or(Some(atom.d.abs()).filter(usable)).unwrap_or(1.0)
    }

    /// Adds `c * x[column]` where the last layer reads that column.
    fn add(&self, term: &mut Term, column: usize, c: f64) -> bool {
        let found = self.origins.iter().enumerate().find_map(|(k, o)| o.filter(|o| o.column == column).map(|o| (k, o)));
        let Some((k, origin)) = found else { return false };
        term.c.push((k, c / origin.scale));
        term.d -= c * origin.shift / origin.scale;
        true
    }

    /// Splits a rule's regions by the feature of a stuck cell that promises most: the widest one of which its atoms speak. One atom
    /// needs no case distinction between numbers; but the columns of a category that reach the last layer are boxes there, which
    /// do not know that exactly one level is taken, so a category is branched in any case.
    fn split(&self, cuts: &mut Cuts, cell: &Cell) -> bool {
        let columns = self.spec.schema.columns();
        let several = cell.atoms.iter().filter(|a| a.free).count() > 1;
        let mentioned = cell.atoms.iter().filter(|a| a.free && several).flat_map(|a| a.c.iter().map(|(k, _)| *k));
        let category = |k: &usize| self.origins[*k].is_some_and(|o| columns[o.column].kind != ColumnKind::Number);
        let features: std::collections::BTreeSet<usize> = mentioned
            .chain((0..self.origins.len()).filter(category))
            .filter_map(|k| self.origins[k])
            .map(|o| columns[o.column].feature)
            .collect();
        let Ok(whole) = Region::domain(&self.spec.schema) else { return false };
        let mut best: Option<(f64, &mut Cuts, usize, Cut)> = None;
        widest(cuts, &whole, &features, &self.spec.schema, &mut best);
        let Some((_, leaf, feature, cut)) = best else { return false };
        *leaf = Cuts::Split(feature, cut, Box::new(Cuts::Whole), Box::new(Cuts::Whole));
        true
    }

    /// The smallest set of rules for which no last layer is found on these regions.
    fn smallest_infeasible(&self, cuts: &[Cuts]) -> Vec<usize> {
        let n = self.spec.rules.len();
        let infeasible = |set: &[usize]| self.attach(cuts, set).is_ok_and(|mut guard| start::safe(&mut guard, self).is_err());
        for a in 0..n {
            if infeasible(&[a]) {
                return vec![a];
            }
        }
        for a in 0..n.min(40) {
            for b in a + 1..n.min(40) {
                if infeasible(&[a, b]) {
                    return vec![a, b];
                }
            }
        }
        irreducible((0..n).collect(), |set| infeasible(set).then_some(())).0
    }

    /// What stands in the way of these rules.
    fn why(&self, cuts: &[Cuts], set: &[usize]) -> Obstacle {
        if set.iter().any(|r| has_equality(&self.spec.rules[*r].claim)) {
            return Obstacle::Equality;
        }
        let Ok(mut guard) = self.attach(cuts, set) else { return Obstacle::NotFound };
        let firm = !guard.cells.iter().any(Cell::has_choice);
        match start::without_rounding(&mut guard, self) {
            Some(needed) => Obstacle::NoMargin { needed },
            None if firm => Obstacle::NotAffine,
            None => Obstacle::NotFound,
        }
    }
}

/// Whether a formula asks for two sides to be equal: an atom about outputs, and its negative.
fn has_equality(formula: &Formula) -> bool {
    let mut atoms = Vec::new();
    formula.atoms(&mut |atom| atoms.push(atom.clone()));
    atoms.iter().any(|a| a.linear.mentions_output() && atoms.iter().any(|b| a.equates(b)))
}

struct Attached {
    regions: BTreeMap<Region, usize>,
    cells: Vec<Cell>,
}

/// The leaf and feature with the widest range, as a share of the feature's own.
fn widest<'c>(
    cuts: &'c mut Cuts,
    region: &Region,
    features: &std::collections::BTreeSet<usize>,
    schema: &Schema,
    best: &mut Option<(f64, &'c mut Cuts, usize, Cut)>,
) {
    match cuts {
        Cuts::Split(feature, cut, below, above) => {
            if let Ok([low, high]) = region.split(*feature, cut) {
                widest(below, &low, features, schema, best);
                widest(above, &high, features, schema, best);
            }
        }
        Cuts::Whole => {
            let mut here: Option<(f64, usize, Cut)> = None;
            for &f in features {
                let Some(cut) = region.middle(f) else { continue };
                let share = match (region.range(f), schema.features[f].domain.range()) {
                    (Some((lo, hi)), Some((a, b))) => (hi - lo) / f64::from(b - a).max(1e-30),
                    _ => 1.0,
                };
                if here.as_ref().is_none_or(|(s, ..)| share > *s) {
                    here = Some((share, f, cut));
                }
            }
            if let Some((share, f, cut)) = here
                && best.as_ref().is_none_or(|(s, ..)| share > *s)
            {
                *best = Some((share, cuts, f, cut));
            }
        }
    }
}
