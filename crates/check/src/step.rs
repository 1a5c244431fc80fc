//! The output step: rules and a few parameters enter; the tail of a graph leaves, and whether its outputs obey the rules.
//!
//! ```text
//! anything -> candidate c -> [ c' = c in its range, on its grid, never tiny;  ok = RULE(c', x);  y = Where(ok, c', y0(x)) ] -> y
//! ```
//!
//! The argument, for any candidate whatever, and every float32 input x of the domain:
//!
//! 1. The file ends in this tail, node by node and byte for byte; nothing before it defines a name of the tail's, and the tail reads
//!    nothing but the candidate and the graph's inputs. So the graph's outputs are what the tail computes.
//! 2. c' is a finite number within its range, whatever c is; so no sum that reads it is not a number. `ok` is computed from comparisons
//!    that each imply their atom (`literal.rs`) and is monotone in them (`level.rs`): where it is true, c' obeys every rule.
//! 3. Where it is false, y is y0(x): the first case whose condition is computed to hold, else the last. On the inputs where that can be
//!    (its condition holds; those before it were not computed to hold) its affine map obeys every rule: cells and multipliers, as for
//!    any network.
//! 4. An output that must be a whole number has a grid of such (`Outputs::sound`): c' is on it by its making, y0 by `Case::on_grid`.

mod clip;
mod level;
mod literal;
mod over;
mod tail;

use deepsade_net::{Matrix, Network, Node, Op};
use deepsade_spec::{Atom, Formula, NormalSpec, Var};

pub use self::literal::room;
use self::literal::{Literal, Sums};
pub use self::over::{CALM, Over};
use self::over::{exact, power};
pub(crate) use self::tail::found_names;
pub use self::tail::{InputPorts, PREFIX, Tail, certain, domain_flag, output_names};
use crate::certificate::Arithmetic;
pub use crate::certificate::{Case, Clips, Number, OutputStep, Outputs, Round};
use crate::rejected::{CaseFault, StepFault};

impl OutputStep {
    /// Whether its parts fit together.
    fn sound(&self, spec: &NormalSpec, columns: usize) -> Result<(), StepFault> {
        self.outputs.sound(&spec.schema.task)?;
        let (outputs, conditions) = (self.outputs.count(), spec.conditions().len());
        if self.fallback.last().is_none_or(|case| !case.when.is_empty()) {
            return Err(StepFault::LastCase);
        }
        for (k, case) in self.fallback.iter().enumerate() {
            let bad = |fault: CaseFault| Err(StepFault::Case { case: k, fault });
            if case.when.iter().any(|(c, _)| *c >= conditions) {
                return bad(CaseFault::NoCondition);
            }
            if case.bias.len() != outputs || !case.bias.iter().all(|v| v.is_finite()) {
                return bad(CaseFault::Bias);
            }
            let good = |(o, c, w): &(usize, usize, f32)| *o < outputs && *c < columns && w.is_finite();
            let distinct = case.weights.iter().map(|(o, c, _)| (o, c)).collect::<std::collections::BTreeSet<_>>().len();
            if !case.weights.iter().all(good) || distinct != case.weights.len() {
                return bad(CaseFault::Weight);
            }
        }
        Ok(())
    }

    /// What the fallback must obey where a case answers: its conditions hold, and those of each case before it were not computed to hold.
    /// As [`NormalSpec`] with these claims in place of the rules', for whoever looks for the trees.
    pub fn claims(&self, k: usize, spec: &NormalSpec) -> Result<NormalSpec, StepFault> {
        let answers = self.answers(k, spec)?;
        let mut spec = spec.clone();
        spec.rules.iter_mut().for_each(|rule| rule.claim = self.fallback[k].claimed(&answers, &rule.claim));
        Ok(spec)
    }

    /// What is known where a case answers: its conditions hold, and those of each case before it were not computed to hold. One that the
    /// two share is one comparison in the graph, which was computed to hold: it is another one that failed.
    pub(crate) fn answers(&self, k: usize, spec: &NormalSpec) -> Result<Formula, StepFault> {
        let conditions = spec.conditions();
        let asked = |(c, truth): &(usize, bool)| conditions[*c].asked(*truth);
        let over = Over::new(&spec.schema, None);
        let mut known: Vec<Formula> = self.fallback[k].when.iter().map(|w| Formula::Atom(asked(w))).collect();
        for before in &self.fallback[..k] {
            let failed = |w: &(usize, bool)| otherwise(&asked(w), &over);
            let others = before.when.iter().filter(|w| !self.fallback[k].when.contains(w));
            known.push(Formula::or(others.map(failed).collect::<Result<Vec<_>, _>>()?));
        }
        Ok(Formula::and(known))
    }
}

/// What is known where an atom was not computed to hold.
fn otherwise(atom: &Atom, over: &Over) -> Result<Formula, StepFault> {
    Ok(match Sums::default().literal(atom, over)? {
        Literal::Decided(true) => Formula::False,
        Literal::Decided(false) => Formula::True,
        Literal::Computed { otherwise, .. } => Formula::Atom(otherwise),
    })
}

impl Case {
    /// A rule, where the case answers, about its outputs: those that are constants are put in, and conditions that are known to hold there.
    pub(crate) fn claimed(&self, answers: &Formula, claim: &Formula) -> Formula {
        let known = answers.conjuncts().iter().filter_map(|part| if let Formula::Atom(atom) = part { Some(atom) } else { None });
        let claim = known.fold(claim.clone(), |claim, atom| claim.given(atom, true));
        let mut claimed = Formula::or([answers.negated(), claim]);
        for (o, bias) in self.bias.iter().enumerate() {
            if self.weights.iter().all(|(output, ..)| *output != o) {
                claimed = claimed.with(Var::Output(o), &exact(*bias));
            }
        }
        claimed
    }

    /// The map as a network.
    pub fn network(&self, columns: usize) -> Network {
        let mut w = Matrix::zeros(self.bias.len(), columns);
        self.weights.iter().for_each(|(o, c, v)| w.row_mut(*o)[*c] = *v);
        Network { inputs: columns, nodes: vec![Node { op: Op::Dense { w, b: self.bias.clone() }, from: vec![0] }] }
    }

    /// The arithmetic in which the network says what is computed, for a rule: real if no output that the rule reads can be rounded.
    pub fn arithmetic(&self, rule: &Formula, spec: &NormalSpec) -> Arithmetic {
        let over = Over::new(&spec.schema, None);
        let rounds = |var: Var| matches!(var, Var::Output(o) if self.step_of(o, &over).is_none() && !self.is_copy(o, &over));
        if rule.variables().into_iter().any(rounds) { Arithmetic::Float32 } else { Arithmetic::Real }
    }

    /// Whether an output is a column up to its sign, exactly: every other term is 0, and 0 or a size from 2^-100 on is never flushed.
    fn is_copy(&self, output: usize, over: &Over) -> bool {
        let own: Vec<_> = self.weights.iter().filter(|(o, _, w)| *o == output && *w != 0.0).collect();
        matches!(own[..], [(_, column, 1.0 | -1.0)] if over.columns[*column].calm) && self.bias[output] == 0.0
    }

    fn step_of(&self, output: usize, over: &Over) -> Option<i32> {
        step_of(self.bias[output], self.weights.iter().filter(|(o, ..)| *o == output).map(|(_, c, w)| (*c, *w)), over)
    }

    /// Whether every output that has a grid is on it.
    pub(crate) fn on_grid(&self, outputs: &Outputs, spec: &NormalSpec) -> Result<(), StepFault> {
        let over = Over::new(&spec.schema, None);
        let fits = |o: usize, grid: i32| self.step_of(o, &over).is_some_and(|k| k <= grid);
        let grid = |o: usize| match outputs {
            Outputs::Labels(_) => Some(0),
            Outputs::Numbers(numbers) => numbers[o].grid,
        };
        match (0..outputs.count()).find(|o| grid(*o).is_some_and(|grid| !fits(*o, grid))) {
            Some(o) => Err(StepFault::BesideGrid(o)),
            None => Ok(()),
        }
    }
}

/// The k for which an affine map of columns is computed as a multiple of 2^-k without any rounding; `None` if it may be rounded.
fn step_of(bias: f32, weights: impl Iterator<Item = (usize, f32)>, over: &Over) -> Option<i32> {
    let (mut k, mut size) = (finest(bias)?, exact(bias.abs()));
    for (column, w) in weights.filter(|(_, w)| *w != 0.0) {
        let column = &over.columns[column];
        k = k.max(column.step? + finest(w)?);
        size += exact(w.abs()) * column.size();
    }
    (k <= 100 && size <= power(24 - k)).then_some(k)
}

/// The k for which a number is an odd multiple of 2^-k; 0 for 0. `None` for a denormal, which may be flushed.
fn finest(v: f32) -> Option<i32> {
    if v == 0.0 {
        return Some(0);
    }
    let k = i32::try_from(dashu::base::BitTest::bit_len(exact(v).denominator())).ok()? - 1;
    v.is_normal().then_some(k)
}
