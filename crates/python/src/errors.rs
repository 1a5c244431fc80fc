//! The table from the engine's errors to Python's exceptions; the text is the command line's.

use deepsade_data::DataError as EngineDataError;
use deepsade_engine::artifact::ArtifactError;
use deepsade_engine::enforce::step::StepError;
use deepsade_engine::explain::conflict_in_words;
use deepsade_engine::fit::FitError;
use deepsade_engine::guard::GuardError;
use deepsade_engine::pipeline::PipelineError;
use deepsade_engine::problem::ProblemError;
use deepsade_engine::repair::RepairError;
use deepsade_engine::shield::ShieldError;
use deepsade_engine::subject::SubjectError;
use deepsade_engine::train::TrainError;
use deepsade_engine::verify::VerifyError;
use deepsade_lab::report::ReportError;
use deepsade_lab::reproduce::ReproduceError;
use deepsade_output::decode::DecodeError;
use deepsade_output::make::MakeError;
use deepsade_output::nearest::AllowedError;
use deepsade_spec::{NormalSpec, shown};
use pyo3::create_exception;
use pyo3::exceptions::{PyArithmeticError, PyOSError, PyValueError};
use pyo3::prelude::*;

use crate::rule_error::rule_errors;

create_exception!(deepsade, RuleError, PyValueError, "A rule can't be read; the message underlines the place.");
create_exception!(deepsade, ContradictionError, PyValueError, "No output obeys all rules for some input.");
create_exception!(deepsade, InfeasibleError, PyValueError, "No network of this kind was found that obeys the rules.");
create_exception!(deepsade, DataError, PyValueError, "The data don't fit the settings, the domain or the model.");
create_exception!(deepsade, SettingsError, PyValueError, "A setting is outside its range, or unknown.");
create_exception!(deepsade, ModelError, PyValueError, "A network can't be read, or does not fit the rules.");
create_exception!(deepsade, DivergedError, PyArithmeticError, "Training diverged before there was a model.");

/// Adds the classes to the module.
pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = m.py();
    m.add("RuleError", py.get_type::<RuleError>())?;
    m.add("ContradictionError", py.get_type::<ContradictionError>())?;
    m.add("InfeasibleError", py.get_type::<InfeasibleError>())?;
    m.add("DataError", py.get_type::<DataError>())?;
    m.add("SettingsError", py.get_type::<SettingsError>())?;
    m.add("ModelError", py.get_type::<ModelError>())?;
    m.add("DivergedError", py.get_type::<DivergedError>())
}

/// Which exception.
#[derive(Debug, Clone, Copy)]
pub enum Class {
    Rule,
    Contradiction,
    Infeasible,
    Data,
    Settings,
    Model,
    Diverged,
    Os,
}

/// An error on its way to Python.
#[derive(Debug)]
pub struct Failure {
    class: Class,
    text: String,
}

impl Failure {
    /// An error that may quote what a file says: it is shown, not obeyed.
    pub fn new(class: Class, text: impl ToString) -> Self {
        Self { class, text: shown::message(&text.to_string()) }
    }

    /// An error if no output obeys all rules for some input.
    pub fn if_contradictory(spec: &NormalSpec) -> Result<(), Self> {
        conflict_in_words(spec).map_or(Ok(()), |words| Err(Self::new(Class::Contradiction, words)))
    }
}

impl From<Failure> for PyErr {
    fn from(Failure { class, text }: Failure) -> Self {
        match class {
            Class::Rule => RuleError::new_err(text),
            Class::Contradiction => ContradictionError::new_err(text),
            Class::Infeasible => InfeasibleError::new_err(text),
            Class::Data => DataError::new_err(text),
            Class::Settings => SettingsError::new_err(text),
            Class::Model => ModelError::new_err(text),
            Class::Diverged => DivergedError::new_err(text),
            Class::Os => PyOSError::new_err(text),
        }
    }
}

impl From<ProblemError> for Failure {
    fn from(error: ProblemError) -> Self {
        match &error {
            ProblemError::Rules { path, errors } => {
                // Shown already, and of several lines.
                Self { class: Class::Rule, text: rule_errors(&path.display().to_string(), errors, false) }
            }
            ProblemError::DuplicateRule(_) | ProblemError::RuleName(_) | ProblemError::RuleFile(_) => {
                Self::new(Class::Rule, &error)
            }
            ProblemError::Unreadable { .. } => Self::new(Class::Os, &error),
            ProblemError::Data(_) | ProblemError::Unstated { .. } => Self::new(Class::Data, &error),
            ProblemError::Toml { .. }
            | ProblemError::Setting { .. }
            | ProblemError::TooLarge { .. }
            | ProblemError::Cutoff { .. }
            | ProblemError::NoCutoff(_)
            | ProblemError::Settings(_) => Self::new(Class::Settings, &error),
        }
    }
}

impl From<FitError> for Failure {
    fn from(error: FitError) -> Self {
        let class = match &error {
            FitError::Decode(DecodeError::Impossible { .. }) => Class::Contradiction,
            FitError::Step(why) if matches!(**why, StepError::Make(MakeError::Impossible)) => Class::Contradiction,
            FitError::Step(why) if matches!(**why, StepError::Artifact(_)) => Class::Model,
            FitError::Train(TrainError::Guard(GuardError::Infeasible { .. }))
            | FitError::Allowed(_)
            | FitError::Decode(_)
            | FitError::Step(_)
            | FitError::Clips(_)
            | FitError::NoWay { .. }
            | FitError::NearZero { .. }
            | FitError::NothingToTry => Class::Infeasible,
            FitError::Data(_)
            | FitError::Inject(_)
            | FitError::Train(TrainError::NoRows | TrainError::Shape { .. } | TrainError::NotFinite { .. }) => Class::Data,
            FitError::Train(_)
            | FitError::Gate { .. }
            | FitError::Penalty(_)
            | FitError::ClassWeight { .. }
            | FitError::TwoInputs { .. }
            | FitError::WeightsNotWhole { .. } => Class::Settings,
            FitError::Trunk { .. } | FitError::Artifact(_) => Class::Model,
            // The signal that stopped it is what Python sees.
            FitError::Abandoned => Class::Os,
        };
        Self::new(class, error)
    }
}

impl From<PipelineError> for Failure {
    fn from(error: PipelineError) -> Self {
        match error {
            PipelineError::NoData { .. } => Self::new(Class::Data, error),
            PipelineError::Problem(error) => error.into(),
            PipelineError::Fit(error) => error.into(),
            PipelineError::Artifact(error) => error.into(),
        }
    }
}

impl From<ArtifactError> for Failure {
    fn from(error: ArtifactError) -> Self {
        let class = match &error {
            ArtifactError::Unreadable { .. } | ArtifactError::Unwritable { .. } => Class::Os,
            _ => Class::Model,
        };
        Self::new(class, error)
    }
}

impl From<SubjectError> for Failure {
    fn from(error: SubjectError) -> Self {
        match error {
            SubjectError::Model(error) => error.into(),
            SubjectError::Problem(error) => error.into(),
            SubjectError::Data(error) => error.into(),
            SubjectError::NoRule { .. } => Self::new(Class::Rule, error),
            SubjectError::Fit { .. }
            | SubjectError::Other { .. }
            | SubjectError::Names { .. }
            | SubjectError::Sigmoid { .. }
            | SubjectError::Blind { .. }
            | SubjectError::Filled { .. } => Self::new(Class::Model, error),
        }
    }
}

impl From<RepairError> for Failure {
    fn from(error: RepairError) -> Self {
        let class = match &error {
            RepairError::Infeasible(_) | RepairError::Rejected(_) | RepairError::NoLastLayer => Class::Infeasible,
            _ => Class::Model,
        };
        Self::new(class, error)
    }
}

impl From<ReportError> for Failure {
    fn from(error: ReportError) -> Self {
        Self::new(Class::Model, error)
    }
}

impl From<ReproduceError> for Failure {
    fn from(error: ReproduceError) -> Self {
        let class = match &error {
            ReproduceError::Folder { .. } | ReproduceError::File { .. } => Class::Os,
            ReproduceError::Unexpected { .. } => Class::Data,
            _ => Class::Settings,
        };
        Self::new(class, error)
    }
}

impl From<EngineDataError> for Failure {
    fn from(error: EngineDataError) -> Self {
        Self::new(Class::Data, error)
    }
}

impl From<DecodeError> for Failure {
    fn from(error: DecodeError) -> Self {
        FitError::from(error).into()
    }
}

impl From<StepError> for Failure {
    fn from(error: StepError) -> Self {
        FitError::from(error).into()
    }
}

impl From<ShieldError> for Failure {
    fn from(error: ShieldError) -> Self {
        match error {
            ShieldError::Step(error) => error.into(),
            ShieldError::Data(error) => error.into(),
            ShieldError::Problem(error) => error.into(),
            ShieldError::NoRule => Self::new(Class::Rule, error),
            ShieldError::Contradictory(words) => Self::new(Class::Contradiction, words),
            error => Self::new(Class::Model, error),
        }
    }
}

impl From<AllowedError> for Failure {
    fn from(error: AllowedError) -> Self {
        Self::new(Class::Infeasible, error)
    }
}

impl From<VerifyError> for Failure {
    fn from(error: VerifyError) -> Self {
        Self::new(Class::Model, error)
    }
}
