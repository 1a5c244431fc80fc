//! A condition enters; its cells leave one by one: conjunctions of atoms that together cover it exactly.
//!
//! A rule holds everywhere iff every cell of its negation is empty. A weighted count contributes its minimal sets only: every
//! larger set lies inside one of them.

use std::ops::ControlFlow;

use crate::Rational;
use crate::formula::{Atom, Formula, Threshold};

/// Calls `visit` with each cell, in an order that depends on the formula alone, until it breaks.
pub fn cells<B>(formula: &Formula, visit: &mut impl FnMut(&[Atom]) -> ControlFlow<B>) -> ControlFlow<B> {
    walk(&mut vec![formula], &mut Vec::new(), visit)
}

/// `todo` is a conjunction still to be taken apart; `atoms` is what was taken apart already. Both are left as they were.
fn walk<B>(todo: &mut Vec<&Formula>, atoms: &mut Vec<Atom>, visit: &mut impl FnMut(&[Atom]) -> ControlFlow<B>) -> ControlFlow<B> {
    let Some(next) = todo.pop() else { return visit(atoms) };
    let depth = todo.len();
    let result = match next {
        Formula::True => walk(todo, atoms, visit),
        Formula::False => ControlFlow::Continue(()),
        Formula::Atom(atom) => {
            atoms.push(atom.clone());
            let result = walk(todo, atoms, visit);
            atoms.pop();
            result
        }
        Formula::And(parts) => {
            todo.extend(parts.iter().rev());
            let result = walk(todo, atoms, visit);
            todo.truncate(depth);
            result
        }
        Formula::Or(parts) => parts.iter().try_for_each(|part| {
            todo.push(part);
            let result = walk(todo, atoms, visit);
            todo.truncate(depth);
            result
        }),
        Formula::Threshold(threshold) => minimal_sets(threshold, &mut |set| {
            todo.extend(set.iter().rev().map(|k| &threshold.terms[*k].1));
            let result = walk(todo, atoms, visit);
            todo.truncate(depth);
            result
        }),
    };
    todo.push(next);
    result
}

/// Sets of terms that reach the bound and of which none can be spared.
fn minimal_sets<B>(t: &Threshold, visit: &mut impl FnMut(&[usize]) -> ControlFlow<B>) -> ControlFlow<B> {
    let mut order: Vec<usize> = (0..t.terms.len()).collect();
    order.sort_by(|a, b| t.terms[*b].0.cmp(&t.terms[*a].0).then(a.cmp(b)));
    // What the terms from k on, in this order, can still add.
    let mut left = vec![Rational::ZERO; order.len() + 1];
    for k in (0..order.len()).rev() {
        left[k] = &left[k + 1] + &t.terms[order[k]].0;
    }
    grow(t, &order, &left, 0, &mut Vec::new(), &Rational::ZERO, visit)
}

/// In descending order of weight a set is minimal iff it reaches the bound with its last, lightest term and not before.
fn grow<B>(
    t: &Threshold,
    order: &[usize],
    left: &[Rational],
    from: usize,
    set: &mut Vec<usize>,
    count: &Rational,
    visit: &mut impl FnMut(&[usize]) -> ControlFlow<B>,
) -> ControlFlow<B> {
    for k in from..order.len() {
        if !t.reached_by(&(count + &left[k])) {
            break;
        }
        let count = count + &t.terms[order[k]].0;
        set.push(order[k]);
        let result = if t.reached_by(&count) { visit(set) } else { grow(t, order, left, k + 1, set, &count, visit) };
        set.pop();
        result?;
    }
    ControlFlow::Continue(())
}
