//! Bounds and rules between two inputs enter; whether they move as these ask leaves, and bounds that do.

use deepsade_check::step::Clips;
use deepsade_spec::{Kept, Moves, Pair, Trend, Var};

use super::{ClipFinder, LearntBound, NoClips};

/// What of a change is left for the rounding of bounds.
const ROUNDED: f64 = 1e-3;

impl ClipFinder<'_> {
    /// Makes a bound move as rules between two inputs ask: a condition that begins to hold the wrong way is dropped, a term that goes it is
    /// taken at its end. Nothing is lost: with those rules the bound holds wherever a neighbour has it.
    pub(super) fn turn(&self, bound: &mut LearntBound) {
        let alone = |bound: &LearntBound, asked: (usize, bool)| {
            let zero = vec![0.0; bound.weights.len()];
            self.fits(&LearntBound { when: vec![asked], weights: zero, ..bound.clone() })
        };
        let kept: Vec<(usize, bool)> = bound.when.iter().copied().filter(|asked| alone(bound, *asked)).collect();
        bound.when = kept;
        for (column, (lo, hi)) in self.spec.schema.column_ranges().into_iter().enumerate() {
            // Changes that several features make add up.
            let mut so_far = bound.weights.clone();
            so_far[column + 1..].fill(0.0);
            if so_far[column] != 0.0 && !self.fits(&LearntBound { when: Vec::new(), weights: so_far, ..bound.clone() }) {
                let w = bound.weights[column];
                let (a, b) = (w * f64::from(lo), w * f64::from(hi));
                bound.constant += if bound.upper { a.min(b) } else { a.max(b) };
                bound.weights[column] = 0.0;
            }
        }
    }

    /// Whether a bound moves with a column as rules between two inputs ask.
    pub(super) fn moves_well(&self, bound: &LearntBound, column: usize) -> bool {
        let mut only = vec![0.0; bound.weights.len()];
        only[column] = bound.weights[column];
        only[column] == 0.0 || self.fits(&LearntBound { when: Vec::new(), weights: only, ..bound.clone() })
    }

    /// Whether bounds change no more than their share of what a rule allows.
    fn changes_little(&self, part: &Pair, clips: &Clips) -> bool {
        let (Moves::By(by), Kept::Number { linear, by: most, .. }) = (&part.moves, &part.kept) else { return true };
        let columns = self.spec.schema.columns();
        let far = |c: usize| part.features.iter().position(|f| *f == columns[c].feature).map_or(0.0, |k| by[k].to_f64().value());
        let share = most.to_f64().value() / linear.terms.len().max(1) as f64 * (1.0 - ROUNDED);
        let moved =
            |c: usize| self.conditions[c].linear.terms.keys().filter_map(|v| v.feature()).any(|f| part.features.contains(&f));
        linear.terms.iter().all(|(var, a)| {
            let Var::Output(j) = *var else { return true };
            clips.rounds.iter().all(|round| {
                let own = round.weights.iter().filter(|(o, ..)| *o == j);
                let change: f64 = own.map(|(_, c, w)| f64::from(w.abs()) * far(*c)).sum();
                a.to_f64().value().abs() * change <= share && !round.when[j].iter().any(|(c, _)| moved(*c))
            })
        })
    }

    fn fits(&self, bound: &LearntBound) -> bool {
        self.keeps_trends(&self.rounds(std::slice::from_ref(bound), &[])).is_ok()
    }

    /// Whether the bounds move as rules between two inputs ask.
    pub(super) fn keeps_trends(&self, clips: &Clips) -> Result<(), NoClips> {
        for rule in &self.spec.pairs {
            for part in &rule.parts {
                if !self.changes_little(part, clips) {
                    return Err(NoClips::Trend { rule: rule.name.clone() });
                }
                let asked = if matches!(part.moves, Moves::By(_)) { Vec::new() } else { part.demands() };
                let all = asked.iter().flat_map(|a| part.features.iter().map(move |f| (*f, *a)));
                let keeps = |(feature, (output, asked)): (usize, (usize, Trend))| {
                    clips.trend(self.spec, feature, output, asked).is_ok_and(|found| found.implies(asked))
                };
                if !all.into_iter().all(keeps) {
                    return Err(NoClips::Trend { rule: rule.name.clone() });
                }
            }
        }
        Ok(())
    }
}
