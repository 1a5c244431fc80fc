//! Outputs and a [`NearestPlan`] enter; calls leave that compute outputs near them which obey it.

use deepsade_check::step::Number;

use super::Anchor;
use super::closed::closed;
use super::direction::{Direction, GuardedBound};
use super::dual::dual;
use super::line::lines;
use super::plan::NearestPlan;
use super::ray::ray;
use super::round::{ends_on_grid, round};
use super::tangent::project;
use super::writer::{PerLine, Side, Writer};

impl NearestPlan {
    /// The bounds of single outputs.
    pub(super) fn ends(&self, w: &mut Writer) -> (PerLine, PerLine) {
        let (lower, upper): (Vec<&[GuardedBound]>, Vec<&[GuardedBound]>) =
            (self.lower.iter().map(|b| &b[..]).collect(), self.upper.iter().map(|b| &b[..]).collect());
        let ranges = w.ground.ranges;
        let lower = w.bounds(&lower, ranges.iter().map(|n| n.lo).collect(), Side::Lower);
        let upper = w.bounds(&upper, ranges.iter().map(|n| n.hi).collect(), Side::Upper);
        (lower, upper)
    }

    /// The ends of outputs that are alone, where they are the same for every input and not just those of their ranges.
    pub(super) fn fixed_ends(&self, w: &Writer) -> (Vec<Option<f32>>, Vec<Option<f32>>) {
        let fixed = |bounds: &[Vec<GuardedBound>], j: usize| {
            let own = if self.alone[j] { &bounds[j][..] } else { &[] };
            own.iter().filter(|b| b.is_constant()).map(|b| b.constant as f32).reduce(f32::max)
        };
        let ranges = w.ground.cut.iter().enumerate();
        let ends =
            |(j, n): (usize, &Number)| (fixed(&self.lower, j).map(|b| b.max(n.lo)), fixed(&self.upper, j).map(|b| n.hi.min(-b)));
        ranges.map(ends).unzip()
    }

    /// Faces that are met step by step, and sums of several outputs.
    fn stepwise(&self) -> Vec<Direction> {
        let line = |l: &super::plan::Line| {
            let turned = Direction { a: l.a.iter().map(|a| -a).collect(), bounds: l.upper.clone() };
            [Direction { a: l.a.clone(), bounds: l.lower.clone() }, turned]
        };
        let lines = self.lines.iter().filter(|l| !l.equal).flat_map(line);
        // Bounds of single outputs are met by comparisons, where no equality forbids them.
        let among = !self.equal.is_empty();
        lines.chain(self.faces.iter().filter(|d| among || d.single().is_none()).cloned()).collect()
    }

    /// Outputs near those of the writer; with `fixed` those that are alone obey already what is the same for every input.
    pub(super) fn solve(&self, w: &mut Writer, fixed: bool, anchor: Option<&Anchor>, steps: usize) -> String {
        let mut y = w.p.clone();
        if !self.closed.is_empty() {
            y = closed(w, &y, self);
        }
        let moves = |bounds: &[Vec<GuardedBound>]| {
            let met = |(j, b): (usize, &Vec<GuardedBound>)| {
                fixed && self.alone[j] && b.iter().all(GuardedBound::is_constant) || b.is_empty()
            };
            !bounds.iter().enumerate().all(met)
        };
        let gridded = w.ground.ranges.iter().any(|n| n.grid.is_some());
        let (mut lower, mut upper) = self.ends(w);
        if gridded {
            (lower, upper) = ends_on_grid(w, &lower, &upper);
        }
        if !self.has_steps() && !gridded {
            if moves(&self.lower) {
                let lower = w.name(&lower);
                y = w.draft.call("Max", &[&y, &lower]);
            }
            if moves(&self.upper) {
                let upper = w.name(&upper);
                y = w.draft.call("Min", &[&y, &upper]);
            }
            return y;
        }
        let (near, far) = (w.inward(&lower, &self.inset, 1.0), w.inward(&upper, &self.inset, -1.0));
        if !self.lines.is_empty() {
            y = lines(w, &y, self, &near, &far, steps);
        } else if self.has_steps() {
            if !self.equal.is_empty() {
                y = project(w, &y, &self.equal);
            }
            y = dual(w, &y, self, steps);
        }
        let stepwise = self.stepwise();
        let anchor = anchor.filter(|_| !stepwise.is_empty());
        let compared = self.equal.is_empty();
        if compared && (!gridded || anchor.is_some()) {
            y = w.clip(&y, &near, &far);
        }
        if let Some(anchor) = anchor {
            y = ray(w, &y, &stepwise, anchor);
            // The way to the anchor is within the bounds but for its rounding.
            if compared && !gridded {
                y = w.clip(&y, &near, &far);
            }
        }
        if gridded { round(w, &y, self, &lower, &upper) } else { y }
    }
}
