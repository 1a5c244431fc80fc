//! A model file and a rule file enter; the network and the rules about it leave, in the same columns.
//!
//! A model of this program carries its schema; what the rule file states about a feature's domain goes before it. A model of
//! another tool carries none: then the rule file's features, in their order, are the network's columns.

use std::path::Path;

use anyhow::{Context, bail};
use deepsade_engine::artifact::{SCHEMA_KEY, read_any, schema_of};
use deepsade_engine::data::{self, Loaded, Request};
use deepsade_engine::problem::{Problem, ProblemError};
use deepsade_engine::verify::fits;
use deepsade_net::Model;
use deepsade_spec::{Domain, NormalSpec, Schema, compile};

/// What a command works on.
pub struct Subject {
    pub model: Model,
    pub problem: Problem,
    pub spec: NormalSpec,
    /// The rows, if they had to be read or were asked for.
    pub loaded: Option<Loaded>,
    /// Whether the model said what its columns are.
    pub named: bool,
}

/// Which files, and whether rows are needed.
pub struct Files<'a> {
    pub model: &'a Path,
    pub rules: &'a Path,
    /// A data file, or a folder to look in.
    pub data: Option<&'a Path>,
    pub output: Option<&'a str>,
    pub rows: bool,
}

/// Reads both files and brings them together.
pub fn read(files: &Files) -> anyhow::Result<Subject> {
    let model = read_any(files.model, files.output)?;
    let problem = with_data(Problem::read(files.rules)?, files.data);
    let named = model.metadata.contains_key(SCHEMA_KEY);
    let folder = files.data.filter(|d| d.is_dir());
    let (spec, loaded) = if named {
        let schema = stated(schema_of(&model, files.model)?, &problem)?;
        let spec =
            compile(&problem.rules, &schema).map_err(|errors| ProblemError::Rules { path: problem.path.clone(), errors })?;
        (spec, if files.rows { load(&problem, folder)? } else { None })
    } else {
        problem.load(folder, &mut |_| {})?
    };
    if spec.rules.is_empty() {
        bail!("{} has no rule", files.rules.display());
    }
    fits(&spec, &model.network).with_context(|| format!("{} and {}", files.model.display(), files.rules.display()))?;
    Ok(Subject { model, problem, spec, loaded, named })
}

/// A file on the command line goes before the one in the rule file.
fn with_data(mut problem: Problem, given: Option<&Path>) -> Problem {
    if let (Some(path), Some(settings)) = (given.filter(|p| !p.is_dir()), &mut problem.data) {
        let path = path.canonicalize().unwrap_or_else(|_| path.into());
        settings.file = Some(path.to_string_lossy().into_owned());
    }
    problem
}

fn load(problem: &Problem, folder: Option<&Path>) -> anyhow::Result<Option<Loaded>> {
    let Some(data) = &problem.data else { return Ok(None) };
    let rule_file_dir = problem.path.parent().unwrap_or(Path::new("."));
    let request = Request { data, task: &problem.task, overrides: &problem.features, rule_file_dir, data_dir: folder };
    Ok(Some(data::load(request, &mut |_| {})?))
}

/// The model's schema with the domains that the rule file states.
fn stated(mut schema: Schema, problem: &Problem) -> anyhow::Result<Schema> {
    for (name, stated) in &problem.features {
        let Some(domain) = stated.stated_domain() else { continue };
        let Some(f) = schema.feature(name) else {
            bail!("{} states a domain for '{name}', which the model does not have", problem.path.display());
        };
        match (&domain, &schema.features[f].domain) {
            (Domain::Category { levels }, Domain::Category { levels: known }) if levels == known => {}
            (Domain::Category { .. }, _) | (_, Domain::Category { .. }) => {
                let known = &schema.features[f].domain;
                bail!("{} states {domain:?} for '{name}', the model has {known:?}", problem.path.display());
            }
            _ => schema.features[f].domain = domain,
        }
    }
    Ok(schema)
}

/// How columns are read, for people.
pub fn columns_in_words(schema: &Schema) -> String {
    let columns = schema.columns();
    let shown: Vec<String> = columns.iter().take(20).enumerate().map(|(k, c)| format!("{k} {}", c.name)).collect();
    let more = if columns.len() > 20 { format!(", ... {} in all", columns.len()) } else { String::new() };
    format!("columns: {}{more}", shown.join(", "))
}
