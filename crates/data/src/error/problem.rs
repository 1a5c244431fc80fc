//! What is wrong with one table of a rule file, or one file of a recipe.

use deepsade_spec::LARGEST_INTEGER;

use super::DataError;

/// What is wrong with a `[features.NAME]` table.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum OverrideProblem {
    /// Ends that are not finite, out of order, or beyond float32.
    #[error("`range = [{0}, {1}]` must be two finite numbers of float32's range, the smaller first")]
    Range(f64, f64),
    /// Ends of an integer range that are not whole or too large.
    #[error("`range = [{0}, {1}]` of an integer must be whole numbers within ±{LARGEST_INTEGER} (2^24, where float32 is exact)")]
    IntegerRange(f64, f64),
    /// A step without exact multiples in float32.
    #[error(
        "`step = {0}` must be a power of two from 2^-20 to 2^20, such as 0.5, 0.25 or 8: float32 has no exact multiples of other steps; \
         state the column in smaller units (hundredths, say) as whole numbers with `kind = \"integer\"`, or leave the step out and the \
         rule a tolerance"
    )]
    Step(f64),
    /// A step that has a name of its own.
    #[error("`step = 1` are whole numbers: state them as `kind = \"integer\"`")]
    StepOfOne,
    /// A step of something that has none, or has one already.
    #[error("only a real number has a `step`, not {0}")]
    StepOf(&'static str),
    /// Ends of a range beside the step.
    #[error("`range = [{0}, {1}]` must be multiples of `step = {2}`, at most 2^24 steps from 0 (where float32 is exact)")]
    SteppedRange(f64, f64, f64),
    /// Levels, but none.
    #[error("`levels` is empty")]
    NoLevels,
    /// A level twice.
    #[error("level '{0}' is listed twice")]
    DuplicateLevel(String),
    /// A range for a category.
    #[error("a category has `levels`, not a `range`")]
    RangeOfCategory,
    /// Levels with an order and without.
    #[error("`order` lists the levels already, from the lowest to the highest: leave `levels` out")]
    LevelsAndOrder,
    /// Levels for a number.
    #[error("a number has a `range`, not `levels` or an `order` of them")]
    LevelsOfNumber,
    /// A value that is filled in but does not exist.
    #[error("`missing` gives {value} where there is no value, which must be a value of the feature: {domain}")]
    FillOutside {
        /// What is filled in.
        value: String,
        /// What the feature may be.
        domain: String,
    },
    /// A level for a number.
    #[error("`missing = \"level\"`: only a category has levels; say \"median\", \"mean\", \"most-frequent\" or a number")]
    LevelOfNumber,
    /// A median or a mean of a category.
    #[error(
        "`missing`: a category has no median or mean; say \"most-frequent\", \"level\" (a level of its own) or {{ level = \"...\" }}"
    )]
    MiddleOfCategory,
    /// A level without a place.
    #[error(
        "`missing = \"level\"`: a level of its own has no place in an `order`; name the level that stands for no value, \
             `missing = {{ level = \"...\" }}`"
    )]
    LevelInOrder,
    /// An indicator where a level says the same.
    #[error(
        "`indicator = true` is for numbers; a category says by a level of its own that it has no value: `missing = \"level\"`"
    )]
    IndicatorOfCategory,
    /// A column of the data has the name of an indicator.
    #[error(
        "`indicator` adds a column with the name of this one and \" is missing\" behind it, but the data have such a column: rename theirs"
    )]
    IndicatorTaken,
    /// No data to take a value from.
    #[error(
        "without [data] what is read for a missing value must be stated: `missing = 0.5`, or `missing = {{ level = \"...\" }}`"
    )]
    FillNotStated,
    /// No data to take the domain from.
    #[error("without [data] the domain must be stated: `range = [lo, hi]` for a number, `levels = [...]` for a category")]
    NoDomain,
}

/// What is wrong with a `[targets.NAME]` table, or a `[features.NAME]` table of a target.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TargetProblem {
    /// Nothing of this name is predicted.
    #[error("it is no target{}", .nearest.as_ref().map(|n| format!("; did you mean '{n}'?")).unwrap_or_default())]
    NoTarget {
        /// The closest target.
        nearest: Option<String>,
    },
    /// Another task.
    #[error("only the targets of a regression have a `kind`; classes and labels are stated in [task]")]
    OnlyRegression,
    /// A domain.
    #[error(
        "of a target only `kind` is stated, \"real\" or \"integer\"; bounds of what is predicted are rules, such as `0 <= y <= 10`"
    )]
    OnlyKind,
    /// Text.
    #[error("the kind of a regression's target is \"real\" or \"integer\"; for levels use `kind = \"multiclass\"` in [task]")]
    Category,
    /// Two kinds.
    #[error("[targets] and [features] state different kinds for it; state it once, in [targets]")]
    Differs,
}

/// What is wrong with a `[task]` table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TaskProblem {
    /// Nothing to predict.
    #[error("no targets: name the columns to predict, `targets = [...]` in [data] or [task]")]
    NoTargets,
    /// Two different lists.
    #[error("`targets` differ between [data] ({}) and [task] ({}); state them once", .data.join(", "), .task.join(", "))]
    TargetsDiffer {
        /// Those of `[data]`.
        data: Vec<String>,
        /// Those of `[task]`.
        task: Vec<String>,
    },
    /// A target named twice.
    #[error("target '{0}' is named twice")]
    DuplicateTarget(String),
    /// Classification has one target.
    #[error("a {kind} task has exactly one target column, not {found}")]
    OneTarget {
        /// The task.
        kind: &'static str,
        /// How many were named.
        found: usize,
    },
    /// A ranking of fewer than two items.
    #[error("a ranking needs at least two target columns, one an item")]
    TwoItems,
    /// Classes for a task that has none.
    #[error("`classes` belong to binary and multiclass tasks")]
    NoClassesHere,
    /// A cut-off where nothing is decided at one.
    #[error("`cutoff` belongs to binary tasks: the probability of the second class from which on it is predicted")]
    NoCutoffHere,
    /// A class twice.
    #[error("class '{0}' is listed twice")]
    DuplicateClass(String),
    /// The number of classes is wrong.
    #[error("a {kind} task needs {needed} classes; there are {}: {}", .found.len(), first_few(.found))]
    ClassCount {
        /// The task.
        kind: &'static str,
        /// How many it needs.
        needed: &'static str,
        /// The classes stated or found.
        found: Vec<String>,
    },
    /// No data to take the classes from.
    #[error("without [data] the classes must be stated: `classes = [...]`")]
    ClassesNotStated,
}

impl From<TaskProblem> for DataError {
    fn from(problem: TaskProblem) -> Self {
        Self::Task { problem }
    }
}

/// What is wrong with an IDX file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdxProblem {
    /// The first four bytes are wrong.
    #[error("not an IDX file of {expected}: it starts with {found:#010x}")]
    Magic {
        /// What it should hold.
        expected: &'static str,
        /// The first four bytes.
        found: u32,
    },
    /// The images have another size.
    #[error("images of {0} x {1} pixels, not 28 x 28")]
    Size(u32, u32),
    /// Fewer or more bytes than the header says.
    #[error("the header promises {promised} bytes of data, the file holds {}", if *.found > *.promised { "more" } else { "fewer" })]
    Length {
        /// By the header.
        promised: u64,
        /// In the file; one too many stands for any number.
        found: u64,
    },
    /// A label that is no digit.
    #[error("label {label} of image {index} is not a digit")]
    Label {
        /// The label.
        label: u8,
        /// 0-based.
        index: usize,
    },
    /// Labels and images do not match.
    #[error("{labels} labels for {images} images")]
    Count {
        /// Labels in this file.
        labels: usize,
        /// Images in the other file.
        images: usize,
    },
    /// A digit without images.
    #[error("no image of the digit {0}")]
    NoImage(u8),
}

/// The first few names, so that a message stays readable.
fn first_few(names: &[String]) -> String {
    deepsade_spec::listed(names, 6)
}
