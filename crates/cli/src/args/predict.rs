//! The arguments of `predict`.

use std::path::PathBuf;

use clap::Parser;

#[derive(Debug, Parser)]
pub struct PredictArgs {
    /// The model, as `deepsade train` writes it
    #[arg(value_name = "MODEL.onnx")]
    pub model: PathBuf,
    /// The rows: CSV, .csv.gz or .parquet with the model's feature columns; `-` is standard input
    #[arg(value_name = "DATA.csv")]
    pub data: PathBuf,
    /// Write the predictions here; `-` is standard output [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Refuse rows outside the domain, for which nothing is guaranteed
    #[arg(long)]
    pub strict: bool,
    /// Add the raw scores of the network
    #[arg(long)]
    pub scores: bool,
    /// Add the probability of each class, label or place, and of the whole prediction; of a model that chooses its outputs
    /// (enforce = "decode") among all that obey the rules
    #[arg(long)]
    pub proba: bool,
    /// Pass this column of the data on, as it is written; may be given several times
    #[arg(long, value_name = "COLUMN")]
    pub id: Vec<String>,
    /// What stands between two values of the data file [default: comma]
    #[arg(long, value_name = "CHAR", value_parser = super::spelled::separator)]
    pub separator: Option<char>,
    /// Print one JSON object with counts on standard output (needs --out)
    #[arg(long, requires = "out")]
    pub json: bool,
    /// Say nothing but results and errors
    #[arg(short, long)]
    pub quiet: bool,
}
