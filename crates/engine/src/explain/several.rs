//! Rules and training rows enter; what the weights will lose where a condition compares several features leaves, as notes.
//!
//! Through the weights a rule is kept on a box of inputs: conditions on single features cut the box, one that compares several does not.
//! Inside the box and outside the condition the rule says nothing, and the last layer can tell the two apart by an affine function
//! alone, and by hidden units as far as that leaves them room. The rows there whose label the rule would not allow are at stake.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use deepsade_data::Dataset;
use deepsade_output::Judge;
use deepsade_spec::cells::cells;
use deepsade_spec::{Atom, NormalRule, NormalSpec, Var};

/// Cells of a rule that are looked at.
const MOST_CELLS: usize = 200;
/// The share of the rows from which on it is worth saying.
const WORTH_SAYING: f64 = 0.02;

/// A note for each rule that would be kept for many rows that it says nothing about.
pub fn at_stake(spec: &NormalSpec, rows: &Dataset, which: &[usize]) -> Vec<String> {
    let judge = Judge::new(spec);
    let note = |rule: &NormalRule| {
        let count = rows_at_stake(rule, rows, which, &judge);
        let share = count as f64 / which.len().max(1) as f64;
        (share >= WORTH_SAYING).then(|| {
            format!(
                "rule '{}': its condition compares several features, which the weights tell from the rest of the box around it by an \
                 affine function alone: of the {count} of {} training rows ({:.0} %) that are in the box, outside the condition, with a \
                 label that the rule would not allow, those near the condition may lose it, and hidden units have less to say. The output \
                 step (enforce = \"decode\", or \"auto\", which compares) leaves them alone",
                rule.name,
                which.len(),
                100.0 * share
            )
        })
    };
    spec.rules.iter().filter_map(note).collect()
}

fn rows_at_stake(rule: &NormalRule, rows: &Dataset, which: &[usize], judge: &Judge) -> usize {
    if rule.reads_scores {
        return 0;
    }
    let mut hit = vec![false; which.len()];
    let mut seen = 0;
    let end: ControlFlow<()> = cells(&rule.claim.negated(), &mut |atoms| {
        seen += 1;
        let (several, others): (Vec<&Atom>, Vec<&Atom>) = atoms.iter().partition(|atom| compares(atom));
        if !several.is_empty() {
            for (hit, &r) in hit.iter_mut().zip(which).filter(|(hit, _)| !**hit) {
                let (x, y) = (rows.x.row(r), rows.y.row(r));
                *hit = others.iter().all(|atom| judge.holds(atom, x, y)) && !several.iter().all(|atom| judge.meets(atom, x));
            }
        }
        if seen < MOST_CELLS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    let _ = end;
    hit.into_iter().filter(|hit| *hit).count()
}

/// Whether it is a condition on several features.
fn compares(atom: &Atom) -> bool {
    let feature = |var: &Var| match var {
        Var::Feature(f) | Var::Level(f, _) => Some(*f),
        Var::Output(_) => None,
    };
    atom.is_condition() && atom.linear.terms.keys().filter_map(feature).collect::<BTreeSet<_>>().len() > 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use deepsade_net::Matrix;
    use deepsade_spec::{Domain, Feature, OneHot, RuleText, Schema, Task, compile};

    /// Of four rows one meets the condition, and of the others two have the label Y and one of these is in the box x < 5.
    #[test]
    fn rows_in_the_box_outside_the_condition_are_at_stake() {
        let feature = |name: &str| Feature { name: name.into(), domain: Domain::Real { lo: 0.0, hi: 10.0 } };
        let task = Task::Binary { target: "t".into(), classes: ["N", "Y"].map(String::from).to_vec() };
        let schema = Schema { features: ["x", "y"].map(feature).to_vec(), task, one_hot: OneHot::Full, filled: vec![] };
        let spec = |text: &str| compile(&[RuleText { name: "r".into(), text: text.into() }], &schema).unwrap();
        let x = vec![1.0, 9.0, 1.0, 0.5, 8.0, 0.0, 3.0, 1.0];
        let y = vec![1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0];
        let rows =
            Dataset { x: Matrix { rows: 4, cols: 2, data: x }, y: Matrix { rows: 4, cols: 2, data: y }, weight: vec![1.0; 4] };
        let which = [0, 1, 2, 3];
        let notes = at_stake(&spec("y > x + 2 and x < 5 => t == 'N'"), &rows, &which);
        assert!(notes.len() == 1 && notes[0].contains("1 of 4 training rows (25 %)"), "{notes:?}");
        assert!(at_stake(&spec("y > x + 2 => t == 'N'"), &rows, &which)[0].contains("2 of 4 training rows"));
        assert!(at_stake(&spec("y > 3 => t == 'N'"), &rows, &which).is_empty());
    }
}
