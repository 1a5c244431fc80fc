//! Formulas enter; leave calls that compute for each row which of them certainly hold, level by level.
//!
//! Everything is a weighted count of truths below it: `and` counts up to all, `or` up to one. The counts of a level are one product
//! with a matrix of small whole numbers, and halves as constants: exact in float32 in any order; then one comparison with 0.
//! A label is 0 or 1, and so is its own truth: nothing is computed for a comparison with it.
//!
//! What is computed stands: a line a sum or truth, a column a row of the input. So lines are as long as a batch, and runtimes are quick at
//! products and comparisons of them.

use std::collections::{BTreeMap, BTreeSet};

use deepsade_net::Piece;
use deepsade_net::onnx::piece::TO_FLOAT;
use deepsade_spec::{Formula, Rational, Threshold, common_denominator};

use super::literal::{ColumnSum, Literal, Sums};
use super::over::Over;
use crate::rejected::StepFault;

/// Counts stay below it: with signs they are exact in float32.
const MOST: i64 = 1 << 22;
/// Numbers that the matrices of all levels may hold: 256 MB.
const MOST_NUMBERS: usize = 1 << 26;

/// Something that is true or false for a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Truth {
    Constant(bool),
    Sum(usize, bool),
    Gate(usize),
}

/// Holds iff the weights of what holds reach the bound.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct CountGate {
    terms: Vec<(i64, Truth)>,
    bound: i64,
}

/// Formulas as gates over comparisons.
#[derive(Debug, Default)]
pub(super) struct Gates {
    pub(super) sums: Sums,
    all: Vec<CountGate>,
    heights: Vec<usize>,
    known: BTreeMap<CountGate, usize>,
}

impl Gates {
    /// What is computed for a formula: if it is true, the formula holds.
    pub(super) fn formula(&mut self, formula: &Formula, over: &Over) -> Result<Truth, StepFault> {
        let mut each = |parts: &[Formula]| parts.iter().map(|p| self.formula(p, over)).collect::<Result<Vec<_>, _>>();
        Ok(match formula {
            Formula::True => Truth::Constant(true),
            Formula::False => Truth::Constant(false),
            Formula::Atom(atom) => match self.sums.literal(atom, over)? {
                Literal::Decided(truth) => Truth::Constant(truth),
                Literal::Computed { sum, truth, .. } => Truth::Sum(sum, truth),
            },
            Formula::And(parts) => {
                let parts = each(parts)?;
                self.all_of(parts)
            }
            Formula::Or(parts) => {
                let parts = each(parts)?;
                self.any_of(parts)
            }
            Formula::Threshold(threshold) => self.count(threshold, over)?,
        })
    }

    /// True where all are.
    pub(super) fn all_of(&mut self, parts: Vec<Truth>) -> Truth {
        let parts = self.apart(parts, Self::all_of);
        let bound = parts.len() as i64;
        self.gate(parts.into_iter().map(|p| (1, p)).collect(), bound)
    }

    fn any_of(&mut self, parts: Vec<Truth>) -> Truth {
        let parts = self.apart(parts, Self::any_of);
        self.gate(parts.into_iter().map(|p| (1, p)).collect(), 1)
    }

    /// Comparisons beside gates become a gate of their own: they need not be handed on from level to level.
    fn apart(&mut self, parts: Vec<Truth>, join: fn(&mut Self, Vec<Truth>) -> Truth) -> Vec<Truth> {
        let (mut gates, rest): (Vec<_>, Vec<_>) = parts.into_iter().partition(|p| matches!(p, Truth::Gate(_)));
        if gates.is_empty() || rest.is_empty() {
            gates.extend(rest);
            return gates;
        }
        gates.push(join(self, rest));
        gates
    }

    /// A weighted count: weights in whole numbers, rounded down where they have to be, so that a count that is reached is reached.
    fn count(&mut self, Threshold { terms, bound, strict }: &Threshold, over: &Over) -> Result<Truth, StepFault> {
        let mut scale = Rational::from(common_denominator(terms.iter().map(|(weight, _)| weight)));
        let total: Rational = terms.iter().fold(Rational::ZERO, |sum, (w, _)| sum + w);
        let most = Rational::from(MOST);
        if &total * &scale > most {
            scale = most / total;
        }
        let whole = |v: Rational| i64::try_from(v).map_err(|_| StepFault::Count);
        let bound = bound * &scale;
        let bound = whole(if *strict { Rational::from(bound.floor()) + Rational::ONE } else { Rational::from(bound.ceil()) })?;
        let mut counted = Vec::new();
        for (weight, part) in terms {
            let weight = whole(Rational::from((weight * &scale).floor()))?;
            counted.push((weight, self.formula(part, over)?));
        }
        Ok(self.gate(counted, bound))
    }

    fn gate(&mut self, terms: Vec<(i64, Truth)>, mut bound: i64) -> Truth {
        let mut weights: BTreeMap<Truth, i64> = BTreeMap::new();
        for (weight, part) in terms {
            match part {
                Truth::Constant(truth) => bound -= if truth { weight } else { 0 },
                // In a count a part counts as often as it stands there.
                part => *weights.entry(part).or_default() += weight,
            }
        }
        let total: i64 = weights.values().sum();
        let mut kept: Vec<(i64, Truth)> = weights.into_iter().map(|(part, weight)| (weight, part)).collect();
        match &kept[..] {
            _ if bound <= 0 => Truth::Constant(true),
            _ if bound > total => Truth::Constant(false),
            [(_, part)] => *part,
            _ => {
                kept.sort_unstable();
                let gate = CountGate { terms: kept, bound };
                if let Some(known) = self.known.get(&gate) {
                    return Truth::Gate(*known);
                }
                let height = 1 + gate.terms.iter().map(|(_, p)| self.height(*p)).max().unwrap_or(0);
                self.all.push(gate.clone());
                self.heights.push(height);
                self.known.insert(gate, self.all.len() - 1);
                Truth::Gate(self.all.len() - 1)
            }
        }
    }

    /// Whether matrices of some size hold the counts.
    pub(super) fn small(&self) -> Result<(), StepFault> {
        let mut lines = vec![self.sums.all.len()];
        for height in &self.heights {
            lines.resize(lines.len().max(height + 1), 0);
            lines[*height] += 1;
        }
        let numbers = lines.windows(2).fold(0usize, |sum, pair| sum.saturating_add(pair[0].saturating_mul(pair[1])));
        if numbers > MOST_NUMBERS { Err(StepFault::Large { numbers, most: MOST_NUMBERS }) } else { Ok(()) }
    }

    fn height(&self, part: Truth) -> usize {
        if let Truth::Gate(g) = part { self.heights[g] } else { 0 }
    }

    /// Writes the calls that compute all that the roots count, from the columns that parts hold; the first `labels` columns are 0 or 1.
    pub(super) fn write(&self, roots: &[Truth], parts: &[SumTensor], labels: usize, prefix: &str, piece: &mut Piece) -> Truths {
        let top = roots.iter().map(|r| self.height(*r)).max().unwrap_or(0).max(1);
        piece.floats(&format!("{prefix}none"), &[], vec![0.0]);
        let mut counted = self.write_sums(parts, labels, prefix, piece);
        for level in 1..top {
            let next = self.level(level, roots);
            counted.top = level;
            let truth = self.finish(&next, &counted, &[], &format!("level{level}"), prefix, piece);
            let number = format!("{prefix}number{level}");
            piece.call_with("Cast", &[&truth], &number, &[("to", TO_FLOAT)]);
            counted = Truths { parts: vec![(number, next.into_iter().map(Some).collect())], top: level };
        }
        counted.top = top;
        counted
    }

    /// Writes the calls that compute roots from what they count, some more taken off; the booleans, a line a root.
    pub(super) fn finish(
        &self,
        roots: &[Truth],
        from: &Truths,
        offs: &[Off],
        name: &str,
        prefix: &str,
        piece: &mut Piece,
    ) -> String {
        let name = format!("{prefix}{name}");
        let count = self.counts(roots, from, offs, &name, piece);
        let truth = format!("{name}_truth");
        piece.call("Greater", &[&count, &format!("{prefix}none")], &truth);
        truth
    }

    /// Counts that are above 0 where what is wanted is true, a line each.
    fn counts(&self, wanted: &[Truth], from: &Truths, offs: &[Off], name: &str, piece: &mut Piece) -> String {
        let lines = wanted.len();
        let mut matrices: Vec<Vec<f32>> = from.parts.iter().map(|(_, items)| vec![0.0; lines * items.len()]).collect();
        let mut constants = vec![0.0f32; lines];
        let place = from.places();
        for (k, item) in wanted.iter().enumerate() {
            let own = [(1, *item)];
            let (terms, mut bound) = match item {
                Truth::Constant(truth) => (&[][..], i64::from(!truth)),
                Truth::Gate(g) if self.heights[*g] == from.top => (&self.all[*g].terms[..], self.all[*g].bound),
                _ => (&own[..], 1),
            };
            for (weight, part) in terms {
                // w [not b] = w - w [b].
                let (part, sign) = match part {
                    Truth::Sum(sum, false) => (Truth::Sum(*sum, true), -1),
                    part => (*part, 1),
                };
                bound -= if sign < 0 { *weight } else { 0 };
                let (at, place) = place[&part];
                matrices[at][k * from.parts[at].1.len() + place] += (sign * weight) as f32;
            }
            constants[k] = 0.5 - bound as f32;
        }
        let mut total = format!("{name}_less");
        piece.floats(&total, &[lines, 1], constants);
        for (k, Off { part, factors, root }) in offs.iter().enumerate() {
            let [matrix, left] = ["off", "left"].map(|what| format!("{name}_{what}{k}"));
            let mut m = vec![0.0; lines * factors.len()];
            m[root * factors.len()..][..factors.len()].copy_from_slice(factors);
            piece.floats(&matrix, &[lines, factors.len()], m);
            part.product(&matrix, &total, &left, piece);
            total = left;
        }
        for (k, ((tensor, items), m)) in from.parts.iter().zip(matrices).enumerate() {
            let [matrix, count] = ["matrix", "count"].map(|what| format!("{name}_{what}{k}"));
            piece.floats(&matrix, &[lines, items.len()], m);
            piece.call("Gemm", &[&matrix, tensor, &total], &count);
            total = count;
        }
        total
    }

    /// What is known after a level below the top: its gates, and all that is needed higher up.
    fn level(&self, level: usize, roots: &[Truth]) -> Vec<Truth> {
        let mut items: Vec<Truth> = (0..self.all.len()).filter(|g| self.heights[*g] == level).map(Truth::Gate).collect();
        let higher = self.all.iter().zip(&self.heights).filter(|(_, h)| **h > level);
        let needed: BTreeSet<Truth> =
            higher.flat_map(|(gate, _)| gate.terms.iter().map(|(_, p)| *p)).chain(roots.iter().copied()).collect();
        let mut known: BTreeSet<Truth> = items.iter().copied().collect();
        for part in needed {
            let part = if let Truth::Sum(sum, _) = part { Truth::Sum(sum, true) } else { part };
            if self.height(part) <= level && !matches!(part, Truth::Constant(_)) && known.insert(part) {
                items.push(part);
            }
        }
        items
    }

    /// The sums, above 0 or not: one product for each of the parts, added up.
    fn write_sums(&self, parts: &[SumTensor], labels: usize, prefix: &str, piece: &mut Piece) -> Truths {
        // Above a half: the label itself.
        let label = |sum: &ColumnSum| match sum.terms[..] {
            [(column, 1.0)] if column < labels && sum.constant == -0.5 => Some(column),
            _ => None,
        };
        let computed: Vec<usize> = (0..self.sums.all.len()).filter(|s| label(&self.sums.all[*s]).is_none()).collect();
        let sums: Vec<&ColumnSum> = computed.iter().map(|s| &self.sums.all[*s]).collect();
        let mut counted = Truths { parts: Vec::new(), top: 0 };
        let mut total = format!("{prefix}constants");
        if !sums.is_empty() {
            piece.floats(&total, &[sums.len(), 1], sums.iter().map(|s| s.constant).collect());
        }
        for (k, part) in parts.iter().enumerate() {
            let columns = &part.columns;
            let mut m = vec![0.0f32; sums.len() * columns.len()];
            for (s, sum) in sums.iter().enumerate() {
                for (column, c) in &sum.terms {
                    if let Some(place) = columns.iter().position(|own| own == column) {
                        m[s * columns.len() + place] = *c;
                    }
                }
            }
            let truth_of =
                |column: &usize| self.sums.all.iter().position(|s| label(s) == Some(*column)).map(|s| Truth::Sum(s, true));
            let truths: Vec<Option<Truth>> = columns.iter().map(truth_of).collect();
            // What is read as it is has its height checked by the products that count it.
            if truths.iter().any(Option::is_some) {
                counted.parts.push((part.tensor.clone(), truths));
                if m.iter().all(|v| *v == 0.0) {
                    continue;
                }
            }
            let (matrix, sum) = (format!("{prefix}sums{k}"), format!("{prefix}sum{k}"));
            piece.floats(&matrix, &[sums.len(), columns.len()], m);
            part.product(&matrix, &total, &sum, piece);
            total = sum;
        }
        if !sums.is_empty() {
            let (truth, number) = (format!("{prefix}truth0"), format!("{prefix}number0"));
            piece.call("Greater", &[&total, &format!("{prefix}none")], &truth);
            piece.call_with("Cast", &[&truth], &number, &[("to", TO_FLOAT)]);
            counted.parts.push((number, computed.iter().map(|s| Some(Truth::Sum(*s, true))).collect()));
        }
        counted
    }
}

/// A tensor that sums read, and which columns it holds: each is a line of it, or a column where it lies.
#[derive(Debug, Clone)]
pub(super) struct SumTensor {
    pub(super) tensor: String,
    pub(super) columns: Vec<usize>,
    pub(super) lies: bool,
}

impl SumTensor {
    /// `matrix . columns + plus`, a line a row of the matrix.
    pub(super) fn product(&self, matrix: &str, plus: &str, makes: &str, piece: &mut Piece) {
        let turned: &[(&str, i64)] = if self.lies { &[("transB", 1)] } else { &[] };
        piece.call_with("Gemm", &[matrix, &self.tensor, plus], makes, turned);
    }
}

/// What is taken off the count of a root: a part's columns times factors.
pub(super) struct Off {
    pub(super) part: SumTensor,
    pub(super) factors: Vec<f32>,
    pub(super) root: usize,
}

/// What was computed so far: truths as 0 and 1.
pub(super) struct Truths {
    /// Tensors, and whose truth each line is.
    parts: Vec<(String, Vec<Option<Truth>>)>,
    /// The height of the gates that count them.
    top: usize,
}

impl Truths {
    /// The tensor and the line that hold each truth.
    fn places(&self) -> BTreeMap<Truth, (usize, usize)> {
        let all = self
            .parts
            .iter()
            .enumerate()
            .flat_map(|(at, (_, items))| items.iter().enumerate().map(move |(k, item)| (*item, (at, k))));
        all.filter_map(|(item, place)| Some((item?, place))).collect()
    }
}
