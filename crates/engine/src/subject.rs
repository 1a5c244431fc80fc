//! A model and rules enter; the network and the rules about it leave, in the same columns.
//!
//! What the rules are about is what the rule file and its data say. A model of this program carries its schema, which must name the
//! same columns and outputs; the domain is the rule file's. A model of another tool carries none: then the rule file's features, in
//! their order, are the network's columns.

use std::path::{Path, PathBuf};

use deepsade_check::filling_of;
use deepsade_data::{DataError, Loaded};
use deepsade_net::{Activation, Matrix, Model, Node, Op};
use deepsade_spec::{Mismatch, NormalSpec, Schema, Task, compile};
use thiserror::Error;

use crate::artifact::{ArtifactError, SCHEMA_KEY, read_any, schema_of};
use crate::class_names::{self, Numbered, OtherClasses};
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
        let read = self.numbered.iter().map(ToString::to_string).chain(self.one_number_for.iter().map(one));
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
    /// Other classes than the rules think.
    #[error("{}: {source}", model.display())]
    Classes {
        /// The network.
        model: PathBuf,
        /// Which.
        source: OtherClasses,
    },
    /// Labels that are present whatever the input.
    #[error(
        "{}: its last operator is a Sigmoid, whose results are above 0 for every input, and a label is present where its output is above 0: \
         name the tensor before the Sigmoid (--output NAME)",
        model.display()
    )]
    Sigmoid {
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
    let numbered = class_names::compare(model.classes.clone(), &spec.schema.task)
        .map_err(|source| SubjectError::Classes { model: files.model.into(), source })?;
    let ends_in_sigmoid = matches!(model.network.nodes.last(), Some(Node { op: Op::Act(Activation::Sigmoid), .. }));
    if ends_in_sigmoid && matches!(spec.schema.task, Task::Multilabel { .. } | Task::Ranking { .. }) {
        return Err(SubjectError::Sigmoid { model: files.model.into() });
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
    fits(&spec, &model.network).map_err(|source| SubjectError::Fit {
        model: files.model.into(),
        rules: files.rules.into(),
        source: Box::new(source),
    })?;
    Ok(Subject { model, problem, spec, loaded, named, numbered, one_number_for })
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
