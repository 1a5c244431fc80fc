//! A rule between two inputs enters; leaves why it says nothing, if it does not.

use std::ops::ControlFlow;

use deepsade_check::idle;
use deepsade_spec::cells::cells;
use deepsade_spec::{Domain, Kept, Moves, NormalSpec, Pair, PairRule, Rational, Region, Schema};

use super::{MAX_CELLS, Vacuous, impossible, says_nothing};

/// Why a rule between two inputs says nothing: none of its parts does.
pub fn vacuous_pair(rule: &PairRule, spec: &NormalSpec) -> Option<Vacuous> {
    let reasons: Vec<Vacuous> = rule.parts.iter().map(|part| reason(part, spec)).collect::<Option<_>>()?;
    let first = *reasons.first()?;
    Some(if reasons.iter().all(|why| *why == first) { first } else { Vacuous::EveryOutput })
}

/// The rules without the parts between two inputs that no two inputs can break, as the checker sees: nothing need keep these.
pub fn binding(spec: &NormalSpec) -> NormalSpec {
    let mut bound = spec.clone();
    if let Ok(domain) = Region::domain(&spec.schema) {
        bound.pairs.iter_mut().for_each(|rule| rule.parts.retain(|part| !idle(part, spec, &domain)));
        bound.pairs.retain(|rule| !rule.parts.is_empty());
    }
    bound
}

/// A rule that says nothing, but so that only a search finds it: it is kept at its full cost. `None` where that is not so.
pub fn kept_in_vain(rule: &PairRule, spec: &NormalSpec) -> Option<&'static str> {
    let domain = Region::domain(&spec.schema).ok()?;
    let rests = rule.parts.iter().all(|part| idle(part, spec, &domain));
    (!rests && vacuous_pair(rule, spec).is_some()).then_some(
        "the checker, which does not search, can't see that, so it is kept all the same: leave it out, it may cost much",
    )
}

fn reason(part: &Pair, spec: &NormalSpec) -> Option<Vacuous> {
    let schema = &spec.schema;
    if impossible(&part.condition, schema) {
        return Some(Vacuous::NoInput);
    }
    let always = match &part.kept {
        Kept::Number { linear, by, strict } => {
            // Two float32 numbers are at most twice the largest one apart.
            let apart = Rational::try_from(2.0 * f64::from(f32::MAX)).unwrap_or_default();
            let size = |c: &Rational| if *c < Rational::ZERO { -c } else { c.clone() };
            let most = linear.terms.values().fold(Rational::ZERO, |sum, c| sum + size(c) * &apart);
            if *strict { most < *by } else { most <= *by }
        }
        Kept::Condition(formula) => says_nothing(formula, schema) || says_nothing(&formula.negated(), schema),
    };
    if always {
        return Some(Vacuous::EveryOutput);
    }
    if nothing_moves(part, schema) {
        return Some(Vacuous::NoPair);
    }
    Region::domain(schema).is_ok_and(|domain| idle(part, spec, &domain)).then_some(Vacuous::NoRoom)
}

/// Whether each feature has one value where the condition holds, or no other one within the distance.
fn nothing_moves(part: &Pair, schema: &Schema) -> bool {
    let Ok(whole) = Region::domain(schema) else { return false };
    let mut hulls: Vec<Option<(f64, f64)>> = vec![None; part.features.len()];
    let mut seen = 0;
    let end = cells(&part.condition, &mut |atoms| {
        let region = whole.cut_by(atoms);
        for (hull, f) in hulls.iter_mut().zip(&part.features).filter(|_| !region.is_empty()) {
            let (lo, hi) = ends(&region, *f);
            *hull = Some(hull.map_or((lo, hi), |(a, b): (f64, f64)| (a.min(lo), b.max(hi))));
        }
        seen += 1;
        if seen < MAX_CELLS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    let stays = |(k, hull): (usize, &Option<(f64, f64)>)| {
        let nearest = match &schema.features[part.features[k]].domain {
            Domain::Real { .. } => f32::from_bits(1),
            Domain::Stepped { step, .. } => *step,
            Domain::Integer { .. } | Domain::Ordered { .. } | Domain::Category { .. } => 1.0,
        };
        let too_far = |d: &Rational| *d < Rational::try_from(nearest).unwrap_or_default();
        hull.is_some_and(|(lo, hi)| lo == hi) || matches!(&part.moves, Moves::By(by) if too_far(&by[k]))
    };
    end.is_continue() && hulls.iter().enumerate().all(stays)
}

/// The first and the last value, or level, that a region leaves.
fn ends(region: &Region, f: usize) -> (f64, f64) {
    let of_levels = || {
        let allowed = region.levels(f)?;
        let (first, last) = (allowed.iter().position(|a| *a)?, allowed.iter().rposition(|a| *a)?);
        Some((first as f64, last as f64))
    };
    region.range(f).or_else(of_levels).unwrap_or((f64::NEG_INFINITY, f64::INFINITY))
}

#[cfg(test)]
mod tests {
    use deepsade_spec::{Domain, Feature, OneHot, RuleText, Schema, Task, compile};

    use super::super::Vacuous::{EveryOutput, NoInput, NoPair, NoRoom};
    use super::{binding, kept_in_vain, vacuous_pair};

    #[test]
    fn rules_between_two_inputs_that_nothing_breaks_are_known() {
        let levels = |names: &[&str]| names.iter().map(|n| (*n).to_string()).collect();
        let feature = |name: &str, domain| Feature { name: name.into(), domain };
        let schema = Schema {
            features: vec![
                feature("x", Domain::Real { lo: 0.0, hi: 1.0 }),
                feature("z", Domain::Real { lo: 0.0, hi: 1.0 }),
                feature("n", Domain::Integer { lo: 0, hi: 5 }),
                feature("one", Domain::Real { lo: 0.5, hi: 0.5 }),
                feature("g", Domain::Category { levels: levels(&["a", "b"]) }),
                feature("only", Domain::Category { levels: levels(&["a"]) }),
            ],
            task: Task::regression(vec!["y".into(), "v".into()]),
            one_hot: OneHot::Full,
            filled: vec![],
        };
        for (text, expected) in [
            ("increasing(y, z)", None),
            ("x > 2 => increasing(y, z)", Some(NoInput)),
            ("x >= 0.3 and x <= 0.2 => decreasing(y, x)", Some(NoInput)),
            ("x >= 0.3 and x <= 0.4 => decreasing(y, x)", None),
            ("x > 2 => increasing(y, z) and increasing(v, z)", Some(NoInput)),
            ("change(y, {x}, by = 1) <= 1e39", Some(EveryOutput)),
            ("change(y, {x}, by = 1) <= 6e38", None),
            ("change(y + v, {x}, by = 1) <= 1e39", None),
            ("change(1e-40 * y, {x}, by = 1) < 1", Some(EveryOutput)),
            ("increasing(y, one)", Some(NoPair)),
            ("increasing(y, {one, z})", None),
            ("change(y, {one}, by = 1) <= 0", Some(NoPair)),
            ("unaffected(y, only)", Some(NoPair)),
            ("unaffected(y, g)", None),
            ("g == 'a' => unaffected(y, g)", Some(NoPair)),
            ("n == 3 => increasing(y, n)", Some(NoPair)),
            ("n == 3 or n == 5 => increasing(y, n)", None),
            ("change(y, {n}, by = 0.9) <= 1", Some(NoPair)),
            ("change(y, {n}, by = 1) <= 1", None),
            ("change(y, {x}, by = 1e-46) <= 1", Some(NoPair)),
            ("increasing(y >= -1e39, x)", Some(EveryOutput)),
            ("increasing(y >= 1, x)", None),
        ] {
            let rule = RuleText { name: "rule".into(), text: text.into() };
            let spec = compile(&[rule], &schema).unwrap_or_else(|e| panic!("{text}: {e:?}"));
            assert_eq!(vacuous_pair(&spec.pairs[0], &spec), expected, "{text}");
        }
    }

    /// Beside rules that confine outputs, or decide a class, rules between two inputs may have nothing left to say.
    #[test]
    fn other_rules_may_leave_no_room() {
        let feature = |name: &str, domain| Feature { name: name.into(), domain };
        let classes = ["N", "Y", "Z"].map(String::from).to_vec();
        let schema = |task| Schema {
            features: vec![feature("x", Domain::Real { lo: 0.0, hi: 10.0 }), feature("n", Domain::Integer { lo: 0, hi: 5 })],
            task,
            one_hot: OneHot::Full,
            filled: vec![],
        };
        let numbers = || schema(Task::regression(vec!["y".into(), "v".into()]));
        let choice = || schema(Task::Multiclass { target: "loan".into(), classes: classes.clone() });
        for (schema, rules, expected, kept) in [
            (numbers(), &["change(y, {x}, by = 1) <= 100", "0 <= y <= 100"][..], Some(NoRoom), false),
            (numbers(), &["change(y, {x}, by = 1) < 100", "0 <= y <= 100"], None, true),
            (numbers(), &["change(y, {x}, by = 1) <= 99.9", "0 <= y <= 100"], None, true),
            (numbers(), &["change(y - v, {x}, by = 1) <= 120", "0 <= y <= 100", "0 <= v <= 2 * x"], Some(NoRoom), false),
            (numbers(), &["change(y - v, {x}, by = 1) <= 120", "0 <= y <= 100", "v <= 2 * x"], None, true),
            (numbers(), &["x < 5 => change(y, {x}, by = 1) <= 10", "x < 6 => 0 <= y <= 10"], Some(NoRoom), false),
            (numbers(), &["x < 7 => change(y, {x}, by = 1) <= 10", "x < 6 => 0 <= y <= 10"], None, true),
            (numbers(), &["unaffected(y, n)", "y == 3"], Some(NoRoom), false),
            (numbers(), &["unaffected(y >= 2, n)", "y >= 3"], Some(NoRoom), false),
            (numbers(), &["increasing(y >= 3, n)", "y >= 2"], None, true),
            (numbers(), &["increasing(y >= v + 1, n)", "y >= v + 1"], Some(NoRoom), false),
            (choice(), &["increasing(loan == 'Y', x)", "loan != 'Y'"], Some(NoRoom), false),
            (choice(), &["x < 3 => increasing(loan == 'Y', x)", "x < 4 => loan == 'Y'"], Some(NoRoom), false),
            (choice(), &["x < 5 => increasing(loan == 'Y', x)", "x < 4 => loan == 'Y'"], None, true),
            // That nothing meets two conditions that compare the same features only a search finds.
            (numbers(), &["x > n and n > x => increasing(y, n)", "y >= 2"], Some(NoInput), true),
        ] {
            let text = |(k, text): (usize, &&str)| RuleText { name: format!("r{k}"), text: (*text).into() };
            let spec = compile(&rules.iter().enumerate().map(text).collect::<Vec<_>>(), &schema).unwrap();
            assert_eq!(vacuous_pair(&spec.pairs[0], &spec), expected, "{rules:?}");
            assert_eq!(!binding(&spec).pairs.is_empty(), kept, "{rules:?}");
            assert_eq!(kept_in_vain(&spec.pairs[0], &spec).is_some(), kept && expected.is_some(), "{rules:?}");
        }
    }
}
