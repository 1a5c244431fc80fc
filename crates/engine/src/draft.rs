//! A data file enters, the draft of a rule file leaves: what each column is, the task, and rules that the rows suggest.
//!
//! The steps, in order: `sheet` reads the file, `columns` says what each column is, `target` what is predicted, `suggest` which rules
//! the rows obey, `write` puts it all into TOML with comments. The draft can be trained as it is.

mod columns;
mod sheet;
pub(crate) mod spelled;
mod suggest;
mod target;
mod write;

use std::path::{Path, PathBuf};

use deepsade_data::{DataError, Progress, TaskKind};
use serde::Serialize;
use thiserror::Error;

pub use self::columns::{Described, LeftOut, Role};
pub use self::suggest::{Suggestion, orderings};
use self::target::Aim;
use crate::problem::ProblemError;

/// What is known beside the file.
#[derive(Debug, Clone, Default)]
pub struct Wishes {
    /// The columns to predict. Default: guessed.
    pub targets: Vec<String>,
    /// What stands between two values of a CSV file. Default: guessed.
    pub separator: Option<char>,
    /// Where the draft will stand: a data file below it is named from there.
    pub folder: PathBuf,
}

/// A drafted rule file.
#[derive(Debug, Clone, Serialize)]
pub struct DraftedFile {
    /// The rule file.
    #[serde(skip)]
    pub text: String,
    /// The task.
    pub task: TaskKind,
    /// The columns to predict.
    pub targets: Vec<String>,
    /// Whether the targets were guessed.
    pub guessed: bool,
    /// Rows of the file.
    pub rows: usize,
    /// Rows with a missing value in a column that is used.
    pub rows_with_gaps: usize,
    /// The columns that are no targets, those left out too, in the order of the file.
    pub columns: Vec<Described>,
    /// The rules, those that stand and those that are commented out.
    pub rules: Vec<Suggestion>,
    /// What a person should know.
    pub notes: Vec<String>,
}

/// Why there is no draft.
#[derive(Debug, Error)]
pub enum DraftError {
    /// The file can't be read.
    #[error(transparent)]
    Data(#[from] DataError),
    /// There is nothing to predict, or nothing to predict it from.
    #[error("{file}: {problem}")]
    Nothing {
        /// The data file.
        file: String,
        /// What is missing, and what to do.
        problem: String,
    },
    /// The draft does not read its own data: a defect of this program.
    #[error("the draft for these data can't be read back ({0}); please report it")]
    Unsound(#[from] ProblemError),
}

/// Drafts a rule file for the data of `file`.
///
/// ```
/// use deepsade_engine::draft::{Wishes, draft};
///
/// let folder = tempfile::tempdir()?;
/// let rows: String = (0..60).map(|k| format!("{k},{},{}\n", 20 + k % 40, k % 7)).collect();
/// std::fs::write(folder.path().join("homes.csv"), format!("id,age,rent\n{rows}"))?;
/// let wishes = Wishes { targets: vec!["rent".into()], folder: folder.path().into(), ..Wishes::default() };
/// let draft = draft(&folder.path().join("homes.csv"), &wishes, &mut |_| {})?;
/// assert!(draft.text.contains("ignore = [\n    \"id\","));
/// assert!(draft.text.contains("[features.age]\nkind = \"integer\""));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn draft(file: &Path, wishes: &Wishes, progress: &mut dyn FnMut(Progress)) -> Result<DraftedFile, DraftError> {
    let sheet = sheet::read(file, wishes.separator, progress)?;
    let nothing = |problem: String| DraftError::Nothing { file: file.display().to_string(), problem };
    let mut columns = columns::describe(&sheet);
    let aim = target::aim(&sheet, &columns, &wishes.targets).map_err(nothing)?;
    columns.retain(|c| !aim.targets.contains(&c.name));
    if columns.iter().all(|c| matches!(c.role, Role::Out(_))) {
        return Err(nothing(format!("no column is left to predict from: {}", columns::why_out(&columns))));
    }
    let rows_with_gaps = gaps(&sheet, &columns, &aim);
    let rules = suggest::suggest(&sheet.table, &columns, &aim);
    let notes = notes(&columns, &aim, sheet.table.rows(), rows_with_gaps, wishes);
    let mut draft = DraftedFile {
        text: String::new(),
        task: aim.kind,
        guessed: wishes.targets.is_empty(),
        rows: sheet.table.rows(),
        rows_with_gaps,
        columns,
        rules,
        notes,
        targets: aim.targets.clone(),
    };
    draft.text = write::text(file, &sheet, &aim, &draft, &wishes.folder);
    Ok(draft)
}

/// How many rows lack a value in a column that is used.
fn gaps(sheet: &sheet::Sheet, columns: &[Described], aim: &Aim) -> usize {
    let used =
        |name: &String| aim.targets.contains(name) || columns.iter().any(|c| c.name == *name && !matches!(c.role, Role::Out(_)));
    let table = &sheet.table;
    let used: Vec<_> = table.names.iter().zip(&table.columns).filter(|(name, _)| used(name)).map(|(_, column)| column).collect();
    (0..table.rows()).filter(|&row| used.iter().any(|column| column.is_missing(row))).count()
}

fn notes(columns: &[Described], aim: &Aim, rows: usize, gaps: usize, wishes: &Wishes) -> Vec<String> {
    let mut notes = Vec::new();
    if wishes.targets.is_empty() {
        let named = aim.targets.join(", ");
        notes.push(format!("the target was guessed: {named} ({}); --target NAME names another", aim.why));
    }
    notes.extend(aim.warning.clone());
    for column in columns {
        if let Role::Out(why) = &column.role {
            notes.push(format!("'{}' is left out: {}", column.name, why.in_words()));
        }
    }
    notes.extend(columns.iter().filter_map(|column| {
        let (nines, count) = column.nines?;
        Some(format!(
            "'{0}' is {nines} in {count} of {rows} rows, far from all its other values: if that stands for no value, say \
             `missing_values = [\"{nines}\"]` in [features.'{0}']",
            column.name
        ))
    }));
    if gaps > 0 {
        notes.push(format!("{gaps} of {rows} rows lack a value in a column that is used"));
    }
    notes
}

#[cfg(test)]
#[path = "draft/tests.rs"]
mod tests;
