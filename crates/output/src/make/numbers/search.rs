//! Outputs on their grids enter, whole numbers among them; calls leave that move these, a few steps of the grid at a time, to where the
//! faces of several outputs hold, and then nearer to what the network said.
//!
//! `y <- y + d`, d the best of a list of moves (to stay is the first): it must not leave the bounds of single outputs, and costs
//!
//! ```text
//! sum over faces of  W (b - a.(y + d))+ / (least |a_j|)  +  W [b - a.(y + d) > 0]   +   |y + d - p|^2
//! ```
//!
//! with W above whatever the distance, in units of the spreads, can gain by one move: first faces are met, then the distance counts. From
//! the nearest numbers of all, rounded, a face is few moves away. Not so an equality such as `cost == 80 * full + 45 * part`: an output
//! that is computed from others is brought to where they are first, and goes with each of their moves.

use deepsade_solve::cholesky::dot;

use super::direction::Direction;
use super::exactly::Computed;
use super::writer::{PerLine, Writer};

/// Entries of the matrix that adds up the faces of each move.
const MOST_ENTRIES: usize = 60_000;
/// What a move costs that leaves the bounds of an output.
const BARRED: f64 = 1e15;

pub(super) fn search(
    w: &mut Writer,
    y: &str,
    faces: &[Direction],
    computed: &[Computed],
    lower: &PerLine,
    upper: &PerLine,
) -> String {
    let ground = w.ground;
    let outputs = ground.outputs();
    let follows = |j: usize| computed.iter().any(|one| one.output == j);
    let members = (0..outputs).filter(|j| ground.is_whole(*j) && !follows(*j) && faces.iter().any(|d| d.a[*j] != 0.0));
    let (mut moves, farthest, rounds) = moves(&members.collect::<Vec<_>>(), outputs, faces.len());
    for d in &mut moves {
        computed.iter().for_each(|one| d[one.output] = dot(&one.from, d));
    }
    let least = ground.give.iter().copied().fold(f64::INFINITY, f64::min);
    let near: Vec<f64> = ground.give.iter().map(|give| least / give).collect();
    let square = |d: &[f64]| d.iter().zip(&near).map(|(v, near)| near * v * v).sum::<f64>();
    let width = |j: usize| f64::from(ground.ranges[j].hi - ground.ranges[j].lo);
    let gain = |d: &Vec<f64>| (0..outputs).map(|j| 2.0 * near[j] * d[j].abs() * (width(j) + 4.0)).sum::<f64>();
    let weight = 4.0 * moves.iter().map(gain).fold(1.0, f64::max);

    let loosened =
        |d: &Direction| d.bounds.iter().map(|b| Direction { a: d.a.clone(), bounds: vec![b.loosened()] }).collect::<Vec<_>>();
    let faces: Vec<Direction> = faces.iter().flat_map(loosened).collect();
    let faces_count = faces.len();
    let bounds = w.bounds_of(&faces);
    let scale = |d: &Direction| 1.0 / d.a.iter().filter(|a| **a != 0.0).fold(1.0f64, |least, a| least.min(a.abs()));
    let against: Vec<Vec<f64>> = faces.iter().map(|d| d.a.iter().map(|a| -a).collect()).collect();
    // Of each face and move: what the face is missed by, and that it is.
    let pairs = || faces.iter().enumerate().flat_map(|(f, face)| moves.iter().map(move |d| (d, f, face)));
    let chosen: Vec<Vec<f64>> =
        pairs().map(|(_, f, _)| (0..faces.len()).map(|g| f64::from(u8::from(f == g))).collect()).collect();
    let gained = PerLine::Constant(pairs().map(|(d, _, face)| -dot(d, &face.a) as f32).collect());
    // A line a face, all moves side by side: their sum over the faces is one short product.
    let (by_face, by_move) = (w.draft.ints(&[2], vec![faces_count as i64, -1]), w.draft.ints(&[2], vec![moves.len() as i64, -1]));
    let (by_size, by_number) =
        (vec![faces.iter().map(|d| -weight * scale(d)).collect::<Vec<f64>>()], vec![vec![-weight; faces_count]]);
    let nearer: Vec<Vec<f64>> = moves.iter().map(|d| d.iter().zip(&near).map(|(v, near)| -2.0 * near * v).collect()).collect();
    let own = PerLine::Constant(moves.iter().map(|d| -square(d) as f32).collect());
    let table = (0..outputs).flat_map(|j| moves.iter().map(move |d| d[j] as f32)).collect();
    let table = w.draft.floats(&[outputs, moves.len()], table);
    let (zero, p) = (w.draft.number(0.0), w.p.clone());

    let mut y = y.to_string();
    for _ in 0..rounds {
        let away = w.draft.call("Sub", &[&y, &p]);
        let mut gain = w.product(&away, &nearer, Some(&own));
        for step in 1..=farthest {
            for (bound, sign, op) in [(lower, -1.0, "Less"), (upper, 1.0, "Greater")] {
                let end = w.inward(bound, &vec![f64::from(step) - 0.5; outputs], -sign);
                let end = w.name(&end);
                let beyond = w.draft.call(op, &[&y, &end]);
                let beyond = w.draft.cast_float(&beyond);
                let leaves = |j: usize, v: f64| v == sign * f64::from(step) && !follows(j);
                let barred =
                    |d: &Vec<f64>| d.iter().enumerate().map(|(j, v)| if leaves(j, *v) { -BARRED } else { 0.0 }).collect();
                gain = w.product(&beyond, &moves.iter().map(barred).collect::<Vec<_>>(), Some(&PerLine::Tensor(gain)));
            }
        }
        let missed = w.product(&y, &against, Some(&bounds));
        let missed = w.product(&missed, &chosen, Some(&gained));
        let missed = w.draft.call("Reshape", &[&missed, &by_face]);
        let size = w.draft.call("Relu", &[&missed]);
        let broken = w.draft.call("Greater", &[&missed, &zero]);
        let broken = w.draft.cast_float(&broken);
        let lost = w.product(&size, &by_size, None);
        let lost = w.product(&broken, &by_number, Some(&PerLine::Tensor(lost)));
        let lost = w.draft.call("Reshape", &[&lost, &by_move]);
        gain = w.draft.call("Add", &[&gain, &lost]);
        let best = w.draft.call_with("ArgMax", &[&gain], &[("axis", 0), ("keepdims", 0)]);
        let step = w.draft.call_with("Gather", &[&table, &best], &[("axis", 1)]);
        y = w.draft.call("Add", &[&y, &step]);
    }
    y
}

/// The moves, how far one goes in an output, and how many are made: all combinations where outputs are few, then pairs of steps, then
/// single ones.
fn moves(members: &[usize], outputs: usize, faces: usize) -> (Vec<Vec<f64>>, u8, usize) {
    let few = |moves: usize| moves * moves * faces.max(1) <= MOST_ENTRIES;
    let n = members.len();
    let stay = vec![0.0; outputs];
    for farthest in [3u8, 2, 1] {
        let side = 2 * usize::from(farthest) + 1;
        let count = u32::try_from(n).ok().and_then(|n| side.checked_pow(n)).unwrap_or(usize::MAX);
        if count <= 128 && few(count) {
            let digit = |k: usize, i: usize| (k / side.pow(i as u32) % side) as f64 - f64::from(farthest);
            let all = (0..count).map(|k| {
                let mut d = stay.clone();
                members.iter().enumerate().for_each(|(i, j)| d[*j] = digit(k, i));
                d
            });
            let mut all: Vec<Vec<f64>> = all.collect();
            // Of equals the shortest: to stay before all others.
            all.sort_by(|a, b| dot(a, a).total_cmp(&dot(b, b)));
            return (all, farthest, 4);
        }
    }
    let step = |steps: &[(usize, f64)]| {
        let mut d = stay.clone();
        steps.iter().for_each(|(j, v)| d[*j] = *v);
        d
    };
    let signs = [1.0, -1.0];
    let mut all = vec![stay.clone()];
    all.extend(members.iter().flat_map(|j| signs.map(|v| step(&[(*j, v)]))));
    let pairs = 2 * n * n.saturating_sub(1);
    if few(all.len() + pairs) {
        for (i, j) in members.iter().enumerate().flat_map(|(k, i)| members[k + 1..].iter().map(move |j| (*i, *j))) {
            all.extend(signs.iter().flat_map(|v| signs.map(|u| step(&[(i, *v), (j, u)]))));
        }
        return (all, 1, 4 + n / 4);
    }
    (all, 1, 6 + n / 4)
}
