//! Lines 12 to 14 of Algorithm 1: the last layer and its gradient enter; the furthest candidate that satisfies K' leaves.

/// Tries `w - eta g i / s` for i from s down to 1 and takes the first that `satisfies`.
pub fn line_search(w: &[f32], g: &[f32], eta: f32, s: usize, mut satisfies: impl FnMut(&[f32]) -> bool) -> Option<Vec<f32>> {
    let share = |i: usize| f64::from(eta) * i as f64 / s as f64;
    let rounded = |i: usize| candidate(w, g, share(i)).map(|w| w as f32).collect::<Vec<f32>>();
    (1..=s).rev().map(rounded).find(|candidate| satisfies(candidate))
}

/// `w - step g`.
pub fn candidate(w: &[f32], g: &[f32], step: f64) -> impl Iterator<Item = f64> {
    w.iter().zip(g).map(move |(w, g)| f64::from(*w) - step * f64::from(*g))
}

#[cfg(test)]
mod tests {
    use super::line_search;

    /// w = (1, 0), g = (1, -2), eta = 0.5, s = 4: candidates (0.5, 1), (0.625, 0.75), (0.75, 0.5), (0.875, 0.25), in this order.
    #[test]
    fn candidates_come_from_the_furthest_to_the_nearest() {
        let mut seen = Vec::new();
        let none = line_search(&[1.0, 0.0], &[1.0, -2.0], 0.5, 4, |c| {
            seen.push(c.to_vec());
            false
        });
        assert_eq!(none, None);
        assert_eq!(seen, [[0.5, 1.0], [0.625, 0.75], [0.75, 0.5], [0.875, 0.25]]);
    }

    #[test]
    fn the_first_that_satisfies_is_taken() {
        let found = line_search(&[1.0, 0.0], &[1.0, -2.0], 0.5, 4, |c| c[1] <= 0.6);
        assert_eq!(found, Some(vec![0.75, 0.5]));
    }
}
