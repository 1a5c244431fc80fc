//! A condition enters; a point that satisfies it leaves, with the atoms that make it true there, or the proof that none does.
//!
//! Depth-first over the disjunctions, with the range of each variable kept on the side so that most dead ends show at once;
//! elimination decides the rest.

use std::collections::BTreeMap;

use deepsade_spec::{Atom, Domain, Formula, Rational, Schema, Threshold, Var, normalize::var_range};

use super::eliminate::{Feasible, Point, feasible};

/// Branches to look at before giving up.
const MAX_BRANCHES: usize = 150_000;

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

/// Looks for a point of the domain, and any outputs, that satisfies all of the conditions; `fixed` values are given.
pub fn satisfy(conditions: &[&Formula], schema: &Schema, fixed: &Point) -> Satisfiable {
    let mut search = Search { schema, fixed, branches: 0 };
    let state = State { choices: Vec::new(), atoms: Vec::new(), ranges: BTreeMap::new() };
    search.run(state, conditions.iter().map(|c| (*c).clone()).collect())
}

struct Search<'a> {
    schema: &'a Schema,
    fixed: &'a Point,
    branches: usize,
}

#[derive(Clone)]
struct State {
    /// Disjunctions and counts still to be decided.
    choices: Vec<Formula>,
    /// What has been decided, as written.
    atoms: Vec<Atom>,
    /// What single-variable atoms leave of each variable's range.
    ranges: BTreeMap<Var, Range>,
}

/// (value, strict) at either end; `None` where unbounded.
#[derive(Clone, Default)]
struct Range {
    lo: Option<(Rational, bool)>,
    hi: Option<(Rational, bool)>,
}

impl Search<'_> {
    fn run(&mut self, mut state: State, mut todo: Vec<Formula>) -> Satisfiable {
        self.branches += 1;
        if self.branches > MAX_BRANCHES {
            return Satisfiable::Unknown;
        }
        loop {
            while let Some(next) = todo.pop() {
                match next {
                    Formula::True => {}
                    Formula::False => return Satisfiable::No,
                    Formula::And(parts) => todo.extend(parts),
                    Formula::Atom(atom) => {
                        if !self.assume(&mut state, atom) {
                            return Satisfiable::No;
                        }
                    }
                    choice => state.choices.push(choice),
                }
            }
            // What the ranges already decide makes the remaining choices smaller; those with one way left are forced.
            let before = std::mem::take(&mut state.choices);
            for choice in before {
                match self.simplify(&choice, &state) {
                    smaller @ (Formula::Or(_) | Formula::Threshold(_)) => state.choices.push(smaller),
                    forced => todo.push(forced),
                }
            }
            if todo.is_empty() {
                break;
            }
        }
        let smallest = (0..state.choices.len()).min_by_key(|k| size(&state.choices[*k]));
        let Some(k) = smallest else { return self.leaf(state) };
        let choice = state.choices.swap_remove(k);
        let mut unknown = false;
        for alternative in alternatives(choice) {
            match self.run(state.clone(), vec![alternative]) {
                Satisfiable::No => {}
                Satisfiable::Unknown => unknown = true,
                yes @ Satisfiable::Yes(..) => return yes,
            }
            if self.branches > MAX_BRANCHES {
                return Satisfiable::Unknown;
            }
        }
        if unknown { Satisfiable::Unknown } else { Satisfiable::No }
    }

    /// Adds an atom; false if a single variable's range becomes empty.
    fn assume(&mut self, state: &mut State, atom: Atom) -> bool {
        let known = self.truth(&atom, state);
        if known == Some(false) {
            return false;
        }
        let local = self.substitute(&atom);
        state.atoms.push(atom);
        if known == Some(true) {
            return true;
        }
        let mut terms = local.linear.terms.iter();
        if let (Some((var, c)), None) = (terms.next(), terms.next()) {
            let bound = (-&local.linear.constant / c, local.strict);
            let range = self.range(*var, state);
            let range = narrow(range, bound, *c > Rational::ZERO, self.grid(*var));
            let open = !empty(&range);
            state.ranges.insert(*var, range);
            return open && self.one_level_left(*var, state);
        }
        true
    }

    /// A category takes exactly one of its levels.
    fn one_level_left(&self, var: Var, state: &mut State) -> bool {
        let Var::Level(f, chosen) = var else { return true };
        let Domain::Category { levels } = &self.schema.features[f].domain else { return true };
        let one = (Rational::ONE, false);
        let zero = (Rational::ZERO, false);
        let fixed = |range: &Range, at: &(Rational, bool)| range.lo.as_ref() == Some(at) && range.hi.as_ref() == Some(at);
        let level = |l: usize, state: &State| self.range(Var::Level(f, l), state);
        if fixed(&level(chosen, state), &one) {
            for l in (0..levels.len()).filter(|l| *l != chosen) {
                if fixed(&level(l, state), &one) {
                    return false;
                }
                state.ranges.insert(Var::Level(f, l), Range { lo: Some(zero.clone()), hi: Some(zero.clone()) });
            }
            return true;
        }
        let open: Vec<usize> = (0..levels.len()).filter(|l| !fixed(&level(*l, state), &zero)).collect();
        match open[..] {
            [] => false,
            [last] => {
                state.ranges.insert(Var::Level(f, last), Range { lo: Some(one.clone()), hi: Some(one) });
                true
            }
            _ => true,
        }
    }

    fn is_whole(&self, var: Var) -> bool {
        match var {
            Var::Output(_) => false,
            Var::Level(..) => true,
            Var::Feature(f) => matches!(self.schema.features[f].domain, Domain::Integer { .. }),
        }
    }

    fn grid(&self, var: Var) -> Grid {
        match var {
            Var::Output(_) => Grid::Reals,
            _ if self.is_whole(var) => Grid::Whole,
            _ => Grid::Float32,
        }
    }

    fn range(&self, var: Var, state: &State) -> Range {
        if let Some(range) = state.ranges.get(&var) {
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
    fn truth(&self, atom: &Atom, state: &State) -> Option<bool> {
        let mut lo = Some((atom.linear.constant.clone(), false));
        let mut hi = lo.clone();
        for (var, c) in &atom.linear.terms {
            let range = self.range(*var, state);
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

    /// The formula with decided false parts removed. Decided true parts stay, as the atoms that made it true are wanted.
    fn simplify(&self, formula: &Formula, state: &State) -> Formula {
        match formula {
            Formula::Atom(atom) => match self.truth(atom, state) {
                Some(false) => Formula::False,
                _ => formula.clone(),
            },
            Formula::And(parts) => Formula::and(parts.iter().map(|p| self.simplify(p, state))),
            Formula::Or(parts) => Formula::or(parts.iter().map(|p| self.simplify(p, state))),
            Formula::Threshold(t) => {
                let terms = t.terms.iter().map(|(w, p)| (w.clone(), self.simplify(p, state))).collect();
                Formula::threshold(terms, t.bound.clone(), t.strict)
            }
            Formula::True | Formula::False => formula.clone(),
        }
    }

    fn leaf(&mut self, state: State) -> Satisfiable {
        let mut atoms: Vec<Atom> = state.atoms.iter().map(|a| self.substitute(a)).collect();
        for var in atoms.iter().flat_map(|a| a.linear.terms.keys().copied()).collect::<std::collections::BTreeSet<_>>() {
            let range = self.range(var, &state);
            for (end, sign) in [(range.lo, Rational::ONE), (range.hi, -Rational::ONE)] {
                if let Some((value, strict)) = end {
                    let mut linear = deepsade_spec::Linear::var(var).scaled(&sign);
                    linear.constant = -&sign * value;
                    atoms.push(Atom { linear, strict });
                }
            }
        }
        let mut point = match feasible(&atoms) {
            Feasible::Yes(point) => point,
            Feasible::No => return Satisfiable::No,
            Feasible::Unknown => return Satisfiable::Unknown,
        };
        if let Some((var, value)) = point.iter().find(|(v, value)| self.is_whole(**v) && !value.denominator().is_one()) {
            // A whole variable between two whole numbers: look on either side.
            let below = Formula::Atom(Atom { linear: at_most(*var, Rational::from(value.floor())), strict: false });
            let above = Formula::Atom(Atom { linear: at_least(*var, Rational::from(value.ceil())), strict: false });
            let mut state = state;
            state.choices.push(Formula::Or(vec![below, above]));
            return self.run(state, Vec::new());
        }
        point.extend(self.fixed.iter().map(|(v, value)| (*v, value.clone())));
        Satisfiable::Yes(point, state.atoms)
    }
}

fn at_most(var: Var, value: Rational) -> deepsade_spec::Linear {
    let mut linear = deepsade_spec::Linear::var(var).scaled(&-Rational::ONE);
    linear.constant = value;
    linear
}

fn at_least(var: Var, value: Rational) -> deepsade_spec::Linear {
    at_most(var, value).scaled(&-Rational::ONE)
}

/// The values that a variable can take.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Grid {
    /// Outputs: whatever the network says.
    Reals,
    /// Inputs are float32 values.
    Float32,
    Whole,
}

/// The float32 values at or next to a number, below and above.
pub(super) fn float32_around(value: &Rational) -> (Rational, Rational) {
    let near = value.to_f32().value();
    let exact = |v: f32| Rational::try_from(v).ok();
    let Some(found) = exact(near) else { return (value.clone(), value.clone()) };
    match found.cmp(value) {
        std::cmp::Ordering::Equal => (found.clone(), found),
        std::cmp::Ordering::Less => (found.clone(), exact(near.next_up()).unwrap_or(found)),
        std::cmp::Ordering::Greater => (exact(near.next_down()).unwrap_or_else(|| found.clone()), found),
    }
}

fn narrow(mut range: Range, (mut value, mut strict): (Rational, bool), below: bool, grid: Grid) -> Range {
    if grid == Grid::Float32 {
        let (low, high) = float32_around(&value);
        if low != high {
            (value, strict) = (if below { high } else { low }, false);
        }
    }
    if grid == Grid::Whole {
        value = match (below, strict) {
            (true, false) => Rational::from(value.ceil()),
            (true, true) => Rational::from(value.floor()) + Rational::ONE,
            (false, false) => Rational::from(value.floor()),
            (false, true) => Rational::from(value.ceil()) - Rational::ONE,
        };
        strict = false;
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
