//! The certificate as plain data, and its JSON text (docs/certificate-format.md).

mod clip;
mod step;
mod write;

use deepsade_spec::Cut;
use deepsade_spec::json::{self, Json, array, fields, float, string, whole};

pub use self::clip::{Clips, Round};
pub use self::step::{Case, Number, OutputStep, Outputs};

/// What is claimed proved, and how: a tree of regions a rule, and multipliers that refute each cell on each leaf.
#[derive(Debug, Clone, PartialEq)]
pub struct Certificate {
    /// SHA-256 of the ONNX file, in lower case hexadecimal.
    pub model_sha256: String,
    /// SHA-256 of `deepsade_spec::canonical::canonical` of the compiled rules.
    pub rules_sha256: String,
    /// The arithmetic of the network that is spoken about.
    pub arithmetic: Arithmetic,
    /// One proof a rule, in the order of the rules.
    pub rules: Vec<RuleProof>,
    /// One proof a rule between two inputs, in their order.
    pub pairs: Vec<PairProof>,
    /// The output step in which the file ends, if that keeps the rules.
    pub step: Option<OutputStep>,
    /// The bounds to which the file clips its outputs, if these keep the rules.
    pub clips: Option<Clips>,
}

/// How the network is evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arithmetic {
    /// IEEE float32, in any summation order, with or without fused multiply-add and flushing of denormals.
    Float32,
    /// Exact real numbers.
    Real,
}

/// The proof of one rule.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleProof {
    /// The rule's name.
    pub name: String,
    /// How the domain is taken apart.
    pub tree: Tree,
}

/// The proof of one rule between two inputs.
#[derive(Debug, Clone, PartialEq)]
pub struct PairProof {
    /// The rule's name.
    pub name: String,
    /// Why it holds.
    pub argument: PairArgument,
}

/// Why a rule between two inputs holds.
#[derive(Debug, Clone, PartialEq)]
pub enum PairArgument {
    /// The signs of all weights on the way: exactly, as computed.
    Signs,
    /// Bounds of the slopes on the leaves of a tree, which have no cells.
    Slopes(Tree),
    /// The file does not read the features that may differ.
    Unread,
}

/// Regions that cover the domain: both sides of every split are proved.
#[derive(Debug, Clone, PartialEq)]
pub enum Tree {
    /// Two parts of the region, by one feature.
    Split {
        /// Index into the schema's features.
        feature: usize,
        /// Where.
        cut: Cut,
        /// The part at or below the cut, or with the listed levels.
        below: Box<Tree>,
        /// All the rest of the region.
        above: Box<Tree>,
    },
    /// Two parts of the evaluations: by the sign of what a relu reads, as computed.
    Unit {
        /// Index of the relu among the network's nodes.
        node: usize,
        /// Its column.
        unit: usize,
        /// Where the computed value is at most 0.
        below: Box<Tree>,
        /// Where it is at least 0.
        above: Box<Tree>,
    },
    /// A region on which every cell of the rule's negation is refuted.
    Leaf {
        /// How the network is bounded.
        bounds: Bounds,
        /// Multipliers: one list a cell that its own single-variable conditions on the input leave non-empty on this region,
        /// in the order of `deepsade_spec::cells::cells`; in it one number an atom.
        cells: Vec<Vec<u64>>,
        /// What tightens the bound of each cell, list by list; empty where nothing does.
        lines: Vec<Lines>,
    },
    /// Nothing needs bounds: the output step can only give outputs that obey the rule.
    Decode,
    /// The output step keeps the rule; the trees of its fallback's cases prove the rest.
    Step,
}

/// Choices in one cell's linear bound, all of them sound.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Lines {
    /// For each [`Tree::Unit`] above the leaf, from the root on, a number >= 0: so many times its condition is added to the atoms.
    pub signs: Vec<f32>,
    /// `[node, unit, n]`: the lower line of this relu is `relu(v) >= (n / SLOPES) v` where its sign is open.
    pub slopes: Vec<[usize; 3]>,
}

/// The slope 1 of a lower line.
pub const SLOPES: usize = 256;

/// How the network is bounded on a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bounds {
    /// An interval for each hidden unit.
    Interval,
    /// Linear bounds of the hidden units in terms of the input.
    Relational,
    /// The same for units whose sign is open, and for all what is known of them on the regions above this one.
    Inherited,
}

/// Splits inside splits that a reader accepts.
pub const MAX_DEPTH: usize = 200;

const FORMAT: &str = "deepsade-certificate";
const DECODE: &str = "decode, outside the domain too where the rule mentions no feature";
const SIGNS: &str = "signs";
const UNREAD: &str = "unread";
const STEP: &str = "output step";
const VERSION: &str = "1";

impl Arithmetic {
    /// The word in certificates and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Float32 => "float32",
            Self::Real => "real",
        }
    }
}

impl Bounds {
    /// The word in certificates and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Interval => "interval",
            Self::Relational => "relational",
            Self::Inherited => "inherited",
        }
    }
}

impl Certificate {
    /// Reads a certificate; every field must be there, once, and no other.
    ///
    /// ```
    /// use deepsade_check::{Arithmetic, Bounds, Certificate, RuleProof, Tree};
    /// let tree = Tree::Leaf { bounds: Bounds::Interval, cells: vec![vec![1, 0], vec![2, 3]], lines: vec![] };
    /// let rules = vec![RuleProof { name: "budget".into(), tree }];
    /// let hash = "0".repeat(64);
    /// let certificate = Certificate { model_sha256: hash.clone(), rules_sha256: hash, arithmetic: Arithmetic::Float32, rules, pairs: vec![], step: None, clips: None };
    /// assert_eq!(Certificate::from_json(&certificate.to_json()), Ok(certificate));
    /// ```
    pub fn from_json(text: &str) -> Result<Self, String> {
        let (mut value, mut step, mut clips, mut pairs) = (json::parse(text)?, None, None, None);
        if let Json::Object(fields) = &mut value {
            let mut take = |name: &str| fields.iter().position(|(key, _)| key == name).map(|k| fields.remove(k).1);
            // Only where the file ends in an output step or in clips, and where there are rules between two inputs.
            (step, clips, pairs) = (take("step"), take("clips"), take("pairs"));
        }
        let keys = ["format", "version", "model_sha256", "rules_sha256", "arithmetic", "rules"];
        let [format, version, model, rules_hash, arithmetic, rules] = fields(value, keys, "the certificate")?;
        if string(format, "format")? != FORMAT {
            return Err(format!("`format` is not \"{FORMAT}\""));
        }
        if version != Json::Number(VERSION.into()) {
            return Err(format!("`version` is not {VERSION}"));
        }
        let arithmetic = match string(arithmetic, "arithmetic")?.as_str() {
            "float32" => Arithmetic::Float32,
            "real" => Arithmetic::Real,
            other => return Err(format!("arithmetic {other:?} is neither \"float32\" nor \"real\"")),
        };
        let rules = array(rules, "rules")?.into_iter().map(rule).collect::<Result<_, _>>()?;
        let (model_sha256, rules_sha256) = (string(model, "model_sha256")?, string(rules_hash, "rules_sha256")?);
        let (step, clips) = (step.map(step::read).transpose()?, clips.map(clip::read).transpose()?);
        let pairs = pairs.map_or(Ok(Vec::new()), |list| array(list, "pairs"))?;
        let pairs = pairs.into_iter().map(pair).collect::<Result<_, _>>()?;
        Ok(Self { model_sha256, rules_sha256, arithmetic, rules, pairs, step, clips })
    }
}

fn rule(value: Json) -> Result<RuleProof, String> {
    let [name, proof] = fields(value, ["name", "tree"], "a rule")?;
    Ok(RuleProof { name: string(name, "name")?, tree: tree(proof, 0)? })
}

fn pair(value: Json) -> Result<PairProof, String> {
    let [name, proof] = fields(value, ["name", "proof"], "a rule between two inputs")?;
    let argument = match &proof {
        Json::Text(text) if text == SIGNS => PairArgument::Signs,
        Json::Text(text) if text == UNREAD => PairArgument::Unread,
        _ => PairArgument::Slopes(tree(proof, 0)?),
    };
    Ok(PairProof { name: string(name, "name")?, argument })
}

fn tree(mut value: Json, depth: usize) -> Result<Tree, String> {
    if depth > MAX_DEPTH {
        return Err(format!("a tree is deeper than {MAX_DEPTH}"));
    }
    if value == Json::Text(DECODE.into()) {
        return Ok(Tree::Decode);
    }
    if value == Json::Text(STEP.into()) {
        return Ok(Tree::Step);
    }
    let has = |value: &Json, key| matches!(value, Json::Object(fields) if fields.iter().any(|(k, _)| k == key));
    if has(&value, "bounds") {
        // `lines` may be left out.
        let lines = if has(&value, "lines") { None } else { Some(("lines".into(), Json::Array(Vec::new()))) };
        if let Json::Object(fields) = &mut value {
            fields.extend(lines);
        }
        let [bounds, cells, lines] = fields(value, ["bounds", "cells", "lines"], "a leaf")?;
        let bounds = match string(bounds, "bounds")?.as_str() {
            "interval" => Bounds::Interval,
            "relational" => Bounds::Relational,
            "inherited" => Bounds::Inherited,
            other => return Err(format!("bounds {other:?} are none of \"interval\", \"relational\", \"inherited\"")),
        };
        let list = |v| array(v, "a cell")?.into_iter().map(|v| whole(v, "a multiplier")).collect::<Result<_, _>>();
        let cells = array(cells, "cells")?.into_iter().map(list).collect::<Result<_, _>>()?;
        let lines = array(lines, "lines")?.into_iter().map(line).collect::<Result<_, _>>()?;
        return Ok(Tree::Leaf { bounds, cells, lines });
    }
    let keys = [["node", "unit"], ["feature", "levels"], ["feature", "at"]];
    let [what, at] = keys.into_iter().find(|keys| keys.iter().all(|key| has(&value, key))).unwrap_or(["feature", "at"]);
    let [index, cut, below, above] = fields(value, [what, at, "below", "above"], "a split")?;
    let [below, above] = [tree(below, depth + 1)?, tree(above, depth + 1)?].map(Box::new);
    let index = whole(index, what)?;
    let cut = match at {
        "unit" => return Ok(Tree::Unit { node: index, unit: whole(cut, "unit")?, below, above }),
        "levels" => Cut::Levels(array(cut, "levels")?.into_iter().map(|v| whole(v, "a level")).collect::<Result<_, _>>()?),
        _ => Cut::At(float(cut, "at")?),
    };
    Ok(Tree::Split { feature: index, cut, below, above })
}

fn line(value: Json) -> Result<Lines, String> {
    let [signs, slopes] = fields(value, ["signs", "slopes"], "a line")?;
    let signs: Vec<f32> = array(signs, "signs")?.into_iter().map(|v| float(v, "a sign")).collect::<Result<_, _>>()?;
    let slopes: Vec<usize> = array(slopes, "slopes")?.into_iter().map(|v| whole(v, "a slope")).collect::<Result<_, _>>()?;
    let (slopes, rest) = slopes.as_chunks::<3>();
    let good = rest.is_empty() && slopes.iter().all(|s| s[2] <= SLOPES) && signs.iter().all(|s| *s >= 0.0);
    let bad = || format!("a line has a sign below 0, or slopes that are not triples or above {SLOPES}");
    if good { Ok(Lines { signs, slopes: slopes.to_vec() }) } else { Err(bad()) }
}
