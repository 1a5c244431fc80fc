//! A condition enters; its cells leave one by one: conjunctions of atoms that together cover it exactly.
//!
//! A rule holds everywhere iff every cell of its negation is empty. A weighted count contributes its minimal sets only: every
//! larger set lies inside one of them. No call goes deeper for a longer rule: what is open stands in lists, not on the stack.

use std::ops::ControlFlow;

use crate::Rational;
use crate::formula::{Atom, Formula, Threshold};

/// Calls `visit` with each cell, in an order that depends on the formula alone, until it breaks.
pub fn cells<B>(formula: &Formula, visit: &mut impl FnMut(&[Atom]) -> ControlFlow<B>) -> ControlFlow<B> {
    let mut walk = Walk { links: Vec::new(), head: None, atoms: Vec::new(), choices: Vec::new() };
    walk.first(formula);
    loop {
        if walk.take_apart() {
            visit(&walk.atoms)?;
        }
        if !walk.next_way() {
            return ControlFlow::Continue(());
        }
    }
}

/// Where a walk over the cells is.
struct Walk<'f> {
    /// Lists that share their ends: a formula, and the place of what comes after it.
    links: Vec<(&'f Formula, Option<usize>)>,
    /// The conjunction still to be taken apart: the place of its first part.
    head: Option<usize>,
    /// What was taken apart already.
    atoms: Vec<Atom>,
    /// The choices above, outermost first.
    choices: Vec<BranchPoint<'f>>,
}

/// A choice, and how things stood before it was made.
struct BranchPoint<'f> {
    ways: Ways<'f>,
    links: usize,
    head: Option<usize>,
    atoms: usize,
}

enum Ways<'f> {
    Parts(std::slice::Iter<'f, Formula>),
    Sets(MinimalSets<'f>),
}

impl<'f> Walk<'f> {
    fn first(&mut self, formula: &'f Formula) {
        self.links.push((formula, self.head));
        self.head = Some(self.links.len() - 1);
    }

    /// Takes the conjunction apart; true if nothing but atoms was in it, false at a contradiction or a choice.
    fn take_apart(&mut self) -> bool {
        while let Some(at) = self.head {
            let (next, rest) = self.links[at];
            self.head = rest;
            let ways = match next {
                Formula::True => continue,
                Formula::False => return false,
                Formula::Atom(atom) => {
                    self.atoms.push(atom.clone());
                    continue;
                }
                Formula::And(parts) => {
                    parts.iter().rev().for_each(|part| self.first(part));
                    continue;
                }
                Formula::Or(parts) => Ways::Parts(parts.iter()),
                Formula::Threshold(threshold) => Ways::Sets(MinimalSets::new(threshold)),
            };
            self.choices.push(BranchPoint { ways, links: self.links.len(), head: self.head, atoms: self.atoms.len() });
            return false;
        }
        true
    }

    /// Goes back to the last choice with a way left and takes it; false if there is none.
    fn next_way(&mut self) -> bool {
        while let Some(mut choice) = self.choices.pop() {
            self.links.truncate(choice.links);
            self.atoms.truncate(choice.atoms);
            self.head = choice.head;
            let found = match &mut choice.ways {
                Ways::Parts(parts) => parts.next().map(|part| self.first(part)),
                Ways::Sets(sets) => {
                    let terms = &sets.threshold.terms;
                    sets.next().map(|set| set.iter().rev().for_each(|k| self.first(&terms[*k].1)))
                }
            };
            if found.is_some() {
                self.choices.push(choice);
                return true;
            }
        }
        false
    }
}

/// Sets of terms that reach the bound and of which none can be spared.
///
/// In descending order of weight a set is minimal iff it reaches the bound with its last, lightest term and not before.
struct MinimalSets<'f> {
    threshold: &'f Threshold,
    /// The terms, heaviest first.
    order: Vec<usize>,
    /// What the terms from k on, in this order, can still add.
    left: Vec<Rational>,
    /// The set at hand, as places in `order`, and what it counts up to and with each.
    places: Vec<usize>,
    counts: Vec<Rational>,
    /// The next place to try.
    from: usize,
}

impl<'f> MinimalSets<'f> {
    fn new(threshold: &'f Threshold) -> Self {
        let weight = |k: usize| &threshold.terms[k].0;
        let mut order: Vec<usize> = (0..threshold.terms.len()).collect();
        order.sort_by(|a, b| weight(*b).cmp(weight(*a)).then(a.cmp(b)));
        let mut left = vec![Rational::ZERO; order.len() + 1];
        for k in (0..order.len()).rev() {
            left[k] = &left[k + 1] + weight(order[k]);
        }
        Self { threshold, order, left, places: Vec::new(), counts: vec![Rational::ZERO], from: 0 }
    }

    fn next(&mut self) -> Option<Vec<usize>> {
        loop {
            let count = self.counts.last().expect("the empty set counts zero");
            if self.from < self.order.len() && self.threshold.reached_by(&(count + &self.left[self.from])) {
                let count = count + &self.threshold.terms[self.order[self.from]].0;
                self.places.push(self.from);
                self.from += 1;
                if self.threshold.reached_by(&count) {
                    let set = self.places.iter().map(|place| self.order[*place]).collect();
                    self.places.pop();
                    return Some(set);
                }
                self.counts.push(count);
            } else {
                self.from = self.places.pop()? + 1;
                self.counts.pop();
            }
        }
    }
}
