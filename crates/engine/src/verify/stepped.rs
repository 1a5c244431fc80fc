//! Rules and a model that may end in an output step enter; a proof, a counter-example or the reason for neither leaves.
//!
//! A step carries its own proof (`deepsade.step` in the metadata); the checker says whether it proves these rules. Where it does not,
//! inputs are tried: what stands behind a network may jump, so no bound of the network says anything.

use std::time::Instant;

use deepsade_check::step::{Clips, OutputStep, domain_flag};
use deepsade_net::{Matrix, Model};
use deepsade_output::{Judge, Output};
use deepsade_spec::{Claim, NormalSpec, Region, Schema, compile};

use super::attack::{Attacked, first_broken};
use super::pair::PairQuestion;
use super::plan::BoundPlan;
use super::{CounterExample, Halt, Outcome, StepUnproved, Undecided, VerifyError, VerifySettings, Work, halt, verify};
use crate::artifact::{CLIPS_KEY, SCHEMA_KEY, STEP_KEY};
use crate::proof::{Certified, prove_clips, prove_step};
use crate::vacuous::binding;

/// Inputs of each part of the domain that are tried.
const TRIED: usize = 4_000;

/// Decides the rules for a model; [`verify`] for one without an output step.
pub fn verify_model(
    spec: &NormalSpec,
    model: &Model,
    settings: &VerifySettings,
    interrupted: &(dyn Fn() -> bool + Sync),
) -> Result<(Outcome, Work), VerifyError> {
    if !passes_on(spec, model) {
        return stepped(spec, model, settings, interrupted);
    }
    verify(spec, &model.network, settings, interrupted)
}

/// Whether the file's outputs are the network's own: nothing stands behind it, or no more than says whether an input is in the domain.
pub(crate) fn passes_on(spec: &NormalSpec, model: &Model) -> bool {
    let own = model.metadata.get(SCHEMA_KEY).and_then(|text| Schema::from_json(text).ok());
    let flag = || domain_flag(own.as_ref().unwrap_or(&spec.schema));
    model.behind.as_ref().is_none_or(|behind| *behind == flag())
}

fn stepped(
    spec: &NormalSpec,
    model: &Model,
    settings: &VerifySettings,
    interrupted: &(dyn Fn() -> bool + Sync),
) -> Result<(Outcome, Work), VerifyError> {
    let why = match proved(spec, model) {
        Ok(certified) => return Ok((Outcome::Proved(Box::new(certified)), Work::default())),
        Err(why) => why,
    };
    let whole = Region::domain(&spec.schema).map_err(VerifyError::Domain)?;
    let started = Instant::now();
    let halts = || halt(started, settings.timeout, interrupted);
    let stop = || halts().is_some();
    Ok((
        match broken(spec, model, &whole, &[], settings.seed, &stop) {
            Some(example) => Outcome::Refuted(example),
            None if interrupted() => Outcome::Unknown { rule: 0, why: Undecided::Interrupted },
            None if !binding(spec).pairs.is_empty() => match broken_pair(spec, model, &whole, settings.seed, &halts) {
                Some(example) => Outcome::Refuted(example),
                None if interrupted() => Outcome::Unknown { rule: spec.rules.len(), why: Undecided::Interrupted },
                None => Outcome::Unknown { rule: spec.rules.len(), why: Undecided::StepOfPairs(why) },
            },
            None => Outcome::Unknown { rule: 0, why: Undecided::Step(why) },
        },
        Work::default(),
    ))
}

/// The proof that a model's output step carries, if it is one of these rules.
pub(crate) fn proved(spec: &NormalSpec, model: &Model) -> Result<Certified, StepUnproved> {
    let text = |key: &'static str| model.metadata.get(key).ok_or(StepUnproved::NoKey(key));
    let schema = Schema::from_json(text(SCHEMA_KEY)?).map_err(|e| StepUnproved::Unreadable(e.to_string()))?;
    let claim = Claim::from(spec);
    claim.covered_by(&schema).map_err(|mismatch| StepUnproved::Claim(Box::new(mismatch)))?;
    let own = compile(&claim.rules, &schema).map_err(|_| StepUnproved::Rules)?;
    let bytes = model.to_bytes()?;
    let proof = match model.metadata.get(CLIPS_KEY) {
        Some(clips) => prove_clips(&own, &bytes, Clips::from_json(clips).map_err(StepUnproved::Unreadable)?),
        None => prove_step(&own, &bytes, OutputStep::from_json(text(STEP_KEY)?).map_err(StepUnproved::Unreadable)?),
    };
    proof.map_err(|refused| StepUnproved::Rejected(Box::new(refused.rejected)))
}

/// An input of a region that breaks a rule: one of those given, or of some thousands that are tried.
pub(crate) fn broken(
    spec: &NormalSpec,
    model: &Model,
    region: &Region,
    from: &[&[f32]],
    seed: u64,
    stop: &dyn Fn() -> bool,
) -> Option<CounterExample> {
    let output = Output::of(model, spec).ok()?;
    let judge = Judge::new(spec);
    let breaks = |x: &Matrix| {
        let y = output.outputs(x);
        let (r, rule) = first_broken(spec, &judge, x, &y)?;
        let (x, y) = (x.row(r).to_vec(), y.row(r).to_vec());
        Some(CounterExample { rule, in_every_runtime: false, exact: false, x, y, other: None })
    };
    let network = &model.network;
    let plan = BoundPlan::new(network, &spec.schema, deepsade_check::Arithmetic::Float32);
    let target = Attacked { plan: &plan, network, spec, judge: &judge, rule: 0, stop: &|| None };
    target.tried(region, from, TRIED, seed, stop, &breaks)
}

/// Two inputs that break a rule between two, of those that are tried.
fn broken_pair(
    spec: &NormalSpec,
    model: &Model,
    whole: &Region,
    seed: u64,
    stop: &(dyn Fn() -> Option<Halt> + Sync),
) -> Option<CounterExample> {
    let output = Output::of(model, spec).ok()?;
    let network = &model.network;
    let plan = &BoundPlan::new(network, &spec.schema, deepsade_check::Arithmetic::Float32);
    PairQuestion { spec, network, behind: Some(&output), plan, whole, seed, stop }.attack()
}
