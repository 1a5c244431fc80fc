//! Directions enter; leaves how the nearest outputs are found: by bounds alone, in closed form, or step by step.

use deepsade_solve::tied::Union;

use super::super::MakeError;
use super::direction::{Direction, Ground, GuardedBound};
use super::equality::Equality;
use super::exactly::{Computed, Exactly};
use super::tangent::{along, orthonormal};

/// Cosines closer to 0 than this are 0; closer to 1, no closed form is trusted.
const NEARLY: f64 = 1e-9;
const STEEP: f64 = 0.9995;

/// How the nearest outputs of an alternative are found.
#[derive(Debug, Clone, Default)]
pub(super) struct NearestPlan {
    /// Bounds of single outputs that a comparison meets: lower ones, and upper ones with their sign turned.
    pub(super) lower: Vec<Vec<GuardedBound>>,
    pub(super) upper: Vec<Vec<GuardedBound>>,
    /// Whether an output is bounded by nothing else.
    pub(super) alone: Vec<bool>,
    /// Faces with a closed form, and which two of them meet, with their cosine.
    pub(super) closed: Vec<Direction>,
    pub(super) pairs: Vec<(usize, usize, f64)>,
    /// Sums of outputs that share none with each other, each in a direction and its opposite.
    pub(super) lines: Vec<Line>,
    /// All other faces that hang together, and orthonormal equalities among whose outputs they are.
    pub(super) faces: Vec<Direction>,
    pub(super) equal: Vec<Direction>,
    /// How equalities are met exactly, and how far each output keeps away from its bounds before.
    pub(super) exactly: Exactly,
    /// Faces and equalities of several outputs with whole numbers among them, for the search that follows rounding.
    pub(super) sums: Vec<Direction>,
    pub(super) inset: Vec<f64>,
}

/// A sum of outputs with bounds from below, and from above with the sign turned.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) a: Vec<f64>,
    pub(super) lower: Vec<GuardedBound>,
    pub(super) upper: Vec<GuardedBound>,
    /// It has one value.
    pub(super) equal: bool,
}

impl NearestPlan {
    pub(super) fn new(
        directions: Vec<Direction>,
        equalities: &[Equality],
        ground: &Ground,
        close: bool,
    ) -> Result<Self, MakeError> {
        let outputs = ground.outputs();
        let exactly = Exactly::new(equalities, ground)?;
        let mut plan = Self {
            lower: vec![Vec::new(); outputs],
            upper: vec![Vec::new(); outputs],
            alone: vec![false; outputs],
            inset: exactly.inset(ground),
            exactly,
            ..Self::default()
        };
        let of_whole = |d: &Direction| d.single().is_none() && (0..outputs).any(|j| d.a[j] != 0.0 && ground.is_whole(j));
        plan.sums = directions.iter().cloned().chain(equalities.iter().flat_map(Equality::faces)).filter(of_whole).collect();
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
        for (g, closed) in closed_group.iter_mut().enumerate() {
            let sums: Vec<&Direction> = sums.iter().filter(|d| own(d) == g).collect();
            let equal: Vec<&Direction> = equal.iter().filter(|d| own(d) == g).collect();
            let bounds: Vec<&Direction> = bounds.iter().filter(|d| own(d) == g).collect();
            if sums.is_empty() && equal.is_empty() {
                continue;
            }
            if close && equal.is_empty() && sums.len() + bounds.len() <= 2 && plan.close(&sums, &bounds, &ground.give) {
                *closed = true;
                continue;
            }
            match line(&sums, &equal, &ground.give) {
                Some(line) => lines.push(line),
                None => hard = true,
            }
        }
        let step_by_step =
            |d: &&Direction| !plan.alone[(0..outputs).find(|j| d.a[*j] != 0.0).unwrap_or(0)] && !closed_group[own(d)];
        if hard {
            let faces = sums.iter().chain(&bounds).filter(step_by_step).cloned().collect();
            plan.among(faces, &equal, ground);
        } else {
            plan.lines = lines;
        }
        for direction in bounds {
            let Some(j) = direction.single() else { continue };
            let mut bounds = direction.bounds;
            if closed_group[group[j]] {
                bounds.retain(GuardedBound::is_constant);
            }
            if direction.a[j] > 0.0 { plan.lower[j].extend(bounds) } else { plan.upper[j].extend(bounds) }
        }
        Ok(plan)
    }

    /// Takes faces to be met step by step, among the outputs that obey the equalities.
    fn among(&mut self, mut faces: Vec<Direction>, equal: &[Direction], ground: &Ground) {
        self.equal = orthonormal(equal, &ground.give);
        if !equal.is_empty() {
            // No comparison follows that would keep outputs in their ranges, without breaking an equality.
            let members: Vec<usize> = (0..ground.outputs()).filter(|j| equal.iter().any(|e| e.a[*j] != 0.0)).collect();
            faces.extend(members.into_iter().flat_map(|j| ground.range(j)));
            for face in &mut faces {
                let inset = face.single().map_or(0.0, |j| self.inset[j]);
                face.bounds.iter_mut().for_each(|b| b.constant += inset);
            }
        }
        self.faces = faces.iter().filter_map(|face| along(face, &self.equal, &ground.give)).collect();
    }

    /// Takes up to two faces as a closed form, if they have one.
    fn close(&mut self, sums: &[&Direction], bounds: &[&Direction], give: &[f64]) -> bool {
        let all: Vec<Direction> = sums.iter().chain(bounds).map(|d| d.normal(give)).collect();
        let first = self.closed.len();
        if let [a, b] = &all[..] {
            let g = a.cosine(b, give);
            // Opposite faces never both push; nor do orthogonal ones mind each other.
            let opposite = g < NEARLY - 1.0;
            if g.abs() > STEEP && !opposite {
                return false;
            }
            if g.abs() > NEARLY && !opposite {
                self.pairs.push((first, first + 1, g));
            }
        }
        self.closed.extend(all);
        // No comparison follows that would meet a bound exactly, unless it is the same for every input.
        for bound in self.closed[first..].iter_mut().flat_map(|d| &mut d.bounds).filter(|b| b.exact && !b.is_constant()) {
            bound.constant += bound.own;
        }
        true
    }

    /// Moves sums that are met step by step in, by a share of the ranges of their outputs.
    pub(super) fn move_in(&mut self, share: f64, ground: &Ground) {
        let width = |a: &[f64]| a.iter().zip(ground.ranges).map(|(a, n)| a.abs() * f64::from(n.hi - n.lo)).sum::<f64>();
        let among = !self.equal.is_empty();
        for face in self.faces.iter_mut().filter(|d| among || d.single().is_none()) {
            let by = share * width(&face.a);
            face.bounds.iter_mut().for_each(|b| b.constant += by);
        }
        for line in self.lines.iter_mut().filter(|l| !l.equal) {
            let by = share * width(&line.a);
            line.lower.iter_mut().chain(&mut line.upper).for_each(|b| b.constant += by);
        }
    }

    /// Whole outputs that equalities of whole outputs alone give: those of elimination, and of each equality with factors, of which a
    /// step in one output is many in another, the output with the widest range.
    pub(super) fn whole_computed(&self, ground: &Ground) -> Vec<Computed> {
        let whole = |a: &[f64]| a.iter().enumerate().all(|(j, a)| *a == 0.0 || ground.is_whole(j));
        let solved = self.exactly.computed.iter().filter(|one| ground.is_whole(one.output) && whole(&one.from)).cloned();
        let with_factors = |e: &&Equality| e.always() && whole(&e.a) && e.a.iter().any(|a| a.abs() > 1.0);
        let width = |j: &usize| ground.ranges[*j].hi - ground.ranges[*j].lo;
        let widest = |e: &Equality| e.members().filter(|j| e.a[*j].abs() == 1.0).max_by(|i, j| width(i).total_cmp(&width(j)));
        let own = self.exactly.remainders.iter().filter(with_factors).filter_map(|e| widest(e).map(|j| e.solved_for(j)));
        solved.chain(own).collect()
    }

    /// The bounds of one output, those of its range among them.
    pub(super) fn bounds(&self, output: usize, ground: &Ground) -> Vec<Direction> {
        let mut found = ground.range(output);
        found[0].bounds.extend(self.lower[output].iter().cloned());
        found[1].bounds.extend(self.upper[output].iter().cloned());
        found.into()
    }

    /// Whether steps are needed whose number is to be chosen.
    pub(super) fn has_steps(&self) -> bool {
        !self.lines.is_empty() || !self.faces.is_empty() || !self.equal.is_empty()
    }
}

/// A number a group of outputs that sums tie together: its first output, for each.
fn groups<'a>(outputs: usize, sums: impl Iterator<Item = &'a Direction>) -> Vec<usize> {
    let mut tied = Union::new(outputs);
    for sum in sums {
        let mut members = (0..outputs).filter(|j| sum.a[*j] != 0.0);
        if let Some(first) = members.next() {
            members.for_each(|j| tied.join(first, j));
        }
    }
    (0..outputs).map(|j| tied.root(j)).collect()
}

/// The one line of a group, if it has only one.
fn line(sums: &[&Direction], equal: &[&Direction], give: &[f64]) -> Option<Line> {
    let normal = |all: &[&Direction]| all.iter().map(|d| d.normal(give)).collect::<Vec<_>>();
    match (&normal(sums)[..], &normal(equal)[..]) {
        ([], [one]) => {
            let upper = one.bounds.iter().map(GuardedBound::turned).collect();
            Some(Line { a: one.a.clone(), lower: one.bounds.clone(), upper, equal: true })
        }
        ([one], []) => Some(Line { a: one.a.clone(), lower: one.bounds.clone(), upper: Vec::new(), equal: false }),
        ([one, other], []) if one.cosine(other, give) < NEARLY - 1.0 => {
            Some(Line { a: one.a.clone(), lower: one.bounds.clone(), upper: other.bounds.clone(), equal: false })
        }
        _ => None,
    }
}

impl GuardedBound {
    /// The bound of the opposite direction for the same value.
    pub(super) fn turned(&self) -> Self {
        Self {
            x: self.x.iter().map(|v| -v).collect(),
            constant: -self.constant,
            own: self.own,
            exact: self.exact,
            slack: self.slack,
            unless: self.unless.clone(),
            option: self.option,
        }
    }
}
