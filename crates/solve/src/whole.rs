//! A point, half-spaces and the coordinates that must be whole numbers enter; the nearest such point leaves, by branch and bound.

use crate::active_set::{HalfSpace, nearest};

/// How far from a whole number one is taken for it.
const NEARLY: f64 = 1e-6;

/// The nearest point in all half-spaces `a.y + c >= 0` (each a of length 1) whose `whole` coordinates are whole numbers, or the best that
/// was found among `most` parts; `None` if none was.
pub fn nearest_whole(p: &[f64], half_spaces: &[(Vec<f64>, f64)], whole: &[usize], most: usize) -> Option<Vec<f64>> {
    let mut best: Option<(f64, Vec<f64>)> = None;
    // Coordinate, sign and end: `sign y_j >= end`.
    let mut open: Vec<Vec<(usize, f64, f64)>> = vec![Vec::new()];
    for _ in 0..most {
        let Some(bounds) = open.pop() else { break };
        let mut spaces = half_spaces.to_vec();
        for (j, sign, end) in &bounds {
            let mut a = vec![0.0; p.len()];
            a[*j] = *sign;
            spaces.push((a, -end));
        }
        let Ok(found) = nearest(p, &spaces.iter().map(|(a, c)| HalfSpace { a, c: *c }).collect::<Vec<_>>()) else { continue };
        let mut y = found.y;
        let distance = y.iter().zip(p).map(|(y, p)| (y - p).powi(2)).sum::<f64>();
        if best.as_ref().is_some_and(|(least, _)| distance >= *least) {
            continue;
        }
        let off = |j: usize| (y[j] - y[j].round()).abs();
        let Some(j) = whole.iter().copied().filter(|j| off(*j) > NEARLY).max_by(|i, j| off(*i).total_cmp(&off(*j))) else {
            whole.iter().for_each(|j| y[*j] = y[*j].round());
            best = Some((distance, y));
            continue;
        };
        let (mut below, mut above) = (bounds.clone(), bounds);
        below.push((j, -1.0, -y[j].floor()));
        above.push((j, 1.0, y[j].ceil()));
        // The nearer side is looked at first.
        let nearer_below = y[j] - y[j].floor() < 0.5;
        open.extend(if nearer_below { [above, below] } else { [below, above] });
    }
    best.map(|(_, y)| y)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `a.y + c >= 0`, scaled to length 1.
    fn space(a: &[f64], c: f64) -> (Vec<f64>, f64) {
        let length = a.iter().map(|v| v * v).sum::<f64>().sqrt();
        (a.iter().map(|v| v / length).collect(), c / length)
    }

    #[test]
    fn as_near_as_the_nearest_of_all_that_are_tried() {
        // 2 a + 3 b <= 12.5, a - b >= -1, b >= 0.3
        let spaces = [space(&[-2.0, -3.0], 12.5), space(&[1.0, -1.0], 1.0), space(&[0.0, 1.0], -0.3)];
        let inside = |y: &[f64]| spaces.iter().all(|(a, c)| a[0] * y[0] + a[1] * y[1] + c >= -1e-9);
        for k in 0..400 {
            let p = [f64::from(k % 20) * 0.73 - 3.0, f64::from(k / 20) * 0.61 - 2.0];
            let distance = |y: &[f64]| (y[0] - p[0]).powi(2) + (y[1] - p[1]).powi(2);
            let found = nearest_whole(&p, &spaces, &[0, 1], 1000).expect("there is one");
            let all = (-30..30).flat_map(|a| (-30..30).map(move |b| [f64::from(a), f64::from(b)]));
            let least = all.filter(|y| inside(y)).map(|y| distance(&y)).fold(f64::INFINITY, f64::min);
            assert!(inside(&found) && (distance(&found) - least).abs() < 1e-9, "{p:?} {found:?} {least}");
        }
    }

    #[test]
    fn nothing_whole_is_found_where_there_is_nothing() {
        assert_eq!(nearest_whole(&[0.0], &[space(&[1.0], -0.2), space(&[-1.0], 0.8)], &[0], 100), None);
        assert_eq!(nearest_whole(&[0.0, 0.5], &[space(&[2.0, 0.0], -1.0)], &[0], 100), Some(vec![1.0, 0.5]));
    }
}
