//! A model of any tool and rules enter; the same model leaves, byte for byte, with an output step behind it that keeps the rules, and its
//! certificate.
//!
//! Nothing is asked of the model but numbers: one row of outputs for each row of inputs. Trees, convolutions and whole pipelines are
//! carried over without being understood.

mod reading;

use std::collections::BTreeMap;
use std::path::Path;

use deepsade_check::step::{InputPorts, Outputs};
use deepsade_check::{StepFault, Verdict};
use deepsade_data::{CheckedData, DataError, DataSettings, Loaded, MissingPolicy, Table, encode};
use deepsade_net::ImportError;
use deepsade_net::onnx::carried::{Carried, raised};
use deepsade_net::onnx::piece::Piece;
use deepsade_output::make;
use deepsade_spec::NormalSpec;
use serde_json::{Value, json};
use thiserror::Error;

use crate::artifact;
pub use crate::class_names::Numbered;
use crate::class_names::{self, OtherClasses, OtherColumns};
use crate::enforce::step::{StepError, StepPlan, Usual};
use crate::enforce::unread::{front, unread};
use crate::explain::conflict_in_words;
use crate::files::RULES;
use crate::metadata_names;
use crate::problem::{Problem, ProblemError};
use crate::proof::{self, prove_step};
use crate::recheck;
use crate::vacuous::binding;
use crate::verdict;
use crate::warnings::{Warning, falls_back, far};
pub use reading::Reading;

/// The oldest operator set with all that makes candidates.
const NEEDED: i64 = 11;
/// To which a file of an older one is raised, where that changes nothing.
const RAISED: i64 = 13;

/// Why a model can't be shielded.
#[derive(Debug, Error)]
pub enum ShieldError {
    /// The file can't be read.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// There is a step already.
    #[error("the model has an output step already: shield the model from before")]
    Already,
    /// An old set of operators, in which the model's may mean something else.
    #[error(
        "the model uses operator set {found} of the standard; the step needs {NEEDED}: export it again (target_opset={RAISED}), or convert it (onnx.version_converter)"
    )]
    Old {
        /// The file's.
        found: i64,
    },
    /// Weights in another file.
    #[error(
        "the model keeps weights in another file, which would not go with it: save it with all data inside (save_as_external_data=False)"
    )]
    External,
    /// The inputs do not fit.
    #[error("the graph's inputs do not fit the features of the rules: {0}")]
    Inputs(StepFault),
    /// An input of whole numbers for a real feature.
    #[error(
        "the graph's inputs do not fit the features of the rules: the input '{input}' holds whole numbers ({element}), but the feature is \
         read as a real one: state kind = \"integer\" under [features.{key}], or export the model with a float input"
    )]
    WholeInput {
        /// The input.
        input: String,
        /// What it holds.
        element: String,
        /// The feature as a key of TOML.
        key: String,
    },
    /// All features in an input of other numbers.
    #[error(
        "the graph's inputs do not fit the features of the rules: the input {0} holds no float numbers, which the columns of all features \
         in one tensor must be: export the model with a float input, or with one input a feature"
    )]
    NoFloatInput(String),
    /// It is unclear which output is meant.
    #[error("{problem}; the graph's outputs are {outputs}: name the one to read (--output NAME; an inner tensor will do)")]
    Output {
        /// What is wrong.
        problem: String,
        /// What there is.
        outputs: String,
    },
    /// The columns are scores of other classes than the rules think.
    #[error(transparent)]
    Classes(#[from] OtherClasses),
    /// Columns in another order than the rules think.
    #[error(transparent)]
    Columns(#[from] OtherColumns),
    /// Nothing is asked.
    #[error("there is no rule: there is nothing to keep")]
    NoRule,
    /// What an output step does not keep.
    #[error(
        "rule '{0}' compares two inputs, and an output step, which looks at one, does not keep it (only `unaffected`, where no other rule \
         asks about its features): `deepsade train` keeps such rules in the weights, and `deepsade verify` looks whether a network does"
    )]
    TwoInputs(String),
    /// Nothing is filled in before a model of another tool.
    #[error(
        "the rule file says what is read where '{0}' has no value, and a shielded model is asked about complete rows: say `missing = \"drop\"` in [data], and nothing of missing values in [features]"
    )]
    Filled(String),
    /// Nothing could obey.
    #[error("the rules contradict each other: {0}")]
    Contradictory(String),
    /// One number for two classes.
    #[error(
        "'{output}' has one number a row for two classes: say from where on the second is meant (--threshold 0 for logits, 0.5 for \
         probabilities)"
    )]
    Threshold {
        /// The tensor.
        output: String,
    },
    /// A cut-off that is none.
    #[error("--threshold {0}: it must be a finite number")]
    NoThreshold(f32),
    /// The step can't be made.
    #[error(transparent)]
    Step(#[from] StepError),
    /// The rows do not fit.
    #[error(transparent)]
    Data(#[from] DataError),
    /// What is claimed can't be said.
    #[error("{0}")]
    Problem(#[from] ProblemError),
}

/// A shielded model.
#[derive(Debug)]
pub struct Shielded {
    /// Its file.
    pub bytes: Vec<u8>,
    /// Its certificate, as JSON.
    pub certificate: String,
    /// A rule file that states the domain, the task and the rules.
    pub rules: String,
    /// What the checker says to these three.
    pub verdict: Verdict,
    /// How candidates are made.
    pub made: String,
    /// The tensor that was read.
    pub output: String,
    /// How the model's numbers for classes are read, where it has only these.
    pub numbered: Option<Numbered>,
    /// An output of the file whose labels its classifier may decide otherwise than by the largest score, by which the step decides.
    pub own_label: Option<String>,
    /// What becomes of candidates.
    pub outputs: Outputs,
    /// That the fallback answers often, whatever the model gives.
    pub warning: Option<Warning>,
    /// Microseconds a row that the step takes in this program, 1000 rows at once.
    pub step_us: Option<f64>,
}

impl Shielded {
    /// The answer as JSON; the fields are a contract.
    pub fn as_json(&self) -> Value {
        let mut said = verdict::as_json(&self.verdict);
        said["made"] = json!(self.made);
        said["output"] = json!(self.output);
        said["step_us"] = json!(self.step_us);
        said["warnings"] = json!(self.warning.iter().map(ToString::to_string).collect::<Vec<_>>());
        said
    }
}

/// The rules of a problem over rows that are in memory, whose columns are all used, and of incomplete rows what there is; `stated` is
/// what the problem says of its data.
pub fn over_table(problem: &Problem, stated: &CheckedData, table: Table) -> Result<(NormalSpec, Loaded), ProblemError> {
    let DataSettings { targets, margin, one_hot, .. } = (**stated).clone();
    let settings = DataSettings { targets, margin, one_hot, missing: MissingPolicy::Impute, ..DataSettings::default() };
    let (mut spec, mut loaded) = problem.load_table(table, &settings.checked_without_file()?)?;
    if problem.features.values().all(|stated| stated.missing.is_none()) {
        // Only to know where outputs usually are: the model is asked about complete rows.
        spec.schema.filled.clear();
        loaded.schema.filled.clear();
    }
    Ok((spec, loaded))
}

/// Puts an output step behind a model, for the rules of a problem. Rows, if there are any, say where outputs usually are.
pub fn shield(
    bytes: &[u8],
    problem: &Problem,
    spec: &NormalSpec,
    loaded: Option<&Loaded>,
    reading: &Reading,
) -> Result<Shielded, ShieldError> {
    if spec.is_empty() && spec.schema.task.whole_outputs().is_empty() {
        return Err(ShieldError::NoRule);
    }
    if let Some(threshold) = reading.threshold.filter(|t| !t.is_finite()) {
        return Err(ShieldError::NoThreshold(threshold));
    }
    let hidden = unread(spec);
    if let (Some(rule), None) = (binding(spec).pairs.first(), &hidden) {
        return Err(ShieldError::TwoInputs(rule.name.clone()));
    }
    if let Some(filled) = spec.schema.filled.first() {
        return Err(ShieldError::Filled(filled.feature.clone()));
    }
    if let Some(words) = conflict_in_words(spec) {
        return Err(ShieldError::Contradictory(words));
    }
    let rows = loaded.map(|loaded| encode(&loaded.table, &spec.schema)).transpose()?;
    let usual = rows.as_ref().map_or_else(|| Usual::unknown(spec), |rows| Usual::of(&rows.y));
    let bytes = raised(bytes, RAISED)?;
    let carried = Carried::read(&bytes)?;
    problem.same_cutoff(&carried.metadata)?;
    if carried.mentions(deepsade_check::step::PREFIX) || carried.mentions(make::PREFIX) {
        return Err(ShieldError::Already);
    }
    if carried.has_external_data()? {
        return Err(ShieldError::External);
    }
    let inputs = reading::inputs(&carried.inputs, &spec.schema)?;
    let output = reading.find(&carried, spec)?;
    let own = carried.labels_of(&output.name)?;
    let own_label = own.doubtful.first().cloned();
    let picked = own.picked.into_iter().filter(|_| spec.schema.task.classes().is_none());
    if let (Some(label), None) = (own.unread.into_iter().chain(picked).next(), &reading.output) {
        return Err(reading::unread(&carried, &label));
    }
    class_names::columns(&carried.metadata, &spec.schema)?;
    let told =
        if reading.output.is_none() { metadata_names::of_outputs(&carried.metadata, &spec.schema.task) } else { Vec::new() };
    let lists = carried.classes_of(&output.name)?.into_iter().chain(own.classes).chain(told);
    let numbered = class_names::compare(lists, &spec.schema.task)?;
    let mut piece = Piece::default();
    let scores = reading.as_rows(&output, &carried, spec, &mut piece)?;
    if carried.opset < NEEDED {
        return Err(ShieldError::Old { found: carried.opset });
    }
    let probabilities = reading.probabilities.map_or_else(|| carried.may_be_probabilities(&output.name), Ok)?;
    let plan = StepPlan::behind_any(spec, &inputs, &scores, probabilities, &usual)?;
    let mut bytes = behind(&carried, spec, &inputs, &plan, &scores, piece)?;
    if let Some(front) = hidden.and_then(|features| front(&spec.schema, &features, rows.as_ref())) {
        bytes = front.before(&bytes)?;
    }
    let certificate = proof::certificate(&prove_step(spec, &bytes, plan.step().clone())).to_json();
    let rules = problem.stated(&spec.schema);
    // Read again: what counts is what the files say.
    let verdict = recheck::held(&bytes, &Problem::parse(&rules, Path::new(RULES))?, &certificate, &|| false)?;
    let warning = plan.tried.and_then(|tried| falls_back(tried.fallbacks, "inputs and outputs drawn at random"));
    let warning = warning.or_else(|| far(plan.ratio, plan.nowhere));
    let step_us = plan.tried.map(|tried| tried.step_us);
    let outputs = plan.outputs().clone();
    Ok(Shielded {
        bytes,
        certificate,
        rules,
        verdict,
        made: plan.how,
        output: output.name,
        numbered,
        own_label,
        outputs,
        warning,
        step_us,
    })
}

/// The file with the step behind `scores`, which `piece` makes.
fn behind(
    carried: &Carried,
    spec: &NormalSpec,
    inputs: &InputPorts,
    plan: &StepPlan,
    scores: &str,
    mut piece: Piece,
) -> Result<Vec<u8>, ShieldError> {
    let taken = carried.names()?;
    let mut behind = plan.behind(spec, inputs, |name| taken.contains(name))?;
    if let (Outputs::Labels(_), Some(last)) = (plan.outputs(), behind.outputs.last_mut()) {
        // The network's own numbers under the name that they have in our files, if it is free.
        if taken.contains(&last.name) {
            behind.outputs.pop();
        } else {
            piece.call("Identity", &[scores], &last.name);
        }
    }
    piece.append(behind.piece);
    let mut metadata: BTreeMap<String, String> = artifact::metadata(spec);
    metadata.extend(plan.metadata());
    Ok(carried.with(&piece, &behind.outputs, &metadata))
}
