//! Outputs and faces of which at most two meet enter; calls leave that compute the nearest outputs in closed form.
//!
//! With violations `v_k = b_k(x) - a_k.p` the nearest outputs are `p + sum l_k a_k`. A face by itself has `l = relu(v)`; of two with
//! `g = a_1.a_2` the first has `l_1 = relu(v_1 - g/(1 - g^2) h_1)` with `h_1 = relu(v_2 - g v_1)`, whichever of them hold: `h_1` is 0
//! iff the second does not push once the first is met. A face that is not demanded has a v far below 0, and so l = 0 and no part in
//! the other's.

use super::plan::Plan;
use super::writer::{Row, Writer};

pub(super) fn closed(w: &mut Writer, p: &str, plan: &Plan) -> String {
    let count = plan.closed.len();
    let b = w.bounds_of(&plan.closed);
    let against: Vec<Vec<f64>> = plan.closed.iter().map(|d| d.a.iter().map(|a| -a).collect()).collect();
    let v = w.product(p, &against, Some(&b));
    let l = if plan.pairs.is_empty() {
        w.draft.call("Relu", &[&v])
    } else {
        let (mut helpers, mut weights) = (vec![vec![0.0; count]; count], vec![vec![0.0; count]; count]);
        for &(i, j, g) in &plan.pairs {
            for (own, other) in [(i, j), (j, i)] {
                helpers[own][other] = 1.0;
                helpers[own][own] = -g;
                weights[own][own] = -g / (1.0 - g * g);
            }
        }
        let h = w.product(&v, &helpers, None);
        let h = w.draft.call("Relu", &[&h]);
        let l = w.product(&h, &weights, Some(&Row::Tensor(v)));
        w.draft.call("Relu", &[&l])
    };
    let along: Vec<Vec<f64>> = plan.closed.iter().map(|d| d.push(&w.ground.give)).collect();
    w.push(&l, &along, p)
}
