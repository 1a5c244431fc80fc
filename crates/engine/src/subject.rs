//! A model and rules enter; the network and the rules about it leave, in the same columns.
//!
//! What the rules are about is what the rule file and its data say. A model of this program carries its schema, which must name the
//! same columns and outputs; the domain is the rule file's. A model of another tool carries none: then the rule file's features, in
//! their order, are the network's columns.

use std::path::{Path, PathBuf};

use deepsade_check::filling_of;
use deepsade_data::{DataError, Loaded};
use deepsade_net::{Activation, Model, Node, Op};
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
}

impl Subject {
    /// What to know before an answer: that the data are absent, and how numbers for classes are read.
    pub fn notes(&self) -> Vec<String> {
        self.problem.absent_data().into_iter().chain(self.numbered.iter().map(ToString::to_string)).collect()
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
pub fn together(model: Model, problem: Problem, files: &SubjectFiles) -> Result<Subject, SubjectError> {
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
    fits(&spec, &model.network).map_err(|source| SubjectError::Fit {
        model: files.model.into(),
        rules: files.rules.into(),
        source: Box::new(source),
    })?;
    Ok(Subject { model, problem, spec, loaded, named, numbered })
}

/// How columns are read, for people.
pub fn columns_in_words(schema: &Schema) -> String {
    let columns = schema.columns();
    let shown: Vec<String> = columns.iter().take(20).enumerate().map(|(k, c)| format!("{k} {}", c.name)).collect();
    let more = if columns.len() > 20 { format!(", ... {} in all", columns.len()) } else { String::new() };
    format!("columns: {}{more}", shown.join(", "))
}
