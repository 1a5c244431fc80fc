//! The command line.

mod predict;
mod shell;
mod spelled;

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use deepsade_data::Limits;
use deepsade_engine::{adversity, repair, verify};
use deepsade_lab::reproduce::experiment::FOLDS;

pub use predict::PredictArgs;
pub use shell::{CompletionsArgs, ManArgs};

/// Neural networks whose rules hold for every input, proved.
#[derive(Debug, Parser)]
#[command(name = "deepsade", version = VERSION, about, after_help = EXIT_CODES)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub limits: LimitArgs,
}

/// What is read of data files at most: a small compressed file can unpack to more than a machine has.
#[derive(Debug, Parser)]
#[allow(clippy::struct_field_names, reason = "they are the names of the options")]
pub struct LimitArgs {
    /// Columns that a data file may have
    #[arg(long, global = true, value_name = "N", default_value_t = Limits::default().columns, hide_short_help = true, value_parser = spelled::whole::<usize>)]
    pub max_columns: usize,
    /// Values (rows times columns used) that are read
    #[arg(long, global = true, value_name = "N", default_value_t = Limits::default().values, hide_short_help = true, value_parser = spelled::whole::<u64>)]
    pub max_values: u64,
    /// Bytes that one row of a CSV file may have
    #[arg(long, global = true, value_name = "N", default_value_t = Limits::default().row_bytes, hide_short_help = true, value_parser = spelled::whole::<u64>)]
    pub max_row_bytes: u64,
    /// Bytes that a CSV file may have once it is unpacked
    #[arg(long, global = true, value_name = "N", default_value_t = Limits::default().bytes, hide_short_help = true, value_parser = spelled::whole::<u64>)]
    pub max_bytes: u64,
}

impl From<&LimitArgs> for Limits {
    fn from(args: &LimitArgs) -> Self {
        Self { columns: args.max_columns, values: args.max_values, row_bytes: args.max_row_bytes, bytes: args.max_bytes }
    }
}

/// The version, and the commit it was built from where that is known.
pub const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), env!("DEEPSADE_COMMIT"));

const EXIT_CODES: &str = "Exit codes: 0 success, 1 a finding (rules contradictory, not certified, certificate rejected), 2 usage or input error, \
                          3 unknown or interrupted.\nStart with `deepsade init DATA.csv`, or see `deepsade demo`; docs/rules.md has the rules.";

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Train on data that comes with the program, and show what happens
    Demo(DemoArgs),
    /// Draft a rule file for a data file: columns, ranges, task, rules that the rows suggest
    Init(InitArgs),
    /// Say what the rules of a file mean, before anything is trained
    Explain(ExplainArgs),
    /// Train a network on the data of a rule file
    Train(TrainArgs),
    /// Check that a certificate proves the rules of a model for every input of its domain
    Check(CheckArgs),
    /// Predict with a trained model
    Predict(PredictArgs),
    /// Decide for any network whether its rules hold for every input: proved, refuted with a counter-example, or unknown
    Verify(VerifyArgs),
    /// Put the rules behind any ONNX model, as a step of its graph that gives no other outputs, with a proof
    Shield(ShieldArgs),
    /// For every row, look for an input near it that breaks a rule: the Adversity Index
    Adversity(AdversityArgs),
    /// Change the last layer of a network as little as possible so that its rules hold for every input, with proof
    Repair(RepairArgs),
    /// Make one HTML page of a training run's or an experiment's folder: proof, scores, figures, an explorer
    Report(ReportArgs),
    /// Run the paper's experiments: five use cases, ours and the baselines, tables and figures beside the paper's
    Reproduce(ReproduceArgs),
    /// Write a problem down for other programs
    Export(ExportArgs),
    /// Print the JSON schema of rule files, for editors
    Schema,
    /// Print what makes a shell complete the commands and options of this program
    Completions(CompletionsArgs),
    /// Print a manual page
    Man(ManArgs),
}

#[derive(Debug, Parser)]
pub struct DemoArgs {
    /// Folder for the demo's rule file, data, model and predictions
    #[arg(long, value_name = "DIR", default_value = "deepsade-demo")]
    pub out: PathBuf,
    /// Replace the model of an earlier demo
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, Parser)]
pub struct InitArgs {
    /// The data: CSV, .csv.gz or .parquet
    #[arg(value_name = "DATA.csv")]
    pub data: PathBuf,
    /// A column to predict; can be repeated [default: guessed by name, else the last column]
    #[arg(long, value_name = "COLUMN")]
    pub target: Vec<String>,
    /// Write the rule file here; - prints it
    #[arg(long, value_name = "FILE.toml", default_value = "problem.toml")]
    pub out: PathBuf,
    /// Overwrite the rule file if it is there
    #[arg(long)]
    pub force: bool,
    /// What stands between two values of the data file [default: guessed]
    #[arg(long, value_name = "CHAR", value_parser = spelled::separator)]
    pub separator: Option<char>,
    /// Print what was found as one JSON object on standard output
    #[arg(long)]
    pub json: bool,
    /// Say nothing but results and errors
    #[arg(short, long)]
    pub quiet: bool,
}

#[derive(Debug, Parser)]
pub struct ExplainArgs {
    /// The rule file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The data file, instead of the one that the rule file names, or a further folder to look for it in
    #[arg(long, value_name = "PATH")]
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
    /// The data file, instead of the one that the rule file names, or a further folder to look for it in
    #[arg(long, value_name = "PATH")]
    pub data: Option<PathBuf>,
    /// Seed of the split, the initial weights and the order of the rows [default: `seed` in the file's data table]
    #[arg(long, value_name = "N", value_parser = spelled::whole::<u64>)]
    pub seed: Option<u64>,
    /// Test on fold K of N (counted from 0) instead of the file's split; a tenth of the rows validates
    #[arg(long, value_name = "K/N", value_parser = fold)]
    pub fold: Option<(usize, usize)>,
    /// Train and test N models, each on a fold of its own, and print the mean and deviation of their scores; no model is kept
    #[arg(long, value_name = "N", conflicts_with_all = ["fold", "resume"], value_parser = spelled::whole::<usize>)]
    pub folds: Option<usize>,
    /// Where the rules are enforced, instead of what the file says
    #[arg(long, value_enum)]
    pub enforce: Option<EnforceArg>,
    /// How the last layer is solved for, instead of what the file says
    #[arg(long, value_enum)]
    pub update: Option<UpdateArg>,
    /// The engine of `--update paper`, instead of what the file says
    #[arg(long, value_enum)]
    pub maxsmt: Option<MaxSmtArg>,
    /// The SMT solver of `--maxsmt fu-malik`, instead of what the file says
    #[arg(long, value_enum)]
    pub solver: Option<SolverArg>,
    /// What the SMT solver is sent, instead of what the file says
    #[arg(long, value_enum)]
    pub quantifiers: Option<QuantifiersArg>,
    /// Passes over the training rows, instead of what the file says
    #[arg(long, value_name = "N", value_parser = spelled::whole::<usize>)]
    pub epochs: Option<usize>,
    /// No effect: every proof is about the ONNX graph itself
    #[arg(long, hide = true)]
    pub allow_library: bool,
    /// Go on from the last epoch that was saved in the output folder
    #[arg(long)]
    pub resume: bool,
    /// Replace what the output folder holds
    #[arg(long)]
    pub force: bool,
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
    /// What is best on validation of all that is proved: the weights, or the output step
    Auto,
    /// In the weights of the last layer
    Weights,
    /// In the output step
    Decode,
    /// Nowhere
    None,
}

/// `update` on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum UpdateArg {
    /// The gradient step, then the nearest last layer that satisfies the rules
    Project,
    /// Algorithm 1 of the paper: line search, then `MaxSMT`
    Paper,
}

/// `maxsmt` on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MaxSmtArg {
    /// Ours, exact
    BranchAndBound,
    /// Exact, over an SMT solver's process
    FuMalik,
    /// Incomplete
    LocalSearch,
}

/// `solver` on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SolverArg {
    /// Z3
    Z3,
    /// cvc5
    Cvc5,
}

/// `quantifiers` on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum QuantifiersArg {
    /// As in the paper: for all inputs, non-linear
    Keep,
    /// Largest values written out: linear
    Eliminate,
}

fn fold(text: &str) -> Result<(usize, usize), String> {
    let parts = text.split_once('/').and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
    parts.filter(|(k, n): &(usize, usize)| k < n).ok_or_else(|| "expected K/N with K below N, such as 0/5".into())
}

#[derive(Debug, Parser)]
pub struct CheckArgs {
    /// A folder with model.onnx, rules.toml and certificate.json, as `deepsade train` writes it
    #[arg(value_name = "DIR", required_unless_present_all = ["model", "certificate"])]
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
    /// A VNN-LIB property instead of a rule file
    #[arg(long, value_name = "FILE", conflicts_with = "rules")]
    pub vnnlib: Option<PathBuf>,
    /// The data for what the rule file does not state, or a folder to look for them in
    #[arg(long, value_name = "PATH")]
    pub data: Option<PathBuf>,
    /// Accept a proof for exact real arithmetic, which says nothing about float32
    #[arg(long)]
    pub real: bool,
    /// No effect: every proof is about the ONNX graph itself
    #[arg(long, hide = true)]
    pub allow_library: bool,
    /// Print one JSON object on standard output
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Parser)]
pub struct ExportArgs {
    /// The rule file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// What to write
    #[arg(long, value_enum)]
    pub to: ExportTarget,
    /// A trained model: its hidden layers give the bounds, and its last layer is the one that is asked about [default: the
    /// hidden layers as `deepsade train` initialises them, any last layer]
    #[arg(long, value_name = "FILE")]
    pub model: Option<PathBuf>,
    /// For smtlib: what becomes of "for every input"
    #[arg(long, value_enum, default_value = "eliminate")]
    pub quantifiers: QuantifiersArg,
    /// Write here [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// The data file, instead of the one that the rule file names, or a further folder to look for it in
    #[arg(long, value_name = "PATH")]
    pub data: Option<PathBuf>,
    /// Say nothing but results and errors
    #[arg(short, long)]
    pub quiet: bool,
}

/// What `export` writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportTarget {
    /// The last layer's problem for SMT solvers (SMT-LIB 2)
    Smtlib,
    /// The inputs, and the outputs that break a rule, for other verifiers (VNN-LIB 1.0)
    Vnnlib,
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

#[derive(Debug, Parser)]
#[command(
    after_help = "Methods: deepsade, deepsade-plain, deepsade-paper, deepsade-decode, deepsade-auto, ffn, reg, sl, sbr. What \
                        each is, and which use case has it: docs/reproduce.md."
)]
pub struct ReproduceArgs {
    /// uc1, uc2, uc3, uc4, uc5 or all
    #[arg(value_name = "USE CASE", required = true)]
    pub cases: Vec<String>,
    /// Only these methods, separated by commas [default: those of each use case]
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub methods: Vec<String>,
    /// Times that the folds are dealt out anew [default: 5, with --quick 1]
    #[arg(long, value_name = "N", value_parser = spelled::whole::<u64>)]
    pub repeats: Option<u64>,
    /// Folds, each the test rows once; a tenth of the rows validates
    #[arg(long, value_name = "N", default_value_t = FOLDS, value_parser = spelled::whole::<usize>)]
    pub folds: usize,
    /// Runs at a time, one thread each; results do not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = spelled::whole::<usize>)]
    pub jobs: Option<usize>,
    /// One repeat, fewer epochs for uc4, fewer weights to choose from, fewer rows for the Adversity Index
    #[arg(long)]
    pub quick: bool,
    /// Decides everything that is random
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = spelled::whole::<u64>)]
    pub seed: u64,
    /// The folder of the data files [default: the one that `$DEEPSADE_DATA` names]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Folder for results.jsonl, tables, figures and models
    #[arg(long, value_name = "DIR", default_value = "runs/reproduce")]
    pub out: PathBuf,
    /// Go on with what the output folder has, with the same settings
    #[arg(long)]
    pub resume: bool,
    /// Print the tables as one JSON object on standard output
    #[arg(long)]
    pub json: bool,
    /// Say nothing but results and errors
    #[arg(short, long)]
    pub quiet: bool,
}

#[derive(Debug, Parser)]
pub struct ShieldArgs {
    /// The model: any ONNX file that gives rows of numbers (networks, trees, pipelines of scikit-learn); carried over byte for byte
    #[arg(long, value_name = "MODEL.onnx")]
    pub model: PathBuf,
    /// The rule file: the features in the order of the model's columns (or named like its inputs), the task, the rules
    #[arg(long, value_name = "FILE.toml")]
    pub rules: PathBuf,
    /// Where model.onnx, certificate.json and rules.toml are written
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Replace the model that the folder holds
    #[arg(long)]
    pub force: bool,
    /// Data for the domain and the usual size of the outputs, instead of those of the rule file
    #[arg(long, value_name = "FILE")]
    pub data: Option<PathBuf>,
    /// The tensor that holds the outputs, where it is not clear
    #[arg(long, value_name = "NAME")]
    pub output: Option<String>,
    /// From where on a label is present or, for two classes and one number a row, the second is meant (0 for logits, 0.5 for
    /// probabilities)
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub threshold: Option<f32>,
    /// Print one JSON object on standard output
    #[arg(long)]
    pub json: bool,
    /// Say nothing but results and errors
    #[arg(short, long)]
    pub quiet: bool,
}

#[derive(Debug, Clone, Parser)]
pub struct VerifyArgs {
    /// The network: an ONNX file of this program or of another tool
    #[arg(long, value_name = "M.onnx")]
    pub model: PathBuf,
    /// The rule file; its features stand in the order of the network's columns
    #[arg(long, value_name = "FILE", required_unless_present = "vnnlib", conflicts_with = "vnnlib")]
    pub rules: Option<PathBuf>,
    /// A VNN-LIB 1.0 property instead of a rule file
    #[arg(long, value_name = "FILE")]
    pub vnnlib: Option<PathBuf>,
    /// A further folder to look for data files in, where the rule file takes its domain from data
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Seconds to try
    #[arg(long, value_name = "S", default_value_t = verify::SECONDS, value_parser = spelled::number)]
    pub timeout: f64,
    /// The arithmetic of the network that is spoken about
    #[arg(long, value_enum, default_value_t = ArithmeticArg::Float32)]
    pub arithmetic: ArithmeticArg,
    /// Write model.onnx, rules.toml and certificate.json into this folder, for `deepsade check`
    #[arg(long, value_name = "DIR")]
    pub certificate: Option<PathBuf>,
    /// Replace the model that the folder of --certificate holds
    #[arg(long, requires = "certificate")]
    pub force: bool,
    /// Stop reading the network at this tensor: the scores before a Softmax, say
    #[arg(long, value_name = "NAME")]
    pub output: Option<String>,
    /// Threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = spelled::whole::<usize>)]
    pub threads: Option<usize>,
    /// Print the answer as VNN-COMP wants it: sat, unsat, timeout or unknown
    #[arg(long, conflicts_with = "json")]
    pub vnncomp: bool,
    /// Print one JSON object on standard output
    #[arg(long)]
    pub json: bool,
}

/// `--arithmetic` on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ArithmeticArg {
    /// IEEE float32, in any order of summation
    Float32,
    /// Exact real numbers
    Real,
}

#[derive(Debug, Parser)]
pub struct AdversityArgs {
    /// The network: an ONNX file of this program or of another tool
    #[arg(long, value_name = "M.onnx")]
    pub model: PathBuf,
    /// The rule file
    #[arg(long, value_name = "FILE")]
    pub rules: PathBuf,
    /// The rows: CSV, .csv.gz or .parquet with the model's feature columns [default: the data of the rule file]
    #[arg(long, value_name = "D.csv")]
    pub data: Option<PathBuf>,
    /// How near, as a share of each feature's range
    #[arg(long, value_name = "R", default_value_t = adversity::RADIUS, value_parser = spelled::number)]
    pub radius: f64,
    /// Seconds to try for each row
    #[arg(long, value_name = "S", default_value_t = adversity::SECONDS, value_parser = spelled::number)]
    pub timeout: f64,
    /// Stop reading the network at this tensor: the scores before a Softmax, say
    #[arg(long, value_name = "NAME")]
    pub output: Option<String>,
    /// Threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = spelled::whole::<usize>)]
    pub threads: Option<usize>,
    /// Print one JSON object on standard output
    #[arg(long)]
    pub json: bool,
    /// Say nothing but results and errors
    #[arg(short, long)]
    pub quiet: bool,
}

#[derive(Debug, Parser)]
pub struct RepairArgs {
    /// The network: an ONNX file of this program or of another tool
    #[arg(long, value_name = "M.onnx")]
    pub model: PathBuf,
    /// The rule file
    #[arg(long, value_name = "FILE")]
    pub rules: PathBuf,
    /// Rows on whose predictions the change should be small: CSV, .csv.gz or .parquet with the model's feature columns, and the
    /// targets if scores are wanted [default: the data of the rule file, if it names any]
    #[arg(long, value_name = "D.csv")]
    pub data: Option<PathBuf>,
    /// Stop reading the network at this tensor: the scores before a Softmax, say
    #[arg(long, value_name = "NAME")]
    pub output: Option<String>,
    /// Seconds for bringing the last layer back towards what it was, once a safe one is found; 0: keep the first that is safe
    #[arg(long, value_name = "S", default_value_t = repair::SECONDS, value_parser = spelled::number)]
    pub timeout: f64,
    /// Folder for model.onnx, rules.toml and certificate.json; not the model's own
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Replace the model that the folder holds
    #[arg(long)]
    pub force: bool,
    /// Print one JSON object on standard output
    #[arg(long)]
    pub json: bool,
}
