//! A model and rules enter; the network and the rules about it leave, in the same columns.
//!
//! What the rules are about is what the rule file and its data say. A model of this program carries its schema, which must name the
//! same columns and outputs; the domain is the rule file's. A model of another tool carries none: then the rule file's features, in
//! their order, are the network's columns.

use std::path::{Path, PathBuf};

use deepsade_check::filling_of;
use deepsade_data::{DataError, Loaded};
use deepsade_net::{Activation, Matrix, Model, Network, Node, Op};
use deepsade_solve::sample::InputSampler;
use deepsade_spec::{Mismatch, NormalSpec, Schema, Task, compile};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use thiserror::Error;

use crate::artifact::{ArtifactError, SCHEMA_KEY, read_any, schema_of};
use crate::class_names::{self, Numbered, OtherNames};
use crate::problem::{Problem, ProblemError};
use crate::verify::{VerifyError, fits};

/// A network and the rules about it.
#[derive(Debug)]
pub struct Subject {
    /// The network.
    pub model: Model,
    /// The rule file.
    pub problem: Problem,
    /// Its rules, in the columns of the network.
    pub spec: NormalSpec,
    /// The rows, if they had to be read or were asked for.
    pub loaded: Option<Loaded>,
    /// Whether the model said what its columns are.
    pub named: bool,
    /// How the model's numbers for classes are read, where it has only these.
    pub numbered: Option<Numbered>,
    /// The class that is predicted where the model's one number is above 0, if it has but one for two classes.
    pub one_number_for: Option<String>,
}

impl Subject {
    /// What to know before an answer: that the data are absent, and how numbers for classes are read.
    pub fn notes(&self) -> Vec<String> {
        let one = |class: &String| {
            format!("the model has one number for two classes; read is '{class}' where it is above 0, or a probability above 0.5")
        };
        let listed = || {
            let task = &self.spec.schema.task;
            let names = task.classes().map_or_else(|| task.target_columns(), |all| all.iter().map(String::as_str).collect());
            let shown: Vec<String> = names.iter().take(20).map(|name| format!("'{name}'")).collect();
            let more = if names.len() > 20 { format!(", ... {} in all", names.len()) } else { String::new() };
            let (what, how) = match task {
                Task::Binary { .. } | Task::Multiclass { .. } => ("the scores of ", ""),
                Task::Multilabel { .. } | Task::Ranking { .. } => {
                    ("", "; a label is read as present where its number is above 0")
                }
                Task::Regression { .. } => ("", ""),
            };
            format!("the model's outputs are read as {what}{}{more}, in this order{how}", shown.join(", "))
        };
        let listed = (!self.named && self.one_number_for.is_none()).then(listed);
        let read =
            listed.into_iter().chain(self.numbered.iter().map(ToString::to_string)).chain(self.one_number_for.iter().map(one));
        self.problem.absent_data().into_iter().chain(read).collect()
    }
}

/// Which files, and whether rows are wanted.
#[derive(Debug, Clone, Copy)]
pub struct SubjectFiles<'a> {
    /// The network.
    pub model: &'a Path,
    /// The rule file.
    pub rules: &'a Path,
    /// A data file, or a folder to look in.
    pub data: Option<&'a Path>,
    /// A tensor to stop reading the network at.
    pub output: Option<&'a str>,
    /// Whether rows are wanted.
    pub rows: bool,
}

/// Why a network and rules don't come together.
#[derive(Debug, Error)]
pub enum SubjectError {
    /// The model can't be read.
    #[error(transparent)]
    Model(#[from] ArtifactError),
    /// The rules can't be read.
    #[error("{0}")]
    Problem(#[from] ProblemError),
    /// The rows can't be read.
    #[error(transparent)]
    Data(#[from] DataError),
    /// Nothing is claimed.
    #[error("{} has no rule", rules.display())]
    NoRule {
        /// The rule file.
        rules: PathBuf,
    },
    /// Widths differ.
    #[error("{} and {}: {source}", model.display(), rules.display())]
    Fit {
        /// The network.
        model: PathBuf,
        /// The rule file.
        rules: PathBuf,
        /// How they differ.
        source: Box<VerifyError>,
    },
    /// Other names than the rules think.
    #[error("{}: {source}", model.display())]
    Names {
        /// The network.
        model: PathBuf,
        /// Which.
        source: OtherNames,
    },
    /// Probabilities, which are above 0 whatever the input.
    #[error(
        "{}: its outputs look like probabilities (they come from a Sigmoid or a Tanh, and for inputs drawn at random lie between 0 and 1), all \
         of them above 0, and what counts is what is above 0: name the tensor before that operator (--output NAME), or, if these are scores \
         all the same, their own",
        model.display()
    )]
    Sigmoid {
        /// The network.
        model: PathBuf,
    },
    /// Constants in place of columns.
    #[error("{}: it reads constants in place of some columns of its input; `deepsade check` judges such a file, with its certificate", model.display())]
    Blind {
        /// The network.
        model: PathBuf,
    },
    /// Other values are read where there is none.
    #[error(
        "{} and {} don't fill in missing values alike: state in the rule file what the model reads for them (`missing` in [features]), as \
         the rules.toml beside it does",
        rules.display(),
        model.display()
    )]
    Filled {
        /// The network.
        model: PathBuf,
        /// The rule file.
        rules: PathBuf,
    },
    /// The model's columns or outputs are others.
    #[error("{} and {} are not about the same: {source}", rules.display(), model.display())]
    Other {
        /// The network.
        model: PathBuf,
        /// The rule file.
        rules: PathBuf,
        /// How they differ.
        source: Box<Mismatch>,
    },
}

/// Reads both files and brings them together.
pub fn read(files: &SubjectFiles) -> Result<Subject, SubjectError> {
    let model = read_any(files.model, files.output)?;
    let problem = Problem::read(files.rules)?.with_data(files.data)?;
    together(model, problem, files)
}

/// Brings a model and a rule file together; `files` says what they are called, and where rows are.
pub fn together(mut model: Model, problem: Problem, files: &SubjectFiles) -> Result<Subject, SubjectError> {
    let named = model.metadata.contains_key(SCHEMA_KEY);
    let (spec, loaded) = if named {
        let own = schema_of(&model, files.model)?;
        let wanted = files.rows && problem.absent_data().is_none();
        let mut loaded = if wanted { problem.rows(&mut |_| {})? } else { None };
        let claim = problem.claim(Some(&own), &mut loaded)?;
        claim.same_columns(&own).and_then(|()| claim.same_gaps(&own)).map_err(|source| SubjectError::Other {
            model: files.model.into(),
            rules: files.rules.into(),
            source: Box::new(source),
        })?;
        let spec =
            compile(&claim.rules, &claim.schema).map_err(|errors| ProblemError::Rules { path: problem.path.clone(), errors })?;
        (spec, loaded.filter(|_| files.rows))
    } else {
        problem.load(&mut |_| {})?
    };
    problem.same_cutoff(&model.metadata)?;
    if spec.is_empty() {
        return Err(SubjectError::NoRule { rules: files.rules.into() });
    }
    let numbered = class_names::of_model(&model, &spec.schema, files.output)
        .map_err(|source| SubjectError::Names { model: files.model.into(), source })?;
    if model.blind.is_some() {
        return Err(SubjectError::Blind { model: files.model.into() });
    }
    if model.filling != filling_of(&spec.schema) {
        return Err(SubjectError::Filled { model: files.model.into(), rules: files.rules.into() });
    }
    let one_number_for = match spec.schema.task.classes() {
        Some([_, second]) if !named && model.network.outputs() == 1 => {
            two_scores(&mut model);
            Some(second.clone())
        }
        _ => None,
    };
    let signs_count = one_number_for.is_some() || matches!(spec.schema.task, Task::Multilabel { .. } | Task::Ranking { .. });
    // Whoever names a tensor says that it holds scores; not so of what a Sigmoid gives.
    let doubtful = files.output.is_none() && !named || ends_in_sigmoid(&model.network, one_number_for.is_some());
    if signs_count && doubtful && are_probabilities(&spec, &model.network) {
        return Err(SubjectError::Sigmoid { model: files.model.into() });
    }
    fits(&spec, &model.network).map_err(|source| SubjectError::Fit {
        model: files.model.into(),
        rules: files.rules.into(),
        source: Box::new(source),
    })?;
    Ok(Subject { model, problem, spec, loaded, named, numbered, one_number_for })
}

/// Inputs that are tried to see what outputs look like.
const TRIED: usize = 200;

/// Whether outputs look like probabilities: something makes such numbers, and for inputs drawn at random all lie between 0 and 1.
fn are_probabilities(spec: &NormalSpec, network: &Network) -> bool {
    let squashes = |node: &Node| matches!(node.op, Op::Act(Activation::Sigmoid | Activation::Tanh));
    if !network.nodes.iter().any(squashes) || network.inputs != spec.schema.columns().len() {
        return false;
    }
    let (inputs, rng) = (InputSampler::new(&spec.schema), &mut ChaCha8Rng::seed_from_u64(0));
    let data: Vec<f32> = (0..TRIED).flat_map(|_| inputs.row(rng)).collect();
    let y = network.forward(&Matrix { rows: TRIED, cols: network.inputs, data });
    // The 0 beside a single number says nothing.
    y.data.iter().all(|v| (0.0..=1.0).contains(v)) && y.data.iter().any(|v| *v != 0.0)
}

/// Whether a network ends in a Sigmoid, before the layer that puts 0 beside its one number, if there is that.
fn ends_in_sigmoid(network: &Network, beside: bool) -> bool {
    let last = network.nodes.len().checked_sub(1 + usize::from(beside)).and_then(|k| network.nodes.get(k));
    matches!(last, Some(Node { op: Op::Act(Activation::Sigmoid), .. }))
}

/// Puts 0 beside a network's one number, as the score of the first of two classes, which wins a tie: the second is predicted where the
/// number is above 0. A probability is above 0.5 where what its Sigmoid reads is above 0, but for the Sigmoid's own rounding.
fn two_scores(model: &mut Model) {
    let nodes = &mut model.network.nodes;
    if matches!(nodes.last(), Some(Node { op: Op::Act(Activation::Sigmoid), .. })) {
        nodes.pop();
        model.inexact.push("the last Sigmoid: a probability above 0.5 was read as a number above 0 before it".into());
    }
    let w = Matrix { rows: 2, cols: 1, data: vec![0.0, 1.0] };
    nodes.push(Node { op: Op::Dense { w, b: vec![0.0; 2] }, from: vec![nodes.len()] });
}

/// How columns are read, for people.
pub fn columns_in_words(schema: &Schema) -> String {
    let columns = schema.columns();
    let shown: Vec<String> = columns.iter().take(20).enumerate().map(|(k, c)| format!("{k} {}", c.name)).collect();
    let more = if columns.len() > 20 { format!(", ... {} in all", columns.len()) } else { String::new() };
    format!("columns: {}{more}", shown.join(", "))
}
