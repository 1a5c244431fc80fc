//! Rules about labels and training rows enter; clauses leave that together imply the rules, of all such the ones that most rows obey.
//!
//! A clause says that one of some labels is present (or absent) for every input. The weights keep it by a single sum of outputs, and
//! clauses that share no label do not meet. A network that keeps a rule about labels through its weights keeps some such clauses, so
//! the data choose them: see docs/training.md.

mod search;

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use deepsade_data::Dataset;
use deepsade_output::{Judge, predict};
use deepsade_spec::cells::cells;
use deepsade_spec::{Atom, Formula, NormalSpec, Task, print};
use serde::Serialize;

use crate::limits::{MAX_ATOMS, MAX_CELLS};
use search::{CountedRow, Deal, Literals};

/// Labels that a mask holds.
const MOST_LABELS: usize = 128;

/// The clauses of each condition on the input.
#[derive(Debug, Clone, PartialEq)]
pub struct Clauses {
    cases: Vec<ClauseCase>,
}

/// What is kept where the input meets some conditions.
#[derive(Debug, Clone, PartialEq)]
struct ClauseCase {
    when: Vec<Atom>,
    clauses: Vec<Literals>,
    /// The weight of the training rows that meet the conditions, and of those that also obey all clauses.
    rows: f64,
    obeying: f64,
    exact: bool,
}

/// A case in the names of the problem; the JSON fields are a contract.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CaseInWords {
    /// The conditions on the input; empty for every input.
    pub when: Vec<String>,
    /// Each clause: labels of which one at least is present, or absent ("not NAME").
    pub clauses: Vec<Vec<String>>,
    /// The same, each as part of a sentence.
    #[serde(skip)]
    predicted: Vec<String>,
    /// The share of the training rows that meet the conditions which obey all clauses; null if there are none.
    pub share: Option<f64>,
    /// Whether no other clauses without a label in common are obeyed by more of them.
    pub best: bool,
}

impl Clauses {
    /// The clauses for these rules and some of the rows. `None` for other tasks, for rules that read scores, and where the rules are too large or
    /// no clauses were found.
    pub fn new(rules: &NormalSpec, rows: &Dataset, which: &[usize]) -> Option<Self> {
        let labels = matches!(rules.schema.task, Task::Multilabel { .. } | Task::Ranking { .. });
        if !labels || rules.schema.task.outputs() > MOST_LABELS {
            return None;
        }
        let judge = Judge::new(rules);
        let mut cases = Vec::new();
        for (when, cells) in conditions(rules)? {
            let counted = counted(&when, rows, which, &judge);
            let dealt = Deal::new(cells, &counted).best()?;
            let rows = counted.iter().map(|row| row.1).sum();
            cases.push(ClauseCase { when, clauses: dealt.clauses, rows, obeying: dealt.obeying, exact: dealt.exact });
        }
        (!cases.is_empty()).then_some(Self { cases })
    }

    /// Multipliers for the atoms of a cell, equal on the literals of a clause that it contains.
    pub fn multipliers(&self, atoms: &[Atom]) -> Option<Vec<f64>> {
        let (when, cell) = taken_apart(atoms)?;
        let case = self.cases.iter().find(|case| case.when == when)?;
        let clause = case.clauses.iter().filter(|clause| clause.is_within(cell)).min_by_key(|clause| clause.count())?;
        let share = 1.0 / f64::from(clause.count());
        let mut left = *clause;
        let weight = |atom: &Atom| {
            let own = literal(atom).filter(|own| own.is_within(left) && !own.is_empty());
            left = own.map_or(left, |own| left.without(own));
            own.map_or(0.0, |_| share)
        };
        Some(atoms.iter().map(weight).collect())
    }

    /// The clauses in the names of the problem.
    pub fn in_words(&self, spec: &NormalSpec) -> Vec<CaseInWords> {
        let label = |(j, present): (usize, bool)| {
            let name = predict::columns(&spec.schema.task).swap_remove(j);
            (name, present)
        };
        let literal = |(name, present): &(String, bool)| if *present { name.clone() } else { format!("not {name}") };
        let case = |case: &ClauseCase| CaseInWords {
            when: case.when.iter().map(|atom| print::formula(&Formula::Atom(atom.clone()), &spec.schema)).collect(),
            clauses: case.clauses.iter().map(|clause| clause.each().map(label).map(|l| literal(&l)).collect()).collect(),
            predicted: case.clauses.iter().map(|clause| in_words(&clause.each().map(label).collect::<Vec<_>>())).collect(),
            share: (case.rows > 0.0).then(|| case.obeying / case.rows),
            best: case.exact,
        };
        self.cases.iter().map(case).collect()
    }
}

impl CaseInWords {
    /// What the network will always predict, as a sentence without its full stop.
    pub fn sentence(&self) -> String {
        let (place, there) = match self.when.as_slice() {
            [] => (String::new(), ""),
            conditions => (format!(", where {},", conditions.join(" and ")), " there"),
        };
        let rows = self
            .share
            .map_or("no training row is there".into(), |share| format!("{:.0} % of the training rows{there} do", 100.0 * share));
        format!("Through the weights{place} the network will always predict {}; {rows}", self.predicted.join(" and "))
    }
}

/// Labels of which one at least is present, or absent.
fn in_words(clause: &[(String, bool)]) -> String {
    let names = || clause.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
    match clause {
        _ if clause.len() > 1 && clause.iter().all(|(_, present)| *present) => format!("at least one of {{{}}}", names()),
        _ if clause.len() > 1 && clause.iter().all(|(_, present)| !present) => format!("not all of {{{}}}", names()),
        _ => {
            let each = clause.iter().map(|(name, present)| if *present { name.clone() } else { format!("not {name}") });
            let each = each.collect::<Vec<_>>().join(" or ");
            if clause.len() == 1 { each } else { format!("({each})") }
        }
    }
}

/// The cells of all rules by their conditions on inputs; `None` if an atom is about more than the presence of a label.
fn conditions(rules: &NormalSpec) -> Option<Vec<(Vec<Atom>, Vec<Literals>)>> {
    let mut found: Vec<(Vec<Atom>, Vec<Literals>)> = Vec::new();
    let (mut count, mut seen) = (0, 0);
    for rule in &rules.rules {
        let end = cells(&rule.claim.negated(), &mut |atoms| {
            (count, seen) = (count + 1, seen + atoms.len());
            let Some((when, cell)) = taken_apart(atoms).filter(|_| count <= MAX_CELLS && seen <= MAX_ATOMS) else {
                return ControlFlow::Break(());
            };
            match found.iter_mut().find(|(conditions, _)| *conditions == when) {
                Some((_, cells)) => cells.push(cell),
                None => found.push((when, vec![cell])),
            }
            ControlFlow::Continue(())
        });
        if end.is_break() {
            return None;
        }
    }
    Some(found)
}

/// The conditions of a cell on the input, and the literals of which one must hold for the cell to be empty.
fn taken_apart(atoms: &[Atom]) -> Option<(Vec<Atom>, Literals)> {
    let (mut when, mut cell) = (Vec::new(), Literals::default());
    for atom in atoms {
        if atom.is_condition() {
            when.push(atom.clone());
        } else {
            cell = cell.and(literal(atom)?);
        }
    }
    Some((when, cell))
}

/// The opposite of an atom about one label: `-y >= 0` is broken where the label is present.
fn literal(atom: &Atom) -> Option<Literals> {
    atom.label().map(|(j, present)| Literals::one(j, !present))
}

/// The label sets of the rows that meet the conditions, each with its weight.
fn counted(when: &[Atom], rows: &Dataset, which: &[usize], judge: &Judge) -> Vec<CountedRow> {
    let mut counted: BTreeMap<u128, f64> = BTreeMap::new();
    for &r in which {
        if when.iter().all(|atom| judge.meets(atom, rows.x.row(r))) {
            let labels = rows.y.row(r).iter().enumerate().filter(|(_, y)| **y > 0.5).fold(0, |set, (j, _)| set | 1u128 << j);
            *counted.entry(labels).or_default() += f64::from(rows.weight[r]);
        }
    }
    counted.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use deepsade_net::Matrix;
    use deepsade_spec::{Domain, Feature, OneHot, RuleText, Schema, compile};

    /// Labels 0 to n - 1, one input in [0, 10].
    fn spec(n: usize, text: &str) -> NormalSpec {
        let task = Task::Multilabel { labels: (0..n).map(|j| j.to_string()).collect() };
        let features = vec![Feature { name: "x".into(), domain: Domain::Real { lo: 0.0, hi: 10.0 } }];
        compile(
            &[RuleText { name: "r".into(), text: text.into() }],
            &Schema { features, task, one_hot: OneHot::Full, filled: vec![] },
        )
        .unwrap()
    }

    fn rows(x: &[f32], sets: &[&[usize]], n: usize) -> Dataset {
        let y = sets.iter().flat_map(|set| (0..n).map(|j| f32::from(u8::from(set.contains(&j))))).collect();
        Dataset {
            x: Matrix { rows: sets.len(), cols: 1, data: x.to_vec() },
            y: Matrix { rows: sets.len(), cols: n, data: y },
            weight: vec![1.0; sets.len()],
        }
    }

    fn found(spec: &NormalSpec, rows: &Dataset) -> Vec<CaseInWords> {
        Clauses::new(spec, rows, &(0..rows.rows()).collect::<Vec<_>>()).unwrap().in_words(spec)
    }

    /// Digits with a sum above 10: the pairs of clauses have smallest digits a and b with a + b > 10. Which pair, the rows say.
    #[test]
    fn the_rows_choose_among_the_clauses_that_imply_a_sum() {
        let spec = spec(10, "sum(i * label[i] for i in 0..10) > 10");
        let all = rows(&[1.0; 3], &[&[4, 7], &[5, 9], &[6, 8]], 10);
        let case = &found(&spec, &all)[0];
        assert_eq!((case.share, case.best), (Some(1.0), true));
        assert_eq!(case.clauses, [["4", "5", "6"], ["7", "8", "9"]]);
        assert_eq!(
            case.sentence(),
            "Through the weights the network will always predict at least one of {4, 5, 6} and at least one of {7, 8, 9}; 100 % of the \
             training rows do"
        );
        let other = rows(&[1.0; 3], &[&[2, 9], &[9, 3], &[9, 4]], 10);
        assert_eq!(found(&spec, &other)[0].clauses[1], ["9"]);
    }

    /// Not both of 0 and 1, at least one of 2 and 3 where x > 5.
    #[test]
    fn negative_clauses_and_conditions_have_their_own() {
        let spec = spec(4, "not (label[0] and label[1]) and (x > 5 => label[2] or label[3])");
        let rows = rows(&[1.0, 6.0, 7.0], &[&[0], &[1, 2], &[3]], 4);
        let cases = found(&spec, &rows);
        assert_eq!(cases[0].clauses, [["not 0", "not 1"]]);
        assert!(
            cases[0].sentence().ends_with("predict not all of {0, 1}; 100 % of the training rows do"),
            "{}",
            cases[0].sentence()
        );
        assert_eq!((cases[1].clauses.as_slice(), cases[1].share), (&[vec!["2".to_string(), "3".into()]][..], Some(1.0)));
        let sentence = cases[1].sentence();
        assert!(
            sentence.starts_with("Through the weights, where x > 5, the network will always predict at least one of {2, 3}"),
            "{sentence}"
        );
    }

    /// A permutation of two leaves only constants: the more frequent one.
    #[test]
    fn where_only_constants_are_possible_the_most_frequent_is_kept() {
        let spec = spec(2, "exactly(1, label[j] for j in 0..2)");
        let rows = rows(&[1.0; 3], &[&[0], &[1], &[1]], 2);
        let case = &found(&spec, &rows)[0];
        assert_eq!(case.clauses, [["not 0"], ["1"]]);
        assert!(case.share.is_some_and(|s| (s - 2.0 / 3.0).abs() < 1e-12));
    }

    #[test]
    fn other_tasks_have_none() {
        let mut spec = spec(2, "label[0]");
        spec.schema.task = Task::regression(vec!["a".into(), "b".into()]);
        let rows = rows(&[1.0], &[&[0]], 2);
        assert_eq!(Clauses::new(&spec, &rows, &[0]), None);
    }

    /// Multipliers rest on one clause that the cell contains, equal and of sum 1.
    #[test]
    fn a_label_called_not_is_no_absence() {
        let clause = |parts: &[(&str, bool)]| in_words(&parts.iter().map(|(n, p)| ((*n).into(), *p)).collect::<Vec<_>>());
        assert_eq!(clause(&[("not paid", true), ("b", true)]), "at least one of {not paid, b}");
        assert_eq!(clause(&[("not paid", false), ("b", false)]), "not all of {not paid, b}");
        assert_eq!(clause(&[("not paid", false), ("b", true)]), "(not not paid or b)");
        assert_eq!(clause(&[("b", false)]), "not b");
    }

    #[test]
    fn a_cell_is_emptied_by_a_clause_it_contains() {
        let spec = spec(3, "count(label[j] for j in 0..3) >= 1");
        let rows = rows(&[1.0; 2], &[&[0], &[1]], 3);
        let clauses = Clauses::new(&spec, &rows, &[0, 1]).unwrap();
        let mut seen = 0;
        let end: ControlFlow<()> = cells(&spec.rules[0].claim.negated(), &mut |atoms| {
            seen += 1;
            let multipliers = clauses.multipliers(atoms).unwrap();
            assert!((multipliers.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{multipliers:?}");
            ControlFlow::Continue(())
        });
        assert!(end.is_continue() && seen == 1);
    }
}
