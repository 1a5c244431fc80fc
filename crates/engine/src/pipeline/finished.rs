//! A trained model enters; the bytes and texts of its files leave, with the checker's word on exactly these.

use std::path::{Path, PathBuf};
use std::time::Instant;

use deepsade_check::{Accepted, Verdict, sha256_hex};
use deepsade_data::SplitSettings;
use deepsade_spec::NormalSpec;
use serde::Serialize;
use serde_json::{Value, json};

use super::PipelineError;
use crate::artifact::{ArtifactError, write_together};
use crate::choose::{Chosen, Cost, TriedDecay};
use crate::evaluate::DataSource;
use crate::files::{self, ESTIMATOR, LOG, MODEL, RULES, SPLIT, SUMMARY, proof_files};
use crate::fit::Fitted;
use crate::pace::Pace;
use crate::problem::{Problem, ReportSettings};
use crate::proof;
use crate::recheck;
use crate::summary::{Timings, program, summary, today};
use crate::train::ClassWeight;
use crate::verdict;

/// A model with its proof, as it is written.
#[derive(Debug, Clone)]
pub struct Finished {
    /// The model with its scores.
    pub fitted: Fitted,
    /// What the guarantee costs, where one was asked for.
    pub cost: Option<Cost>,
    /// The weight decays among which validation chose.
    pub decays: Vec<TriedDecay>,
    /// model.onnx.
    pub bytes: Vec<u8>,
    /// certificate.json, if anything is proved.
    pub certificate: Option<String>,
    /// rules.toml: it states all that is claimed.
    pub rules: String,
    /// The checker's word on these three; `None` without a certificate.
    pub verdict: Option<Verdict>,
    /// Where the seconds went.
    pub timings: Timings,
    /// The seed of the training.
    pub seed: u64,
    /// split.csv: which rows trained, validated and tested.
    pub split: String,
    /// The column of the rows' weights, if scores count them.
    pub weighted_by: Option<String>,
    /// What the classes count in training, if that is stated.
    pub class_weight: Option<ClassWeight>,
    /// What it was made of.
    pub facts: Provenance,
    /// What the model is judged by, if it was.
    pub judged: Option<Evidence>,
}

/// What a model is judged by, beside its proof.
#[derive(Debug, Clone)]
pub struct Evidence {
    /// Scores of the rows that trained, validated and tested.
    pub scores: Value,
    /// How much each feature matters.
    pub effects: Option<Value>,
}

/// What a model was made of.
#[derive(Debug, Clone, Default)]
pub struct Provenance {
    /// Where the rows came from.
    pub source: Option<DataSource>,
    /// What stays doubtful of the data and their split.
    pub doubts: Vec<String>,
    /// Rows that trained, validated and tested.
    pub parts: [usize; 3],
    /// Rows of the data whose own label breaks a rule.
    pub breaking: usize,
    /// `[report]`.
    pub report: ReportSettings,
    /// The probability at which two classes are decided, if it is stated.
    pub cutoff: Option<f64>,
    /// By what rows were dealt out, where not at random.
    pub dealt_by: Option<DealtBy>,
}

/// By what rows were dealt out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DealtBy {
    /// A column names the part of each row.
    Column(String),
    /// A column orders the rows: the first train, the last test.
    Order(String),
    /// A file names the part of each row.
    File(String),
}

impl DealtBy {
    /// As the settings say; `None` for at random.
    pub fn of(settings: &SplitSettings) -> Option<Self> {
        let SplitSettings { column, by, file, .. } = settings.clone();
        column.map(Self::Column).or(by.map(Self::Order)).or(file.map(Self::File))
    }
}

/// Seconds before the checker was asked.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// Reading and encoding the data, and deciding where to enforce the rules.
    pub read: f64,
    /// Training and making the certificate.
    pub fit: f64,
}

impl Finished {
    /// Puts down what is written, and asks the checker about it.
    pub fn new(
        Chosen { fitted, cost, decays }: Chosen,
        problem: &Problem,
        spec: &NormalSpec,
        times: Times,
        seed: u64,
    ) -> Result<Self, PipelineError> {
        let bytes = fitted.model.to_bytes().map_err(ArtifactError::from)?;
        let rules = problem.stated(&spec.schema);
        let certificate = fitted.proof.as_ref().map(|p| proof::certificate(p).to_json());
        let started = Instant::now();
        let verdict = match &certificate {
            // Read again: what counts is what the file says, not what was meant by it.
            Some(text) => Some(recheck::held(&bytes, &Problem::parse(&rules, Path::new(RULES))?, text, &|| false)?),
            None => None,
        };
        let certify = fitted.certify_seconds;
        let check = started.elapsed().as_secs_f64();
        let run = Pace::of(&fitted.model, spec, &fitted.test.rows.x);
        let timings = Timings { read: times.read, train: times.fit - certify, certify, check, run };
        let weighted_by = problem.data.as_ref().and_then(|data| data.weight.clone());
        Ok(Self {
            fitted,
            cost,
            decays,
            bytes,
            certificate,
            rules,
            verdict,
            timings,
            seed,
            split: String::new(),
            weighted_by,
            class_weight: problem.train().class_weight.clone(),
            facts: Provenance::default(),
            judged: None,
        })
    }

    /// What was proved, if it was.
    pub fn accepted(&self) -> Option<&Accepted> {
        self.verdict.as_ref().and_then(verdict::accepted)
    }

    /// run.jsonl.
    pub fn log(&self) -> String {
        files::log(&self.fitted.trained.records)
    }

    /// summary.json; `model` is where the model is, if it is anywhere but in memory.
    pub fn summary(&self, model: Option<&Path>) -> Value {
        let mut said = summary(&self.fitted, self.cost.as_ref(), self.verdict.as_ref(), self.timings, self.seed, model);
        said["weight_decays"] = self.decays.iter().map(TriedDecay::as_json).collect();
        said["weighted_by"] = self.weighted_by.as_deref().into();
        said["class_weight"] = json!(self.class_weight);
        let Provenance { source, doubts, parts: [train, validation, test], breaking, report, cutoff, dealt_by } = &self.facts;
        said["data"] = json!(source);
        let warnings = self.fitted.warnings.iter().map(ToString::to_string).chain(doubts.iter().cloned());
        said["warnings"] = warnings.collect::<Vec<_>>().into();
        said["split"] =
            json!({"train": train, "validation": validation, "test": test, "rows_breaking_rules": breaking, "by": dealt_by});
        said["report"] = json!(report);
        said["cutoff"] = json!(cutoff);
        said["model_sha256"] = json!(sha256_hex(&self.bytes));
        said["date"] = json!(today());
        said["program"] = json!(program());
        if let Some(Evidence { scores, effects }) = &self.judged {
            said["scores"] = scores.clone();
            said["effects"] = json!(effects);
        }
        said
    }

    /// Writes the files into a folder that is there, and says where the model is.
    pub fn write(&self, folder: &Path) -> Result<PathBuf, ArtifactError> {
        let model = folder.join(MODEL);
        // For `deepsade report`.
        let said = serde_json::to_string_pretty(&self.summary(Some(&model))).expect("plain data becomes JSON") + "\n";
        let (log, proof) = (self.log(), proof_files(&self.bytes, &self.rules, self.certificate.as_deref()));
        let others = [(LOG, log.as_bytes()), (SPLIT, self.split.as_bytes()), (SUMMARY, said.as_bytes())];
        // Parameters of an estimator were those of another model.
        write_together(folder, &[&proof[..], &others.map(|(name, bytes)| (name, Some(bytes))), &[(ESTIMATOR, None)]].concat())?;
        Ok(model)
    }
}
