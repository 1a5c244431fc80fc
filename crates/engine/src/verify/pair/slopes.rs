//! A rule between two inputs enters; a tree of regions leaves on whose leaves the slopes of the network keep it, for the checker to judge.

use deepsade_check::{Bounds, PairArgument, Tree};
use deepsade_net::{Activation, Op};
use deepsade_spec::{Cut, Kept, Linear, Moves, Pair, Rational, Region, Var};

use super::super::Halt;
use super::super::branch::DEEPEST;
use super::super::pass::{Pass, Reach};
use super::super::plan::{BoundedNode, InputBox, SearchBoxes};
use super::PairQuestion;
use crate::slopes::slope;

/// Regions of one rule.
const MOST_REGIONS: usize = 200_000;
/// What is left of an allowed change, as a share of it, for what the checker adds for rounding: more each time that it does not accept.
const LEFT: [f64; 6] = [1e-9, 1e-4, 1e-3, 1e-2, 3e-2, 0.1];

impl PairQuestion<'_> {
    /// Another argument than the one that the checker did not accept, with more to spare; `None` if there is none left to try.
    pub fn another(
        &self,
        rule: usize,
        before: &PairArgument,
        tries: &mut usize,
        regions: &mut usize,
    ) -> Result<Option<PairArgument>, Option<Halt>> {
        while let Some(spare) = LEFT.get(*tries) {
            *tries += 1;
            let found = self.slopes(rule, *spare, regions)?;
            if found != *before {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// A tree of regions on whose leaves the slopes do what the parts of a rule ask, as far as float64 tells; or why there is none.
    fn slopes(&self, rule: usize, spare: f64, regions: &mut usize) -> Result<PairArgument, Option<Halt>> {
        let mut queries: Vec<(&Pair, Linear)> = Vec::new();
        for part in &self.spec.pairs[rule].parts {
            match &part.kept {
                Kept::Number { linear, .. } => queries.push((part, linear.clone())),
                // Rounding can turn a class: in float32 its signs must show it.
                Kept::Condition(_) if !self.plan.is_real() => {}
                Kept::Condition(formula) => formula.atoms(&mut |atom| queries.push((part, atom.linear.clone()))),
            }
            if part.moves == Moves::Any {
                return Err(None);
            }
        }
        if queries.is_empty() {
            return Err(None);
        }
        let mut left = MOST_REGIONS;
        let tree = self.tree((&queries, spare), self.whole, &mut left, 0)?;
        *regions += MOST_REGIONS - left;
        Ok(PairArgument::Slopes(tree))
    }

    fn tree(
        &self,
        (queries, spare): (&[(&Pair, Linear)], f64),
        region: &Region,
        left: &mut usize,
        depth: usize,
    ) -> Result<Tree, Option<Halt>> {
        if let Some(halt) = (self.stop)() {
            return Err(Some(halt));
        }
        if *left == 0 || depth > DEEPEST {
            return Err(None);
        }
        *left -= 1;
        let bare = |bounds| Tree::Leaf { bounds, cells: Vec::new(), lines: Vec::new() };
        let met = region.touching(self.whole);
        let asked: Vec<&(&Pair, Linear)> =
            queries.iter().filter(|(part, _)| !met.excludes(&part.condition, &self.spec.schema)).collect();
        let inputs = self.plan.inputs(&met);
        let mut open = None;
        for (kind, bounds) in [(Reach::Interval, Bounds::Interval), (Reach::Lines, Bounds::Relational)] {
            let boxes = self.plan.boxes(&inputs, kind, None, &mut Pass::default());
            if asked.iter().all(|(part, form)| self.holds(part, form, spare, &boxes)) {
                return Ok(bare(bounds));
            }
            open = Some(boxes);
        }
        let Some((feature, cut)) = open.and_then(|boxes| self.split(region, &inputs, &boxes)) else { return Err(None) };
        let [low, high] = region.split(feature, &cut).map_err(|_| None)?;
        let below = Box::new(self.tree((queries, spare), &low, left, depth + 1)?);
        let above = Box::new(self.tree((queries, spare), &high, left, depth + 1)?);
        Ok(Tree::Split { feature, cut, below, above })
    }

    /// Whether the slopes in these boxes do what a rule asks.
    fn holds(&self, part: &Pair, form: &Linear, spare: f64, boxes: &SearchBoxes) -> bool {
        let output = |(var, c): (&Var, &Rational)| if let Var::Output(j) = var { Some((*j, c.to_f64().value())) } else { None };
        let form: Vec<(usize, f64)> = form.terms.iter().filter_map(output).collect();
        let range = |value: usize, unit: usize| (boxes.lo[value][unit], boxes.hi[value][unit]);
        let slope = |f: usize| slope(self.network, self.plan.map.first(f), &form, &range);
        match (&part.moves, &part.kept) {
            (Moves::By(by), Kept::Number { by: most, .. }) => {
                let change = |(f, d): (&usize, &Rational)| {
                    let (lo, hi) = slope(*f);
                    d.to_f64().value() * hi.max(-lo)
                };
                let total: f64 = part.features.iter().zip(by).map(change).sum();
                total <= most.to_f64().value() * (1.0 - spare)
            }
            _ => part.features.iter().all(|f| slope(*f).0 >= 0.0),
        }
    }

    /// Where to cut: the number whose range moves most what relus of the first layers read while their sign is open.
    fn split(&self, region: &Region, inputs: &InputBox, boxes: &SearchBoxes) -> Option<(usize, Cut)> {
        let mut reach = vec![0.0; self.plan.widths[0]];
        for node in &self.network.nodes {
            let (Op::Act(Activation::Relu), Some(before)) = (&node.op, node.from[0].checked_sub(1)) else { continue };
            let BoundedNode::Dense { w, cols, from, .. } = &self.plan.steps[before] else { continue };
            if *cols != reach.len() {
                continue;
            }
            let scale = |c: usize| match from.checked_sub(1).map(|k| &self.plan.steps[k]) {
                Some(BoundedNode::Affine { scale, .. }) => scale[c].abs(),
                _ => 1.0,
            };
            for (u, row) in w.chunks(*cols).enumerate() {
                if boxes.lo[before + 1][u] < 0.0 && boxes.hi[before + 1][u] > 0.0 {
                    row.iter().enumerate().for_each(|(c, w)| reach[c] += w.abs() * scale(c));
                }
            }
        }
        let whole = self.plan.inputs(self.whole);
        let mut best: Option<(f64, usize, Cut)> = None;
        for (f, columns) in self.plan.map.features().enumerate() {
            let first = columns.start;
            let Some(cut) = region.middle(f) else { continue };
            let size = if let Some((lo, hi)) = region.range(f) {
                let width = (inputs.hi[first] - inputs.lo[first]) / (whole.hi[first] - whole.lo[first]).max(1e-30);
                // Below a few float32 numbers nothing is told apart any more.
                if width <= 1e-6 {
                    continue;
                }
                reach[first] * (hi - lo) + 1e-3 * width
            } else {
                reach[columns].iter().fold(0.0, |a: f64, b| a.max(*b)) + 1e-3
            };
            if best.as_ref().is_none_or(|(b, ..)| size > *b) {
                best = Some((size, f, cut));
            }
        }
        best.map(|(_, f, cut)| (f, cut))
    }
}
