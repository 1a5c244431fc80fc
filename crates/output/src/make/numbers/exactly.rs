//! Equalities enter; leaves which output each of them decides once the others are on their grids.
//!
//! One that shares no output with another leaves it to the row: what is missing goes to the output that has most room. Where several
//! share outputs, elimination over whole numbers fixes an output for each.

use super::super::{MakeError, NotEqual};
use super::direction::Ground;
use super::equality::Equality;

/// How equalities are met exactly.
#[derive(Debug, Clone, Default)]
pub(super) struct Exactly {
    /// What is missing goes to the output with most room.
    pub(super) remainders: Vec<Equality>,
    /// Outputs that are computed from others.
    pub(super) computed: Vec<Computed>,
}

/// `y_output = from . y + x . columns + constant`
#[derive(Debug, Clone)]
pub(super) struct Computed {
    pub(super) output: usize,
    pub(super) from: Vec<f64>,
    pub(super) x: Vec<f64>,
    pub(super) constant: f64,
}

impl Equality {
    /// One of its outputs from the others.
    pub(super) fn solved_for(&self, output: usize) -> Computed {
        let sign = self.a[output];
        let from = (0..self.a.len()).map(|j| if j == output { 0.0 } else { -self.a[j] / sign }).collect();
        Computed { output, from, x: self.x.iter().map(|v| v / sign).collect(), constant: self.constant / sign }
    }
}

impl Exactly {
    pub(super) fn new(equalities: &[Equality], ground: &Ground) -> Result<Self, MakeError> {
        for equality in equalities {
            equality.grid(ground)?;
        }
        let shares = |k: usize| (0..equalities.len()).any(|i| i != k && equalities[i].shares_outputs(&equalities[k]));
        let (mut remainders, mut entangled) = (Vec::new(), Vec::new());
        for (k, equality) in equalities.iter().enumerate() {
            if !shares(k) {
                remainders.push(equality.clone());
            } else if equality.always() {
                entangled.push(equality.clone());
            } else {
                return Err(MakeError::Equality { rule: ground.rule(&equality.atom), why: NotEqual::Entangled });
            }
        }
        Ok(Self { remainders, computed: eliminate(entangled, ground)? })
    }

    /// How far the outputs that are computed may be from where they should be, before they are.
    pub(super) fn inset(&self, ground: &Ground) -> Vec<f64> {
        let mut inset = vec![0.0; ground.outputs()];
        for Computed { output, from, .. } in self.computed.iter().filter(|one| !ground.is_whole(one.output)) {
            let half: f64 = from.iter().enumerate().map(|(j, c)| c.abs() * ground.unit(j) / 2.0).sum();
            inset[*output] = half + 4.0 * ground.unit(*output);
        }
        inset
    }
}

/// Gauss and Jordan over whole numbers: every pivot is 1 or -1.
fn eliminate(mut rows: Vec<Equality>, ground: &Ground) -> Result<Vec<Computed>, MakeError> {
    let no = |row: &Equality, why: NotEqual| MakeError::Equality { rule: ground.rule(&row.atom), why };
    let mut pivots: Vec<(usize, usize)> = Vec::new();
    for k in 0..rows.len() {
        if rows[k].members().next().is_none() {
            // It follows from the others, or nothing obeys them all: then the tail says so.
            continue;
        }
        let finest = rows[k].grid(ground)?;
        let others = |j: usize| (0..rows.len()).filter(|i| *i != k && rows[*i].a[j] != 0.0).count();
        let width = |j: usize| ground.ranges[j].hi - ground.ranges[j].lo;
        let pivot = rows[k].members().filter(|j| rows[k].dependent(*j, finest, ground));
        let pivot = pivot.min_by(|i, j| others(*i).cmp(&others(*j)).then(width(*j).total_cmp(&width(*i))));
        let Some(pivot) = pivot else { return Err(no(&rows[k], NotEqual::Factors)) };
        pivots.push((k, pivot));
        let own = rows[k].clone();
        for (i, row) in rows.iter_mut().enumerate().filter(|(i, _)| *i != k) {
            let times = row.a[pivot] / own.a[pivot];
            if times == 0.0 {
                continue;
            }
            row.subtract(&own, times);
            debug_assert!(i < k || row.a[pivot] == 0.0, "the pivot is gone from every other row");
        }
    }
    let mut computed = Vec::new();
    for (k, output) in pivots {
        let row = &rows[k];
        row.grid(ground)?;
        computed.push(row.solved_for(output));
    }
    Ok(computed)
}
