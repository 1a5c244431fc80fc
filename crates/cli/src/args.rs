//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

/// Neural networks whose rules hold for every input, proved.
#[derive(Debug, Parser)]
#[command(name = "deepsade", version, about, after_help = EXIT_CODES)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 success, 1 a finding (rules contradictory, not certified, certificate rejected), 2 usage or input error, \
                          3 unknown or interrupted.\nStart with `deepsade demo`, then read docs/rules.md.";

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Train on data that comes with the program, and show what happens
    Demo(DemoArgs),
    /// Say what the rules of a file mean, before anything is trained
    Explain(ExplainArgs),
    /// Train a network on the data of a rule file
    Train(TrainArgs),
    /// Check that a certificate proves the rules of a model for every input of its domain
    Check(CheckArgs),
    /// Predict with a trained model
    Predict(PredictArgs),
    /// Make one HTML page of a training run's or an experiment's folder: proof, scores, figures, an explorer
    Report(ReportArgs),
}

#[derive(Debug, Parser)]
pub struct DemoArgs {
    /// Folder for the demo's rule file, data, model and predictions
    #[arg(long, value_name = "DIR", default_value = "deepsade-demo")]
    pub out: PathBuf,
}

#[derive(Debug, Parser)]
pub struct ExplainArgs {
    /// The rule file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// A further folder to look for data files in
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Print one JSON object on standard output
    #[arg(long)]
    pub json: bool,
    /// Say nothing but results and errors
    #[arg(short, long)]
    pub quiet: bool,
}

#[derive(Debug, Parser)]
pub struct TrainArgs {
    /// The rule file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Folder for model.onnx, certificate.json, rules.toml, run.jsonl and summary.json [default: runs/NAME]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// A further folder to look for data files in
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Seed of the split, the initial weights and the order of the rows [default: `seed` in the file's data table]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Test on fold K of N (counted from 0) instead of the file's split; a tenth of the rows validates
    #[arg(long, value_name = "K/N", value_parser = fold)]
    pub fold: Option<(usize, usize)>,
    /// Where the rules are enforced, instead of what the file says
    #[arg(long, value_enum)]
    pub enforce: Option<EnforceArg>,
    /// Go on from the last epoch that was saved in the output folder
    #[arg(long)]
    pub resume: bool,
    /// Print one JSON object on standard output
    #[arg(long)]
    pub json: bool,
    /// Say nothing but results and errors
    #[arg(short, long)]
    pub quiet: bool,
}

/// `enforce` on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EnforceArg {
    /// Labels and rankings in the output step, everything else in the weights
    Auto,
    /// In the weights of the last layer
    Weights,
    /// In the output step
    Decode,
    /// Nowhere
    None,
}

fn fold(text: &str) -> Result<(usize, usize), String> {
    let parts = text.split_once('/').and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
    parts.filter(|(k, n): &(usize, usize)| k < n).ok_or_else(|| "expected K/N with K below N, such as 0/5".into())
}

#[derive(Debug, Parser)]
pub struct CheckArgs {
    /// A folder with model.onnx, rules.toml and certificate.json, as `deepsade train` writes it
    #[arg(value_name = "DIR", required_unless_present_all = ["model", "rules", "certificate"])]
    pub dir: Option<PathBuf>,
    /// The model [default: DIR/model.onnx]
    #[arg(long, value_name = "FILE")]
    pub model: Option<PathBuf>,
    /// The rule file [default: DIR/rules.toml]
    #[arg(long, value_name = "FILE")]
    pub rules: Option<PathBuf>,
    /// The certificate [default: DIR/certificate.json]
    #[arg(long, value_name = "FILE")]
    pub certificate: Option<PathBuf>,
    /// Accept a proof for exact real arithmetic, which says nothing about float32
    #[arg(long)]
    pub real: bool,
    /// Print one JSON object on standard output
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Parser)]
pub struct PredictArgs {
    /// The model, as `deepsade train` writes it
    #[arg(value_name = "MODEL.onnx")]
    pub model: PathBuf,
    /// The rows: CSV, .csv.gz or .parquet with the model's feature columns
    #[arg(value_name = "DATA.csv")]
    pub data: PathBuf,
    /// Write the predictions here [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Refuse rows outside the domain, for which nothing is guaranteed
    #[arg(long)]
    pub strict: bool,
    /// Add the raw scores of the network
    #[arg(long)]
    pub scores: bool,
    /// Add the probability of each label, class or place, and of the whole prediction, among all that obey the rules; for models
    /// that choose their outputs (enforce = "decode")
    #[arg(long)]
    pub proba: bool,
    /// What stands between two values of the data file [default: comma]
    #[arg(long, value_name = "CHAR")]
    pub separator: Option<char>,
    /// Print one JSON object with counts on standard output (needs --out)
    #[arg(long, requires = "out")]
    pub json: bool,
    /// Say nothing but results and errors
    #[arg(short, long)]
    pub quiet: bool,
}

#[derive(Debug, Parser)]
pub struct ReportArgs {
    /// A folder as `deepsade train` writes it (model.onnx), or one with an experiment's results.jsonl
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// The page to write [default: DIR/report.html]
    #[arg(long, value_name = "FILE.html")]
    pub out: Option<PathBuf>,
    /// Rows to start from in the explorer, and for a picture of the latent space: CSV, .csv.gz or .parquet with the model's
    /// feature columns
    #[arg(long, value_name = "FILE")]
    pub data: Option<PathBuf>,
    /// Print one JSON object on standard output
    #[arg(long)]
    pub json: bool,
}
