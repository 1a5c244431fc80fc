//! The clips of a certificate as plain data, and as JSON, read and written.

use std::fmt::Write;

use deepsade_spec::json::{self, Json, array, fields, float, whole};

use super::step::{asked, conditions, number, ranges, trees, triples, weight};
use super::{Number, Tree, tree};

/// What outputs are clipped to, and why what is left obeys the rules.
#[derive(Debug, Clone, PartialEq)]
pub struct Clips {
    /// The range of each output before any bound; the only grid is that of whole numbers.
    pub numbers: Vec<Number>,
    /// Bounds, in the order in which they are applied: upper ones, then lower ones.
    pub rounds: Vec<Round>,
    /// Outputs whose upper bounds may be below a lower one, which then is what comes out: in a corner where both sides of a rule meet.
    pub meet: Vec<usize>,
    /// How the inputs are taken apart: to prove that bounds do not cross, then one tree a rule.
    pub trees: Vec<Tree>,
}

/// One bound for each output: an affine map of the input's columns, unless its condition is computed to fail.
#[derive(Debug, Clone, PartialEq)]
pub struct Round {
    /// Whether outputs are at most these, or at least.
    pub upper: bool,
    /// For each output conditions, as in [`super::Case`]; without any the bound always holds.
    pub when: Vec<Vec<(usize, bool)>>,
    /// Weights: output, column, number.
    pub weights: Vec<(usize, usize, f32)>,
    /// One number an output.
    pub bias: Vec<f32>,
}

const SIDES: [&str; 2] = ["at least", "at most"];

pub(super) fn read(value: Json) -> Result<Clips, String> {
    let meets = matches!(&value, Json::Object(fields) if fields.iter().any(|(key, _)| key == "meet"));
    let ([numbers, rounds, trees], meet) = if meets {
        let [numbers, rounds, meet, trees] = fields(value, ["outputs", "rounds", "meet", "trees"], "the clips")?;
        ([numbers, rounds, trees], array(meet, "meet")?)
    } else {
        (fields(value, ["outputs", "rounds", "trees"], "the clips")?, Vec::new())
    };
    Ok(Clips {
        meet: meet.into_iter().map(|v| whole(v, "meet")).collect::<Result<_, _>>()?,
        numbers: array(numbers, "outputs")?.into_iter().map(number).collect::<Result<_, _>>()?,
        rounds: array(rounds, "rounds")?.into_iter().map(round).collect::<Result<_, _>>()?,
        trees: array(trees, "trees")?.into_iter().map(|v| tree(v, 0)).collect::<Result<_, _>>()?,
    })
}

fn round(value: Json) -> Result<Round, String> {
    let [side, when, weights, bias] = fields(value, ["side", "when", "weights", "bias"], "a round")?;
    let side = SIDES.iter().position(|word| side == Json::Text((*word).into()));
    Ok(Round {
        upper: side.ok_or_else(|| format!("a side is one of {SIDES:?}"))? == 1,
        when: array(when, "when")?.into_iter().map(conditions).collect::<Result<_, _>>()?,
        weights: array(weights, "weights")?.into_iter().map(weight).collect::<Result<_, _>>()?,
        bias: array(bias, "bias")?.into_iter().map(|v| float(v, "a bias")).collect::<Result<_, _>>()?,
    })
}

impl Clips {
    /// The text, as it stands in a certificate.
    pub fn to_json(&self) -> String {
        let mut out = format!("{{\"outputs\":{},\"rounds\":[", ranges(&self.numbers));
        for (k, Round { upper, when, weights, bias }) in self.rounds.iter().enumerate() {
            let (comma, side) = (if k > 0 { "," } else { "" }, SIDES[usize::from(*upper)]);
            let when: Vec<String> = when.iter().map(|w| asked(w)).collect();
            let (when, weights) = (when.join(","), triples(weights));
            let _ = write!(out, "{comma}\n{{\"side\":\"{side}\",\"when\":[{when}],\"weights\":{weights},\"bias\":{bias:?}}}");
        }
        out.push(']');
        if !self.meet.is_empty() {
            let _ = write!(out, ",\"meet\":{:?}", self.meet);
        }
        out.push_str(",\"trees\":");
        trees(&self.trees, &mut out);
        out.push('}');
        out
    }

    /// Reads what [`Clips::to_json`] wrote.
    pub fn from_json(text: &str) -> Result<Self, String> {
        read(json::parse(text)?)
    }
}
