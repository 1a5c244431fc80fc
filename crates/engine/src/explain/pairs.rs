//! Rules between two inputs and data rows enter; how many pairs of rows contradict each rule leaves.

use std::collections::BTreeMap;

use deepsade_data::Dataset;
use deepsade_spec::{ColumnMap, Moves, NormalSpec, Pair, PairRule, Rational, Task, Var};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

/// Neighbours that are compared at most, and pairs of any rows.
const MOST: usize = 50_000;
const DRAWN: usize = 4_000;

/// What data rows say of a rule between two inputs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PairCount {
    /// Pairs of rows that the rule speaks of: equal but for its features.
    pub neighbours: usize,
    /// Those whose labels contradict it.
    pub contradicting: usize,
    /// The share that contradicts it of pairs of any rows that satisfy its condition and lie to each other as it says in its features, whatever
    /// the others are; `None` for rules that need them equal.
    pub discordant: Option<f64>,
}

/// Counts for every rule; `None` for rules about scores, which labels do not have.
pub fn count(spec: &NormalSpec, rows: &Dataset) -> Vec<Option<PairCount>> {
    let counter = Counter { spec, rows, map: spec.schema.column_map() };
    spec.pairs.iter().map(|rule| (!rule.reads_scores).then(|| counter.rule(rule))).collect()
}

struct Counter<'a> {
    spec: &'a NormalSpec,
    rows: &'a Dataset,
    map: ColumnMap,
}

impl Counter<'_> {
    fn rule(&self, rule: &PairRule) -> PairCount {
        let mut count = PairCount { neighbours: 0, contradicting: 0, discordant: None };
        // Parts about the same features are one comparison.
        let mut groups: Vec<(&[usize], Vec<&Pair>)> = Vec::new();
        for part in &rule.parts {
            match groups.iter_mut().find(|(features, _)| *features == part.features) {
                Some((_, parts)) => parts.push(part),
                None => groups.push((&part.features, vec![part])),
            }
        }
        let (mut drawn, mut discordant) = (0, 0);
        for (features, parts) in groups {
            for (a, b) in self.neighbours(features) {
                for (a, b) in [(a, b), (b, a)] {
                    let asked = parts.iter().filter(|part| self.allows(part, a, b)).collect::<Vec<_>>();
                    // Either way round an unordered pair is the same.
                    if asked.is_empty() || a > b && parts.iter().all(|part| part.moves != Moves::Up) {
                        continue;
                    }
                    count.neighbours += 1;
                    count.contradicting += usize::from(
                        asked.iter().any(|part| !self.keeps(part, a, b) || part.moves != Moves::Up && !self.keeps(part, b, a)),
                    );
                }
            }
            if parts.iter().all(|part| part.moves == Moves::Up) && self.rows.rows() > 1 {
                let mut rng = ChaCha8Rng::seed_from_u64(0);
                for _ in 0..DRAWN {
                    let [a, b] = [0, 1].map(|_| rng.random_range(0..self.rows.rows()));
                    let at = |row: usize, f: usize| self.rows.x.row(row)[self.map.first(f)];
                    let below = features.iter().all(|f| at(a, *f) <= at(b, *f)) && features.iter().any(|f| at(a, *f) < at(b, *f));
                    let holds = |part: &Pair, row: usize| part.condition.at(&|var| self.value(row, var));
                    let asked: Vec<_> = parts.iter().filter(|part| below && holds(part, a) && holds(part, b)).collect();
                    if !asked.is_empty() {
                        drawn += 1;
                        discordant += usize::from(asked.iter().any(|part| !self.keeps(part, a, b)));
                    }
                }
            }
        }
        count.discordant = (drawn > 0).then(|| f64::from(discordant as u32) / f64::from(drawn));
        count
    }

    /// Pairs of rows that are equal but for some features.
    fn neighbours(&self, features: &[usize]) -> Vec<(usize, usize)> {
        let columns = self.spec.schema.columns();
        let others: Vec<usize> = (0..columns.len()).filter(|c| !features.contains(&columns[*c].feature)).collect();
        let mut groups: BTreeMap<Vec<u32>, Vec<usize>> = BTreeMap::new();
        for row in 0..self.rows.rows() {
            // 0 and -0 are the same number.
            let key = others.iter().map(|c| (self.rows.x.row(row)[*c] + 0.0).to_bits()).collect();
            groups.entry(key).or_default().push(row);
        }
        let mut pairs = Vec::new();
        for rows in groups.values() {
            for (i, a) in rows.iter().enumerate() {
                for b in &rows[i + 1..] {
                    let same = (0..columns.len()).all(|c| self.rows.x.row(*a)[c] == self.rows.x.row(*b)[c]);
                    if !same {
                        pairs.push((*a, *b));
                    }
                    if pairs.len() == MOST {
                        return pairs;
                    }
                }
            }
        }
        pairs
    }

    fn allows(&self, part: &Pair, a: usize, b: usize) -> bool {
        part.allows(&self.spec.schema, &|var| self.value(a, var), &|var| self.value(b, var))
    }

    fn keeps(&self, part: &Pair, a: usize, b: usize) -> bool {
        part.keeps(&|var| self.value(a, var), &|var| self.value(b, var))
    }

    fn value(&self, row: usize, var: Var) -> Rational {
        let x = self.rows.x.row(row);
        let exact = |v: f32| Rational::try_from(v).unwrap_or_default();
        match var {
            Var::Output(j) if matches!(self.spec.schema.task, Task::Regression { .. }) => exact(self.rows.y.row(row)[j]),
            Var::Output(j) => exact(self.rows.y.row(row)[j] * 2.0 - 1.0),
            input => self.map.of(input).value(x, exact),
        }
    }
}
