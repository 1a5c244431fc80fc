//! Facts, what each is worth, and which combinations of a few of them are forbidden enter; the best choice of all facts leaves.
//!
//! Facts are eliminated one by one (Dechter 1999). Once its neighbours S are settled, a fact is false or true, whichever is worth more:
//!
//! ```text
//! m_v(S) = max over y_v of [ worth_v(y_v) + sum of m_c(S_c) over the facts c that were eliminated before and hang on v ]
//! ```
//!
//! Each m is a line for every state of S that is not forbidden; facts at the same depth of the tree that "hang on" makes go together.
//! On the way back down the state of S is known, and so is the better side of v. Exact, and small where facts hang together like a tree with
//! some cross links.
//!
//! What a fact is worth is measured from its better side: false costs max(s, 0), true costs max(-s, 0). So costs that are far larger
//! than others, of facts about the input, do not blur the rest.

mod write;

use std::collections::BTreeSet;

use deepsade_spec::{Formula, Rational, Var};

use super::facts::Facts;

/// Neighbours that a fact may have when its turn comes.
const WIDEST: usize = 12;
/// States of all facts together: twenty microseconds a row.
const STATES: usize = 8192;

/// No choice is allowed at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Contradiction;

/// Which combinations of some facts are allowed.
#[derive(Debug, Clone)]
pub(super) struct Factor {
    /// The facts.
    pub(super) scope: Vec<usize>,
    /// By the number of which bit k is the truth of `scope[k]`.
    pub(super) allowed: Vec<bool>,
}

/// A fact whose turn has come.
#[derive(Debug)]
struct Bucket {
    fact: usize,
    /// What it hangs on.
    scope: Vec<usize>,
    /// States of the scope that are not forbidden, and whether the fact may be false and true in each.
    states: Vec<(usize, [bool; 2])>,
    /// The place in the level above of the first of its scope to be eliminated.
    parent: usize,
    /// Its first line in its level.
    first: usize,
}

/// Facts in levels, each hanging on facts of the level before.
#[derive(Debug)]
pub(super) struct Elimination {
    facts: usize,
    levels: Vec<Vec<Bucket>>,
}

/// A plan for rules; `None` if they hang together too much.
pub(super) fn of(facts: &Facts) -> Result<Option<Elimination>, Contradiction> {
    let factor = |part: &Formula| {
        let scope = facts.of(part);
        let fact = |var: &Var| match var {
            Var::Output(j) => *j,
            Var::Feature(k) | Var::Level(k, _) => facts.labels.len() + k,
        };
        let allowed = |bits: usize| {
            let value = |var: Var| {
                let place = scope.iter().position(|f| *f == fact(&var));
                Rational::from(u8::from(place.is_some_and(|k| bits >> k & 1 == 1)))
            };
            part.at(&value)
        };
        (scope.len() <= WIDEST + 1)
            .then(|| Factor { allowed: (0..1 << scope.len()).map(allowed).collect(), scope: scope.clone() })
    };
    match facts.parts.iter().map(factor).collect::<Option<Vec<_>>>() {
        Some(factors) => plan(&factors, facts.count()),
        None => Ok(None),
    }
}

/// Which facts stand in a factor with each.
fn neighbours(factors: &[Factor], facts: usize) -> Vec<BTreeSet<usize>> {
    let mut near = vec![BTreeSet::new(); facts];
    for factor in factors {
        for a in &factor.scope {
            near[*a].extend(factor.scope.iter().copied().filter(|b| b != a));
        }
    }
    near
}

/// Facts in the order in which they are eliminated, each with what it hangs on then.
type EliminationOrder = Vec<(usize, Vec<usize>)>;

/// Eliminates the fact with the least `price` of its neighbours first; among equals one that makes the tree grow least. `None` if a fact
/// then hangs on too many.
fn order(
    mut near: Vec<BTreeSet<usize>>,
    price: impl Fn(&BTreeSet<usize>, &[BTreeSet<usize>]) -> usize,
) -> Option<EliminationOrder> {
    let facts = near.len();
    let (mut left, mut height) = ((0..facts).collect::<BTreeSet<usize>>(), vec![0; facts]);
    let mut prices: Vec<usize> = near.iter().map(|n| price(n, &near)).collect();
    let mut order = Vec::with_capacity(facts);
    while !left.is_empty() {
        let v = *left.iter().min_by_key(|v| (prices[**v], near[**v].len(), height[**v]))?;
        left.remove(&v);
        let scope: Vec<usize> = std::mem::take(&mut near[v]).into_iter().collect();
        if scope.len() > WIDEST {
            return None;
        }
        for a in &scope {
            near[*a].remove(&v);
            near[*a].extend(scope.iter().copied().filter(|b| b != a));
            height[*a] = height[*a].max(height[v] + 1);
        }
        // A new pair may be one of neighbours of a fact further off.
        let changed: BTreeSet<usize> = scope.iter().flat_map(|a| near[*a].iter().copied()).chain(scope.iter().copied()).collect();
        changed.into_iter().for_each(|a| prices[a] = price(&near[a], &near));
        order.push((v, scope));
    }
    Some(order)
}

/// A plan for factors over so many facts; `None` if they hang together too much.
pub(super) fn plan(factors: &[Factor], facts: usize) -> Result<Option<Elimination>, Contradiction> {
    let near = neighbours(factors, facts);
    // Pairs of neighbours that do not know each other yet; or just neighbours.
    let pairs = |of: &BTreeSet<usize>, near: &[BTreeSet<usize>]| {
        let strange = |a: &usize| of.iter().filter(|b| *b > a && !near[*a].contains(b)).count();
        if of.len() > WIDEST { usize::MAX } else { of.iter().map(strange).sum() }
    };
    let mut best: Option<Elimination> = None;
    for order in [order(near.clone(), pairs), order(near, |of, _| of.len())].into_iter().flatten() {
        let plan = in_order(factors, &order)?;
        best = plan.filter(|p| best.as_ref().is_none_or(|b| p.states() < b.states())).or(best);
    }
    Ok(best)
}

/// The plan of an order; `None` if it has too many states.
fn in_order(factors: &[Factor], order: &[(usize, Vec<usize>)]) -> Result<Option<Elimination>, Contradiction> {
    let facts = order.len();
    let mut turn = vec![0; facts];
    order.iter().enumerate().for_each(|(k, (v, _))| turn[*v] = k);
    let first = |scope: &[usize]| scope.iter().map(|f| turn[*f]).min();
    let (mut own, mut below) = (vec![Vec::new(); facts], vec![Vec::new(); facts]);
    for factor in factors {
        if let Some(k) = first(&factor.scope) {
            own[k].push(factor);
        }
    }
    let mut all: Vec<Bucket> = Vec::with_capacity(facts);
    let (mut truth, mut count) = (vec![false; facts], 0);
    for (k, (fact, scope)) in order.iter().enumerate() {
        let mut states = Vec::new();
        for bits in 0..1usize << scope.len() {
            scope.iter().enumerate().for_each(|(i, f)| truth[*f] = bits >> i & 1 == 1);
            let side = |side: bool, truth: &mut [bool]| {
                truth[*fact] = side;
                own[k].iter().all(|f: &&Factor| f.allowed[index(&f.scope, truth)])
                    && below[k].iter().all(|c: &usize| all[*c].line(truth).is_some())
            };
            let sides = [side(false, &mut truth), side(true, &mut truth)];
            if sides != [false; 2] {
                states.push((bits, sides));
            }
        }
        if states.is_empty() {
            return Err(Contradiction);
        }
        count += states.len();
        if count > STATES {
            return Ok(None);
        }
        if let Some(parent) = first(scope) {
            below[parent].push(k);
        }
        all.push(Bucket { fact: *fact, scope: scope.clone(), states, parent: 0, first: 0 });
    }
    Ok(Some(Elimination::in_levels(all, first, facts)))
}

/// The number of a combination.
fn index(scope: &[usize], truth: &[bool]) -> usize {
    scope.iter().enumerate().fold(0, |bits, (k, f)| bits | usize::from(truth[*f]) << k)
}

impl Bucket {
    /// The line of its level for what is true, unless that is forbidden.
    fn line(&self, truth: &[bool]) -> Option<usize> {
        self.states.binary_search_by_key(&index(&self.scope, truth), |(bits, _)| *bits).ok().map(|k| self.first + k)
    }
}

impl Elimination {
    /// Buckets in the order of their turns, which `first` tells.
    fn in_levels(all: Vec<Bucket>, first: impl Fn(&[usize]) -> Option<usize>, facts: usize) -> Self {
        let (mut depth, mut place) = (vec![0; all.len()], vec![0; all.len()]);
        let mut levels: Vec<Vec<Bucket>> = Vec::new();
        let turns: Vec<(usize, Bucket)> = all.into_iter().enumerate().collect();
        for (k, mut bucket) in turns.into_iter().rev() {
            if let Some(parent) = first(&bucket.scope) {
                depth[k] = depth[parent] + 1;
                bucket.parent = place[parent];
            }
            if levels.len() <= depth[k] {
                levels.push(Vec::new());
            }
            let level = &mut levels[depth[k]];
            place[k] = level.len();
            bucket.first = level.last().map_or(0, |b| b.first + b.states.len());
            level.push(bucket);
        }
        Self { facts, levels }
    }

    /// States of all facts together.
    pub(super) fn states(&self) -> usize {
        self.levels.iter().map(|level| lines(level)).sum()
    }
}

impl Bucket {
    /// Puts down what is true in a state of the scope, and for the fact itself.
    fn settle(&self, bits: usize, side: bool, truth: &mut [bool]) {
        self.scope.iter().enumerate().for_each(|(k, f)| truth[*f] = bits >> k & 1 == 1);
        truth[self.fact] = side;
    }
}

fn lines(level: &[Bucket]) -> usize {
    level.last().map_or(0, |b| b.first + b.states.len())
}
