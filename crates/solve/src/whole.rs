//! A linear program and those of its unknowns that must be whole numbers enter; leaves the program at the best such values, by branch and
//! bound.

use crate::simplex::{Simplex, Status};

/// How far from a whole number one is taken for it.
const NEARLY: f64 = 1e-6;
/// What counts as less.
const LESS: f64 = 1e-9;

/// Goes to the least cost with whole numbers for the `whole` unknowns, or to the best that is found among `most` parts; whether there is
/// any.
pub fn solve_whole(program: &mut Simplex, whole: &[usize], pivots: usize, most: usize) -> bool {
    let mut open: Vec<Vec<(f64, f64)>> = vec![whole.iter().map(|v| program.bounds(*v)).collect()];
    let mut best: Option<(f64, Vec<(f64, f64)>)> = None;
    for _ in 0..most {
        let Some(ends) = open.pop() else { break };
        let better = |cost: f64, best: &Option<(f64, _)>| best.as_ref().is_none_or(|(least, _)| cost < least - LESS);
        if !solve_within(program, whole, &ends, pivots) || !better(program.objective(), &best) {
            continue;
        }
        let at: Vec<f64> = whole.iter().map(|v| program.value(*v)).collect();
        let off = |k: usize| (at[k] - at[k].round()).abs();
        let furthest = (0..at.len()).filter(|k| off(*k) > NEARLY).max_by(|i, j| off(*i).total_cmp(&off(*j)));
        let Some(k) = furthest else {
            // What was nearly whole is whole now, and the other unknowns follow.
            let at: Vec<(f64, f64)> = at.iter().map(|v| (v.round(), v.round())).collect();
            if solve_within(program, whole, &at, pivots) && better(program.objective(), &best) {
                best = Some((program.objective(), at));
            }
            continue;
        };
        let (mut below, mut above) = (ends.clone(), ends);
        (below[k].1, above[k].0) = (at[k].floor(), at[k].ceil());
        // The nearer side is looked at first.
        open.extend(if at[k] - at[k].floor() < 0.5 { [above, below] } else { [below, above] });
    }
    best.is_some_and(|(_, at)| solve_within(program, whole, &at, pivots))
}

fn solve_within(program: &mut Simplex, whole: &[usize], ends: &[(f64, f64)], pivots: usize) -> bool {
    if ends.iter().any(|(lo, hi)| lo > hi) {
        return false;
    }
    whole.iter().zip(ends).for_each(|(v, (lo, hi))| program.set_bounds(*v, *lo, *hi));
    program.solve(pivots) == Status::Optimal
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2 a + 3 b <= 12.5, a - b >= -1.5, b >= 0.3; and c >= |a - b| / 2, which need not be whole.
    fn program(cost: [f64; 3]) -> Simplex {
        let mut program = Simplex::new(cost.to_vec(), vec![-5.0, -5.0, 0.0], vec![5.0, 5.0, 9.0]);
        program.add_row(&[(0, -2.0), (1, -3.0)], 12.5);
        program.add_row(&[(0, 1.0), (1, -1.0)], 1.5);
        program.add_row(&[(1, 1.0)], -0.3);
        [0.5, -0.5].iter().for_each(|by| program.add_row(&[(0, *by), (1, -by), (2, 1.0)], 0.0));
        program
    }

    #[test]
    fn costs_as_little_as_the_best_of_all_that_are_tried() {
        for k in 0..400 {
            let cost = [f64::from(k % 20) * 0.73 - 7.0, f64::from(k / 20) * 0.61 - 6.0, 1.0];
            let mut program = program(cost);
            assert!(solve_whole(&mut program, &[0, 1], 1000, 1000));
            let all = (-5..=5).flat_map(|a| (-5..=5).map(move |b| (f64::from(a), f64::from(b))));
            let inside = all.filter(|(a, b)| 2.0 * a + 3.0 * b <= 12.5 && a - b >= -1.5 && *b >= 0.3);
            let least = inside.map(|(a, b)| cost[0] * a + cost[1] * b + (a - b).abs() / 2.0).fold(f64::INFINITY, f64::min);
            assert!((program.objective() - least).abs() < 1e-6, "{cost:?}: {} {least}", program.objective());
        }
    }

    #[test]
    fn nothing_whole_is_found_where_there_is_nothing() {
        let between = |lo: f64, hi: f64| Simplex::new(vec![1.0], vec![lo], vec![hi]);
        assert!(!solve_whole(&mut between(0.2, 0.8), &[0], 100, 100));
        assert!(solve_whole(&mut between(0.2, 0.8), &[], 100, 100));
        let mut one = between(0.2, 1.8);
        assert!(solve_whole(&mut one, &[0], 100, 100));
        assert_eq!(one.value(0), 1.0);
    }
}
