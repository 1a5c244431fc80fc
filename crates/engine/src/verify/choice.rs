//! A network that chooses its outputs from a table enters, with its rules; the same question about the totals that decide the choice
//! leaves, for which bounds and gradients exist.
//!
//! Row k comes out where its total is the largest, and the first of the largest. So the rules hold where, for every row that could
//! break one, another total is larger or the rule, with that row as outputs, holds for the input.

use deepsade_net::{Network, Node, Op};
use deepsade_spec::{Atom, Formula, Linear, NormalRule, NormalSpec, Rational, Schema, Task, Var};

use super::attack::CounterExample;
use crate::explain::vacuous;

/// The question about totals.
pub(crate) struct Totals {
    /// One rule for each rule and row that may break it.
    pub spec: NormalSpec,
    /// The network up to its totals.
    pub network: Network,
    /// Rule and row of each rule above.
    of: Vec<(usize, Vec<f32>)>,
}

impl Totals {
    /// `None` where the network does not choose, or where a rule reads scores, which a choice hides.
    pub fn new(spec: &NormalSpec, network: &Network) -> Option<Self> {
        let Node { op: Op::Choose(table), from } = network.nodes.last()? else { return None };
        spec.without_scores().ok()?;
        let mut before = Network { inputs: network.inputs, nodes: network.nodes[..from[0]].to_vec() };
        if before.nodes.is_empty() {
            before.nodes.push(Node { op: Op::Select((0..network.inputs).collect()), from: vec![0] });
        }
        let targets = (0..table.rows).map(|k| format!("total {k}")).collect();
        let schema = Schema { task: Task::Regression { targets }, ..spec.schema.clone() };
        let (mut rules, mut of) = (Vec::new(), Vec::new());
        for (r, rule) in spec.rules.iter().enumerate() {
            for k in 0..table.rows {
                let row = table.row(k);
                let obeyed = rule.claim.replaced(&mut |atom| given(atom, row));
                if vacuous(&obeyed, &schema).is_some() {
                    continue;
                }
                let others = (0..table.rows).filter(|j| *j != k).map(|j| Formula::Atom(larger(j, k)));
                let claim = Formula::or(others.chain([obeyed]));
                let name = format!("{}, row {k}", rule.name);
                rules.push(NormalRule { name, text: rule.text.clone(), claim, reads_scores: false });
                of.push((r, row.to_vec()));
            }
        }
        Some(Self { spec: NormalSpec { schema, rules, ..spec.clone() }, network: before, of })
    }

    /// What breaks the question about totals, as what it is of the network.
    pub fn chosen(&self, example: CounterExample) -> CounterExample {
        let (rule, row) = &self.of[example.rule];
        CounterExample { rule: *rule, y: row.clone(), ..example }
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

/// Total j keeps row k from being chosen: it is larger, or as large and before it.
fn larger(j: usize, k: usize) -> Atom {
    let mut linear = Linear::var(Var::Output(j));
    linear.add_scaled(&-Rational::ONE, &Linear::var(Var::Output(k)));
    Atom { linear, strict: j > k }
}
