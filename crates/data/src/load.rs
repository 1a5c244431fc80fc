//! The tables of a rule file enter; the rows and the schema that everything later works on leave.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use deepsade_spec::{Schema, indicator_of};

use super::aside::{Aside, Said};
use super::decision::stray_words;
use super::error::DataError;
use super::locate::{is_data_name, locate, locate_split};
use super::missing::{MissingReport, settle_missing};
use super::overrides::{FeatureKind, FeatureOverride, Overrides};
use super::read::{Columns, Progress, ReadOptions, known, read_table};
use super::recipe::{Recipe, RecipeTable};
use super::schema::{infer_schema, kinds_of_overrides, widen};
use super::settings::CheckedData;
use super::table::{Kind, Table};
use super::task::{TaskKind, TaskSettings, repeated};

/// What a rule file says about its data, and where to look for it.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The `[data]` table.
    pub data: &'a CheckedData,
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
    /// Weights of the rows and which part each is in, where the data say so.
    pub said: Said,
    /// What to know of the data before they are used.
    pub notes: Vec<String>,
}

/// Locates, reads, settles missing values and fixes the schema.
///
/// ```
/// use deepsade_data::{DataSettings, Overrides, Request, TaskSettings, encode, load};
///
/// let folder = tempfile::tempdir()?;
/// std::fs::write(folder.path().join("homes.csv"), "rooms,area,price\n3,Urban,250\n5,Rural,310\n")?;
/// let data: DataSettings = toml::from_str("file = 'homes.csv'\ntargets = ['price']")?;
/// let data = data.checked()?;
/// let task: TaskSettings = toml::from_str("kind = 'regression'")?;
/// let overrides: Overrides = toml::from_str("rooms = { kind = 'integer', range = [1, 20] }")?;
/// let request =
///     Request { data: &data, task: &task, overrides: &overrides, rule_file_dir: folder.path(), data_dir: None };
/// let loaded = load(request, &mut |progress| println!("{} of {}", progress.bytes, progress.total))?;
/// let rows = encode(&loaded.table, &loaded.schema)?;
/// assert_eq!(rows.x.row(1), [5.0, 1.0, 0.0]); // rooms, area=Rural, area=Urban
/// assert_eq!(rows.y.row(1), [310.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn load(request: Request, progress: &mut dyn FnMut(Progress)) -> Result<Loaded, DataError> {
    let Request { data, task, overrides, .. } = request;
    overrides.iter().try_for_each(|(name, stated)| stated.check(name))?;
    only_features(data, overrides)?;
    // A rule file may come from elsewhere, and with it a link to any file: what stands in it is not for messages.
    let named = data.file.as_deref().filter(|f| data.recipe.is_none() && is_data_name(Path::new(f)));
    let linked = named.and_then(|f| locate(f, request.rule_file_dir, request.data_dir).ok()?.canonicalize().ok());
    let secret = linked.is_some_and(|f| !is_data_name(&f));
    let loaded = read(request, progress).and_then(|LoadedTable { table, file, overrides, targets }| {
        let dealt = data.split.file.as_deref().map(|f| locate_split(f, request.rule_file_dir, request.data_dir)).transpose()?;
        settle(table, file, &targets, (data, dealt.as_deref()), task, &overrides)
    });
    loaded.map_err(|error| if secret { error.without_contents() } else { error })
}

/// The same for a table that is already in memory, all of whose columns are used.
pub fn load_table(table: Table, data: &CheckedData, task: &TaskSettings, overrides: &Overrides) -> Result<Loaded, DataError> {
    if let Some(name) = repeated(&table.names) {
        return Err(DataError::DuplicateColumn { file: "the data".into(), name: name.clone() });
    }
    let targets = task.resolve_targets(&data.targets)?;
    settle(table, PathBuf::new(), &targets, (data, data.split.file.as_deref().map(Path::new)), task, overrides)
}

/// The features in the order of the data's columns, without reading more than the head of the file; `None` where there is no file, or a
/// recipe makes the columns.
pub fn feature_names(request: Request) -> Result<Option<Vec<String>>, DataError> {
    let Request { data, task, overrides, rule_file_dir, data_dir } = request;
    only_features(data, overrides)?;
    let Some(named) = data.file.as_deref().filter(|_| data.recipe.is_none()) else { return Ok(None) };
    let Ok(file) = locate(named, rule_file_dir, data_dir) else { return Ok(None) };
    let targets = task.resolve_targets(&data.targets)?;
    let options = ReadOptions {
        columns: Columns::Except(left_out(data)),
        rows: Some(1),
        separator: data.delimiter(),
        ..ReadOptions::default()
    };
    let table = read_table(&file, &options, &mut |_| {}).map_err(DataError::without_contents)?;
    let aside: Vec<&String> = data.aside().collect();
    Ok(Some(table.names.into_iter().filter(|name| !targets.contains(name) && !aside.contains(&name)).collect()))
}

fn only_features(data: &CheckedData, overrides: &Overrides) -> Result<(), DataError> {
    let role = |name: &String| match name {
        name if data.weight.as_ref() == Some(name) => Some("the weight of rows (`weight` in [data])"),
        name if data.aside().any(|aside| aside == name) => Some("what deals the rows out (`split` in [data])"),
        name if data.ignore.contains(name) => Some("ignored"),
        _ => None,
    };
    match overrides.keys().find_map(|name| Some((name, role(name)?))) {
        Some((name, role)) => Err(DataError::NotAFeature { name: name.clone(), role }),
        None => Ok(()),
    }
}

fn settle(
    mut table: Table,
    file: PathBuf,
    targets: &[String],
    (data, dealt): (&CheckedData, Option<&Path>),
    task: &TaskSettings,
    overrides: &Overrides,
) -> Result<Loaded, DataError> {
    known(targets, &table.names, "`targets`")?;
    let aside = Aside::take(&mut table, data)?;
    let notes = stray_words(&table, overrides);
    overrides.iter().try_for_each(|(name, stated)| stated.check(name))?;
    let (missing, filled) = settle_missing(&mut table, targets, data, overrides)?;
    let mut overrides = overrides.clone();
    let indicator = FeatureOverride { kind: Some(FeatureKind::Integer), range: Some([0.0, 1.0]), ..FeatureOverride::default() };
    overrides.extend(filled.iter().filter(|f| f.indicator).map(|f| (indicator_of(&f.feature), indicator.clone())));
    let mut schema = infer_schema(&table, targets, &overrides, task, data.one_hot)?;
    widen(&mut schema, &overrides, data.margin);
    schema.filled = filled;
    let said = aside.say(&table.row_numbers, dealt)?;
    Ok(Loaded { table, schema, file, missing, said, notes })
}

/// Columns that are not read: one that says something about rows is, though it is no feature anyway.
fn left_out(data: &CheckedData) -> Vec<String> {
    data.ignore.iter().filter(|name| data.aside().all(|aside| aside != *name)).cloned().collect()
}

/// Texts that stand for no value in some columns.
fn markers_of(overrides: &Overrides) -> BTreeMap<String, Vec<String>> {
    overrides.iter().map(|(name, stated)| (name.clone(), stated.missing_values.0.clone())).collect()
}

struct LoadedTable {
    table: Table,
    file: PathBuf,
    overrides: Overrides,
    targets: Vec<String>,
}

fn read(request: Request, progress: &mut dyn FnMut(Progress)) -> Result<LoadedTable, DataError> {
    match request.data.recipe {
        Some(recipe) => read_recipe(recipe, request),
        None => read_file(request, progress),
    }
}

fn read_recipe(recipe: Recipe, request: Request) -> Result<LoadedTable, DataError> {
    let Request { data, task, overrides, rule_file_dir, data_dir } = request;
    let file = locate(&recipe.file(data.file.as_deref()), rule_file_dir, data_dir)?;
    let RecipeTable { mut table, overrides: mut stated, targets: own } = recipe.read(&file, data.rows, data.seed)?;
    known(&data.ignore, &table.names, "`ignore`")?;
    table.drop_columns(&left_out(data));
    stated.retain(|name, _| !data.ignore.contains(name));
    stated.extend(overrides.clone());
    let own: Vec<String> = own.into_iter().filter(|target| !data.ignore.contains(target)).collect();
    let unstated = data.targets.is_empty() && task.targets.is_none();
    let targets = task.resolve_targets(if unstated { &own } else { &data.targets })?;
    Ok(LoadedTable { table, file, overrides: stated, targets })
}

fn read_file(request: Request, progress: &mut dyn FnMut(Progress)) -> Result<LoadedTable, DataError> {
    let Request { data, task, overrides, rule_file_dir, data_dir } = request;
    let targets = task.resolve_targets(&data.targets)?;
    let file = locate(data.file.as_deref().ok_or(DataError::NoFile)?, rule_file_dir, data_dir)?;
    let mut expected = kinds_of_overrides(overrides);
    if !matches!(task.kind, TaskKind::Binary | TaskKind::Multiclass) {
        // A stray word among the numbers is then refused where it stands.
        expected.extend(targets.iter().map(|target| (target.clone(), Kind::Number)));
    }
    let columns = Columns::Except(left_out(data));
    let (markers, markers_of) = (data.missing_values.0.clone(), markers_of(overrides));
    let options = ReadOptions { columns, expected, rows: data.rows, separator: data.delimiter(), markers, markers_of };
    let table = read_table(&file, &options, progress)?;
    Ok(LoadedTable { table, file, overrides: overrides.clone(), targets })
}

#[cfg(test)]
#[path = "load/tests.rs"]
mod tests;
