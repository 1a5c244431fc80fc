//! The folder of a training run enters, its page leaves.

use std::path::Path;

use deepsade_check::sha256_hex;
use deepsade_data::{ReadOptions, encode_inputs, read_table, thinned};
use deepsade_engine::artifact::{ArtifactError, RULES_KEY, model_rules, read_model};
use deepsade_engine::files::{MODEL, SUMMARY, read_log};
use deepsade_engine::train::{EpochRecord, best_epoch};
use deepsade_net::{Matrix, Model, Op};
use deepsade_output::{Output, predict};
use deepsade_spec::{NormalSpec, Schema, compile};
use serde_json::Value;

use super::html::Html;
use super::proof::ProofStatus;
use super::{ReportError, dossier, explorer, judged, pairs, payload, rules, sections};
use crate::figure::{Epoch, latent_space, training_curves};
use crate::latent::{MOST_ROWS, last_hidden, panel};

/// Rows of the data that the explorer offers.
const EXAMPLES: usize = 50;

/// Everything a run left.
#[derive(Debug, Clone)]
pub struct RunFolder {
    /// The folder's name.
    pub name: String,
    /// The model.
    pub model: Model,
    /// SHA-256 of its file.
    pub sha256: String,
    /// Its domain and task.
    pub schema: Schema,
    /// Its rules; `None` if the model carries none that can be read.
    pub spec: Option<NormalSpec>,
    /// What the checker says.
    pub proof: ProofStatus,
    /// The epochs that the log has.
    pub epochs: Vec<EpochRecord>,
    /// What training said at its end.
    pub summary: Option<Value>,
    /// Rows to explore.
    pub examples: Vec<Vec<Value>>,
    /// Encoded rows for the picture of the latent space.
    pub rows: Option<Matrix>,
}

impl RunFolder {
    /// Reads a folder, runs the checker on its files, and reads rows to explore if a data file is given.
    pub fn read(dir: &Path, rows: Option<&Path>) -> Result<Self, ReportError> {
        let path = dir.join(MODEL);
        let (model, schema) = read_model(&path)?;
        let bytes = std::fs::read(&path).map_err(|source| ArtifactError::Unreadable { path: path.clone(), source })?;
        let proof = ProofStatus::of(dir);
        // What was proved is what the page shows; else what the model says it was trained for.
        let spec = proof.accepted().map(|a| a.spec.clone());
        let carried = || model_rules(&path, &model, &schema).ok().filter(|_| model.metadata.contains_key(RULES_KEY));
        let spec = spec.or_else(carried);
        // A log or a summary that can't be read, or that is of another model, is one that is not there: the page says so.
        let sha256 = sha256_hex(&bytes);
        let summary = std::fs::read_to_string(dir.join(SUMMARY)).ok().and_then(|text| serde_json::from_str::<Value>(&text).ok());
        let of_other = summary.as_ref().is_some_and(|s| s["model_sha256"].as_str().is_some_and(|hash| hash != sha256));
        let (summary, epochs) = if of_other { (None, Vec::new()) } else { (summary, read_log(dir)) };
        let mut folder =
            Self { name: title(dir), model, sha256, schema, spec, proof, epochs, summary, examples: Vec::new(), rows: None };
        if let Some(rows) = rows {
            let table = read_table(rows, &ReadOptions::for_schema(&folder.schema), &mut |_| {})?;
            let x = encode_inputs(&table, &folder.schema)?.x;
            folder.examples = payload::examples(&table, &folder.schema, EXAMPLES);
            folder.rows = Some(sample(&x, MOST_ROWS));
        }
        Ok(folder)
    }
}

/// The last two parts of a folder's path: what `--out` names is often just "model" or "run".
pub(crate) fn title(dir: &Path) -> String {
    let whole = std::fs::canonicalize(dir).unwrap_or_else(|_| dir.into());
    let parts: Vec<String> = whole.iter().skip(1).map(|part| part.to_string_lossy().into_owned()).collect();
    parts[parts.len().saturating_sub(2)..].join("/")
}

/// Complete rows, evenly spaced.
fn sample(x: &Matrix, most: usize) -> Matrix {
    let whole: Vec<usize> = (0..x.rows).filter(|r| x.row(*r).iter().all(|v| v.is_finite())).collect();
    x.select(&thinned(whole.len(), most).map(|k| whole[k]).collect::<Vec<_>>())
}

/// Makes the page.
pub(crate) fn page(run: &RunFolder) -> String {
    let mut html = Html::new();
    let spec = run.spec.as_ref();
    dossier::facts(&mut html, run);
    rules::rules(&mut html, spec, &run.proof);
    let shown = spec.and_then(|spec| {
        let output = Output::of(&run.model, spec).ok()?;
        Some(pairs::Shown { spec, output, rows: run.rows.as_ref() })
    });
    pairs::pairs(&mut html, spec, &run.proof, shown.as_ref());
    let payload = payload::payload(&run.model, &run.schema, spec, &run.examples);
    explorer::explorer(&mut html, &payload);
    sections::scores(&mut html, run.summary.as_ref(), spec.is_some_and(|s| !s.pairs.is_empty()));
    if let Some(summary) = &run.summary {
        judged::judged(&mut html, summary, &run.schema.task);
    }
    sections::domain(&mut html, &run.schema);
    sections::proof(&mut html, &run.proof, &run.sha256);
    sections::network(&mut html, &run.model, &run.schema);
    curves(&mut html, run);
    latent(&mut html, run);
    dossier::limits(&mut html, run, &run.proof);
    dossier::signatures(&mut html, &run.schema);
    let task = &run.schema.task;
    let dossier::Named { title, version, owner } = dossier::Named::of(run);
    let mut kind = format!("Model dossier: {}, {} features", task.in_words(), run.schema.features.len());
    kind.extend(version.map(|version| format!("; version {version}")));
    kind.extend(owner.map(|owner| format!("; {owner}")));
    html.finish(title, &kind, &run.proof.badge(spec.map_or(0, NormalSpec::count)))
}

fn curves(html: &mut Html, run: &RunFolder) {
    html.section("training", "Training");
    if run.epochs.is_empty() {
        html.paragraph("The folder has no run.jsonl with the losses of the epochs.");
        return;
    }
    let epochs: Vec<Epoch> = run.epochs.iter().map(Epoch::from).collect();
    let best = best_epoch(&run.epochs);
    let mut caption = "Loss after each epoch".to_string();
    if epochs.iter().any(|e| e.margin.is_some()) {
        caption.push_str(
            "; below, the smallest distance to breaking a rule at the end of each epoch, over all rules and the whole domain (in \
             training units), and the share of steps after which the last layer was moved to keep the rules",
        );
    }
    html.figure(&training_curves(&epochs, best), &(caption + "."));
}

/// The last hidden layer of some rows, laid out in the plane.
fn latent(html: &mut Html, run: &RunFolder) {
    let Some(x) = run.rows.as_ref().filter(|x| x.rows >= 10) else { return };
    if !run.model.network.nodes.iter().any(|n| matches!(n.op, Op::Act(_))) {
        return;
    }
    let Some(y) = outputs(run, x) else { return };
    let (groups, group): (Vec<String>, Vec<usize>) = match run.schema.task.classes() {
        Some(classes) => (classes.to_vec(), (0..y.rows).map(|r| predict::predicted_class(y.row(r))).collect()),
        None => thirds(&run.schema.task.output_name(0), &(0..y.rows).map(|r| y.row(r)[0]).collect::<Vec<_>>()),
    };
    let panel = panel("last hidden layer", &last_hidden(&run.model.network, x));
    let caption = format!("{} rows of the data, by what is predicted for them.", y.rows);
    html.folded("Latent space (t-SNE of the last hidden layer)", |html| {
        html.figure(&latent_space(&[panel], &groups, &group), &caption);
    });
}

/// What the file gives for some rows; `None` where it can't be run.
fn outputs(run: &RunFolder, x: &Matrix) -> Option<Matrix> {
    let none = compile(&[], &run.schema).ok()?;
    Some(Output::of(&run.model, run.spec.as_ref().unwrap_or(&none)).ok()?.outputs(x))
}

/// Each value's third, and what the thirds are called.
fn thirds(name: &str, values: &[f32]) -> (Vec<String>, Vec<usize>) {
    let mut sorted = values.to_vec();
    sorted.sort_by(f32::total_cmp);
    let [low, high] = [sorted.len() / 3, 2 * sorted.len() / 3].map(|k| sorted[k]);
    let names = [format!("{name} below {low:.3}"), "between".into(), format!("{high:.3} or more")].to_vec();
    (names, values.iter().map(|v| usize::from(*v >= low) + usize::from(*v >= high)).collect())
}
