//! A network that chooses its outputs from a table enters, with its rules; inputs that lead to a row which breaks a rule leave, and the
//! same question about the totals that decide the choice, for which bounds and gradients exist.
//!
//! Row k comes out where its total is the largest, and the first of the largest. So the rules hold where, for every row that could
//! break one, another total is larger or the rule, with that row as outputs, holds for the input.

use std::collections::HashMap;
use std::ops::ControlFlow;

use deepsade_check::Arithmetic;
use deepsade_net::{Matrix, Network, Node, Op};
use deepsade_output::Judge;
use deepsade_spec::cells::cells;
use deepsade_spec::normalize::beats;
use deepsade_spec::{Atom, Formula, NormalRule, NormalSpec, Rational, Region, Schema, Task, Var};

use super::attack::{Attacked, CounterExample, first_broken};
use super::plan::BoundPlan;
use crate::vacuous::says_nothing;

/// Atoms of the question about totals: with more it is only tried on inputs.
const MAX_ATOMS: usize = 100_000;
/// Parts of a region that a rule's conditions leave, and cells of its negation that are looked at for them.
const MAX_PARTS: usize = 8;
const MAX_CELLS: usize = 64;

/// A network that chooses.
pub(crate) struct Choice<'a> {
    spec: &'a NormalSpec,
    network: &'a Network,
    before: Network,
    plan: BoundPlan,
    judge: Judge<'a>,
    float32: bool,
    /// The question about totals; `None` where it is too large.
    pub totals: Option<Totals>,
}

/// The question about totals.
pub(crate) struct Totals {
    /// One rule for each rule and row that may break it.
    pub spec: NormalSpec,
    /// Rule and row of each rule above.
    of: Vec<(usize, Vec<f32>)>,
}

impl<'a> Choice<'a> {
    /// `None` where the network does not choose, or where a rule reads scores, which a choice hides.
    pub fn new(spec: &'a NormalSpec, network: &'a Network, arithmetic: Arithmetic) -> Option<Self> {
        let Node { op: Op::Choose(table), from } = network.nodes.last()? else { return None };
        if spec.about_scores().is_some() {
            return None;
        }
        let mut before = Network { inputs: network.inputs, nodes: network.nodes[..from[0]].to_vec() };
        if before.nodes.is_empty() {
            before.nodes.push(Node { op: Op::Select((0..network.inputs).collect()), from: vec![0] });
        }
        Some(Self {
            spec,
            network,
            plan: BoundPlan::new(&before, &spec.schema, arithmetic),
            before,
            judge: Judge::new(spec),
            float32: arithmetic == Arithmetic::Float32,
            totals: Totals::new(spec, table),
        })
    }

    /// The network up to its totals.
    pub fn before(&self) -> &Network {
        &self.before
    }

    /// Tries these inputs, then so many of each part of the region in which a rule asks for something.
    pub fn tried(
        &self,
        region: &Region,
        from: &[&[f32]],
        points: usize,
        seed: u64,
        stop: &dyn Fn() -> bool,
    ) -> Option<CounterExample> {
        if !self.float32 {
            return None;
        }
        let target =
            Attacked { plan: &self.plan, network: self.network, spec: self.spec, judge: &self.judge, rule: 0, stop: &|| None };
        target.tried(region, from, points, seed, stop, &|x| self.breaks(x))
    }

    /// The first row whose outputs break a rule.
    fn breaks(&self, x: &Matrix) -> Option<CounterExample> {
        let y = self.network.forward(x);
        let (r, rule) = first_broken(self.spec, &self.judge, x, &y)?;
        let (x, y) = (x.row(r).to_vec(), y.row(r).to_vec());
        Some(CounterExample { rule, in_every_runtime: self.is_clear(&x), exact: false, x, y, other: None })
    }

    /// Whether every float32 runtime takes the same row.
    fn is_clear(&self, x: &[f32]) -> bool {
        let balls = self.before.enclose(x);
        let Some(first) = (0..balls.len()).max_by(|a, b| balls[*a].centre.total_cmp(&balls[*b].centre)) else { return false };
        let least = balls[first].centre - balls[first].radius;
        let clear = |(k, ball): (usize, &deepsade_net::Ball)| k == first || ball.centre + ball.radius < least;
        !self.plan.may_overflow_at(x) && balls.iter().enumerate().all(clear)
    }

    /// What breaks the question about totals, as what it is of the network; `None` where values beyond float32 make it another row.
    pub fn chosen(&self, totals: &Totals, example: CounterExample) -> Option<CounterExample> {
        let (rule, row) = &totals.of[example.rule];
        if !self.float32 {
            return Some(CounterExample { rule: *rule, y: row.clone(), ..example });
        }
        let x = Matrix { rows: 1, cols: example.x.len(), data: example.x };
        self.breaks(&x).filter(|found| found.rule == *rule || found.y == *row)
    }
}

/// A region, and its parts in which a rule asks for something.
pub(super) fn parts(spec: &NormalSpec, region: &Region) -> Vec<Region> {
    let mut parts = vec![region.clone()];
    for rule in &spec.rules {
        let (mut seen, before) = (0, parts.len());
        let _ = cells(&rule.claim.negated(), &mut |atoms| {
            let part = region.cut_by(atoms);
            if !part.is_empty() && !parts.contains(&part) {
                parts.push(part);
            }
            seen += 1;
            if seen == MAX_CELLS || parts.len() - before == MAX_PARTS {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
    }
    parts
}

impl Totals {
    fn new(spec: &NormalSpec, table: &Matrix) -> Option<Self> {
        let targets = (0..table.rows).map(|k| format!("total {k}")).collect();
        let schema = Schema { task: Task::regression(targets), ..spec.schema.clone() };
        let (mut rules, mut of) = (Vec::new(), Vec::new());
        // Many rows leave the same of a rule.
        let mut empty: HashMap<Formula, bool> = HashMap::new();
        for (r, rule) in spec.rules.iter().enumerate() {
            for k in 0..table.rows {
                let row = table.row(k);
                let obeyed = rule.claim.replaced(&mut |atom| given(atom, row));
                if !empty.contains_key(&obeyed) {
                    empty.insert(obeyed.clone(), says_nothing(&obeyed, &schema));
                }
                if empty[&obeyed] {
                    continue;
                }
                if (of.len() + 1) * table.rows > MAX_ATOMS {
                    return None;
                }
                let others = (0..table.rows).filter(|j| *j != k).map(|j| beats(j, k));
                let claim = Formula::or(others.chain([obeyed]));
                let name = format!("{}, row {k}", rule.name);
                rules.push(NormalRule { name, text: rule.text.clone(), claim, reads_scores: false });
                of.push((r, row.to_vec()));
            }
        }
        Some(Self { spec: NormalSpec { schema, rules, ..spec.clone() }, of })
    }

    /// The rule of the network behind one about totals.
    pub fn rule(&self, k: usize) -> usize {
        self.of[k].0
    }
}

/// The atom, the outputs being known.
fn given(atom: &Atom, y: &[f32]) -> Formula {
    let outputs = atom.linear.terms.keys().filter_map(|v| if let Var::Output(j) = v { Some(*j) } else { None });
    let exact = |j: usize| Rational::try_from(y[j]).unwrap_or_default();
    outputs.fold(Formula::Atom(atom.clone()), |f, j| f.with(Var::Output(j), &exact(j)))
}
