//! Rules that tie some labels together enter; leave the same rules over facts, numbered from 0: the labels, then the conditions.
//!
//! A condition and its opposite are two facts: near its border neither certainly holds, and the tail of the graph takes both for false.
//! So what is made from facts reads the rules as the tail does, on every input.

use deepsade_check::step::certain;
use deepsade_spec::{Atom, Formula, Linear, Rational, Schema, Var};

use super::super::draft::Draft;
use super::super::{MakeError, Source};

/// What a fact of the input is worth if it holds, and costs if it does not: far more than all labels.
const SURE: f32 = (1u64 << 40) as f32;

/// Labels that hang together, and why.
#[derive(Debug)]
pub(super) struct Facts {
    /// The labels, as outputs.
    pub(super) labels: Vec<usize>,
    /// The conditions.
    pub(super) conditions: Vec<Atom>,
    /// Atoms that stand for the conditions, no two of them opposite.
    pub(super) names: Vec<Atom>,
    /// The rules over labels numbered from 0, and the names of conditions.
    pub(super) parts: Vec<Formula>,
    /// The rules over labels numbered from 0, and the conditions themselves.
    pub(super) written: Vec<Formula>,
}

impl Facts {
    /// The rules `parts` over `labels`, which are all that they mention, ascending.
    pub(super) fn new(labels: Vec<usize>, parts: &[&Formula]) -> Self {
        let local = |var: Var| match var {
            Var::Output(j) => Var::Output(labels.binary_search(&j).unwrap_or_default()),
            other => other,
        };
        let written: Vec<Formula> = parts.iter().map(|p| p.renamed(&local)).collect();
        let mut conditions: Vec<Atom> = Vec::new();
        written.iter().for_each(|p| {
            p.atoms(&mut |atom| {
                if atom.is_condition() && !conditions.contains(atom) {
                    conditions.push(atom.clone());
                }
            });
        });
        let names: Vec<Atom> =
            (0..conditions.len()).map(|k| Atom { linear: Linear::var(Var::Feature(k)), strict: true }).collect();
        let mut named = |atom: &Atom| {
            let known = conditions.iter().position(|c| c == atom);
            Formula::Atom(known.map_or_else(|| atom.clone(), |k| names[k].clone()))
        };
        let parts = written.iter().map(|p| p.replaced(&mut named)).collect();
        Self { labels, conditions, names, parts, written }
    }

    /// The facts of a part, ascending.
    pub(super) fn of(&self, part: &Formula) -> Vec<usize> {
        let fact = |var: Var| match var {
            Var::Output(j) => j,
            Var::Feature(k) | Var::Level(k, _) => self.labels.len() + k,
        };
        part.variables().into_iter().map(fact).collect()
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.labels.len() + self.conditions.len()
    }

    /// What is left of the rules for a set of labels: something about the input.
    pub(super) fn settled(&self, set: &[bool]) -> Formula {
        let mut settle = |atom: &Atom| settle(atom, set);
        Formula::and(self.written.iter().map(|part| part.replaced(&mut settle)).collect::<Vec<_>>())
    }

    /// Calls that say what each fact is worth, upright: the score of a label, or whether a condition certainly holds.
    pub(super) fn worth(
        &self,
        schema: &Schema,
        source: &Source<'_>,
        scores: &str,
        draft: &mut Draft,
    ) -> Result<String, MakeError> {
        let own = draft.lines(scores, &self.labels);
        if self.conditions.is_empty() {
            return Ok(own);
        }
        let conditions: Vec<Formula> = self.conditions.iter().cloned().map(Formula::Atom).collect();
        let truths = truths(schema, &conditions, source, draft)?;
        let (yes, no) = (draft.number(SURE), draft.number(-SURE));
        let sure = draft.call("Where", &[&truths, &yes, &no]);
        Ok(draft.below(&[own, sure]))
    }
}

/// Calls that compute which formulas over the input certainly hold, a line each.
pub(super) fn truths(schema: &Schema, formulas: &[Formula], source: &Source<'_>, draft: &mut Draft) -> Result<String, MakeError> {
    let prefix = draft.prefix("certain");
    certain(schema, formulas, source.x, &prefix, draft.piece()).map_err(|why| MakeError::Condition { why })
}

/// What is left of an atom, which is about one label or about the input.
fn settle(atom: &Atom, set: &[bool]) -> Formula {
    let value = |var: Var| Rational::from(u8::from(matches!(var, Var::Output(j) if set[j])));
    match Formula::Atom(atom.clone()) {
        condition if atom.is_condition() => condition,
        label if label.at(&value) => Formula::True,
        _ => Formula::False,
    }
}
