//! The columns of a window enter; lines above and below the largest of them leave.
//!
//! A runtime's max pool gives one of the numbers that it reads, flushed perhaps: it rounds nothing. Let m be the largest of some numbers, each
//! in its interval, and v one of them, in [l, u].
//!
//! *Below:* m >= v.
//! *Above:* let r be the largest upper end of the others. Then `m <= max(v, r)`, a convex function of v, so a line with slope s lies
//! above it on [l, u] if it does at both ends: `m <= s v + max(max(l, r) - s l, max(u, r) - s u)`, for any s. With v the number with the
//! largest upper end and s = (u - max(l, r)) / (u - l) that is the chord; v itself where no other number can be larger.
//!
//! Any choice of v and s is sound, so nothing has to be proved of how they are found.

use deepsade_net::Window;

use crate::dyadic::{Dyadic, Interval};

/// Which columns stand for a window, and the ends that its upper line needs.
pub struct WindowLines<T> {
    /// The column that is a line below.
    pub below: usize,
    /// The column of the line above.
    pub above: usize,
    /// The largest upper end of the other columns; `None` where there are none.
    pub others: Option<T>,
}

/// The columns with the largest lower and the largest upper end, for whoever looks for a proof, too; of equal lower ends the one with the larger upper.
pub fn window_lines<T: PartialOrd + Clone>(
    columns: &[usize],
    lo: &dyn Fn(usize) -> T,
    hi: &dyn Fn(usize) -> T,
) -> WindowLines<T> {
    let first = columns.first().copied().unwrap_or(0);
    let (mut below, mut above) = (first, first);
    for &c in columns {
        if lo(c) > lo(below) || lo(c) == lo(below) && hi(c) > hi(below) {
            below = c;
        }
        if hi(c) > hi(above) {
            above = c;
        }
    }
    let larger = |most: Option<T>, c: &usize| Some(most.filter(|m| *m >= hi(*c)).unwrap_or_else(|| hi(*c)));
    let others = columns.iter().filter(|c| **c != above).fold(None, larger);
    WindowLines { below, above, others }
}

/// A slope in [0, 1] for the line above, as a float32 number; a NaN becomes 0.
pub fn window_slope(l: f64, u: f64, others: Option<f64>) -> f32 {
    let from = others.map_or(l, |r| r.max(l));
    if from <= l { 1.0 } else { ((u - from) / (u - l)).clamp(0.0, 1.0) as f32 }
}

/// The interval of each largest number.
pub(crate) fn intervals(window: &Window, x: &[Interval]) -> Vec<Interval> {
    let mut columns = Vec::new();
    let most =
        |columns: &[usize], end: &dyn Fn(&Interval) -> Dyadic| columns.iter().map(|c| end(&x[*c])).max().unwrap_or_default();
    let result = |o| {
        window.columns_of(o, &mut columns);
        Interval { lo: most(&columns, &|v| v.lo.clone()), hi: most(&columns, &|v| v.hi.clone()) }
    };
    (0..window.results()).map(result).collect()
}

/// `(i, s, c)` with `a m <= s v + c`, v column i, m the largest of the columns, as computed but for flushing.
pub(crate) fn line(a: &Dyadic, columns: &[usize], x: &[Interval]) -> (usize, Dyadic, Dyadic) {
    let chosen = window_lines(columns, &|c| x[c].lo.clone(), &|c| x[c].hi.clone());
    if a.is_negative() {
        return (chosen.below, a.clone(), Dyadic::default());
    }
    let Interval { lo, hi } = &x[chosen.above];
    let s = Dyadic::from(window_slope(lo.f64_down(), hi.f64_up(), chosen.others.as_ref().map(Dyadic::f64_up)));
    let end = |v: &Dyadic| &chosen.others.clone().map_or_else(|| v.clone(), |r| r.max(v.clone())) - &(&s * v);
    let c = end(lo).max(end(hi));
    (chosen.above, a * &s, a * &c)
}
