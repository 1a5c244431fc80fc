//! What the files of a result are called.

/// The network, with schema and rules.
pub const MODEL: &str = "model.onnx";
/// The rule file, which states all that is claimed.
pub const RULES: &str = "rules.toml";
/// The proof.
pub const CERTIFICATE: &str = "certificate.json";
/// What a training says at its end.
pub const SUMMARY: &str = "summary.json";
/// The scores of all folds.
pub const FOLDS: &str = "folds.json";
/// Which rows of the data trained, validated and tested.
pub const SPLIT: &str = "split.csv";
/// The log of a training: one line an epoch, written as they come.
pub const LOG: &str = "run.jsonl";
/// The parameters of an estimator, which Python writes beside its model.
pub const ESTIMATOR: &str = "estimator.json";
/// The files that are written together, or not at all.
pub const TOGETHER: [&str; 7] = [MODEL, RULES, CERTIFICATE, SUMMARY, SPLIT, LOG, ESTIMATOR];
