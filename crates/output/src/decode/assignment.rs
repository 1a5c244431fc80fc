//! Scores of n items on n places enter; the assignment with the largest sum leaves.
//!
//! Shortest augmenting paths with potentials (Jonker and Volgenant 1987), n^3 steps: items are placed one by one, each along the
//! cheapest chain of moves of those placed before.

use super::paths::sane;

/// Puts the best assignment into `set`, 1 at `i * n + p` where item i is on place p. Of equal ones, which comes out is decided by
/// the order of items and places alone.
pub fn best(n: usize, scores: &[f32], set: &mut [f32]) {
    let cost = |i: usize, p: usize| -sane(scores[i * n + p]);
    // Index 0 of the places is a place outside, where each item starts.
    let (mut u, mut v) = (vec![0.0f64; n], vec![0.0f64; n + 1]);
    let mut item_on = vec![usize::MAX; n + 1];
    let mut from = vec![0usize; n + 1];
    let (mut least, mut done) = (vec![0.0f64; n + 1], vec![false; n + 1]);
    for i in 0..n {
        item_on[0] = i;
        least.fill(f64::INFINITY);
        done.fill(false);
        let mut place = 0;
        while item_on[place] != usize::MAX {
            done[place] = true;
            let item = item_on[place];
            let (mut step, mut next) = (f64::INFINITY, 0);
            for p in (1..=n).filter(|p| !done[*p]) {
                let reduced = cost(item, p - 1) - u[item] - v[p];
                if reduced < least[p] {
                    (least[p], from[p]) = (reduced, place);
                }
                if least[p] < step {
                    (step, next) = (least[p], p);
                }
            }
            for p in 0..=n {
                if done[p] {
                    u[item_on[p]] += step;
                    v[p] -= step;
                } else {
                    least[p] -= step;
                }
            }
            place = next;
        }
        while place != 0 {
            item_on[place] = item_on[from[place]];
            place = from[place];
        }
    }
    set.fill(0.0);
    for p in 1..=n {
        set[item_on[p] * n + p - 1] = 1.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};

    /// All permutations, by exchanging the last two and turning, against the solver.
    #[test]
    fn it_finds_the_best_of_all_permutations() {
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(5);
        for n in 1..=6 {
            for _ in 0..40 {
                let scores: Vec<f32> = (0..n * n).map(|_| rng.random_range(-20i32..20) as f32 / 4.0).collect();
                let mut most = f32::NEG_INFINITY;
                permute(&mut (0..n).collect::<Vec<_>>(), 0, &mut |order| {
                    most = most.max(order.iter().enumerate().map(|(i, p)| scores[i * n + p]).sum());
                });
                let mut set = vec![9.0; n * n];
                best(n, &scores, &mut set);
                assert_eq!(set.iter().zip(&scores).map(|(y, s)| y * s).sum::<f32>(), most);
                for k in 0..n {
                    assert_eq!((0..n).map(|p| set[k * n + p]).sum::<f32>(), 1.0);
                    assert_eq!((0..n).map(|i| set[i * n + k]).sum::<f32>(), 1.0);
                }
            }
        }
    }

    fn permute(order: &mut Vec<usize>, k: usize, visit: &mut impl FnMut(&[usize])) {
        if k == order.len() {
            return visit(order);
        }
        for j in k..order.len() {
            order.swap(k, j);
            permute(order, k + 1, visit);
            order.swap(k, j);
        }
    }

    #[test]
    fn nonsense_scores_still_give_an_assignment() {
        let mut set = vec![0.0; 9];
        best(
            3,
            &[f32::NAN, f32::INFINITY, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 0.0, f32::NEG_INFINITY, 1.0, 2.0],
            &mut set,
        );
        assert_eq!(set.iter().sum::<f32>(), 3.0);
        assert!((0..3).all(|k| (0..3).map(|p| set[k * 3 + p]).sum::<f32>() == 1.0));
    }
}
