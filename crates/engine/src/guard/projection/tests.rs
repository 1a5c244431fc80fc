//! Projections with known answers, and the conditions of Karush, Kuhn and Tucker for random ones.

use proptest::prelude::*;

use super::*;

fn cut(nearest: &mut Projection, metric: &Metric, point: &[f64], alpha: &[f64], excess: f64) {
    let cell = nearest.count;
    let cut = nearest.next().unwrap();
    cut.cell = cell;
    cut.rho = 1.0;
    cut.sides.clear();
    cut.point = point.to_vec();
    cut.alpha = alpha.to_vec();
    (cut.excess, cut.tolerance) = (excess, 1e-9);
    nearest.commit(metric, false);
}

/// W = 0, b = 0; each cut asks `alpha.(W v + b) <= -excess`.
fn solve(points: &[(Vec<f64>, Vec<f64>, f64)]) -> (FeasibleCuts, Vec<f32>, Vec<f32>, Projection) {
    let (n, outputs) = (points[0].0.len(), points[0].1.len());
    let metric = Metric::plain(n);
    let mut nearest = Projection::default();
    points.iter().for_each(|(v, a, e)| cut(&mut nearest, &metric, v, a, *e));
    let found = nearest.solve();
    let (mut w, mut b) = (vec![0.0; n * outputs], vec![0.0; outputs]);
    nearest.apply(&mut LayerWeights { w: &mut w, b: &mut b }, &mut []);
    (found, w, b, nearest)
}

/// `w + b <= -1` and `-w + b <= -1`: the nearest point to 0 is w = 0, b = -1.
#[test]
fn two_cuts_meet_in_a_corner() {
    let (found, w, b, _) = solve(&[(vec![1.0], vec![1.0], 1.0), (vec![-1.0], vec![1.0], 1.0)]);
    assert_eq!(found, FeasibleCuts::Yes);
    assert!(w[0].abs() < 1e-6 && (b[0] + 1.0).abs() < 1e-6, "{w:?} {b:?}");
}

/// The second cut is implied by the first: only the first moves the layer, by its own distance.
#[test]
fn an_idle_cut_does_nothing() {
    let (found, w, b, _) = solve(&[(vec![1.0], vec![1.0], 4.0), (vec![1.0], vec![1.0], 2.0)]);
    assert_eq!(found, FeasibleCuts::Yes);
    assert!((w[0] + 2.0).abs() < 1e-6 && (b[0] + 2.0).abs() < 1e-6, "{w:?} {b:?}");
}

/// `b <= -1` and `-b <= -1`.
#[test]
fn contradictory_cuts_are_named() {
    let free = (vec![5.0], vec![0.0, 1.0], 3.0);
    let (found, ..) = solve(&[free, (vec![0.0], vec![1.0, 0.0], 1.0), (vec![0.0], vec![-1.0, 0.0], 1.0)]);
    let FeasibleCuts::Never(mut cuts) = found else { panic!("{found:?}") };
    cuts.sort_unstable();
    assert_eq!(cuts, [1, 2]);
}

proptest! {
    /// Feasible (every cut at most 0), multipliers not negative, and 0 where a cut is not at its border: for a convex program
    /// that is the optimum. Cuts are built around a layer that satisfies them, so there is one.
    #[test]
    fn it_is_the_nearest(
        rows in prop::collection::vec((prop::collection::vec(-1.0f64..1.0, 5), 0.0f64..0.3), 1..14),
        inside in prop::collection::vec(-2.0f64..2.0, 8),
    ) {
        // Three inputs, two outputs: `inside` is W row by row, then b.
        let cuts: Vec<(Vec<f64>, Vec<f64>, f64)> = rows
            .iter()
            .map(|(row, distance)| {
                let (v, alpha) = (row[..3].to_vec(), row[3..].to_vec());
                let y = |j: usize| (0..3).map(|i| inside[j * 3 + i] * v[i]).sum::<f64>() + inside[6 + j];
                let value = alpha[0] * y(0) + alpha[1] * y(1);
                (v, alpha, -value - distance)
            })
            .collect();
        let (found, w, b, nearest) = solve(&cuts);
        prop_assert_eq!(found, FeasibleCuts::Yes);
        for (k, (v, alpha, excess)) in cuts.iter().enumerate() {
            let y = |j: usize| (0..3).map(|i| f64::from(w[j * 3 + i]) * v[i]).sum::<f64>() + f64::from(b[j]);
            let left = alpha[0] * y(0) + alpha[1] * y(1) + excess;
            prop_assert!(left < 1e-4, "cut {k} is broken by {left}");
            prop_assert!(nearest.cuts[k].mu >= -1e-12);
            prop_assert!(nearest.cuts[k].mu * nearest.gram[k * MOST + k].sqrt() < 1e-6 || left > -1e-4, "cut {k} is idle");
        }
    }
}
