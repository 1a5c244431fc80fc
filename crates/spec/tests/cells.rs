//! Cells cover a condition exactly, and those of a count are its minimal sets.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use deepsade_spec::cells::cells;
use deepsade_spec::{Atom, Formula, Linear, Rational, Var};
use proptest::prelude::*;

fn label(j: usize, present: bool) -> Formula {
    let positive = Formula::Atom(Atom { linear: Linear::var(Var::Output(j)), strict: true });
    if present { positive } else { positive.negated() }
}

fn all_cells(f: &Formula) -> Vec<Vec<Atom>> {
    let mut found = Vec::new();
    let end: ControlFlow<()> = cells(f, &mut |cell| {
        found.push(cell.to_vec());
        ControlFlow::Continue(())
    });
    assert!(end.is_continue());
    found
}

fn random_formula() -> impl Strategy<Value = Formula> {
    let leaf = (0usize..5, any::<bool>()).prop_map(|(j, present)| label(j, present));
    leaf.prop_recursive(3, 20, 4, |inner| {
        let parts = prop::collection::vec(inner.clone(), 1..4);
        let weighted = prop::collection::vec((1i32..5, inner), 1..5);
        prop_oneof![
            parts.clone().prop_map(Formula::and),
            parts.prop_map(Formula::or),
            (weighted, 0i32..10, any::<bool>()).prop_map(|(terms, bound, strict)| {
                let terms = terms.into_iter().map(|(w, f)| (Rational::from(w), f)).collect();
                Formula::threshold(terms, Rational::from(bound), strict)
            }),
        ]
    })
}

/// The cells in their order, by the shortest program that lists them; it goes one call deeper for each part.
fn listed(mut todo: Vec<&Formula>, mut atoms: Vec<Atom>, out: &mut Vec<Vec<Atom>>) {
    match todo.pop() {
        None => out.push(atoms),
        Some(Formula::True) => listed(todo, atoms, out),
        Some(Formula::False) => {}
        Some(Formula::Atom(atom)) => {
            atoms.push(atom.clone());
            listed(todo, atoms, out);
        }
        Some(Formula::And(parts)) => {
            todo.extend(parts.iter().rev());
            listed(todo, atoms, out);
        }
        Some(Formula::Or(parts)) => parts.iter().for_each(|part| {
            let mut way = todo.clone();
            way.push(part);
            listed(way, atoms.clone(), out);
        }),
        Some(Formula::Threshold(t)) => {
            let mut order: Vec<usize> = (0..t.terms.len()).collect();
            order.sort_by(|a, b| t.terms[*b].0.cmp(&t.terms[*a].0).then(a.cmp(b)));
            let sum = |set: &[usize]| set.iter().fold(Rational::ZERO, |sum, k| sum + &t.terms[*k].0);
            let minimal = |set: &[usize]| t.reached_by(&sum(set)) && !t.reached_by(&sum(&set[..set.len() - 1]));
            // As words are ordered in a dictionary, heavier terms first.
            let mut sets: Vec<Vec<usize>> =
                (1..1usize << order.len()).map(|bits| (0..order.len()).filter(|k| bits >> k & 1 == 1).collect()).collect();
            sets.sort();
            for set in sets.iter().map(|set| set.iter().map(|k| order[*k]).collect::<Vec<_>>()).filter(|set| minimal(set)) {
                let mut way = todo.clone();
                way.extend(set.iter().rev().map(|k| &t.terms[*k].1));
                listed(way, atoms.clone(), out);
            }
        }
    }
}

/// Certificates count on the order of cells, and rules may be as long as their file: neither may depend on the stack.
#[test]
fn long_rules_need_no_deeper_stack() {
    let work = || {
        let many = 50_000;
        let all = Formula::and((0..many).map(|j| label(j, true)));
        assert_eq!(all_cells(&all)[0].len(), many);
        assert_eq!(all_cells(&all.negated()).len(), many);
        // So many choices that no machine lists them, each below the one before: the first cell has them all.
        let choices = Formula::and((0..many).map(|j| Formula::or([label(j, true), label(j + 1, false)])));
        let first = cells(&choices, &mut |cell| ControlFlow::Break(cell.len()));
        assert_eq!(first, ControlFlow::Break(many));
        let terms = (0..many).map(|j| (Rational::ONE, label(j, true))).collect();
        let half = Formula::threshold(terms, Rational::from(many / 2), false);
        assert_eq!(cells(&half, &mut |cell| ControlFlow::Break(cell.len())), ControlFlow::Break(many / 2));
    };
    std::thread::Builder::new().stack_size(128 << 10).spawn(work).unwrap().join().unwrap();
}

proptest! {
    #[test]
    fn cells_come_in_the_order_of_the_formula(f in random_formula()) {
        let mut expected = Vec::new();
        listed(vec![&f], Vec::new(), &mut expected);
        prop_assert_eq!(all_cells(&f), expected);
    }

    #[test]
    fn a_point_is_in_a_cell_iff_the_condition_holds(f in random_formula()) {
        let cells = all_cells(&f);
        for set in 0..32u32 {
            let value = |var: Var| match var {
                Var::Output(j) => Rational::from(if set >> j & 1 == 1 { 1 } else { -1 }),
                _ => unreachable!(),
            };
            let inside = cells.iter().any(|cell| cell.iter().all(|a| Formula::Atom(a.clone()).at(&value)));
            prop_assert_eq!(inside, f.at(&value));
        }
    }

    #[test]
    fn a_count_has_its_minimal_sets_as_cells(weights in prop::collection::vec(1i32..6, 1..7), bound in 1i32..12) {
        let terms = weights.iter().enumerate().map(|(j, w)| (Rational::from(*w), label(j, true))).collect();
        let f = Formula::threshold(terms, Rational::from(bound), false);
        let sum = |set: u32| (0..weights.len()).filter(|j| set >> j & 1 == 1).map(|j| weights[j]).sum::<i32>();
        let minimal: BTreeSet<u32> = (0..1u32 << weights.len())
            .filter(|set| sum(*set) >= bound)
            .filter(|set| (0..weights.len()).all(|j| set >> j & 1 == 0 || sum(set ^ (1 << j)) < bound))
            .collect();
        let found: Vec<u32> = all_cells(&f).iter().map(|cell| cell.iter().map(|a| match a.linear.terms.first_key_value() {
            Some((Var::Output(j), _)) => 1u32 << j,
            _ => unreachable!(),
        }).sum()).collect();
        prop_assert_eq!(found.len(), minimal.len(), "each once");
        prop_assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), minimal);
    }
}
