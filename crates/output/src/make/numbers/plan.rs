//! Directions enter; leaves how the nearest outputs are found: by bounds alone, in closed form, or step by step.

use super::direction::{Bound, Direction, Ground};
use super::equality::Equality;

/// Cosines closer to 0 than this are 0; closer to 1, no closed form is trusted.
const NEARLY: f64 = 1e-9;
const STEEP: f64 = 0.9995;

/// How the nearest outputs of an alternative are found.
#[derive(Debug, Clone, Default)]
pub(super) struct Plan {
    /// Bounds of single outputs: lower ones, and upper ones with their sign turned.
    pub(super) lower: Vec<Vec<Bound>>,
    pub(super) upper: Vec<Vec<Bound>>,
    /// Whether an output is bounded by nothing else.
    pub(super) alone: Vec<bool>,
    /// Faces with a closed form, and which two of them meet, with their cosine.
    pub(super) closed: Vec<Direction>,
    pub(super) pairs: Vec<(usize, usize, f64)>,
    /// Sums of outputs that share none with each other, each in a direction and its opposite.
    pub(super) lines: Vec<Line>,
    /// All other faces that hang together.
    pub(super) faces: Vec<Direction>,
    /// Equalities among those.
    pub(super) equal: Vec<Direction>,
}

/// A sum of outputs with bounds from below, and from above with the sign turned.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) a: Vec<f64>,
    pub(super) lower: Vec<Bound>,
    pub(super) upper: Vec<Bound>,
    /// It has one value.
    pub(super) equal: bool,
}

impl Plan {
    pub(super) fn new(directions: Vec<Direction>, equalities: &[Equality], ground: &Ground) -> Self {
        let outputs = ground.outputs();
        let mut plan = Self {
            lower: vec![Vec::new(); outputs],
            upper: vec![Vec::new(); outputs],
            alone: vec![false; outputs],
            ..Self::default()
        };
        // Equalities under a condition are two faces; the others are kept apart.
        let (always, sometimes): (Vec<_>, Vec<_>) = equalities.iter().partition(|e| e.always());
        let equal: Vec<Direction> = always.iter().map(|e| e.direction()).collect();
        let mut directions = directions;
        directions.extend(sometimes.iter().flat_map(|e| e.faces()));
        let (bounds, sums): (Vec<_>, Vec<_>) = directions.into_iter().partition(|d| d.single().is_some());
        let group = groups(outputs, sums.iter().chain(&equal));
        plan.alone = (0..outputs).map(|j| !sums.iter().chain(&equal).any(|d| d.a[j] != 0.0)).collect();

        let own = |d: &Direction| group[(0..outputs).find(|j| d.a[*j] != 0.0).unwrap_or(0)];
        let (mut lines, mut hard) = (Vec::new(), false);
        let mut closed_group = vec![false; outputs];
        for g in 0..outputs {
            let sums: Vec<&Direction> = sums.iter().filter(|d| own(d) == g).collect();
            let equal: Vec<&Direction> = equal.iter().filter(|d| own(d) == g).collect();
            let bounds: Vec<&Direction> = bounds.iter().filter(|d| own(d) == g).collect();
            if sums.is_empty() && equal.is_empty() {
                continue;
            }
            if equal.is_empty() && sums.len() + bounds.len() <= 2 && plan.close(&sums, &bounds) {
                closed_group[g] = true;
                continue;
            }
            match line(&sums, &equal) {
                Some(line) => lines.push(line),
                None => hard = true,
            }
        }
        let step_by_step =
            |d: &&Direction| !plan.alone[(0..outputs).find(|j| d.a[*j] != 0.0).unwrap_or(0)] && !closed_group[own(d)];
        if hard {
            plan.faces = sums.iter().chain(&bounds).filter(step_by_step).cloned().collect();
            plan.equal = equal;
        } else {
            plan.lines = lines;
        }
        for direction in bounds {
            let Some(j) = direction.single() else { continue };
            if closed_group[own(&direction)] {
                continue;
            }
            if direction.a[j] > 0.0 { plan.lower[j].extend(direction.bounds) } else { plan.upper[j].extend(direction.bounds) }
        }
        plan
    }

    /// Takes up to two faces as a closed form, if they have one.
    fn close(&mut self, sums: &[&Direction], bounds: &[&Direction]) -> bool {
        let all: Vec<&Direction> = sums.iter().chain(bounds).copied().collect();
        let first = self.closed.len();
        if let [a, b] = &all[..] {
            let g = a.cosine(b);
            // Opposite faces never both push; nor do orthogonal ones mind each other.
            let opposite = g < NEARLY - 1.0;
            if g.abs() > STEEP && !opposite {
                return false;
            }
            if g.abs() > NEARLY && !opposite {
                self.pairs.push((first, first + 1, g));
            }
        }
        self.closed.extend(all.into_iter().cloned());
        true
    }

    /// Whether steps are needed whose number is to be chosen.
    pub(super) fn has_steps(&self) -> bool {
        !self.lines.is_empty() || !self.faces.is_empty() || !self.equal.is_empty()
    }
}

/// A number a group of outputs that sums tie together: its first output, for each.
fn groups<'a>(outputs: usize, sums: impl Iterator<Item = &'a Direction>) -> Vec<usize> {
    let mut group: Vec<usize> = (0..outputs).collect();
    for sum in sums {
        let members: Vec<usize> = (0..outputs).filter(|j| sum.a[*j] != 0.0).map(|j| group[j]).collect();
        let first = members.iter().copied().min().unwrap_or(0);
        group.iter_mut().filter(|g| members.contains(g)).for_each(|g| *g = first);
    }
    group
}

/// The one line of a group, if it has only one.
fn line(sums: &[&Direction], equal: &[&Direction]) -> Option<Line> {
    match (sums, equal) {
        ([], [one]) => {
            let upper = one.bounds.iter().map(|b| b.turned()).collect();
            Some(Line { a: one.a.clone(), lower: one.bounds.clone(), upper, equal: true })
        }
        ([one], []) => Some(Line { a: one.a.clone(), lower: one.bounds.clone(), upper: Vec::new(), equal: false }),
        ([one, other], []) if one.cosine(other) < NEARLY - 1.0 => {
            Some(Line { a: one.a.clone(), lower: one.bounds.clone(), upper: other.bounds.clone(), equal: false })
        }
        _ => None,
    }
}

impl Bound {
    /// The bound of the opposite direction for the same value.
    pub(super) fn turned(&self) -> Self {
        Self { x: self.x.iter().map(|v| -v).collect(), constant: -self.constant, unless: self.unless.clone() }
    }
}
