//! Formulas over labels and conditions enter; a reduced ordered decision diagram of their conjunction leaves, or word that it is
//! too large.
//!
//! Our own sixty lines rather than a crate: all rules share one table of nodes, of which every new one is charged to the budget,
//! and what leaves is the node list of the certificate and of the hot loops. (biodivine-lib-bdd keeps one array a diagram: the
//! dynamic program for a weighted count would copy thousands; rsdd has no budget.)

use std::collections::HashMap;

use crate::decode::sets::Diagram;
use deepsade_spec::{Atom, Formula, Rational, Threshold, Var};

/// The budget is spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiagramTooLarge;

/// Different counts on the way to a bound, for each node of the budget.
const COUNTS: usize = 8;

/// Steps of a diagram for which any stack has room.
const SHALLOW: usize = 500;
/// Steps at most,
const DEEPEST: usize = 200_000;
/// and what one of them takes of the stack.
const STEP: usize = 4096;

/// Does what makes a diagram of these formulas over so many facts on a stack that holds it: it is made from the top down, a step for each
/// fact and each part of a count.
pub fn on_deep_stack<T: Send>(parts: &[&Formula], facts: usize, work: impl FnOnce() -> T + Send) -> Result<T, DiagramTooLarge> {
    let depth = facts + parts.iter().map(|part| longest_count(part)).max().unwrap_or(0);
    if depth <= SHALLOW {
        return Ok(work());
    }
    if depth > DEEPEST {
        return Err(DiagramTooLarge);
    }
    std::thread::scope(|scope| {
        let stack = std::thread::Builder::new().stack_size(depth * STEP);
        let done = stack.spawn_scoped(scope, work).map_err(|_| DiagramTooLarge)?;
        Ok(done.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

/// How many parts the longest count of a formula has.
fn longest_count(formula: &Formula) -> usize {
    let longest = |parts: &[Formula]| parts.iter().map(longest_count).max().unwrap_or(0);
    match formula {
        Formula::True | Formula::False | Formula::Atom(_) => 0,
        Formula::And(parts) | Formula::Or(parts) => longest(parts),
        Formula::Threshold(t) => t.terms.len().max(t.terms.iter().map(|(_, part)| longest_count(part)).max().unwrap_or(0)),
    }
}

const NONE: u32 = 0;
const END: u32 = 1;

/// All nodes made so far, each once: no two nodes are the same, and none has two equal children.
pub struct Compiler<'a> {
    /// How many labels there are; facts from here on are conditions.
    labels: usize,
    conditions: &'a [Atom],
    order: Vec<usize>,
    /// Level of each fact.
    level: Vec<u32>,
    nodes: Vec<[u32; 3]>,
    unique: HashMap<[u32; 3], u32>,
    chosen: HashMap<[u32; 3], u32>,
    budget: usize,
}

impl<'a> Compiler<'a> {
    /// Starts with no nodes; `order` has every fact of the formulas to come.
    pub fn new(labels: usize, conditions: &'a [Atom], order: Vec<usize>, budget: usize) -> Self {
        let mut level = vec![u32::MAX; labels + conditions.len()];
        order.iter().enumerate().for_each(|(k, f)| level[*f] = k as u32);
        Self { labels, conditions, order, level, nodes: Vec::new(), unique: HashMap::new(), chosen: HashMap::new(), budget }
    }

    /// The diagram of a conjunction.
    pub fn conjunction(&mut self, parts: &[&Formula]) -> Result<u32, DiagramTooLarge> {
        let mut built = parts.iter().map(|p| self.formula(p)).collect::<Result<Vec<_>, _>>()?;
        // From the deepest up: what is above is then put on top of a finished part.
        built.sort_by_key(|id| std::cmp::Reverse(self.level_of(*id)));
        built.into_iter().try_fold(END, |all, part| self.choose(part, all, NONE))
    }

    fn level_of(&self, id: u32) -> u32 {
        id.checked_sub(2).map_or(u32::MAX, |k| self.nodes[k as usize][0])
    }

    fn node(&mut self, level: u32, low: u32, high: u32) -> Result<u32, DiagramTooLarge> {
        if low == high {
            return Ok(low);
        }
        if let Some(id) = self.unique.get(&[level, low, high]) {
            return Ok(*id);
        }
        if self.nodes.len() >= self.budget {
            return Err(DiagramTooLarge);
        }
        self.nodes.push([level, low, high]);
        let id = self.nodes.len() as u32 + 1;
        self.unique.insert([level, low, high], id);
        Ok(id)
    }

    /// `if f then g else h`: conjunction, disjunction and negation are cases of it.
    fn choose(&mut self, f: u32, g: u32, h: u32) -> Result<u32, DiagramTooLarge> {
        match (f, g, h) {
            (END, ..) => return Ok(g),
            (NONE, ..) => return Ok(h),
            _ if g == h => return Ok(g),
            (_, END, NONE) => return Ok(f),
            _ => {}
        }
        if let Some(id) = self.chosen.get(&[f, g, h]) {
            return Ok(*id);
        }
        let level = [f, g, h].map(|id| self.level_of(id)).into_iter().min().unwrap_or(u32::MAX);
        let child = |this: &Self, id: u32, side: usize| {
            if this.level_of(id) == level { this.nodes[id as usize - 2][side] } else { id }
        };
        let [low, high] = [1, 2].map(|side| [f, g, h].map(|id| child(self, id, side)));
        let (low, high) = (self.choose(low[0], low[1], low[2])?, self.choose(high[0], high[1], high[2])?);
        let id = self.node(level, low, high)?;
        self.chosen.insert([f, g, h], id);
        Ok(id)
    }

    fn formula(&mut self, formula: &Formula) -> Result<u32, DiagramTooLarge> {
        match formula {
            Formula::True => Ok(END),
            Formula::False => Ok(NONE),
            Formula::Atom(atom) => self.atom(atom),
            Formula::And(parts) => self.conjunction(&parts.iter().collect::<Vec<_>>()),
            Formula::Or(parts) => {
                let mut built = parts.iter().map(|p| self.formula(p)).collect::<Result<Vec<_>, _>>()?;
                built.sort_by_key(|id| std::cmp::Reverse(self.level_of(*id)));
                built.into_iter().try_fold(NONE, |any, part| self.choose(part, END, any))
            }
            Formula::Threshold(t) => self.threshold(t),
        }
    }

    /// A condition is a fact. An atom over outputs is decided label by label, each 0 or 1.
    fn atom(&mut self, atom: &Atom) -> Result<u32, DiagramTooLarge> {
        if atom.is_condition() {
            let (k, yes) = atom.place_among(self.conditions).expect("every condition of the rules is listed");
            let level = self.level[self.labels + k];
            return self.node(level, if yes { NONE } else { END }, if yes { END } else { NONE });
        }
        let label = |v: &Var| if let Var::Output(j) = v { Some(*j) } else { None };
        let top = atom.linear.terms.keys().filter_map(label).min_by_key(|j| self.level[*j]).expect("an output occurs");
        let with = |value: u8| atom.with(Var::Output(top), &Rational::from(value));
        let (low, high) = (self.formula(&with(0))?, self.formula(&with(1))?);
        self.node(self.level[top], low, high)
    }

    /// Term by term; what is still to be reached is all that matters about the terms before.
    fn threshold(&mut self, t: &Threshold) -> Result<u32, DiagramTooLarge> {
        let mut terms = t.terms.iter().map(|(w, p)| Ok((w.clone(), self.formula(p)?))).collect::<Result<Vec<_>, _>>()?;
        terms.sort_by_key(|(_, id)| self.level_of(*id));
        let mut left = vec![Rational::ZERO; terms.len() + 1];
        for k in (0..terms.len()).rev() {
            left[k] = &left[k + 1] + &terms[k].0;
        }
        self.reach(t, &terms, &left, Rational::ZERO, 0, &mut HashMap::new())
    }

    fn reach(
        &mut self,
        t: &Threshold,
        terms: &[(Rational, u32)],
        left: &[Rational],
        count: Rational,
        k: usize,
        known: &mut HashMap<(usize, Rational), u32>,
    ) -> Result<u32, DiagramTooLarge> {
        if t.reached_by(&count) {
            return Ok(END);
        }
        if !t.reached_by(&(&count + &left[k])) {
            return Ok(NONE);
        }
        if let Some(id) = known.get(&(k, count.clone())) {
            return Ok(*id);
        }
        // Counts that differ may lead to the same node, and are looked at all the same.
        if known.len() >= COUNTS * self.budget {
            return Err(DiagramTooLarge);
        }
        let with = self.reach(t, terms, left, &count + &terms[k].0, k + 1, known)?;
        let without = self.reach(t, terms, left, count.clone(), k + 1, known)?;
        let id = self.choose(terms[k].1, with, without)?;
        known.insert((k, count), id);
        Ok(id)
    }

    /// The diagram of "for some choice of labels": over the conditions alone.
    pub fn some_labels(&mut self, id: u32, known: &mut HashMap<u32, u32>) -> Result<u32, DiagramTooLarge> {
        let Some(k) = id.checked_sub(2) else { return Ok(id) };
        if let Some(id) = known.get(&id) {
            return Ok(*id);
        }
        let [level, low, high] = self.nodes[k as usize];
        let (low, high) = (self.some_labels(low, known)?, self.some_labels(high, known)?);
        let label = self.order[level as usize] < self.labels;
        let some = if label { self.choose(low, END, high)? } else { self.node(level, low, high)? };
        known.insert(id, some);
        Ok(some)
    }

    /// A path to [`NONE`] at a time, as conditions and their truth; until `visit` says stop.
    pub fn refusals(&self, id: u32, path: &mut Vec<(usize, bool)>, visit: &mut impl FnMut(&[(usize, bool)]) -> bool) -> bool {
        if id == NONE {
            return visit(path);
        }
        let Some([level, low, high]) = id.checked_sub(2).map(|k| self.nodes[k as usize]) else { return true };
        let fact = self.order[level as usize] - self.labels;
        for (next, truth) in [(low, false), (high, true)] {
            path.push((fact, truth));
            let go_on = self.refusals(next, path, visit);
            path.pop();
            if !go_on {
                return false;
            }
        }
        true
    }

    /// What can be reached from a node, renumbered.
    pub fn diagram(&self, root: u32) -> Diagram {
        let mut reached = vec![false; self.nodes.len() + 2];
        let mut pending = vec![root];
        while let Some(id) = pending.pop() {
            if id >= 2 && !std::mem::replace(&mut reached[id as usize], true) {
                let [_, low, high] = self.nodes[id as usize - 2];
                pending.extend([low, high]);
            }
        }
        // Children were made before their parents, and the root is reached by nothing else.
        let mut number = vec![0, 1];
        number.resize(reached.len(), 0);
        let mut nodes = Vec::new();
        for (k, [level, low, high]) in self.nodes.iter().enumerate().filter(|(k, _)| reached[k + 2]) {
            nodes.push([*level as usize, number[*low as usize], number[*high as usize]]);
            number[k + 2] = nodes.len() + 1;
        }
        Diagram { order: self.order.clone(), nodes }
    }
}
