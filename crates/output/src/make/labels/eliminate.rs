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

use std::collections::BTreeSet;

use deepsade_spec::{Formula, Rational, Var};

use super::super::draft::Draft;
use super::facts::Facts;

/// Neighbours that a fact may have when its turn comes.
const WIDEST: usize = 10;
/// Numbers in the matrices that add up messages: a multiplication each, for a row.
const LARGEST: usize = 1 << 19;
/// What a forbidden side is worth.
const NOTHING: f32 = -((1u64 << 60) as f32);

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
pub(super) struct Plan {
    facts: usize,
    levels: Vec<Vec<Bucket>>,
}

/// A plan for rules; `None` if they hang together too much.
pub(super) fn of(facts: &Facts) -> Result<Option<Plan>, Contradiction> {
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

/// The order in which facts are eliminated, each with what it hangs on then; `None` if that is too much.
fn order(factors: &[Factor], facts: usize) -> Option<Vec<(usize, Vec<usize>)>> {
    let mut near = vec![BTreeSet::new(); facts];
    for factor in factors {
        for a in &factor.scope {
            near[*a].extend(factor.scope.iter().copied().filter(|b| b != a));
        }
    }
    let (mut left, mut height) = ((0..facts).collect::<BTreeSet<usize>>(), vec![0; facts]);
    let mut order = Vec::with_capacity(facts);
    while !left.is_empty() {
        // Few neighbours first; among equals those that make the tree grow least.
        let v = *left.iter().min_by_key(|v| (near[**v].len(), height[**v]))?;
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
        order.push((v, scope));
    }
    Some(order)
}

/// A plan for factors over so many facts.
pub(super) fn plan(factors: &[Factor], facts: usize) -> Result<Option<Plan>, Contradiction> {
    let Some(order) = order(factors, facts) else { return Ok(None) };
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
    let mut truth = vec![false; facts];
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
        if let Some(parent) = first(scope) {
            below[parent].push(k);
        }
        all.push(Bucket { fact: *fact, scope: scope.clone(), states, parent: 0, first: 0 });
    }
    Ok(Plan::in_levels(all, |scope| first(scope), facts))
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

impl Plan {
    /// Buckets in the order of their turns, which `first` tells; `None` if they would take too long.
    fn in_levels(all: Vec<Bucket>, first: impl Fn(&[usize]) -> Option<usize>, facts: usize) -> Option<Self> {
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
        let plan = Self { facts, levels };
        let size: usize = plan.levels.windows(2).map(|pair| lines(&pair[0]) * lines(&pair[1])).sum();
        (size <= LARGEST).then_some(plan)
    }

    /// States of all facts together.
    pub(super) fn states(&self) -> usize {
        self.levels.iter().map(|level| lines(level)).sum()
    }

    /// Calls that choose all facts: 0 or 1 a line.
    pub(super) fn write(&self, worth: &str, draft: &mut Draft) -> String {
        let less = draft.call("Neg", &[worth]);
        let costs = [draft.call("Relu", &[worth]), draft.call("Relu", &[&less])];
        let mut values: Vec<[String; 2]> = Vec::new();
        let mut messages: Option<String> = None;
        for (d, level) in self.levels.iter().enumerate().rev() {
            let sides = [false, true].map(|side| {
                let facts: Vec<usize> = level.iter().flat_map(|b| vec![b.fact; b.states.len()]).collect();
                let cost = draft.lines(&costs[usize::from(side)], &facts);
                let base = self.sums(d, side, messages.as_deref(), draft);
                draft.call("Sub", &[&base, &cost])
            });
            messages = Some(draft.call("Max", &[&sides[0], &sides[1]]));
            values.push(sides);
        }
        values.reverse();
        self.back(&values, draft)
    }

    /// What the facts that hang on those of a level are worth, in each state, if the facts of the level are all false or all true.
    fn sums(&self, d: usize, side: bool, messages: Option<&str>, draft: &mut Draft) -> String {
        let level = &self.levels[d];
        let allowed = level.iter().flat_map(|b| &b.states).map(|(_, sides)| sides[usize::from(side)]);
        let base = draft.each(allowed.map(|yes| if yes { 0.0 } else { NOTHING }).collect());
        let (Some(messages), Some(next)) = (messages, self.levels.get(d + 1)) else { return base };
        let mut truth = vec![false; self.facts];
        let mut ones = Vec::new();
        for child in next {
            let bucket = &level[child.parent];
            for (k, (bits, sides)) in bucket.states.iter().enumerate().filter(|(_, (_, sides))| sides[usize::from(side)]) {
                debug_assert!(sides[usize::from(side)]);
                bucket.settle(*bits, side, &mut truth);
                ones.extend(child.line(&truth).map(|c| (bucket.first + k, c)));
            }
        }
        let matrix = draft.ones(lines(level), lines(next), ones);
        draft.call("Gemm", &[&matrix, messages, &base])
    }

    /// From the first level down: the state of what a fact hangs on is known, and the better side in it.
    fn back(&self, values: &[[String; 2]], draft: &mut Draft) -> String {
        let (mut chosen, mut order) = (Vec::new(), Vec::new());
        // Twice the line of a fact's state, and one more if the fact is true.
        let mut codes = String::new();
        for (d, (level, sides)) in self.levels.iter().zip(values).enumerate() {
            let (yes, twice) = if d == 0 {
                let twice = draft.ints(&[level.len(), 1], level.iter().map(|b| 2 * b.first as i64).collect());
                (draft.call("Greater", &[&sides[1], &sides[0]]), twice)
            } else {
                let line = self.line_now(d, &codes, draft);
                let [no, yes] = [0, 1].map(|k| draft.call_with("GatherElements", &[&sides[k], &line], &[("axis", 0)]));
                (draft.call("Greater", &[&yes, &no]), draft.call("Add", &[&line, &line]))
            };
            if d + 1 < self.levels.len() {
                let one = draft.cast_int(&yes);
                codes = draft.call("Add", &[&twice, &one]);
            }
            chosen.push(draft.cast_float(&yes));
            order.extend(level.iter().map(|b| b.fact));
        }
        let chosen = draft.below(&chosen);
        let mut place = vec![0; self.facts];
        order.iter().enumerate().for_each(|(k, fact)| place[*fact] = k);
        draft.lines(&chosen, &place)
    }

    /// The line of each fact's state, from the states and the choices of the level before.
    fn line_now(&self, d: usize, codes: &str, draft: &mut Draft) -> String {
        let (before, level) = (&self.levels[d - 1], &self.levels[d]);
        let (mut table, mut start, mut truth) = (Vec::new(), Vec::new(), vec![false; self.facts]);
        for bucket in level {
            let parent = &before[bucket.parent];
            start.push(table.len() as i64 - 2 * parent.first as i64);
            for (bits, _) in &parent.states {
                for side in [false, true] {
                    parent.settle(*bits, side, &mut truth);
                    // A forbidden state is never the better one; any line will do for it.
                    table.push(bucket.line(&truth).unwrap_or(bucket.first) as i64);
                }
            }
        }
        let table = draft.ints(&[table.len()], table);
        let start = draft.ints(&[level.len(), 1], start);
        let code = draft.lines(codes, &level.iter().map(|b| b.parent).collect::<Vec<_>>());
        let at = draft.call("Add", &[&code, &start]);
        draft.call_with("Gather", &[&table, &at], &[("axis", 0)])
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
