//! The guarantee built into the output step: rules about labels enter; leaves what chooses the most likely label set that obeys
//! them, for any scores, and the likelihood to train with.
//!
//! [`Decoder::new`] compiles the rules of a problem once, [`Decoder::best`] decodes a row, [`Decoder::log_valid`] is what the loss
//! over the valid sets needs.

pub mod assignment;
pub mod closure;
pub(crate) mod compile;
pub(crate) mod order;
pub mod paths;
pub mod sets;

use std::collections::{BTreeSet, HashMap};

use crate::decode::sets::{Diagram, Sets};
use compile::{Compiler, DiagramTooLarge, on_deep_stack};
use deepsade_net::Matrix;
use deepsade_solve::eliminate::Point;
use deepsade_solve::satisfy::{Satisfiable, satisfy};
use deepsade_spec::{Atom, Formula, NamedValues, NormalSpec, Rational, Task, Var};
use paths::Paths;
use thiserror::Error;

use crate::judge::Judge;

/// Valid sets that are few enough for a table in the ONNX graph.
pub const MAX_TABLE: usize = 4096;
/// Combinations of conditions without a valid set to look at, when asking whether an input meets one.
const MAX_REFUSALS: usize = 1000;

/// Why rules can't be built into the output step.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum DecodeError {
    /// A regression has no labels.
    #[error("enforce = \"decode\" is there for classes, labels and rankings, not for a regression yet; use \"weights\"")]
    Regression,
    /// Scores are free.
    #[error("rule '{rule}' is about raw scores, and decoding leaves the scores as they are; use enforce = \"weights\"")]
    Scores {
        /// The rule.
        rule: String,
    },
    /// An atom with outputs and inputs.
    #[error("rule '{rule}' compares an output with a feature in one sum; decoding needs them apart")]
    Mixed {
        /// The rule.
        rule: String,
    },
    /// Too many nodes.
    #[error(
        "the decision diagram of the rules has more than {budget} nodes: raise train.decode_nodes, or say hierarchies as `a => b` and \
         rankings as `exactly(1, ...)` for each item and each place, which need no diagram"
    )]
    TooLarge {
        /// The budget.
        budget: usize,
    },
    /// Probabilities need a diagram.
    #[error("probabilities need the decision diagram of the rules, and it has more than {budget} nodes; predict without --proba")]
    NoProbabilities {
        /// The budget.
        budget: usize,
    },
    /// No set is valid for some input.
    #[error("no label set obeys the rules {}", .x.place())]
    Impossible {
        /// The input.
        x: NamedValues,
    },
    /// A model file that does not say how its outputs are chosen.
    #[error("the model's metadata do not fit together: {0}")]
    Metadata(String),
}

/// Chooses label sets.
#[derive(Debug, Clone)]
pub struct Decoder {
    labels: usize,
    conditions: Vec<Atom>,
    sets: Sets,
    /// The diagram of the valid sets; `None` where it is too large, and `sets` are recognised otherwise.
    paths: Option<Paths>,
    diagram: Option<Diagram>,
    closure: Option<closure::Closure>,
    one_of: bool,
}

/// Buffers of a decoding, to be kept from row to row.
#[derive(Debug, Clone, Default)]
pub struct DecodeScratch {
    paths: paths::PathScratch,
    closure: closure::ClosureScratch,
}

impl Decoder {
    /// Compiles the rules, with at most so many nodes.
    pub fn new(spec: &NormalSpec, budget: usize) -> Result<Self, DecodeError> {
        let labels = spec.schema.task.outputs();
        if matches!(spec.schema.task, Task::Regression { .. }) {
            return Err(DecodeError::Regression);
        }
        for rule in &spec.rules {
            let name = || rule.name.clone();
            if rule.reads_scores {
                return Err(DecodeError::Scores { rule: name() });
            }
            let mut mixed = false;
            rule.claim.atoms(&mut |a| mixed |= a.linear.mentions_output() && a.linear.terms.keys().any(|v| !v.is_output()));
            if mixed {
                return Err(DecodeError::Mixed { rule: name() });
            }
        }
        let conditions = spec.conditions();
        let one_of = spec.schema.task.classes().is_some();
        let one = if one_of { exactly_one(labels) } else { Vec::new() };
        let parts: Vec<&Formula> = one.iter().chain(spec.rules.iter().flat_map(|r| r.claim.conjuncts())).collect();
        let found = if one_of { None } else { recognise(spec, &parts) };
        let made = on_deep_stack(&parts, labels + conditions.len(), || compiled(spec, &parts, &conditions, budget));
        let compiled = match made.unwrap_or(Err(DecodeError::TooLarge { budget })) {
            // What was recognised needs no diagram.
            Err(DecodeError::TooLarge { .. }) if found.is_some() => None,
            other => Some(other?),
        };
        let sets = match (&found, &compiled) {
            (Some(sets), _) => sets.clone(),
            (None, Some(diagram)) => Sets::Diagram(diagram.clone()),
            (None, None) => unreachable!("too large a diagram is an error unless the sets were recognised"),
        };
        Ok(Self { one_of, ..Self::of(sets, compiled, labels, conditions) })
    }

    fn of(sets: Sets, diagram: Option<Diagram>, labels: usize, conditions: Vec<Atom>) -> Self {
        let paths = diagram.as_ref().map(|d| Paths::new(d, labels, conditions.len()));
        let closure = if let Sets::Implications(pairs) = &sets { Some(closure::Closure::new(labels, pairs)) } else { None };
        Self { labels, conditions, sets, paths, diagram, closure, one_of: false }
    }

    /// A decoder of given sets, for these rules.
    pub fn of_sets(sets: Sets, spec: &NormalSpec) -> Self {
        let diagram = if let Sets::Diagram(diagram) = &sets { Some(diagram.clone()) } else { None };
        let one_of = spec.schema.task.classes().is_some();
        Self { one_of, ..Self::of(sets, diagram, spec.schema.task.outputs(), spec.conditions()) }
    }

    /// What it chooses among.
    pub fn sets(&self) -> &Sets {
        &self.sets
    }

    /// Nodes of the diagram, if there is one.
    pub fn nodes(&self) -> Option<usize> {
        self.paths.as_ref().map(Paths::nodes)
    }

    /// How many labels there are.
    pub fn labels(&self) -> usize {
        self.labels
    }

    /// Whether exactly one of the labels is present, as in a classification.
    pub fn is_one_of(&self) -> bool {
        self.one_of
    }

    /// How many conditions on the input the rules have.
    pub fn conditions(&self) -> usize {
        self.conditions.len()
    }

    /// Which conditions an input meets, exactly.
    pub fn met(&self, judge: &Judge, x: &[f32]) -> Vec<bool> {
        self.conditions.iter().map(|c| judge.meets(c, x)).collect()
    }

    /// Puts the most likely valid set for these scores into `set`, 0 or 1 a label; false if no set is valid for these conditions.
    ///
    /// Of equally likely sets: the smallest for implications; for a diagram the one that leaves out the label that is asked first.
    pub fn best(&self, scores: &[f32], met: &[bool], scratch: &mut DecodeScratch, set: &mut [f32]) -> bool {
        match (&self.sets, &self.closure, &self.paths) {
            (Sets::Assignment(n), ..) => assignment::best(*n, scores, set),
            (_, Some(closure), _) => closure.best(scores, &mut scratch.closure, set),
            (_, None, Some(paths)) => return paths.best(scores, met, &mut scratch.paths, set),
            (_, None, None) => unreachable!("sets that are not recognised have a diagram"),
        }
        true
    }

    /// `log P(valid)` and the probability of each label given that; `None` where that needs a diagram that is too large.
    pub fn log_valid(&self, scores: &[f32], met: &[bool], scratch: &mut DecodeScratch, marginals: &mut [f64]) -> Option<f64> {
        self.paths.as_ref().map(|paths| paths.log_valid(scores, met, &mut scratch.paths, marginals))
    }

    /// The same for the rows of a batch, one after the other; false where it is `None`.
    pub fn log_valid_rows(
        &self,
        scores: &[f32],
        met: &[bool],
        scratch: &mut DecodeScratch,
        marginals: &mut [f64],
        logs: &mut [f64],
    ) -> bool {
        let Some(paths) = &self.paths else { return false };
        paths.log_valid_rows(scores, met, &mut scratch.paths, marginals, logs);
        true
    }

    /// All valid sets, if they do not depend on the input and are few: rows of 0 and 1 in ascending order, label 0 first.
    pub fn table(&self) -> Option<Matrix> {
        if !self.conditions.is_empty() {
            return None;
        }
        let diagram = self.diagram.as_ref()?;
        let count = self.count(diagram)?;
        let mut rows = Vec::with_capacity(count);
        expand(diagram, diagram.root(), &mut vec![None; self.labels], &mut rows);
        rows.sort_unstable();
        let data = rows.iter().flatten().map(|b| f32::from(u8::from(*b))).collect();
        Some(Matrix { rows: rows.len(), cols: self.labels, data })
    }

    /// How many sets are valid, if that is at most [`MAX_TABLE`].
    fn count(&self, diagram: &Diagram) -> Option<usize> {
        // In each node the share of all sets: exact for up to 52 labels, and with more the free ones alone are too many.
        let mut share = vec![0.0, 1.0f64];
        for [_, low, high] in &diagram.nodes {
            share.push(f64::midpoint(share[*low], share[*high]));
        }
        let count = share[diagram.root()] * 2f64.powi(i32::try_from(self.labels).unwrap_or(i32::MAX));
        (count <= MAX_TABLE as f64).then_some(count as usize)
    }
}

/// One of the outputs and no more: what a classifier chooses.
fn exactly_one(outputs: usize) -> Vec<Formula> {
    let count = |chosen: bool| (0..outputs).map(|j| (Rational::ONE, Formula::label(j, chosen))).collect::<Vec<_>>();
    vec![
        Formula::threshold(count(true), Rational::ONE, false),
        Formula::threshold(count(false), Rational::from(outputs.saturating_sub(1)), false),
    ]
}

/// Sets that need no diagram: rankings of which every item has one place and every place one item, and implications.
pub(crate) fn recognise(spec: &NormalSpec, parts: &[&Formula]) -> Option<Sets> {
    if let Task::Ranking { items } = &spec.schema.task {
        let sets = Sets::Assignment(items.len());
        let lines = sets.formulas();
        if lines.iter().all(|l| parts.contains(&l)) && parts.iter().all(|p| lines.contains(p)) {
            return Some(sets);
        }
    }
    let side = |f: &Formula| {
        let Formula::Atom(atom) = f else { return None };
        atom.label()
    };
    let implication = |f: &&Formula| match f {
        Formula::Or(sides) if sides.len() == 2 => match (side(&sides[0])?, side(&sides[1])?) {
            ((a, false), (b, true)) | ((b, true), (a, false)) => Some((a, b)),
            _ => None,
        },
        _ => None,
    };
    let pairs: Option<Vec<(usize, usize)>> = parts.iter().map(implication).collect();
    pairs.filter(|p| !p.is_empty()).map(Sets::Implications)
}

/// The smaller diagram of two orders of the facts; an error if neither fits the budget or some input has no valid set.
fn compiled(spec: &NormalSpec, parts: &[&Formula], conditions: &[Atom], budget: usize) -> Result<Diagram, DecodeError> {
    let labels = spec.schema.task.outputs();
    let groups: Vec<Vec<usize>> = parts.iter().map(|p| facts(p, labels, conditions)).collect();
    let mut indexed: Vec<usize> = order::by_first_mention(&groups);
    indexed.sort_unstable();
    let mut best: Option<Diagram> = None;
    for order in [order::force(&groups), indexed] {
        let mut compiler = Compiler::new(labels, conditions, order, budget);
        let Ok(root) = compiler.conjunction(parts) else { continue };
        if best.is_none() {
            match refusal(spec, &mut compiler, root, conditions) {
                Ok(None) => {}
                Ok(Some(x)) => return Err(DecodeError::Impossible { x: NamedValues::of_point(&spec.schema, &x) }),
                Err(DiagramTooLarge) => continue,
            }
        }
        let diagram = compiler.diagram(root);
        if best.as_ref().is_none_or(|b| diagram.nodes.len() < b.nodes.len()) {
            best = Some(diagram);
        }
    }
    best.ok_or(DecodeError::TooLarge { budget })
}

/// The facts of a formula, each once, ascending: labels, then conditions.
fn facts(formula: &Formula, labels: usize, conditions: &[Atom]) -> Vec<usize> {
    let mut facts = BTreeSet::new();
    formula.atoms(&mut |atom| {
        if atom.is_condition() {
            facts.extend(atom.place_among(conditions).map(|(k, _)| labels + k));
        } else {
            facts.extend(atom.linear.terms.keys().filter_map(|v| if let Var::Output(j) = v { Some(*j) } else { None }));
        }
    });
    facts.into_iter().collect()
}

/// An input of the domain for which no set is valid. Where it can't be decided whether an input meets a combination of conditions,
/// none is reported; such an input would get no prediction.
fn refusal(spec: &NormalSpec, compiler: &mut Compiler, root: u32, conditions: &[Atom]) -> Result<Option<Point>, DiagramTooLarge> {
    let some = compiler.some_labels(root, &mut HashMap::new())?;
    let (mut found, mut looked) = (None, 0);
    compiler.refusals(some, &mut Vec::new(), &mut |path| {
        let as_asked = |(k, truth): &(usize, bool)| Formula::Atom(conditions[*k].asked(*truth));
        let met: Vec<Formula> = path.iter().map(as_asked).collect();
        looked += 1;
        if let Satisfiable::Yes(x, _) = satisfy(&met.iter().collect::<Vec<_>>(), &spec.schema, &Point::new()) {
            found = Some(x);
        }
        found.is_none() && looked < MAX_REFUSALS
    });
    Ok(found)
}

/// All sets along the paths from a node.
fn expand(diagram: &Diagram, id: usize, set: &mut Vec<Option<bool>>, rows: &mut Vec<Vec<bool>>) {
    match id.checked_sub(2).map(|k| diagram.nodes[k]) {
        Some([level, low, high]) => {
            for (next, truth) in [(low, false), (high, true)] {
                set[diagram.order[level]] = Some(truth);
                expand(diagram, next, set, rows);
            }
            set[diagram.order[level]] = None;
        }
        None if id == 0 => {}
        None => match set.iter().position(Option::is_none) {
            Some(free) => {
                for truth in [false, true] {
                    set[free] = Some(truth);
                    expand(diagram, id, set, rows);
                }
                set[free] = None;
            }
            None => rows.push(set.iter().map(|b| b.unwrap_or_default()).collect()),
        },
    }
}

#[cfg(test)]
mod tests;
