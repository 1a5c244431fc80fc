//! Formulas enter; leave calls that compute for each row which of them certainly hold, level by level.
//!
//! Everything is a weighted count of truths below it: `and` counts up to all, `or` up to one. The counts of a level are one product
//! with a matrix of small whole numbers, exact in float32 in any order, and one comparison.

use std::collections::{BTreeMap, BTreeSet};

use deepsade_net::Piece;
use deepsade_net::onnx::piece::TO_FLOAT;
use deepsade_spec::{Formula, Rational, Threshold};

use super::literal::{Base, Bases, Literal};
use super::over::Over;

/// Counts stay below it: with signs they are exact in float32.
const MOST: i64 = 1 << 22;

/// Something that is true or false for a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Truth {
    Constant(bool),
    Base(Base, bool),
    Gate(usize),
}

/// Holds iff the weights of what holds reach the bound.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Gate {
    terms: Vec<(i64, Truth)>,
    bound: i64,
}

/// Formulas as gates over comparisons.
#[derive(Debug, Default)]
pub(super) struct Gates {
    pub(super) bases: Bases,
    gates: Vec<Gate>,
    heights: Vec<usize>,
    known: BTreeMap<Gate, usize>,
}

impl Gates {
    /// What is computed for a formula: if it is true, the formula holds.
    pub(super) fn formula(&mut self, formula: &Formula, over: &Over) -> Result<Truth, String> {
        let mut each = |parts: &[Formula]| parts.iter().map(|p| self.formula(p, over)).collect::<Result<Vec<_>, _>>();
        Ok(match formula {
            Formula::True => Truth::Constant(true),
            Formula::False => Truth::Constant(false),
            Formula::Atom(atom) => match self.bases.literal(atom, over)? {
                Literal::Decided(truth) => Truth::Constant(truth),
                Literal::Computed { base, truth, .. } => Truth::Base(base, truth),
            },
            Formula::And(parts) => {
                let parts = each(parts)?;
                self.all(parts)
            }
            Formula::Or(parts) => {
                let parts = each(parts)?;
                self.any(parts)
            }
            Formula::Threshold(threshold) => self.count(threshold, over)?,
        })
    }

    /// True where all are.
    pub(super) fn all(&mut self, parts: Vec<Truth>) -> Truth {
        let parts = self.apart(parts, Self::all);
        let bound = parts.len() as i64;
        self.gate(parts.into_iter().map(|p| (1, p)).collect(), bound)
    }

    fn any(&mut self, parts: Vec<Truth>) -> Truth {
        let parts = self.apart(parts, Self::any);
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
    fn count(&mut self, Threshold { terms, bound, strict }: &Threshold, over: &Over) -> Result<Truth, String> {
        let mut scale = Rational::ONE;
        for (weight, _) in terms {
            let denominator = (weight * &scale).denominator().clone();
            scale *= Rational::from(denominator);
        }
        let total: Rational = terms.iter().fold(Rational::ZERO, |sum, (w, _)| sum + w);
        let most = Rational::from(MOST);
        if &total * &scale > most {
            scale = most / total;
        }
        let whole = |v: Rational| i64::try_from(v).map_err(|_| "a count is too large".to_string());
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
        let mut kept: Vec<(i64, Truth)> = Vec::new();
        for (weight, part) in terms {
            match part {
                Truth::Constant(truth) => bound -= if truth { weight } else { 0 },
                part => match kept.iter_mut().find(|(_, p)| *p == part) {
                    // In a count a part counts as often as it stands there.
                    Some((w, _)) => *w += weight,
                    None => kept.push((weight, part)),
                },
            }
        }
        let total: i64 = kept.iter().map(|(w, _)| w).sum();
        match &kept[..] {
            _ if bound <= 0 => Truth::Constant(true),
            _ if bound > total => Truth::Constant(false),
            [(_, part)] => *part,
            _ => {
                kept.sort_unstable();
                let gate = Gate { terms: kept, bound };
                if let Some(known) = self.known.get(&gate) {
                    return Truth::Gate(*known);
                }
                let height = 1 + gate.terms.iter().map(|(_, p)| self.height(*p)).max().unwrap_or(0);
                self.gates.push(gate.clone());
                self.heights.push(height);
                self.known.insert(gate, self.gates.len() - 1);
                Truth::Gate(self.gates.len() - 1)
            }
        }
    }

    fn height(&self, part: Truth) -> usize {
        if let Truth::Gate(g) = part { self.heights[g] } else { 0 }
    }

    /// Writes the calls that compute the roots from the columns in the tensor `z`; the name of the booleans, a column a root.
    pub(super) fn write(self, roots: &[Truth], z: &str, over: usize, prefix: &str, piece: &mut Piece) -> String {
        let top = roots.iter().map(|r| self.height(*r)).max().unwrap_or(0).max(1);
        let mut items: Vec<Truth> = self.write_bases(z, over, prefix, piece);
        let mut name = format!("{prefix}base");
        for level in 1..=top {
            let next = if level == top { roots.to_vec() } else { self.level(level, roots) };
            let (rows, cols) = (items.len(), next.len());
            let (mut m, mut above) = (vec![0.0f32; rows * cols], vec![0.0f32; cols]);
            let place: BTreeMap<Truth, usize> = items.iter().enumerate().map(|(k, item)| (*item, k)).collect();
            for (k, item) in next.iter().enumerate() {
                let own = [(1, *item)];
                let (terms, bound) = match item {
                    Truth::Constant(truth) => (&[][..], i64::from(!truth)),
                    Truth::Gate(g) if self.heights[*g] == level => (&self.gates[*g].terms[..], self.gates[*g].bound),
                    _ => (&own[..], 1),
                };
                let mut bound = bound;
                for (weight, part) in terms {
                    // w [not b] = w - w [b].
                    let (part, sign) = match part {
                        Truth::Base(base, false) => (Truth::Base(*base, true), -1),
                        part => (*part, 1),
                    };
                    bound -= if sign < 0 { *weight } else { 0 };
                    m[place[&part] * cols + k] += (sign * weight) as f32;
                }
                above[k] = bound as f32 - 0.5;
            }
            let [number, matrix, limit, count, truth] =
                ["number", "matrix", "above", "count", "truth"].map(|what| format!("{prefix}{what}{level}"));
            piece.floats(&matrix, &[rows, cols], m);
            piece.floats(&limit, &[1, cols], above);
            piece.call_with("Cast", &[&name], &number, &[("to", TO_FLOAT)]);
            piece.call("MatMul", &[&number, &matrix], &count);
            piece.call("Greater", &[&count, &limit], &truth);
            (items, name) = (next, truth);
        }
        name
    }

    /// What is known after a level below the top: its gates, and all that is needed higher up.
    fn level(&self, level: usize, roots: &[Truth]) -> Vec<Truth> {
        let mut items: Vec<Truth> = (0..self.gates.len()).filter(|g| self.heights[*g] == level).map(Truth::Gate).collect();
        let higher = self.gates.iter().zip(&self.heights).filter(|(_, h)| **h > level);
        let needed: BTreeSet<Truth> =
            higher.flat_map(|(gate, _)| gate.terms.iter().map(|(_, p)| *p)).chain(roots.iter().copied()).collect();
        for part in needed {
            let part = if let Truth::Base(base, _) = part { Truth::Base(base, true) } else { part };
            if self.height(part) <= level && !matches!(part, Truth::Constant(_)) && !items.contains(&part) {
                items.push(part);
            }
        }
        items
    }

    /// The comparisons, single columns first.
    fn write_bases(&self, z: &str, over: usize, prefix: &str, piece: &mut Piece) -> Vec<Truth> {
        let Bases { thresholds, sums } = &self.bases;
        let [columns, taken, at, single, matrix, constants, total, above, sum, base] =
            ["columns", "taken", "at", "single", "sums", "constants", "total", "margins", "sum", "base"]
                .map(|w| format!("{prefix}{w}"));
        let only = sums.is_empty() || thresholds.is_empty();
        let mut parts = Vec::new();
        if !thresholds.is_empty() || sums.is_empty() {
            let single = if only { &base } else { &single };
            piece.ints(&columns, &[thresholds.len()], thresholds.iter().map(|(column, _)| *column as i64).collect());
            piece.floats(&at, &[1, thresholds.len()], thresholds.iter().map(|(_, at)| *at).collect());
            piece.call_with("Gather", &[z, &columns], &taken, &[("axis", 1)]);
            piece.call("Greater", &[&taken, &at], single);
            parts.push(single.clone());
        }
        if !sums.is_empty() {
            let mut m = vec![0.0f32; over * sums.len()];
            for (k, s) in sums.iter().enumerate() {
                s.terms.iter().for_each(|(column, c)| m[column * sums.len() + k] = *c);
            }
            let sum = if only { &base } else { &sum };
            piece.floats(&matrix, &[over, sums.len()], m);
            piece.floats(&constants, &[sums.len()], sums.iter().map(|s| s.constant).collect());
            piece.floats(&above, &[1, sums.len()], sums.iter().map(|s| s.above).collect());
            piece.call("Gemm", &[z, &matrix, &constants], &total);
            piece.call("Greater", &[&total, &above], sum);
            parts.push(sum.clone());
        }
        if !only {
            piece.call_with("Concat", &[&parts[0], &parts[1]], &base, &[("axis", 1)]);
        }
        let singles = (0..thresholds.len()).map(Base::Threshold);
        singles.chain((0..sums.len()).map(Base::Sum)).map(|base| Truth::Base(base, true)).collect()
    }
}
