//! Rules about classes enter; leaves a piece that lowers the score of every class that the rules forbid at an input.
//!
//! With class k as the winner a rule says something about the input alone: where it may win. Where that certainly holds the class keeps its
//! score, elsewhere it gets one below all scores that are kept, so far below that its probability is 0 in float32. Of rows that
//! are probabilities themselves, those among the allowed classes leave: 0 for the others, and the sum is 1.

use deepsade_check::step::{Number, Outputs, certain};
use deepsade_spec::{Atom, Formula, NormalSpec, Rational, Var};

use super::draft::Draft;
use super::{Made, MakeError, Source};

/// Scores are kept up to this size. Comparisons of two scores are exact however large they are: this only has to be finite, and a
/// network with scores beyond it can't be trained in float32.
pub const KEPT: f32 = (1u64 << 30) as f32;
/// The score of a forbidden class. `exp` of the distance to the others is 0, as it is from 104 on.
pub const FORBIDDEN: f32 = -2.0 * KEPT;

/// A probability counts as this at least.
const LEAST: f32 = 1e-30;
/// Numbers that are this near to adding up to 1, and none of them below 0, are probabilities.
const NEAR: f32 = 1e-3;

/// What lowers forbidden classes, for a binary or a multiclass task.
pub fn make(spec: &NormalSpec, source: &Source<'_>) -> Result<Made, MakeError> {
    let Some(classes) = spec.schema.task.classes() else { return Err(MakeError::NoClasses) };
    if let Some(rule) = spec.rules.iter().find(|r| r.reads_scores) {
        return Err(MakeError::Scores { rule: rule.name.clone() });
    }
    let allowed: Vec<Formula> = (0..classes.len()).map(|k| allowed(spec, k)).collect();
    let ruled = allowed.iter().filter(|f| **f != Formula::True).count();
    let mut draft = Draft::default();
    let scores = draft.turned(source.scores);
    let scores = draft.sane(&scores, KEPT);
    if ruled > 0 {
        let prefix = draft.prefix("allowed");
        let allowed =
            certain(&spec.schema, &allowed, source.x, &prefix, draft.piece()).map_err(|why| MakeError::Condition { why })?;
        let forbidden = draft.number(FORBIDDEN);
        let lowered = draft.call("Where", &[&allowed, &scores, &forbidden]);
        if source.probabilities {
            among(&mut draft, &scores, &allowed, &lowered, classes.len());
        }
    }
    Ok(Made {
        piece: draft.finish(),
        outputs: Outputs::Numbers(vec![Number { lo: FORBIDDEN, hi: KEPT, grid: None }; classes.len()]),
        best: true,
        ratio: 1.0,
        nowhere: 0.0,
        how: format!("forbidden classes lowered; the rules forbid {ruled} of {} somewhere", classes.len()),
    })
}

/// Probabilities among the allowed classes for the rows that are probabilities, as they are lowered for others. Of allowed classes that
/// have no probability one is given.
fn among(draft: &mut Draft, scores: &str, allowed: &str, lowered: &str, classes: usize) {
    let (ones, one, least, none) =
        (draft.floats(&[1, classes], vec![1.0; classes]), draft.number(1.0), draft.number(LEAST), draft.number(0.0));
    let total = draft.call("MatMul", &[&ones, scores]);
    let off = draft.call("Sub", &[&total, &one]);
    let off = draft.call("Abs", &[&off]);
    let turned = draft.call("Neg", &[scores]);
    let below = draft.call("Relu", &[&turned]);
    let below = draft.call("MatMul", &[&ones, &below]);
    let wrong = draft.call("Add", &[&off, &below]);
    let near = draft.number(NEAR);
    let probable = draft.call("Less", &[&wrong, &near]);
    let some = draft.call("Max", &[scores, &least]);
    let kept = draft.call("Where", &[allowed, &some, &none]);
    let total = draft.call("MatMul", &[&ones, &kept]);
    let shares = draft.call("Div", &[&kept, &total]);
    draft.call("Where", &[&probable, &shares, lowered]);
}

/// What the rules say about the input if class k has the largest score, and no other has the same.
fn allowed(spec: &NormalSpec, k: usize) -> Formula {
    let mut settled = |atom: &Atom| match atom.linear.terms.get(&Var::Output(k)) {
        _ if atom.is_condition() => Formula::Atom(atom.clone()),
        Some(c) if *c > Rational::ZERO => Formula::True,
        // Of two other classes nothing is known. Formulas are monotone in their atoms: to take one for false is safe.
        _ => Formula::False,
    };
    Formula::and(spec.rules.iter().map(|rule| rule.claim.replaced(&mut settled)).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests;
