//! Outputs and any faces enter; calls leave that come near the nearest outputs in all of them.
//!
//! The nearest outputs are `p + A' l` for the l >= 0 that maximises the dual, `(b - A p).l - |A' l|^2 / 2`. Nesterov's accelerated
//! gradient steps come near it: with `m = L l`, L the largest eigenvalue of `A A'`, and W = I - A A' / L,
//! `m <- max(0, (1 + c) W m - c W m_before + b - A p)`.

use super::direction::Direction;
use super::plan::NearestPlan;
use super::writer::{PerLine, Writer};

pub(super) fn dual(w: &mut Writer, p: &str, plan: &NearestPlan, steps: usize) -> String {
    let all = &plan.faces;
    let count = all.len();
    if count == 0 {
        return p.into();
    }
    let give = &w.ground.give;
    let root = |d: &Direction| -> Vec<f64> { d.a.iter().zip(give).map(|(a, give)| a * give.sqrt()).collect() };
    let largest = largest_eigenvalue(&all.iter().map(root).collect::<Vec<_>>());
    let b = w.bounds_of(all);
    let against: Vec<Vec<f64>> = all.iter().map(|d| d.a.iter().map(|a| -a).collect()).collect();
    let q = PerLine::Tensor(w.product(p, &against, Some(&b)));
    let kept = |i: usize, j: usize| f64::from(u8::from(i == j)) - all[i].cosine(&all[j], give) / largest;
    let matrix =
        |factor: f64| -> Vec<Vec<f64>> { (0..count).map(|i| (0..count).map(|j| factor * kept(i, j)).collect()).collect() };
    let first = w.name(&q);
    let mut m = w.draft.call("Relu", &[&first]);
    let mut before: Option<String> = None;
    let mut t = 1.0f64;
    for _ in 1..steps {
        let next = f64::midpoint(1.0, (1.0 + 4.0 * t * t).sqrt());
        let c = (t - 1.0) / next;
        t = next;
        let base = match &before {
            Some(before) if c > 0.0 => PerLine::Tensor(w.product(before, &matrix(-c), Some(&q))),
            _ => q.clone(),
        };
        let open = w.product(&m, &matrix(1.0 + c), Some(&base));
        let new = w.draft.call("Relu", &[&open]);
        before = Some(std::mem::replace(&mut m, new));
    }
    let along = |d: &Direction| d.push(give).iter().map(|v| v / largest).collect();
    let along: Vec<Vec<f64>> = all.iter().map(along).collect();
    w.push(&m, &along, p)
}

/// The largest eigenvalue of `A A'`, by powers.
fn largest_eigenvalue(rows: &[Vec<f64>]) -> f64 {
    let width = rows.first().map_or(0, Vec::len);
    // Not orthogonal to much.
    let mut v: Vec<f64> = (0..rows.len()).map(|k| 1.0 + 0.1 * ((k * 7919 % 13) as f64)).collect();
    let mut value = 1.0;
    for _ in 0..300 {
        let image: Vec<f64> = (0..width).map(|j| rows.iter().zip(&v).map(|(r, v)| r[j] * v).sum()).collect();
        let next: Vec<f64> = rows.iter().map(|r| r.iter().zip(&image).map(|(a, b)| a * b).sum()).collect();
        value = next.iter().map(|v| v * v).sum::<f64>().sqrt() / v.iter().map(|v| v * v).sum::<f64>().sqrt();
        let length = next.iter().map(|v| v * v).sum::<f64>().sqrt();
        v = next.into_iter().map(|v| v / length).collect();
    }
    1.01 * value
}
