//! Formulas enter; leaves which of them share outputs, directly or through others.

use std::collections::{BTreeMap, BTreeSet};

use deepsade_spec::Formula;

/// Outputs that formulas tie together.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TiedParts {
    /// The outputs.
    pub outputs: BTreeSet<usize>,
    /// The places of the formulas, ascending.
    pub parts: Vec<usize>,
}

/// The formulas by the outputs that they tie together, ordered by the first of these; one that mentions no output is in none of them.
///
/// ```
/// use deepsade_solve::tied::tied;
/// use deepsade_spec::{Atom, Formula, Linear, Var};
///
/// let over = |outputs: &[usize]| {
///     let mut linear = Linear::default();
///     outputs.iter().for_each(|j| linear.add_scaled(&1.into(), &Linear::var(Var::Output(*j))));
///     Formula::Atom(Atom { linear, strict: false })
/// };
/// let found = tied(&[over(&[4]), over(&[0, 2]), over(&[1]), over(&[2, 1]), Formula::True]);
/// assert_eq!(found.iter().map(|t| t.parts.clone()).collect::<Vec<_>>(), [vec![1, 2, 3], vec![0]]);
/// ```
pub fn tied<'f>(formulas: impl IntoIterator<Item = &'f Formula>) -> Vec<TiedParts> {
    let outputs: Vec<BTreeSet<usize>> = formulas.into_iter().map(Formula::outputs).collect();
    let count = outputs.iter().filter_map(|o| o.last()).max().map_or(0, |last| last + 1);
    let mut union = Union::new(count);
    for tied in &outputs {
        tied.iter().for_each(|j| union.join(*j, *tied.first().unwrap_or(j)));
    }
    let mut found: BTreeMap<usize, TiedParts> = BTreeMap::new();
    for (k, outputs) in outputs.into_iter().enumerate() {
        let Some(first) = outputs.first() else { continue };
        let group = found.entry(union.root(*first)).or_default();
        group.outputs.extend(outputs);
        group.parts.push(k);
    }
    found.into_values().collect()
}

/// Disjoint sets; the root is the smallest member.
#[derive(Debug)]
pub struct Union(Vec<usize>);

impl Union {
    /// Each of `n` alone.
    pub fn new(n: usize) -> Self {
        Self((0..n).collect())
    }

    /// The smallest member of the set of one.
    pub fn root(&mut self, mut i: usize) -> usize {
        while self.0[i] != i {
            self.0[i] = self.0[self.0[i]];
            i = self.0[i];
        }
        i
    }

    /// Makes one set of those of two.
    pub fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a.max(b)] = a.min(b);
    }
}
