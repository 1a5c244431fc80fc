//! A condition enters; a point that satisfies it leaves, with the atoms that make it true there, or the proof that none does.
//!
//! Depth-first over the disjunctions, with the range of each variable kept on the side so that most dead ends show at once;
//! elimination decides the rest. One state is changed and changed back: what the search holds grows with the rules, not with
//! their square, and no call goes deeper for more rules.

use std::collections::BTreeMap;
use std::rc::Rc;

use deepsade_spec::{Atom, Domain, Formula, Rational, Schema, SingleBound, Threshold, Var, float32, normalize::var_range};

use super::budget::Budget;
use super::eliminate::{Feasible, Point, feasible};

/// Branches to look at before giving up.
const MAX_BRANCHES: usize = 150_000;

/// Atoms in the choices that are open at once: each level of the search copies its own.
const MAX_HELD: usize = 400_000;

/// What the search found.
#[derive(Debug, Clone, PartialEq)]
pub enum Satisfiable {
    /// A point, and atoms that imply the condition and hold at the point.
    Yes(Point, Vec<Atom>),
    /// There is none.
    No,
    /// Out of budget.
    Unknown,
}

/// Terms of atoms to look at for one question: some seconds.
pub const MAX_TERMS: usize = 20_000_000;

/// Looks for a point of the domain, and any outputs, that satisfies all of the conditions; `fixed` values are given.
///
/// ```
/// use deepsade_solve::eliminate::Point;
/// use deepsade_solve::satisfy::{Satisfiable, satisfy};
/// use deepsade_spec::{Domain, Feature, OneHot, Rational, RuleText, Schema, Task, Var, compile};
///
/// let feature = |name: &str| Feature { name: name.into(), domain: Domain::Real { lo: 0.0, hi: 10.0 } };
/// let schema = Schema { features: vec![feature("income")], task: Task::regression(vec!["rent".into()]), one_hot: OneHot::Full, filled: vec![] };
/// let rule = |text: &str| compile(&[RuleText { name: text.into(), text: text.into() }], &schema).unwrap().rules.remove(0).claim;
/// let (more, less) = (rule("rent >= 2 * income or rent >= 5"), rule("rent < income"));
/// let Satisfiable::Yes(point, _) = satisfy(&[&more, &less], &schema, &Point::new()) else { panic!("income 6, rent 5") };
/// assert!(point[&Var::Output(0)] >= Rational::from(5));
/// assert_eq!(satisfy(&[&rule("rent >= income"), &less], &schema, &Point::new()), Satisfiable::No);
/// ```
pub fn satisfy(conditions: &[&Formula], schema: &Schema, fixed: &Point) -> Satisfiable {
    satisfy_within(conditions, schema, fixed, &Budget::new(MAX_TERMS))
}

/// The same, for one of several searches that share a budget.
pub fn satisfy_within(conditions: &[&Formula], schema: &Schema, fixed: &Point, budget: &Budget) -> Satisfiable {
    let mut search = AtomSearch {
        schema,
        fixed,
        budget,
        choices: Vec::new(),
        atoms: Vec::new(),
        ranges: BTreeMap::new(),
        replaced: Vec::new(),
    };
    search.run(conditions.iter().map(|c| (*c).clone()).collect())
}

struct AtomSearch<'a> {
    schema: &'a Schema,
    fixed: &'a Point,
    budget: &'a Budget<'a>,
    /// Disjunctions and counts still to be decided.
    choices: Vec<Rc<Formula>>,
    /// What has been decided, as written.
    atoms: Vec<Atom>,
    /// What single-variable atoms leave of each variable's range.
    ranges: BTreeMap<Var, Range>,
    /// What stood in `ranges` before, newest last.
    replaced: Vec<(Var, Option<Range>)>,
}

/// A choice that was made: the ways not yet tried, last first, and how things stood before.
struct Level {
    /// Atoms in the ways of this level and of those above.
    held: usize,
    ways: Vec<Formula>,
    choices: Vec<Rc<Formula>>,
    atoms: usize,
    replaced: usize,
}

/// Where a branch leads.
enum Branch {
    Ends(Satisfiable),
    /// The choice to make next, taken out of the others.
    Choose(Formula),
}

/// (value, strict) at either end; `None` where unbounded.
#[derive(Clone, Default)]
struct Range {
    lo: Option<(Rational, bool)>,
    hi: Option<(Rational, bool)>,
}

impl AtomSearch<'_> {
    fn run(&mut self, mut todo: Vec<Formula>) -> Satisfiable {
        let mut levels: Vec<Level> = Vec::new();
        let (mut unknown, mut held) = (false, 0);
        for _ in 0..MAX_BRANCHES {
            match self.follow(todo) {
                Branch::Ends(yes @ Satisfiable::Yes(..)) => return yes,
                Branch::Ends(end) => unknown |= end == Satisfiable::Unknown,
                Branch::Choose(choice) => {
                    let atoms = atoms_in(&choice);
                    held += atoms;
                    if held > MAX_HELD || !self.budget.spend(atoms) {
                        return Satisfiable::Unknown;
                    }
                    let mut ways = alternatives(choice);
                    ways.reverse();
                    let (atoms, replaced) = (self.atoms.len(), self.replaced.len());
                    levels.push(Level { held, ways, choices: self.choices.clone(), atoms, replaced });
                }
            }
            let way = loop {
                let Some(level) = levels.last_mut() else {
                    return if unknown { Satisfiable::Unknown } else { Satisfiable::No };
                };
                let way = level.ways.pop();
                let copied = level.choices.len();
                held = level.held;
                self.back_to(level);
                if way.is_none() {
                    levels.pop();
                    held = levels.last().map_or(0, |level| level.held);
                }
                if !self.budget.spend(1 + copied) {
                    return Satisfiable::Unknown;
                }
                if let Some(way) = way {
                    break way;
                }
            };
            todo = vec![way];
        }
        Satisfiable::Unknown
    }

    fn back_to(&mut self, level: &Level) {
        self.choices.clone_from(&level.choices);
        self.atoms.truncate(level.atoms);
        while self.replaced.len() > level.replaced {
            match self.replaced.pop().expect("there is one more") {
                (var, Some(range)) => self.ranges.insert(var, range),
                (var, None) => self.ranges.remove(&var),
            };
        }
    }

    /// Adds what is to do to the state, until something must be chosen.
    fn follow(&mut self, mut todo: Vec<Formula>) -> Branch {
        loop {
            while let Some(next) = todo.pop() {
                match next {
                    Formula::True => {}
                    Formula::False => return Branch::Ends(Satisfiable::No),
                    Formula::And(parts) => todo.extend(parts),
                    Formula::Atom(atom) => {
                        if !self.assume(atom) {
                            return Branch::Ends(Satisfiable::No);
                        }
                    }
                    choice => self.choices.push(Rc::new(choice)),
                }
            }
            // What the ranges already decide makes the remaining choices smaller; those with one way left are forced.
            for choice in std::mem::take(&mut self.choices) {
                match self.simplify(&choice) {
                    None => self.choices.push(choice),
                    Some(smaller @ (Formula::Or(_) | Formula::Threshold(_))) => self.choices.push(Rc::new(smaller)),
                    Some(forced) => todo.push(forced),
                }
            }
            if !self.budget.spend(1) {
                return Branch::Ends(Satisfiable::Unknown);
            }
            if todo.is_empty() {
                break;
            }
        }
        let smallest = (0..self.choices.len()).min_by_key(|k| size(&self.choices[*k]));
        match smallest {
            Some(k) => Branch::Choose(Rc::unwrap_or_clone(self.choices.swap_remove(k))),
            None => self.leaf(),
        }
    }

    /// Adds an atom; false if a single variable's range becomes empty.
    fn assume(&mut self, atom: Atom) -> bool {
        let known = self.truth(&atom);
        if known == Some(false) {
            return false;
        }
        let local = self.substitute(&atom);
        self.atoms.push(atom);
        if known == Some(true) {
            return true;
        }
        let Some(bound) = local.single_bound() else { return true };
        let var = bound.var;
        let range = narrow(self.range(var), bound, self.grid(var));
        let open = !empty(&range);
        self.confine(var, range);
        open && self.one_level_left(var)
    }

    fn confine(&mut self, var: Var, range: Range) {
        let before = self.ranges.insert(var, range);
        self.replaced.push((var, before));
    }

    /// A category takes exactly one of its levels.
    fn one_level_left(&mut self, var: Var) -> bool {
        let Var::Level(f, chosen) = var else { return true };
        let Domain::Category { levels } = &self.schema.features[f].domain else { return true };
        let one = (Rational::ONE, false);
        let zero = (Rational::ZERO, false);
        let fixed = |range: &Range, at: &(Rational, bool)| range.lo.as_ref() == Some(at) && range.hi.as_ref() == Some(at);
        if fixed(&self.range(var), &one) {
            for l in (0..levels.len()).filter(|l| *l != chosen) {
                if fixed(&self.range(Var::Level(f, l)), &one) {
                    return false;
                }
                self.confine(Var::Level(f, l), Range { lo: Some(zero.clone()), hi: Some(zero.clone()) });
            }
            return true;
        }
        let open: Vec<usize> = (0..levels.len()).filter(|l| !fixed(&self.range(Var::Level(f, *l)), &zero)).collect();
        match open[..] {
            [] => false,
            [last] => {
                self.confine(Var::Level(f, last), Range { lo: Some(one.clone()), hi: Some(one) });
                true
            }
            _ => true,
        }
    }

    fn grid(&self, var: Var) -> Grid {
        match var {
            Var::Output(_) => Grid::Reals,
            Var::Level(..) => Grid::Multiples(0),
            Var::Feature(f) => self.schema.features[f].domain.grid().map_or(Grid::Float32, Grid::Multiples),
        }
    }

    fn range(&self, var: Var) -> Range {
        if let Some(range) = self.ranges.get(&var) {
            return range.clone();
        }
        if let Some(value) = self.fixed.get(&var) {
            return Range { lo: Some((value.clone(), false)), hi: Some((value.clone(), false)) };
        }
        if var.is_output() {
            return Range::default();
        }
        let (lo, hi) = var_range(var, self.schema);
        Range { lo: Some((lo, false)), hi: Some((hi, false)) }
    }

    /// The atom with the fixed values put in.
    fn substitute(&self, atom: &Atom) -> Atom {
        let mut local = atom.clone();
        for (var, c) in &atom.linear.terms {
            if let Some(value) = self.fixed.get(var) {
                local.linear.terms.remove(var);
                local.linear.constant += c * value;
            }
        }
        local
    }

    /// The truth of an atom, where the ranges decide it.
    fn truth(&self, atom: &Atom) -> Option<bool> {
        self.budget.spend(1 + atom.linear.terms.len());
        let mut lo = Some((atom.linear.constant.clone(), false));
        let mut hi = lo.clone();
        for (var, c) in &atom.linear.terms {
            let range = self.range(*var);
            let (a, b) = if *c > Rational::ZERO { (range.lo, range.hi) } else { (range.hi, range.lo) };
            let add = |sum: Option<(Rational, bool)>, end: Option<(Rational, bool)>| {
                let ((s, open), (e, strict)) = (sum?, end?);
                Some((s + c * e, open || strict))
            };
            lo = add(lo, a);
            hi = add(hi, b);
        }
        // The infimum is attained unless some end is open.
        if let Some((lo, open)) = lo
            && (lo > Rational::ZERO || (lo.is_zero() && (open || !atom.strict)))
        {
            return Some(true);
        }
        if let Some((hi, open)) = hi
            && (hi < Rational::ZERO || (hi.is_zero() && (open || atom.strict)))
        {
            return Some(false);
        }
        None
    }

    /// The formula with decided false parts removed, `None` if there are none. Decided true parts stay, as the atoms that made
    /// it true are wanted.
    fn simplify(&self, formula: &Formula) -> Option<Formula> {
        let each = |parts: &[Formula]| -> Option<Vec<Formula>> {
            let smaller: Vec<_> = parts.iter().map(|p| self.simplify(p)).collect();
            let changed = smaller.iter().any(Option::is_some);
            changed.then(|| smaller.into_iter().zip(parts).map(|(s, p)| s.unwrap_or_else(|| p.clone())).collect())
        };
        match formula {
            Formula::True | Formula::False => None,
            Formula::Atom(atom) => (self.truth(atom) == Some(false)).then_some(Formula::False),
            Formula::And(parts) => each(parts).map(Formula::and),
            Formula::Or(parts) => each(parts).map(Formula::or),
            Formula::Threshold(t) => {
                let smaller: Vec<_> = t.terms.iter().map(|(_, p)| self.simplify(p)).collect();
                let kept = |((w, p), s): (&(Rational, Formula), Option<Formula>)| (w.clone(), s.unwrap_or_else(|| p.clone()));
                let changed = smaller.iter().any(Option::is_some);
                let terms = || t.terms.iter().zip(smaller).map(kept).collect();
                changed.then(|| Formula::threshold(terms(), t.bound.clone(), t.strict))
            }
        }
    }

    fn leaf(&mut self) -> Branch {
        let mut atoms: Vec<Atom> = self.atoms.iter().map(|a| self.substitute(a)).collect();
        for var in atoms.iter().flat_map(|a| a.linear.terms.keys().copied()).collect::<std::collections::BTreeSet<_>>() {
            let range = self.range(var);
            let ends = [(range.lo, false), (range.hi, true)].into_iter();
            atoms.extend(ends.filter_map(|(end, above)| end.map(|(end, strict)| SingleBound { var, above, end, strict }.atom())));
        }
        let mut point = match feasible(&atoms, self.budget) {
            Feasible::Yes(point) => point,
            Feasible::No => return Branch::Ends(Satisfiable::No),
            Feasible::Unknown => return Branch::Ends(Satisfiable::Unknown),
        };
        let off = |(var, value): (&Var, &Rational)| match self.grid(*var) {
            Grid::Multiples(k) => Some((*var, value / unit(k), unit(k))).filter(|(_, steps, _)| !steps.denominator().is_one()),
            Grid::Reals | Grid::Float32 => None,
        };
        if let Some((var, steps, unit)) = point.iter().find_map(off) {
            // A whole variable between two whole numbers, or multiples of its step: look on either side.
            let sides = [(true, Rational::from(steps.floor())), (false, Rational::from(steps.ceil()))];
            let side = |(above, steps)| SingleBound { var, above, end: steps * &unit, strict: false }.atom();
            return Branch::Choose(Formula::Or(sides.map(side).map(Formula::Atom).to_vec()));
        }
        point.extend(self.fixed.iter().map(|(v, value)| (*v, value.clone())));
        Branch::Ends(Satisfiable::Yes(point, self.atoms.clone()))
    }
}

/// The values that a variable can take.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Grid {
    /// Outputs: whatever the network says.
    Reals,
    /// Inputs are float32 values.
    Float32,
    /// Of 2^-k: whole numbers where k is 0.
    Multiples(i32),
}

/// 2^-k
fn unit(k: i32) -> Rational {
    Rational::from(2).pow(-k as isize)
}

/// The float32 values at or next to a number, below and above.
pub fn float32_around(value: &Rational) -> (Rational, Rational) {
    let exact = |v: f32| Rational::try_from(v).unwrap_or_else(|_| value.clone());
    (exact(float32::at_most(value, false)), exact(float32::at_least(value, false)))
}

fn narrow(mut range: Range, SingleBound { above, end: mut value, mut strict, .. }: SingleBound, grid: Grid) -> Range {
    let below = !above;
    if grid == Grid::Float32 {
        let (low, high) = float32_around(&value);
        if low != high {
            (value, strict) = (if below { high } else { low }, false);
        }
    }
    if let Grid::Multiples(k) = grid {
        let steps = value / unit(k);
        let steps = match (below, strict) {
            (true, false) => Rational::from(steps.ceil()),
            (true, true) => Rational::from(steps.floor()) + Rational::ONE,
            (false, false) => Rational::from(steps.floor()),
            (false, true) => Rational::from(steps.ceil()) - Rational::ONE,
        };
        (value, strict) = (steps * unit(k), false);
    }
    let end = if below { &mut range.lo } else { &mut range.hi };
    let tighter = end.as_ref().is_none_or(|(v, s)| if value == *v { strict && !s } else { (value > *v) == below });
    if tighter {
        *end = Some((value, strict));
    }
    range
}

fn empty(range: &Range) -> bool {
    match (&range.lo, &range.hi) {
        (Some((lo, a)), Some((hi, b))) => lo > hi || (lo == hi && (*a || *b)),
        _ => false,
    }
}

fn atoms_in(formula: &Formula) -> usize {
    let mut count = 0;
    formula.atoms(&mut |_| count += 1);
    count
}

fn size(choice: &Formula) -> usize {
    match choice {
        Formula::Or(parts) => parts.len(),
        // Two ways a step, many steps: counts come after plain disjunctions.
        Formula::Threshold(t) => 1_000 + t.terms.len(),
        _ => 0,
    }
}

/// The ways to make a choice true. Parts about outputs come first: what they imply holds for more inputs.
fn alternatives(choice: Formula) -> Vec<Formula> {
    match choice {
        Formula::Or(mut parts) => {
            parts.sort_by_key(|p| p.variables().iter().any(|v| !v.is_output()));
            parts
        }
        Formula::Threshold(Threshold { mut terms, bound, strict }) => {
            let heaviest = (0..terms.len()).max_by(|a, b| terms[*a].0.cmp(&terms[*b].0)).expect("a count has terms");
            let (weight, part) = terms.remove(heaviest);
            let with = Formula::threshold(terms.clone(), &bound - weight, strict);
            vec![Formula::and([part, with]), Formula::threshold(terms, bound, strict)]
        }
        other => vec![other],
    }
}
