//! The tables of a rule file enter; the rows and the schema that everything later works on leave.

use std::path::{Path, PathBuf};

use deepsade_spec::Schema;

use super::error::DataError;
use super::locate::locate;
use super::missing::{MissingReport, settle_missing};
use super::overrides::Overrides;
use super::read::{Columns, Progress, ReadOptions, known, read_table};
use super::recipe::RecipeTable;
use super::schema::{infer_schema, kinds_of_overrides};
use super::settings::DataSettings;
use super::table::Table;
use super::task::TaskSettings;

/// What a rule file says about its data, and where to look for it.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The `[data]` table.
    pub data: &'a DataSettings,
    /// The `[task]` table.
    pub task: &'a TaskSettings,
    /// The `[features]` table.
    pub overrides: &'a Overrides,
    /// The rule file's folder.
    pub rule_file_dir: &'a Path,
    /// The `--data` folder.
    pub data_dir: Option<&'a Path>,
}

/// Rows without gaps, ready for [`super::encode()`].
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// Features and targets.
    pub table: Table,
    /// What the rows are, and the domain that holds them.
    pub schema: Schema,
    /// The file that was read (the first one, of a recipe that reads several).
    pub file: PathBuf,
    /// What was done about missing values.
    pub missing: MissingReport,
}

/// Locates, reads, settles missing values and fixes the schema.
pub fn load(request: Request, progress: &mut dyn FnMut(Progress)) -> Result<Loaded, DataError> {
    let Request { data, task, overrides, .. } = request;
    data.check()?;
    for (name, stated) in overrides {
        stated.check(name)?;
        if data.ignore.contains(name) {
            return Err(DataError::NotAFeature { name: name.clone(), role: "ignored" });
        }
    }
    let Source { mut table, file, overrides, targets } = read(request, progress)?;
    let targets =
        task.resolve_targets(if data.targets.is_empty() && task.targets.is_none() { &targets } else { &data.targets })?;
    known(&targets, &table.names, "`targets`")?;
    let missing = settle_missing(&mut table, &targets, data.missing)?;
    let schema = infer_schema(&table, &targets, &overrides, task, data.one_hot)?;
    Ok(Loaded { table, schema, file, missing })
}

struct Source {
    table: Table,
    file: PathBuf,
    overrides: Overrides,
    /// Those of a recipe; a plain file has none of its own.
    targets: Vec<String>,
}

fn read(request: Request, progress: &mut dyn FnMut(Progress)) -> Result<Source, DataError> {
    let Request { data, overrides, rule_file_dir, data_dir, .. } = request;
    if let Some(recipe) = data.recipe {
        let file = locate(&recipe.file(data.file.as_deref()), rule_file_dir, data_dir)?;
        let RecipeTable { mut table, overrides: mut stated, targets } = recipe.read(&file, data.rows, data.seed)?;
        known(&data.ignore, &table.names, "`ignore`")?;
        table.drop_columns(&data.ignore);
        stated.retain(|name, _| table.names.contains(name));
        stated.extend(overrides.clone());
        let targets = targets.into_iter().filter(|t| table.names.contains(t)).collect();
        return Ok(Source { table, file, overrides: stated, targets });
    }
    let name = data.file.as_deref().ok_or(DataError::NoFile)?;
    let file = locate(name, rule_file_dir, data_dir)?;
    let options = ReadOptions {
        columns: Columns::Except(data.ignore.clone()),
        expected: kinds_of_overrides(overrides),
        rows: data.rows,
        separator: data.separator,
    };
    let table = read_table(&file, &options, progress)?;
    Ok(Source { table, file, overrides: overrides.clone(), targets: Vec::new() })
}

#[cfg(test)]
#[path = "load/tests.rs"]
mod tests;
