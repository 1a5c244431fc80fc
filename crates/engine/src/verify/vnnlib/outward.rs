//! A set of inputs and outputs enters; the set leaves with the bounds of single inputs rounded outward to float32.
//!
//! A bound that is to be written is rounded inward instead, which no float32 number notices, and which reading leaves as it is.
//! What no real number satisfies stays empty: bounds that contradict each other are found before they are rounded.

use std::collections::BTreeMap;

use deepsade_spec::{Atom, Domain, Feature, Formula, Rational, SingleBound, Var, float32};

/// An end of an interval, and whether it is outside.
type End = Option<(Rational, bool)>;
type InputEnds = BTreeMap<usize, (End, End)>;

/// The set, rounded.
pub(super) fn rounded(set: &Formula) -> Formula {
    within(set, &mut InputEnds::new())
}

/// The set, rounded, where it stands inside these bounds, which are left as they were.
fn within(set: &Formula, bounds: &mut InputEnds) -> Formula {
    let mut replaced = Vec::new();
    let mut possible = true;
    for part in set.conjuncts() {
        if let Formula::Atom(atom) = part
            && let Some((f, bound)) = of_input(atom)
        {
            replaced.push((f, bounds.get(&f).cloned()));
            possible &= narrow(bounds.entry(f).or_default(), bound);
        }
    }
    let rounded = match set {
        _ if !possible => Formula::False,
        Formula::Atom(atom) => Formula::Atom(outward(atom)),
        Formula::And(parts) => Formula::and(parts.iter().map(|p| within(p, bounds)).collect::<Vec<_>>()),
        Formula::Or(parts) => Formula::or(parts.iter().map(|p| within(p, bounds)).collect::<Vec<_>>()),
        Formula::True | Formula::False | Formula::Threshold(_) => set.clone(),
    };
    for (f, ends) in replaced.into_iter().rev() {
        match ends {
            Some(ends) => bounds.insert(f, ends),
            None => bounds.remove(&f),
        };
    }
    rounded
}

/// The input that an atom bounds, and how.
fn of_input(atom: &Atom) -> Option<(usize, SingleBound)> {
    let bound = atom.single_bound()?;
    if let Var::Feature(f) = bound.var { Some((f, bound)) } else { None }
}

/// Whether an atom bounds a single input, and every number of its range obeys.
pub(super) fn holds_on(atom: &Atom, features: &[Feature]) -> bool {
    let Some((f, SingleBound { above, end, strict, .. })) = of_input(atom) else { return false };
    let Some(Feature { domain: Domain::Real { lo, hi }, .. }) = features.get(f) else { return false };
    let Ok(last) = Rational::try_from(if above { *hi } else { *lo }) else { return false };
    let inside = if above { last < end } else { last > end };
    inside || last == end && !strict
}

/// Adds a bound; false if nothing is left.
fn narrow((lo, hi): &mut (End, End), SingleBound { above, end, strict, .. }: SingleBound) -> bool {
    let side = if above { &mut *hi } else { &mut *lo };
    let tighter = side.as_ref().is_none_or(|(old, open)| {
        let inside = if above { end < *old } else { end > *old };
        inside || end == *old && strict && !open
    });
    if tighter {
        *side = Some((end, strict));
    }
    match (lo, hi) {
        (Some((lo, open)), Some((hi, shut))) => *lo < *hi || *lo == *hi && !*open && !*shut,
        _ => true,
    }
}

fn outward(atom: &Atom) -> Atom {
    let Some((_, bound)) = of_input(atom) else { return atom.clone() };
    let Some(near) = (if bound.above { up(&bound.end) } else { down(&bound.end) }) else { return atom.clone() };
    let end = Rational::try_from(near).unwrap_or_default();
    if end == bound.end {
        return atom.clone();
    }
    SingleBound { end, strict: false, ..bound }.atom()
}

/// The bound on a single input that holds for the same float32 numbers, at one of them. `None` if the atom is no such bound or lies
/// beyond float32.
pub(super) fn inward(atom: &Atom) -> Option<(usize, SingleBound)> {
    let (f, bound) = of_input(atom)?;
    let end = Rational::try_from(if bound.above { down(&bound.end) } else { up(&bound.end) }?).ok()?;
    let strict = bound.strict && end == bound.end;
    Some((f, SingleBound { end, strict, ..bound }))
}

/// The largest float32 number that is no larger. Zero has one sign here: equal properties give equal schemas.
pub(super) fn down(r: &Rational) -> Option<f32> {
    let below = float32::at_most(r, false);
    // What is read as the first number, as -3.4028235e38 is, stands for it.
    let near = if below.is_finite() { below } else { r.to_f64().value() as f32 };
    near.is_finite().then_some(near + 0.0)
}

/// The smallest float32 number that is no smaller.
pub(super) fn up(r: &Rational) -> Option<f32> {
    down(&-r).map(|v| -v + 0.0)
}
