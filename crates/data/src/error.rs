//! Everything that can be wrong with data and its settings; each error names the place and says what would help.

mod problem;

use std::path::PathBuf;

use super::table::Kind;
pub use problem::{IdxProblem, OverrideProblem, TargetProblem, TaskProblem};

/// Why data could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// A setting is outside its range.
    #[error("`{setting} = {value}` is not possible: {expected}")]
    Setting {
        /// The setting, as a rule file spells it.
        setting: &'static str,
        /// What was given.
        value: String,
        /// What is allowed.
        expected: &'static str,
    },
    /// A rule file whose `[data]` names neither a file nor a recipe.
    #[error("`[data]` names no file: set `file = \"...\"` (CSV, .csv.gz or .parquet) or a `recipe`")]
    NoFile,
    /// A name that no data file has.
    #[error("data file '{file}': the name of a data file ends in .csv, .csv.gz, .tsv, .tab, .txt, .dat, .data or .parquet")]
    NotData {
        /// The file, as the rule file names it.
        file: String,
    },
    /// A column that is both a target and ignored, or twice in one list.
    #[error("column '{name}' is named twice in `targets` and `ignore`; name it once")]
    NamedTwice {
        /// The column.
        name: String,
    },
    /// A target that would say how much its row counts.
    #[error("column '{name}' is a target: it can't be the `weight` of its row too, or say how rows are split")]
    NotATarget {
        /// The column.
        name: String,
    },
    /// A weight that is none.
    #[error("row {row}, column '{column}': {value} is no weight: it must be a number, 0 or above, in every row")]
    BadWeight {
        /// 1-based data row.
        row: u64,
        /// The column.
        column: String,
        /// The value.
        value: String,
    },
    /// A row that is in no part of the split.
    #[error("row {row}: {place} says {value} of it, but must say train, validation or test")]
    BadPart {
        /// 1-based data row.
        row: u64,
        /// What is said.
        value: String,
        /// Where.
        place: String,
    },
    /// Dates that are not in order when their texts are.
    #[error(
        "row {row}, column '{column}': rows can't be ordered by {value}: `split.by` takes numbers, or dates that begin with the year, \
         such as 2024-12-31"
    )]
    BadTime {
        /// 1-based data row.
        row: u64,
        /// The column.
        column: String,
        /// The value.
        value: String,
    },
    /// Nothing to learn from.
    #[error("no row trains: {place} puts none of them in the part `train`")]
    NobodyTrains {
        /// The column or file.
        place: String,
    },
    /// The file is in none of the places.
    #[error("{} '{file}' not found; looked for {}{}", if *.of_split { "the file of `split`," } else { "data file" }, list(.looked_in),
        if *.of_split { "" } else { "; docs/data.md says where the public files come from and how to name a folder" })]
    NotFound {
        /// Whether it says how rows are dealt out.
        of_split: bool,
        /// The file, as the rule file names it.
        file: String,
        /// Every path tried, in order.
        looked_in: Vec<PathBuf>,
    },
    /// Reading failed.
    #[error("{file}: cannot be read: {source}")]
    Io {
        /// The file.
        file: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A gzip stream that ends too early.
    #[error("{file}: the compressed file is cut off: it ends before its data does (an interrupted download or copy?)")]
    Truncated {
        /// The file.
        file: String,
    },
    /// What `--data` names is not there, or is a file where a folder is meant.
    #[error("--data {}: there is no such folder or file; name the folder that holds the data file, or the file itself", path.display())]
    NoFolder {
        /// What was given.
        path: PathBuf,
    },
    /// An empty line that may be a row.
    #[error(
        "{file}: line {line} is empty; in a file of one column that may be a missing value, which is written NA: write it, or take the \
         line out"
    )]
    EmptyLine {
        /// The file.
        file: String,
        /// The line, from 1.
        line: u64,
    },
    /// Fewer rows than the first pass, or the file's own summary, counted.
    #[error("{file}: {found} rows where {announced} were announced; the file is cut off, or changed while it was read")]
    RowCount {
        /// The file.
        file: String,
        /// Rows found.
        found: usize,
        /// Rows expected.
        announced: usize,
    },
    /// More than is read without being asked to.
    #[error("{file}: {what}; is this a data file? --{option} N reads more")]
    Limit {
        /// The file.
        file: String,
        /// What there is too much of.
        what: String,
        /// The option that lifts the limit.
        option: &'static str,
    },
    /// The parquet reader broke down.
    #[error("{file}: damaged: the parquet reader gave up on it ({why})")]
    Damaged {
        /// The file.
        file: String,
        /// What the reader said.
        why: String,
    },
    /// The parquet reader gave up.
    #[error(
        "{file}: not a readable parquet file: {source} (uncompressed files and those packed by snappy, gzip, lz4 or zstd are supported)"
    )]
    Parquet {
        /// The file.
        file: String,
        /// What it said.
        source: parquet::errors::ParquetError,
    },
    /// A parquet column that is neither number, boolean nor string.
    #[error(
        "{file}: column '{column}' holds {found}; numbers, booleans and strings can be used: convert it, or list it under `ignore`"
    )]
    ParquetType {
        /// The file.
        file: String,
        /// The column.
        column: String,
        /// Its parquet type.
        found: String,
    },
    /// Nothing in the file.
    #[error("{file}: the file is empty; its first line must name the columns")]
    EmptyFile {
        /// The file.
        file: String,
    },
    /// A first line of numbers.
    #[error("{file}: the first line holds only numbers ({first_line}); it must name the columns")]
    NoHeader {
        /// The file.
        file: String,
        /// How it starts.
        first_line: String,
    },
    /// A header and nothing else.
    #[error("{file}: the file has a header but no data rows")]
    NoRows {
        /// The file.
        file: String,
    },
    /// Two columns of one name.
    #[error(
        "{file}: two columns are named '{name}'; names must differ: rename one, or list '{name}' under `ignore`, which leaves out both"
    )]
    DuplicateColumn {
        /// The file.
        file: String,
        /// The name.
        name: String,
    },
    /// A row that is too short or too long.
    #[error(
        "{file}, row {row}: {found} values, but the header names {expected} columns (a separator or quote too many or too few?)"
    )]
    Ragged {
        /// The file.
        file: String,
        /// 1-based data row.
        row: u64,
        /// Values in the row.
        found: usize,
        /// Columns in the header.
        expected: usize,
    },
    /// Bytes that are no UTF-8.
    #[error("{file}, {}: not UTF-8 text; convert the file to UTF-8", at_row(*.row))]
    NotUtf8 {
        /// The file.
        file: String,
        /// 1-based data row; 0 for the header.
        row: u64,
    },
    /// Text where a number is expected.
    #[error("{file}, row {row}, column '{column}': '{value}' is not a number")]
    NotANumber {
        /// The file.
        file: String,
        /// 1-based data row.
        row: u64,
        /// The column.
        column: String,
        /// The text.
        value: String,
    },
    /// An infinity, or a number beyond float32.
    #[error("{file}, row {row}, column '{column}': {value} is beyond float32 (at most 3.4028235e38)")]
    TooLarge {
        /// The file.
        file: String,
        /// 1-based data row.
        row: u64,
        /// The column.
        column: String,
        /// The value as written.
        value: String,
    },
    /// A name that no column has.
    #[error("{place} names '{name}', but there is no such column{}{}", did_you_mean(.nearest.as_deref()), columns_found(.columns))]
    UnknownColumn {
        /// The setting that names it.
        place: &'static str,
        /// The name.
        name: String,
        /// The closest column.
        nearest: Option<String>,
        /// The columns there are.
        columns: Vec<String>,
    },
    /// `[features.NAME]` for a column that is no feature.
    #[error("[features] names '{name}', which is {role}, not a feature: delete the table of '{name}'")]
    NotAFeature {
        /// The column.
        name: String,
        /// What it is instead.
        role: &'static str,
    },
    /// Missing values under `missing = "error"`.
    #[error(
        "{count} missing values in {rows} rows, the first in row {row}, column '{column}'; set `missing = \"drop\"` to leave such \
         rows out, or `impute = \"median\"` to fill them in, here and in every row that the model will ever see"
    )]
    Missing {
        /// 1-based data row of the first.
        row: u64,
        /// Its column.
        column: String,
        /// How many values are missing in used columns.
        count: usize,
        /// In how many rows.
        rows: usize,
    },
    /// A column with nothing in it cannot be filled in.
    #[error("column '{column}' has no values at all, so none can be imputed; list it under `ignore`")]
    NothingToImpute {
        /// The column.
        column: String,
    },
    /// Every row was dropped.
    #[error(
        "no rows are left: each of the {rows} rows has a missing value; list sparse columns under `ignore` or use `impute = \"median\"`"
    )]
    AllDropped {
        /// How many rows there were.
        rows: usize,
    },
    /// A `[features.NAME]` table that contradicts itself.
    #[error("[features.{name}]: {problem}")]
    Override {
        /// The feature.
        name: String,
        /// What is wrong.
        problem: OverrideProblem,
    },
    /// A column that holds something else than it must.
    #[error("column '{column}' holds {found}, but must hold {expected}")]
    WrongKind {
        /// The column.
        column: String,
        /// What it holds.
        found: Kind,
        /// What is needed.
        expected: Kind,
    },
    /// A value outside the domain of its feature.
    #[error("row {row}, column '{column}': {value} is not in the stated domain: {domain}")]
    OutsideDomain {
        /// 1-based data row.
        row: u64,
        /// The column.
        column: String,
        /// The value.
        value: String,
        /// The domain.
        domain: String,
    },
    /// A text column with implausibly many levels.
    #[error(
        "column '{column}' has {count} different values, more than the {most} a category may have unless its levels are stated; \
        if it is an identifier, list it under `ignore`"
    )]
    TooManyLevels {
        /// The column.
        column: String,
        /// How many.
        count: usize,
        /// How many are accepted.
        most: usize,
    },
    /// A text column that is no plain category.
    #[error(
        "column '{column}' {what}. Decide what it is: list it under `ignore` in [data], or state in [features.{column}] `kind = \"category\"` \
         (if it is one all the same), its `levels`, or their `order` from the lowest to the highest"
    )]
    Undecided {
        /// The column.
        column: String,
        /// What speaks against it.
        what: String,
    },
    /// Nothing left to learn from.
    #[error("no feature columns are left besides the targets and the ignored columns")]
    NoFeatures,
    /// The `[task]` table does not fit, by itself or the data.
    #[error("[task]: {problem}")]
    Task {
        /// What is wrong.
        problem: TaskProblem,
    },
    /// A `[targets.NAME]` table that fits no target.
    #[error("target '{name}': {problem}")]
    Target {
        /// The target.
        name: String,
        /// What is wrong.
        problem: TargetProblem,
    },
    /// A target value the task cannot use.
    #[error("row {row}, target '{column}': {value} cannot be used: {expected}")]
    BadTarget {
        /// 1-based data row.
        row: u64,
        /// The target.
        column: String,
        /// The value.
        value: String,
        /// What is needed.
        expected: String,
    },
    /// A missing value reached the encoder.
    #[error("row {row}, column '{column}': the value is missing")]
    MissingValue {
        /// 1-based data row.
        row: u64,
        /// The column.
        column: String,
    },
    /// A MNIST file that is not what it should be.
    #[error("{file}: {problem}")]
    Idx {
        /// The file.
        file: String,
        /// What is wrong.
        problem: IdxProblem,
    },
    /// A `PrefLib` file that is not what it should be.
    #[error("{file}, line {line}: expected {expected}")]
    PrefLib {
        /// The file.
        file: String,
        /// 1-based line.
        line: usize,
        /// What should stand there.
        expected: &'static str,
    },
}

impl DataError {
    /// Whether what a rule file states is wrong, so that no data make it right: not where it leaves something to its data.
    pub fn is_misstated(&self) -> bool {
        match self {
            Self::Override { problem, .. } => !matches!(problem, OverrideProblem::NoDomain | OverrideProblem::FillNotStated),
            Self::Task { problem } => {
                !matches!(problem, TaskProblem::NoTargets | TaskProblem::ClassesNotStated | TaskProblem::ClassCount { .. })
            }
            Self::Target { .. } | Self::Setting { .. } => true,
            _ => false,
        }
    }

    /// The error without a word of what stands in the file.
    pub(crate) fn without_contents(mut self) -> Self {
        const HIDDEN: &str = "(not shown)";
        match &mut self {
            Self::NoHeader { first_line: text, .. } | Self::DuplicateColumn { name: text, .. } => *text = HIDDEN.into(),
            Self::NotANumber { column, value, .. }
            | Self::TooLarge { column, value, .. }
            | Self::OutsideDomain { column, value, .. }
            | Self::BadWeight { column, value, .. }
            | Self::BadTime { column, value, .. }
            | Self::BadTarget { column, value, .. } => (*column, *value) = (HIDDEN.into(), HIDDEN.into()),
            Self::UnknownColumn { nearest, columns, .. } => (*nearest, *columns) = (None, vec![HIDDEN.into()]),
            Self::Missing { column, .. }
            | Self::NothingToImpute { column }
            | Self::WrongKind { column, .. }
            | Self::TooManyLevels { column, .. }
            | Self::MissingValue { column, .. } => *column = HIDDEN.into(),
            Self::Undecided { column, what } => (*column, *what) = (HIDDEN.into(), HIDDEN.into()),
            Self::BadPart { value, .. } => *value = HIDDEN.into(),
            Self::Task { problem: TaskProblem::ClassCount { found, .. } } => *found = vec![HIDDEN.into()],
            _ => {}
        }
        self
    }

    /// An I/O error of `file`; a stream that ends too early is told apart.
    pub(crate) fn io(file: &str, source: std::io::Error) -> Self {
        if source.kind() == std::io::ErrorKind::UnexpectedEof {
            Self::Truncated { file: file.to_owned() }
        } else {
            Self::Io { file: file.to_owned(), source }
        }
    }
}

fn list(paths: &[PathBuf]) -> String {
    paths.iter().map(|p| p.display().to_string()).collect::<Vec<_>>().join(", then ")
}

fn at_row(row: u64) -> String {
    if row == 0 { "header".to_owned() } else { format!("row {row}") }
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map(|name| format!("; did you mean '{name}'?")).unwrap_or_default()
}

/// The columns, or the advice that goes with a single one that looks like several.
fn columns_found(columns: &[String]) -> String {
    if let [only] = columns
        && let Some(separator) = [';', '\t', '|'].into_iter().find(|c| only.contains(*c))
    {
        return format!(
            "; the file seems to be separated by {separator:?}: say `separator = {separator:?}` in [data], or --separator"
        );
    }
    format!("; the columns are {}", deepsade_spec::listed(columns.iter().map(|c| format!("'{c}'")), 12))
}
