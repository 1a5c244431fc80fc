//! A network, rules and rows enter; for each row whether an input near it breaks a rule leaves: the Adversity Index of the paper.
//!
//! Near: every number within `radius` times the width of its domain, clipped to the domain; whole numbers stay whole, and a category
//! keeps its level (its columns are 0 and 1, farther apart than the radius). Attack first, then branch and bound, so every row is
//! decided but for those that run out of time or that rounding decides; these are counted apart. Rules between two inputs are not looked
//! at, and are named.

use std::sync::atomic::{AtomicUsize, Ordering};

use deepsade_net::{Matrix, Model};
use deepsade_solve::parallel;
use deepsade_spec::{Domain, NormalSpec, Rational, Region, Schema, SingleBound, Var};
use serde_json::{Value, json};

use crate::left_out::{pair_names, pairs_in_words};
use crate::verify::words::example_as_json;
use crate::verify::{
    Choice, CounterExample, Outcome, StepUnproved, Undecided, VerifyError, VerifySettings, broken, broken_within, chosen, fits,
    passes_on, proved,
};

/// The paper's radius.
pub const RADIUS: f64 = 0.1;
/// How long inputs near one row are looked for where nothing else is said.
pub const SECONDS: f64 = 10.0;

/// Inputs near a row that are tried where a network chooses.
const TRIED: usize = 50;

/// What was found near one row.
#[derive(Debug, Clone, PartialEq)]
pub enum Near {
    /// An input that breaks a rule.
    Broken(CounterExample),
    /// None.
    Safe,
    /// Neither was shown.
    Undecided(Undecided),
}

/// How many rows there are of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// With an input near them that breaks a rule.
    pub broken: usize,
    /// Without.
    pub safe: usize,
    /// Not decided.
    pub undecided: usize,
}

impl Counts {
    /// Counts what was found.
    pub fn of(found: &[Near]) -> Self {
        let mut counts = Self::default();
        for near in found {
            match near {
                Near::Broken(_) => counts.broken += 1,
                Near::Safe => counts.safe += 1,
                Near::Undecided(_) => counts.undecided += 1,
            }
        }
        counts
    }
}

/// Whether rows can be looked around so far: a number from 0 on.
pub fn is_radius(radius: f64) -> bool {
    radius >= 0.0 && radius.is_finite()
}

/// Looks around every row of `x`, which must be rows of the domain; `settings.timeout` is for each row. Rows are dealt out to
/// `settings.threads`; `progress` is told how many are done.
///
/// ```
/// use deepsade_engine::adversity::{Near, adversity};
/// use deepsade_engine::verify::VerifySettings;
/// use deepsade_net::{Matrix, Model, Network, Node, Op};
/// use deepsade_spec::{Domain, Feature, OneHot, RuleText, Schema, Task, compile};
///
/// let feature = |name: &str| Feature { name: name.into(), domain: Domain::Real { lo: 0.0, hi: 10.0 } };
/// let schema = Schema { features: vec![feature("income")], task: Task::regression(vec!["rent".into()]), one_hot: OneHot::Full, filled: vec![] };
/// let spec = compile(&[RuleText { name: "little".into(), text: "rent <= 2".into() }], &schema).unwrap();
/// // rent = income / 2
/// let half = Op::Dense { w: Matrix { rows: 1, cols: 1, data: vec![0.5] }, b: vec![0.0] };
/// let network = Network { inputs: 1, nodes: vec![Node { op: half, from: vec![0] }] };
/// let rows = Matrix { rows: 2, cols: 1, data: vec![1.0, 3.9] };
/// let near = adversity(&spec, &Model::new(network), &rows, 0.1, &VerifySettings::default(), &|_| {}, &|| false).unwrap();
/// assert!(matches!(&near[..], [Near::Safe, Near::Broken(example)] if example.x[0] > 4.0));
/// ```
pub fn adversity(
    spec: &NormalSpec,
    model: &Model,
    x: &Matrix,
    radius: f64,
    settings: &VerifySettings,
    progress: &(dyn Fn(usize) + Sync),
    interrupted: &(dyn Fn() -> bool + Sync),
) -> Result<Vec<Near>, VerifyError> {
    let network = &model.network;
    if let Some(pairs) = pairs_in_words(spec).filter(|_| spec.rules.is_empty()) {
        return Err(VerifyError::OnlyPairs(pairs));
    }
    fits(spec, network)?;
    let passes_on = passes_on(spec, model);
    if !passes_on && proved(spec, model).is_ok() {
        return Ok(vec![Near::Safe; x.rows]);
    }
    let whole = Region::domain(&spec.schema).map_err(VerifyError::Domain)?;
    let all = |near: Near| Ok((0..x.rows).map(|_| near.clone()).collect());
    let choice = match chosen(spec, network, settings.arithmetic)? {
        None => None,
        Some(Outcome::Unknown { why, .. }) => match Choice::new(spec, network, settings.arithmetic) {
            Some(choice) => Some((choice, why)),
            None => return all(Near::Undecided(why)),
        },
        Some(_) => return all(Near::Safe),
    };
    let alone = VerifySettings { threads: 1, ..settings.clone() };
    let done = AtomicUsize::new(0);
    let near = |(): &mut (), k: &usize| {
        let region = ball(&spec.schema, &whole, x.row(*k), radius);
        let near = match &choice {
            _ if !passes_on => match broken(spec, model, &region, &[x.row(*k)], settings.seed, &|| interrupted()) {
                Some(example) => Near::Broken(example),
                None => Near::Undecided(Undecided::Step(StepUnproved::NearRow)),
            },
            Some((choice, why)) => near_choice(choice, why, &region, x.row(*k), &alone, interrupted),
            None => of(broken_within(spec, network, &region, &alone, interrupted)),
        };
        progress(done.fetch_add(1, Ordering::Relaxed) + 1);
        near
    };
    // An attack on one row is too short to ask within it whether to stop; on a hundred thousand it is not.
    let results = parallel::map(&(0..x.rows).collect::<Vec<_>>(), settings.threads, interrupted, || (), near);
    // Rows that were not come to are undecided: the work was interrupted.
    Ok(results.into_iter().map(|near| near.unwrap_or(Near::Undecided(Undecided::Interrupted))).collect())
}

/// What was found near a row, as JSON; `row` is its number.
pub fn near_as_json(spec: &NormalSpec, row: u64, near: &Near) -> Value {
    let mut out = match near {
        Near::Safe => json!({"row": row, "near": SAFE}),
        Near::Undecided(why) => json!({"row": row, "near": UNDECIDED, "why": why.to_string()}),
        Near::Broken(example) => {
            let mut out = example_as_json(spec, example);
            out["row"] = json!(row);
            out["near"] = json!(BROKEN);
            out
        }
    };
    if !spec.pairs.is_empty() {
        out[NOT_LOOKED_AT] = json!(pair_names(spec));
    }
    out
}

/// Rules between two inputs.
const NOT_LOOKED_AT: &str = "not_looked_at";

const BROKEN: &str = "broken";
const SAFE: &str = "safe";
const UNDECIDED: &str = "undecided";

/// The Adversity Index as JSON; the fields are a contract. `near` is what [`near_as_json`] says of each row, which may come from
/// several machines; `outside` is how many rows were not looked at.
pub fn as_json(near: &[Value], radius: f64, outside: usize, seconds: f64) -> Value {
    let of = |kind: &str| near.iter().filter(|n| n["near"] == kind).collect::<Vec<_>>();
    let rows = |of: &[&Value]| of.iter().map(|n| n["row"].clone()).collect::<Vec<_>>();
    let share = |n: usize| 100.0 * n as f64 / near.len() as f64;
    let (broken, undecided) = (of(BROKEN), of(UNDECIDED));
    json!({
        "adversity": share(broken.len()), "at_most": share(broken.len() + undecided.len()), "radius": radius,
        "rows": near.len(), "broken": broken.len(), "safe": of(SAFE).len(), "undecided": undecided.len(), "outside_domain": outside,
        "broken_rows": rows(&broken), "undecided_rows": rows(&undecided), "seconds": seconds,
        NOT_LOOKED_AT: near.first().and_then(|n| n.get(NOT_LOOKED_AT)).cloned().unwrap_or_else(|| json!([])),
        "example": broken.first().map(|e| json!({"rule": e["rule"], "input": e["input"], "output": e["output"]})),
    })
}

fn of(found: Result<Option<CounterExample>, Undecided>) -> Near {
    match found {
        Ok(Some(example)) => Near::Broken(example),
        Ok(None) => Near::Safe,
        Err(why) => Near::Undecided(why),
    }
}

/// The same where outputs are chosen from a table: inputs are tried, then the totals that decide the choice are looked at.
fn near_choice(
    choice: &Choice,
    why: &Undecided,
    region: &Region,
    row: &[f32],
    settings: &VerifySettings,
    interrupted: &(dyn Fn() -> bool + Sync),
) -> Near {
    if let Some(example) = choice.tried(region, &[row], TRIED, settings.seed, &|| interrupted()) {
        return Near::Broken(example);
    }
    let Some(totals) = &choice.totals else { return Near::Undecided(why.clone()) };
    match of(broken_within(&totals.spec, choice.before(), region, settings, interrupted)) {
        Near::Broken(example) => choice.chosen(totals, example).map_or_else(|| Near::Undecided(why.clone()), Near::Broken),
        other => other,
    }
}

/// The inputs near a row.
pub fn ball(schema: &Schema, whole: &Region, row: &[f32], radius: f64) -> Region {
    let mut region = whole.clone();
    let map = schema.column_map();
    let mut cut = |var: Var, above: bool, end: Rational| region.cut(&SingleBound { var, above, end, strict: false }.atom());
    for (f, feature) in schema.features.iter().enumerate() {
        match &feature.domain {
            Domain::Real { .. } | Domain::Integer { .. } | Domain::Stepped { .. } | Domain::Ordered { .. } => {
                let (lo, hi) = feature.domain.range().unwrap_or_default();
                let (x, r) = (f64::from(row[map.first(f)]), radius * (f64::from(hi) - f64::from(lo)));
                let exact = |v: f64| Rational::try_from(v).unwrap_or_default();
                cut(Var::Feature(f), false, exact(x) - exact(r));
                cut(Var::Feature(f), true, exact(x) + exact(r));
            }
            Domain::Category { .. } => cut(Var::Level(f, map.level_in(f, row)), false, Rational::ONE),
        }
    }
    region
}
