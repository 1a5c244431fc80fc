//! A conjunction of linear atoms enters; a point that satisfies it leaves, or the proof that none does.
//!
//! Fourier-Motzkin elimination in exact rationals: `a.v + r >= 0` with a > 0 bounds v from below, with a < 0 from above, and
//! v exists iff every lower bound lies below every upper one. Strictness carries over; equalities are substituted instead.

use std::collections::{BTreeMap, BTreeSet};

use deepsade_spec::{Atom, Linear, Rational, Var};

use super::budget::Budget;

/// More atoms than this in the middle of an elimination: give up.
const MAX_ATOMS: usize = 4_000;

/// What a term costs in a step of an elimination, beside one that is only looked at: it is scaled, compared and copied again and again.
const WORK: usize = 10;

/// Values for variables.
pub type Point = BTreeMap<Var, Rational>;

/// What elimination found.
#[derive(Debug, Clone, PartialEq)]
pub enum Feasible {
    /// A point that satisfies all atoms.
    Yes(Point),
    /// There is none.
    No,
    /// Too many atoms on the way.
    Unknown,
}

/// One eliminated variable, with what bounds it in terms of the variables eliminated after it.
enum EliminationStep {
    Equal(Var, Linear),
    Between { var: Var, lower: Vec<VarBound>, upper: Vec<VarBound> },
}

struct VarBound {
    value: Linear,
    strict: bool,
}

/// Decides whether some point satisfies all atoms.
pub fn feasible(atoms: &[Atom], budget: &Budget) -> Feasible {
    let mut system = atoms.to_vec();
    let mut steps = Vec::new();
    loop {
        // Before atoms that are alike become one: each of them was made.
        let paid = budget.spend(WORK * size(&system));
        if !tidy(&mut system) {
            return Feasible::No;
        }
        if system.len() > MAX_ATOMS || !paid {
            return Feasible::Unknown;
        }
        let Some(var) = cheapest(&system, |_| true) else { break };
        let Some(step) = eliminate(&mut system, var) else { return Feasible::Unknown };
        steps.push(step);
    }
    let mut point = Point::new();
    for step in steps.into_iter().rev() {
        match step {
            EliminationStep::Equal(var, value) => {
                let value = at(&value, &point);
                point.insert(var, value);
            }
            EliminationStep::Between { var, lower, upper } => {
                let value = choose(&lower, &upper, &point);
                point.insert(var, value);
            }
        }
    }
    Feasible::Yes(point)
}

/// The shadow of the atoms on the other variables: what remains when those that `drop` names are eliminated.
/// `None` if too many atoms arise; a single false atom if the system is infeasible.
pub fn project(atoms: &[Atom], drop: impl Fn(Var) -> bool, budget: &Budget) -> Option<Vec<Atom>> {
    let mut system = atoms.to_vec();
    loop {
        let paid = budget.spend(WORK * size(&system));
        if !tidy(&mut system) {
            return Some(vec![Atom { linear: Linear::constant(-Rational::ONE), strict: false }]);
        }
        if system.len() > MAX_ATOMS || !paid {
            return None;
        }
        let Some(var) = cheapest(&system, &drop) else { return Some(system) };
        eliminate(&mut system, var)?;
    }
}

fn size(system: &[Atom]) -> usize {
    system.iter().map(|a| 1 + a.linear.terms.len()).sum()
}

/// Removes constant and repeated atoms; false if a constant one fails.
fn tidy(system: &mut Vec<Atom>) -> bool {
    let mut tightest: BTreeMap<Vec<(Var, Rational)>, (Rational, bool)> = BTreeMap::new();
    for atom in system.drain(..) {
        let Some((_, first)) = atom.linear.terms.first_key_value() else {
            if atom.met_by(&atom.linear.constant) {
                continue;
            }
            return false;
        };
        // Scaled so that the first coefficient is 1 or -1, parallel atoms differ in their constant alone.
        let factor = Rational::ONE / if *first < Rational::ZERO { -first } else { first.clone() };
        let scaled = atom.linear.scaled(&factor);
        let entry = tightest.entry(scaled.terms.into_iter().collect()).or_insert((scaled.constant.clone(), atom.strict));
        if scaled.constant < entry.0 || (scaled.constant == entry.0 && atom.strict) {
            *entry = (scaled.constant, atom.strict);
        }
    }
    system.extend(
        tightest
            .into_iter()
            .map(|(terms, (constant, strict))| Atom { linear: Linear { terms: terms.into_iter().collect(), constant }, strict }),
    );
    true
}

/// The variable whose elimination makes the fewest new atoms.
fn cheapest(system: &[Atom], wanted: impl Fn(Var) -> bool) -> Option<Var> {
    let mut signs: BTreeMap<Var, (usize, usize)> = BTreeMap::new();
    for atom in system {
        for (var, c) in &atom.linear.terms {
            let (positive, negative) = signs.entry(*var).or_default();
            *(if *c > Rational::ZERO { positive } else { negative }) += 1;
        }
    }
    signs.into_iter().filter(|(var, _)| wanted(*var)).min_by_key(|(_, (p, n))| p * n).map(|(var, _)| var)
}

/// `None` if more atoms would arise than a system may have.
fn eliminate(system: &mut Vec<Atom>, var: Var) -> Option<EliminationStep> {
    if let Some(value) = equality(system, var) {
        for atom in system.iter_mut() {
            if let Some(c) = atom.linear.terms.remove(&var) {
                atom.linear.add_scaled(&c, &value);
            }
        }
        return Some(EliminationStep::Equal(var, value));
    }
    let (mut lower, mut upper) = (Vec::new(), Vec::new());
    system.retain_mut(|atom| {
        let Some(c) = atom.linear.terms.remove(&var) else { return true };
        let value = atom.linear.scaled(&(-Rational::ONE / &c));
        (if c > Rational::ZERO { &mut lower } else { &mut upper }).push(VarBound { value, strict: atom.strict });
        false
    });
    if lower.len() * upper.len() > MAX_ATOMS {
        return None;
    }
    for l in &lower {
        for u in &upper {
            let mut linear = u.value.clone();
            linear.add_scaled(&-Rational::ONE, &l.value);
            system.push(Atom { linear, strict: l.strict || u.strict });
        }
    }
    Some(EliminationStep::Between { var, lower, upper })
}

/// What `var` equals, if two atoms `l >= 0` and `-l >= 0` say so.
fn equality(system: &[Atom], var: Var) -> Option<Linear> {
    let with_var = || system.iter().filter(|a| !a.strict && a.linear.terms.contains_key(&var));
    let key = |linear: &Linear| (linear.terms.clone().into_iter().collect::<Vec<_>>(), linear.constant.clone());
    let known: BTreeSet<_> = with_var().map(|a| key(&a.linear)).collect();
    let atom = with_var().find(|a| known.contains(&key(&a.linear.scaled(&-Rational::ONE))))?;
    let mut rest = atom.linear.clone();
    let c = rest.terms.remove(&var).expect("the variable occurs");
    Some(rest.scaled(&(-Rational::ONE / c)))
}

fn at(linear: &Linear, point: &Point) -> Rational {
    // A variable that no later step bounds is free: zero will do.
    linear.at(&|var| point.get(&var).cloned().unwrap_or_default())
}

/// A value between the bounds: zero, else a whole number, else the middle.
fn choose(lower: &[VarBound], upper: &[VarBound], point: &Point) -> Rational {
    let lowest = lower.iter().map(|b| (at(&b.value, point), b.strict)).max();
    let highest = upper.iter().map(|b| (at(&b.value, point), !b.strict)).min().map(|(v, loose)| (v, !loose));
    let fits = |v: &Rational| {
        lowest.as_ref().is_none_or(|(l, strict)| if *strict { v > l } else { v >= l })
            && highest.as_ref().is_none_or(|(h, strict)| if *strict { v < h } else { v <= h })
    };
    let mut candidates = vec![Rational::ZERO];
    for (bound, _) in lowest.iter().chain(&highest) {
        candidates.push(Rational::from(bound.ceil()));
        candidates.push(Rational::from(bound.floor()));
        candidates.push(Rational::from(bound.floor()) + Rational::ONE);
        candidates.push(Rational::from(bound.ceil()) - Rational::ONE);
    }
    if let Some(v) = candidates.into_iter().find(fits) {
        return v;
    }
    match (lowest, highest) {
        (Some((l, _)), Some((h, _))) => (l + h) / Rational::from(2),
        _ => unreachable!("a one-sided range has a whole number in it"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bounds i x <= v <= j x, i < j, which leave one atom of the hundreds that arise between them.
    #[test]
    fn atoms_that_become_one_are_paid_for() {
        let (v, x) = (Var::Output(0), Var::Output(1));
        let bound = |k: i32| {
            let mut linear = Linear::var(v).scaled(&Rational::from(k.signum()));
            linear.add_scaled(&Rational::from(-k), &Linear::var(x));
            Atom { linear, strict: false }
        };
        let (each, all) = (30, 1_000_000);
        let atoms: Vec<Atom> = (1..=each).flat_map(|k| [bound(k), bound(-k - each)]).collect();
        let budget = Budget::new(all);
        assert!(matches!(feasible(&atoms, &budget), Feasible::Yes(_)));
        assert!(all - budget.left() > WORK * (each * each) as usize, "{}", all - budget.left());
    }
}
