//! Outputs and faces of which at most two meet enter; calls leave that compute the nearest outputs in closed form.
//!
//! With violations `v_k = b_k(x) - a_k.p` the nearest outputs are `p + sum l_k a_k`. A face by itself has `l = relu(v)`; of two with
//! `g = a_1.a_2` the first has `l_1 = relu(v_1 - g/(1 - g^2) h_1)` with `h_1 = relu(v_2 - g v_1)`, whichever of them hold: `h_1` is 0
//! iff the second does not push once the first is met. A face that is not demanded has a v far below 0, and so l = 0 and no part in
//! the other's.
//!
//! Where every bound is affine in the input, so are v and `v_2 - g v_1` in input and outputs: one product makes all of them, and
//! `v = relu(v) - relu(-v)` where the sign of v counts.

use super::direction::GuardedBound;
use super::plan::NearestPlan;
use super::writer::{PerLine, Writer};
use deepsade_spec::Formula;

pub(super) fn closed(w: &mut Writer, p: &str, plan: &NearestPlan) -> String {
    let along: Vec<Vec<f64>> = plan.closed.iter().map(|d| d.push(&w.ground.give)).collect();
    let plain = |bounds: &[GuardedBound]| matches!(bounds, [one] if one.unless == Formula::False && one.option.is_none());
    let l = if !plan.pairs.is_empty() && plan.closed.iter().all(|d| plain(&d.bounds)) {
        at_once(w, p, plan)
    } else {
        one_by_one(w, p, plan)
    };
    w.push(&l, &along, p)
}

/// What each of two that meet is helped by: the face, its helper's row over all faces, and what the helper counts.
fn helpers(plan: &NearestPlan) -> Vec<(usize, Vec<f64>, f64)> {
    let of = |(own, other, g): (usize, usize, f64)| {
        let mut row = vec![0.0; plan.closed.len()];
        (row[other], row[own]) = (1.0, -g);
        (own, row, -g / (1.0 - g * g))
    };
    plan.pairs.iter().flat_map(|&(i, j, g)| [(i, j, g), (j, i, g)]).map(of).collect()
}

fn one_by_one(w: &mut Writer, p: &str, plan: &NearestPlan) -> String {
    let count = plan.closed.len();
    let b = w.bounds_of(&plan.closed);
    let against: Vec<Vec<f64>> = plan.closed.iter().map(|d| d.a.iter().map(|a| -a).collect()).collect();
    let v = w.product(p, &against, Some(&b));
    if plan.pairs.is_empty() {
        return w.draft.call("Relu", &[&v]);
    }
    let (mut rows, mut weights) = (vec![vec![0.0; count]; count], vec![vec![0.0; count]; count]);
    for (own, row, weight) in helpers(plan) {
        (rows[own], weights[own][own]) = (row, weight);
    }
    let h = w.product(&v, &rows, None);
    let h = w.draft.call("Relu", &[&h]);
    let l = w.product(&h, &weights, Some(&PerLine::Tensor(v)));
    w.draft.call("Relu", &[&l])
}

fn at_once(w: &mut Writer, p: &str, plan: &NearestPlan) -> String {
    let count = plan.closed.len();
    // Combinations of the faces' violations, and what each counts for each face.
    let (mut rows, mut counts): (Vec<Vec<f64>>, Vec<(usize, f64)>) = (Vec::new(), Vec::new());
    let unit = |k: usize, v: f64| (0..count).map(|j| if j == k { v } else { 0.0 }).collect::<Vec<f64>>();
    for k in 0..count {
        rows.push(unit(k, 1.0));
        counts.push((k, 1.0));
    }
    for (own, row, weight) in helpers(plan) {
        rows.push(row);
        counts.push((own, weight));
        // With nothing to be added to it, a v below 0 is as good as 0.
        if weight > 0.0 {
            rows.push(unit(own, -1.0));
            counts.push((own, -1.0));
        }
    }
    let mixed = |row: &Vec<f64>, of: &dyn Fn(usize) -> f64| row.iter().enumerate().map(|(k, v)| v * of(k)).sum::<f64>();
    let (outputs, columns, faces) = (w.ground.outputs(), w.ground.columns().len(), &plan.closed);
    let input: Vec<Vec<f64>> =
        rows.iter().map(|r| (0..columns).map(|c| mixed(r, &|k| faces[k].bounds[0].x[c])).collect()).collect();
    let constants = rows.iter().map(|r| mixed(r, &|k| faces[k].bounds[0].constant) as f32).collect();
    let against: Vec<Vec<f64>> = rows.iter().map(|r| (0..outputs).map(|j| -mixed(r, &|k| faces[k].a[j])).collect()).collect();
    let b = w.of_input(&input, constants);
    let v = w.product(p, &against, Some(&b));
    let v = w.draft.call("Relu", &[&v]);
    let weight = |k: usize| counts.iter().map(|(own, v)| if *own == k { *v } else { 0.0 }).collect();
    let l = w.product(&v, &(0..count).map(weight).collect::<Vec<Vec<f64>>>(), None);
    w.draft.call("Relu", &[&l])
}
