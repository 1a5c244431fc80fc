//! The files of a model: the ONNX file carries schema and rules in its metadata, and is written whole or not at all.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use deepsade_check::filling_of;
use deepsade_net::{Carried, ImportError, Model, Network, NetworkError, Port};
use deepsade_spec::{NormalSpec, Schema, carried, print};
pub use deepsade_spec::{RULES_KEY, SCHEMA_KEY};
use serde::Serialize;
use thiserror::Error;

use crate::unfinished::{self, HELD, UNFINISHED};

/// Metadata key of the output step, with the proof of its fallback: such a file carries its own certificate.
pub const STEP_KEY: &str = "deepsade.step";
/// The key under which a model's metadata say what its outputs are clipped to.
pub const CLIPS_KEY: &str = "deepsade.clips";
/// Metadata key of the program's version.
pub const VERSION_KEY: &str = "deepsade.version";
/// A file larger than this is no network of ours.
pub const MAX_BYTES: u64 = 2 << 30;

/// What is wrong with a model file.
#[derive(Debug, Error)]
pub enum ArtifactError {
    /// It can't be read.
    #[error("can't read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It can't be written; what was there before is still there.
    #[error("can't write {}: {source}", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is too large.
    #[error("{}: {bytes} bytes or more, which is more than any network or certificate that this program reads", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
    },
    /// It is no ONNX network that can be read.
    #[error("{}: {source}", path.display())]
    Import {
        /// The file.
        path: PathBuf,
        /// Why.
        source: ImportError,
    },
    /// A step stands behind operators of another tool.
    #[error("{}", run_by_runtime(path, inputs, outputs))]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What its graph reads.
        inputs: Vec<Port>,
        /// What it gives.
        outputs: Vec<Port>,
    },
    /// The network is not sound enough to be written.
    #[error("the trained network can't be exported: {0}")]
    Export(#[from] NetworkError),
    /// The file says nothing about its columns.
    #[error("{}: no '{SCHEMA_KEY}' in its metadata; only models written by this program name their columns", path.display())]
    NoSchema {
        /// The file.
        path: PathBuf,
    },
    /// The schema can't be read.
    #[error("{}: '{SCHEMA_KEY}' in its metadata can't be read: {source}", path.display())]
    BadSchema {
        /// The file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// The rules can't be read.
    #[error("{}: '{RULES_KEY}' in its metadata can't be read: {why}", path.display())]
    BadRules {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// Schema and network disagree.
    #[error("{}: the schema has {columns} columns and {outputs} outputs, the network {inputs} and {results}", path.display())]
    Mismatch {
        /// The file.
        path: PathBuf,
        /// Columns of the schema.
        columns: usize,
        /// Outputs of the schema.
        outputs: usize,
        /// Inputs of the network.
        inputs: usize,
        /// Outputs of the network.
        results: usize,
    },
}

#[derive(Serialize)]
struct PrintedRule<'a> {
    name: &'a str,
    text: &'a str,
    normal: String,
}

/// A network with the schema and the rules it was trained for.
pub fn model(spec: &NormalSpec, network: Network) -> Result<Model, ArtifactError> {
    network.validate()?;
    let mut model = Model::new(network);
    model.metadata = metadata(spec);
    model.filling = filling_of(&spec.schema);
    Ok(model)
}

/// What a file says of itself: schema, rules, and the program that wrote it.
pub fn metadata(spec: &NormalSpec) -> BTreeMap<String, String> {
    let one =
        spec.rules.iter().map(|r| PrintedRule { name: &r.name, text: &r.text, normal: print::formula(&r.claim, &spec.schema) });
    let two = spec.pairs.iter().map(|r| PrintedRule { name: &r.name, text: &r.text, normal: print::pair_rule(r, &spec.schema) });
    let rules: Vec<_> = one.chain(two).collect();
    BTreeMap::from([
        (SCHEMA_KEY.into(), spec.schema.to_json()),
        (RULES_KEY.into(), serde_json::to_string(&rules).expect("plain data becomes JSON")),
        (VERSION_KEY.into(), env!("CARGO_PKG_VERSION").into()),
    ])
}

/// Reads any model; `output` names a tensor to stop at.
pub fn read_any(path: &Path, output: Option<&str>) -> Result<Model, ArtifactError> {
    parse_any(&read_bytes(path)?, path, output)
}

/// The bytes of a model or a certificate, as [`read_at_most`] reads them.
pub fn read_bytes(path: &Path) -> Result<Vec<u8>, ArtifactError> {
    let unreadable = |source| ArtifactError::Unreadable { path: path.into(), source };
    let bytes = read_at_most(path, MAX_BYTES).map_err(unreadable)?;
    bytes.map_err(|bytes| ArtifactError::TooLarge { path: path.into(), bytes })
}

/// The same as text.
pub fn read_text(path: &Path) -> Result<String, ArtifactError> {
    let wrong = |e| ArtifactError::Unreadable { path: path.into(), source: std::io::Error::new(ErrorKind::InvalidData, e) };
    String::from_utf8(read_bytes(path)?).map_err(|e| wrong(e.utf8_error()))
}

/// The bytes of a file, or how many there are at least, if more than `most`: also of one that never ends, whatever size it states. A
/// file whose name ends in `.gz` is unpacked.
pub fn read_at_most(path: &Path, most: u64) -> std::io::Result<Result<Vec<u8>, u64>> {
    // Where nothing may be written, what is there is read.
    let _ = unfinished::settle(path.parent().unwrap_or(Path::new("")));
    let file = std::fs::File::open(path)?;
    let stated = file.metadata()?.len();
    if stated > most {
        return Ok(Err(stated));
    }
    let mut bytes = Vec::with_capacity(stated as usize);
    if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gz")) {
        flate2::read::MultiGzDecoder::new(file).take(most + 1).read_to_end(&mut bytes)?;
    } else {
        file.take(most + 1).read_to_end(&mut bytes)?;
    }
    let found = bytes.len() as u64;
    Ok(if found > most { Err(found) } else { Ok(bytes) })
}

/// Reads any model that is in memory; `path` is what messages call it.
pub fn parse_any(bytes: &[u8], path: &Path, output: Option<&str>) -> Result<Model, ArtifactError> {
    let model = match output {
        Some(output) => Model::from_bytes_until(bytes, output),
        None => Model::from_bytes(bytes),
    };
    model.map_err(|source| match Carried::read(bytes) {
        Ok(Carried { inputs, outputs, metadata, .. }) if output.is_none() && metadata.contains_key(STEP_KEY) => {
            ArtifactError::Foreign { path: path.into(), inputs, outputs }
        }
        _ => ArtifactError::Import { path: path.into(), source },
    })
}

/// Who runs a shielded file, and how.
fn run_by_runtime(path: &Path, inputs: &[Port], outputs: &[Port]) -> String {
    let fed = match inputs {
        [one] if one.dims.get(1) != Some(&Some(1)) => format!("{:?}: rows", one.name),
        many => many.iter().map(|port| format!("{:?}: ...", port.name)).collect::<Vec<_>>().join(", "),
    };
    let given: Vec<&str> = outputs.iter().map(|port| port.name.as_str()).collect();
    let numbers = if inputs.iter().all(|port| port.element == "float") { "float32, " } else { "" };
    format!(
        "{}: a shielded model, whose own operators onnxruntime runs, not this program. In Python ({numbers}one row an input):\n  \
         session = onnxruntime.InferenceSession({:?})\n  \
         {} = session.run({given:?}, {{{fed}}})\n\
         `deepsade check` judges its proof",
        path.display(),
        // What is in memory has no file yet.
        if path.extension().is_some() { path.display().to_string() } else { "model.onnx".into() },
        given.iter().map(|name| name.rsplit('.').next().unwrap_or_default()).collect::<Vec<_>>().join(", "),
    )
}

/// The schema that a model of this program carries.
pub fn schema_of(model: &Model, path: &Path) -> Result<Schema, ArtifactError> {
    schema_in(&model.metadata, path)
}

/// Reads a model and the schema it carries.
pub fn read_model(path: &Path) -> Result<(Model, Schema), ArtifactError> {
    described(read_any(path, None)?, path)
}

/// A model with the schema it carries; `path` is what messages call it.
pub fn described(model: Model, path: &Path) -> Result<(Model, Schema), ArtifactError> {
    let schema = schema_of(&model, path)?;
    let (columns, outputs) = (schema.columns().len(), schema.task.outputs());
    let (inputs, results) = (model.network.inputs, model.network.outputs());
    if (columns, outputs) != (inputs, results) {
        return Err(ArtifactError::Mismatch { path: path.into(), columns, outputs, inputs, results });
    }
    Ok((model, schema))
}

/// The rules that a model carries.
pub fn model_rules(path: &Path, model: &Model, schema: &Schema) -> Result<NormalSpec, ArtifactError> {
    rules_in(&model.metadata, path, schema)
}

fn rules_in(metadata: &BTreeMap<String, String>, path: &Path, schema: &Schema) -> Result<NormalSpec, ArtifactError> {
    let text = metadata.get(RULES_KEY).map_or("[]", String::as_str);
    carried(text, schema).map_err(|why| ArtifactError::BadRules { path: path.into(), why })
}

fn schema_in(metadata: &BTreeMap<String, String>, path: &Path) -> Result<Schema, ArtifactError> {
    let text = metadata.get(SCHEMA_KEY).ok_or_else(|| ArtifactError::NoSchema { path: path.into() })?;
    Schema::from_json(text).map_err(|source| ArtifactError::BadSchema { path: path.into(), source })
}

/// Schema and rules that a file carries, whatever its graph is made of.
pub fn carried_spec(bytes: &[u8], path: &Path) -> Result<NormalSpec, ArtifactError> {
    let file = Carried::read(bytes).map_err(|source| ArtifactError::Import { path: path.into(), source })?;
    rules_in(&file.metadata, path, &schema_in(&file.metadata, path)?)
}

/// Writes a file under a temporary name and renames it, so that it is there whole or as it was before.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), ArtifactError> {
    // Behind a link the file itself is replaced, not the link.
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.into());
    match stage(&path, bytes, UNFINISHED)? {
        Some(file) => file.persist(&path).map(drop).map_err(|e| ArtifactError::Unwritable { path, source: e.error }),
        None => Ok(()),
    }
}

/// Writes files of a folder that is held and that belong together, and removes those without bytes: all of it or nothing, whenever the program is killed.
pub fn write_together(folder: &Path, files: &[(&str, Option<&[u8]>)]) -> Result<(), ArtifactError> {
    let unwritable = |source| ArtifactError::Unwritable { path: folder.into(), source };
    let mut staged = Vec::new();
    for (name, bytes) in files {
        match bytes {
            // A device has been written to. A link is replaced: what it leads to is not of this folder.
            Some(bytes) => staged.extend(stage(&folder.join(name), bytes, HELD)?.map(|file| (*name, Some(file)))),
            None => staged.push((*name, None)),
        }
    }
    unfinished::commit(folder, staged).map_err(unwritable)
}

/// A file under a temporary name beside its place; none where that is a device or pipe, which is written to and never replaced.
fn stage(path: &Path, bytes: &[u8], prefix: &str) -> Result<Option<tempfile::NamedTempFile>, ArtifactError> {
    let unwritable = |source| ArtifactError::Unwritable { path: path.into(), source };
    if std::fs::metadata(path).is_ok_and(|m| !m.is_file()) {
        let written = std::fs::OpenOptions::new().write(true).open(path).and_then(|mut f| f.write_all(bytes));
        return written.map(|()| None).map_err(unwritable);
    }
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().prefix(prefix).tempfile_in(parent).map_err(unwritable)?;
    file.write_all(bytes).and_then(|()| file.as_file().sync_all()).map_err(unwritable)?;
    readable_by_others(file.as_file()).map_err(unwritable)?;
    Ok(Some(file))
}

/// A temporary file is private; a result is as readable as other files are.
#[cfg(unix)]
fn readable_by_others(file: &std::fs::File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn readable_by_others(_: &std::fs::File) -> std::io::Result<()> {
    Ok(())
}
