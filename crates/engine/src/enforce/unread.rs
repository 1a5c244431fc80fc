//! Rules between two inputs enter; leaves what a network must not read for them to hold whatever stands behind it.
//!
//! An output step looks at one input at a time: what never falls or changes little before it may do so behind it. But what nothing reads
//! changes nothing. So `unaffected` stands beside every other rule, if none of these asks about the same features.

use deepsade_data::Dataset;
use deepsade_net::Blind;
use deepsade_spec::{
    ColumnKind, Formula, Kept, Linear, Moves, NormalSpec, Pair, PairRule, Rational, Region, Schema, Var, indicator_of,
};

use crate::vacuous::binding;

/// The features that nothing may read, in ascending order; `None` where rules between two inputs ask for more than that, or other rules
/// read one of them.
pub fn unread(spec: &NormalSpec) -> Option<Vec<usize>> {
    let bound = binding(spec);
    let parts = || bound.pairs.iter().flat_map(|rule| &rule.parts);
    let mut features: Vec<usize> = parts().flat_map(|part| part.features.iter().copied()).collect();
    features.sort_unstable();
    features.dedup();
    // What tells that a feature has no value is hidden with it.
    let beside: Vec<usize> = indicators(spec, &features).collect();
    features.retain(|f| !beside.contains(f));
    let hidden = with_indicators(spec, &features);
    let reads = |var: &Var| matches!(var, Var::Feature(f) | Var::Level(f, _) if hidden.contains(f));
    let asked = spec.rules.iter().any(|rule| rule.claim.variables().iter().any(reads));
    let given = features.iter().all(|f| *f < spec.schema.given().len());
    let kept = given && !asked && parts().all(|part| part.moves == Moves::Any);
    (kept && !features.is_empty()).then_some(features)
}

/// What tells that features have no value.
fn indicators(spec: &NormalSpec, features: &[usize]) -> impl Iterator<Item = usize> {
    features.iter().filter_map(|f| spec.schema.feature(&indicator_of(&spec.schema.features[*f].name)))
}

/// Features, and what tells that they have no value.
fn with_indicators(spec: &NormalSpec, features: &[usize]) -> Vec<usize> {
    let mut all: Vec<usize> = features.iter().copied().chain(indicators(spec, features)).collect();
    all.sort_unstable();
    all
}

/// What is asked of the weights of such a network: that no output depends on them.
pub fn of_all_outputs(spec: &NormalSpec, features: &[usize]) -> NormalSpec {
    let part = |linear: Linear| Pair {
        condition: Formula::True,
        features: with_indicators(spec, features),
        moves: Moves::Any,
        kept: Kept::Number { linear, by: Rational::ZERO, strict: false },
    };
    let both = |j: usize| [Linear::var(Var::Output(j)), Linear::var(Var::Output(j)).scaled(&-Rational::ONE)].map(part);
    let parts = (0..spec.schema.task.outputs()).flat_map(both).collect();
    let rule = PairRule { name: "what is not read".into(), text: String::new(), parts, reads_scores: false };
    NormalSpec { rules: Vec::new(), pairs: vec![rule], ..spec.clone() }
}

/// What is read in place of these features: the usual value of rows, or one in the middle.
pub fn front(schema: &Schema, features: &[usize], rows: Option<&Dataset>) -> Option<Blind> {
    let domain = Region::domain(schema).ok()?;
    let columns = schema.columns();
    let values_of = |column: usize| rows.iter().flat_map(move |rows| (0..rows.x.rows).map(move |r| rows.x.row(r)[column]));
    let number = |feature: usize, column: usize| {
        let mut values: Vec<f32> = values_of(column).filter(|v| v.is_finite()).collect();
        values.sort_by(f32::total_cmp);
        let middle = domain.range(feature).map(|(lo, hi)| f64::midpoint(lo, hi));
        let usual = values.get(values.len() / 2).map(|v| f64::from(*v)).or(middle)?;
        domain.nearest(feature, usual)
    };
    // The level that most rows have; of the first, which may have no column, what the others leave.
    let level = |feature: usize| {
        let own = columns.iter().enumerate().filter(|(_, c)| c.feature == feature);
        let counts: Vec<(usize, f64)> = own
            .filter_map(
                |(k, c)| if let ColumnKind::Level(l) = c.kind { Some((l, values_of(k).map(f64::from).sum())) } else { None },
            )
            .collect();
        let rest = rows.map_or(0.0, |rows| rows.x.rows as f64) - counts.iter().map(|(_, n)| n).sum::<f64>();
        counts.into_iter().fold((0, rest), |best, (l, n)| if n > best.1 { (l, n) } else { best }).0
    };
    let value = |(k, c): (usize, &deepsade_spec::InputColumn)| {
        features.contains(&c.feature).then(|| match c.kind {
            ColumnKind::Number => number(c.feature, k),
            ColumnKind::Level(l) => Some(f32::from(u8::from(level(c.feature) == l))),
        })
    };
    let given = columns.iter().enumerate().filter(|(_, c)| c.feature < schema.given().len());
    let values = given.map(|column| value(column).map_or(Some(None), |v| v.map(Some))).collect::<Option<_>>()?;
    Some(Blind { values })
}
