//! The output step of a certificate as plain data, and as JSON, read and written.

use std::fmt::Write;

use deepsade_spec::json::{self, Json, array, fields, float, quoted, string, whole};

use super::{Tree, tree};

/// What a tail is made from besides the rules.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputStep {
    /// The tensor that holds the candidate.
    pub candidate: String,
    /// What becomes of it before it is judged.
    pub outputs: Outputs,
    /// What is given where the candidate is not: the first case whose conditions are computed to hold. The last one has none.
    pub fallback: Vec<Case>,
}

/// One case of the fallback: an affine map of the input's columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// Conditions, by their place in [`deepsade_spec::NormalSpec::conditions`], and whether each must hold or its opposite.
    pub when: Vec<(usize, bool)>,
    /// Weights: output, column, number.
    pub weights: Vec<(usize, usize, f32)>,
    /// One number an output.
    pub bias: Vec<f32>,
    /// How the inputs are taken apart to prove each rule.
    pub trees: Vec<Tree>,
}

/// How a candidate is made a row of outputs, before it is judged.
#[derive(Debug, Clone, PartialEq)]
pub enum Outputs {
    /// Numbers within a range each, checked.
    Numbers(Vec<Number>),
    /// So many labels: 1 where the candidate is above 1/2, else 0.
    Labels(usize),
}

/// What one output may be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Number {
    /// Smallest value of a candidate.
    pub lo: f32,
    /// Largest.
    pub hi: f32,
    /// Multiples of 2^-k come out, rounded down; `None` for all numbers.
    pub grid: Option<i32>,
}

pub(super) fn read(value: Json) -> Result<OutputStep, String> {
    let [candidate, outputs, fallback] = fields(value, ["candidate", "outputs", "fallback"], "the step")?;
    let fallback = array(fallback, "fallback")?.into_iter().map(case).collect::<Result<_, _>>()?;
    Ok(OutputStep { candidate: string(candidate, "candidate")?, outputs: self::outputs(outputs)?, fallback })
}

fn outputs(value: Json) -> Result<Outputs, String> {
    if let Json::Number(_) = value {
        return whole(value, "the number of labels").map(Outputs::Labels);
    }
    array(value, "outputs")?.into_iter().map(number).collect::<Result<_, _>>().map(Outputs::Numbers)
}

/// `[lo, hi]` or `[lo, hi, k]`.
pub(super) fn number(value: Json) -> Result<Number, String> {
    let mut parts = array(value, "an output")?.into_iter();
    let (Some(lo), Some(hi), grid, None) = (parts.next(), parts.next(), parts.next(), parts.next()) else {
        return Err("an output is not [lo, hi] or [lo, hi, k]".into());
    };
    let grid = match grid {
        None => None,
        Some(Json::Number(text)) => Some(text.parse().map_err(|_| "`k` is no whole number in range")?),
        Some(_) => return Err("`k` is no number".into()),
    };
    Ok(Number { lo: float(lo, "lo")?, hi: float(hi, "hi")?, grid })
}

fn case(value: Json) -> Result<Case, String> {
    let [when, weights, bias, trees] = fields(value, ["when", "weights", "bias", "trees"], "a case")?;
    Ok(Case {
        when: conditions(when)?,
        weights: array(weights, "weights")?.into_iter().map(weight).collect::<Result<_, _>>()?,
        bias: array(bias, "bias")?.into_iter().map(|v| float(v, "a bias")).collect::<Result<_, _>>()?,
        trees: array(trees, "trees")?.into_iter().map(|v| tree(v, 0)).collect::<Result<_, _>>()?,
    })
}

pub(super) fn conditions(value: Json) -> Result<Vec<(usize, bool)>, String> {
    let condition = |v: Json| {
        let [c, truth] = exactly(v, "a condition")?;
        let truth: u8 = whole(truth, "a truth")?;
        if truth > 1 { Err("a truth is 0 or 1".to_string()) } else { Ok((whole(c, "a condition")?, truth == 1)) }
    };
    array(value, "when")?.into_iter().map(condition).collect()
}

pub(super) fn weight(value: Json) -> Result<(usize, usize, f32), String> {
    let [o, c, w] = exactly(value, "a weight")?;
    Ok((whole(o, "an output")?, whole(c, "a column")?, float(w, "a weight")?))
}

fn exactly<const N: usize>(value: Json, what: &str) -> Result<[Json; N], String> {
    array(value, what)?.try_into().map_err(|_| format!("{what} has not {N} numbers"))
}

impl OutputStep {
    /// The step's text, as it stands in a certificate.
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        write(self, &mut out);
        out
    }

    /// Reads what [`OutputStep::to_json`] wrote.
    pub fn from_json(text: &str) -> Result<Self, String> {
        read(json::parse(text)?)
    }
}

/// Appends the step's text.
pub(super) fn write(step: &OutputStep, out: &mut String) {
    let _ = write!(out, "{{\"candidate\":{},\"outputs\":", quoted(&step.candidate));
    match &step.outputs {
        Outputs::Labels(n) => out.push_str(&n.to_string()),
        Outputs::Numbers(numbers) => {
            let _ = write!(out, "{}", ranges(numbers));
        }
    }
    out.push_str(",\"fallback\":[");
    for (k, case) in step.fallback.iter().enumerate() {
        let comma = if k > 0 { "," } else { "" };
        let (when, weights) = (asked(&case.when), triples(&case.weights));
        let _ = write!(out, "{comma}\n{{\"when\":{when},\"weights\":{weights},\"bias\":{:?},\"trees\":", case.bias);
        trees(&case.trees, out);
        out.push('}');
    }
    out.push_str("]}");
}

pub(super) fn ranges(numbers: &[Number]) -> String {
    let one = |n: &Number| match n.grid {
        None => format!("[{:?},{:?}]", n.lo, n.hi),
        Some(k) => format!("[{:?},{:?},{k}]", n.lo, n.hi),
    };
    format!("[{}]", numbers.iter().map(one).collect::<Vec<_>>().join(","))
}

pub(super) fn asked(when: &[(usize, bool)]) -> String {
    let one = |(c, truth): &(usize, bool)| format!("[{c},{}]", u8::from(*truth));
    format!("[{}]", when.iter().map(one).collect::<Vec<_>>().join(","))
}

pub(super) fn triples(weights: &[(usize, usize, f32)]) -> String {
    format!("[{}]", weights.iter().map(|(o, c, w)| format!("[{o},{c},{w:?}]")).collect::<Vec<_>>().join(","))
}

pub(super) fn trees(trees: &[Tree], out: &mut String) {
    out.push('[');
    for (k, tree) in trees.iter().enumerate() {
        out.push_str(if k > 0 { "," } else { "" });
        tree.write(out);
    }
    out.push(']');
}
