//! A model that chooses its outputs among valid sets enters, and a rule; leaves whether every set that can come out obeys it.
//!
//! Nothing is asked of the network: whatever the scores, for inputs of the domain and others, one of the sets comes out.

use std::collections::BTreeSet;

use deepsade_net::{Matrix, Model, Op};
use deepsade_spec::canonical::{canonical, text};
use deepsade_spec::sets::{DECODE_KEY, Diagram, Fact, Place, SETS_KEY, Sets};
use deepsade_spec::{Atom, Formula, NormalSpec, RULES_KEY, Rational, Region, Var, carried};

/// What the outputs are chosen among.
pub(crate) enum Chosen {
    /// Rows of a table in the graph.
    Row(Matrix),
    /// The paths of a diagram with these facts as levels.
    Path(Vec<Fact>, Diagram),
    /// All sets that obey these formulas.
    Obeying(Vec<Formula>),
}

impl Chosen {
    /// What the model chooses among; `None` if it does not choose.
    pub(crate) fn read(model: &Model, spec: &NormalSpec, domain: &Region) -> Result<Option<Self>, String> {
        let bits = |table: &Matrix| table.data.iter().all(|y| [0.0, 1.0].contains(y));
        let held = |key: &str| model.metadata.get(key).ok_or_else(|| format!("no `{key}` in the model"));
        match (model.metadata.get(DECODE_KEY).map(String::as_str), model.network.nodes.last().map(|n| &n.op)) {
            (None, Some(Op::Choose(_))) => spec.without_scores().map(|()| None),
            (None, _) => Ok(None),
            (Some("in-graph"), Some(Op::Choose(t))) if bits(t) => spec.without_scores().map(|()| Some(Self::Row(t.clone()))),
            (Some("library"), _) => {
                // The library reads conditions from the rules in the file.
                if canonical(&carried(held(RULES_KEY)?, &spec.schema)?) != canonical(spec) {
                    return Err("the rules in the model's file are others".into());
                }
                let sets = Sets::from_json(held(SETS_KEY)?, spec)?;
                sets.total(spec, domain).map(|()| match sets {
                    Sets::Diagram(diagram) => Some(Self::Path(diagram.facts(spec), diagram)),
                    sets => Some(Self::Obeying(sets.formulas())),
                })
            }
            (Some(other), _) => Err(format!("`{DECODE_KEY}` is {other:?}, but the graph does not end in a table of 0 and 1")),
        }
    }

    pub(crate) fn place(&self) -> Place {
        if matches!(self, Self::Row(_)) { Place::InGraph } else { Place::Library }
    }

    /// Whether everything that can come out obeys the claim, for every input; how many cases that took.
    pub(crate) fn obey(&self, claim: &Formula) -> Result<usize, String> {
        let mut seen = BTreeSet::new();
        match self {
            Self::Row(table) => {
                for k in 0..table.rows {
                    let at = |v: &Var| if let Var::Output(j) = v { table.row(k).get(*j).copied() } else { None };
                    let exact = |v: Var| at(&v).and_then(|y| Rational::try_from(y).ok()).unwrap_or_default();
                    // Nothing is known of the input: an atom that reads it counts as false, and no formula negates.
                    let known = |a: &Atom| a.linear.terms.keys().all(|v| at(v).is_some());
                    if !claim.holds(&mut |a| known(a) && Formula::Atom(a.clone()).at(&exact)) {
                        return Err(format!("row {k} of the table breaks the rule"));
                    }
                }
                Ok(table.rows)
            }
            Self::Path(facts, diagram) => {
                let walk = |part: &Formula| walk(&diagram.nodes, facts, diagram.root(), part, &mut seen);
                claim.conjuncts().iter().try_for_each(walk)?;
                Ok(seen.len())
            }
            // True of every set of which the formulas are true: each conjunct is one of them.
            Self::Obeying(formulas) => match claim.conjuncts().iter().find(|p| **p != Formula::True && !formulas.contains(p)) {
                Some(part) => Err(format!("{} is not among what the sets obey", text(part))),
                None => Ok(claim.conjuncts().len()),
            },
        }
    }
}

type Seen = BTreeSet<(usize, String)>;

/// Follows every path from a node; `rest` is what is left of the claim where the facts asked so far are as on the path. At the end
/// all that is still open may be either way: a label that is free, a condition that no level asks.
fn walk(nodes: &[[usize; 3]], facts: &[Fact], id: usize, rest: &Formula, seen: &mut Seen) -> Result<(), String> {
    if id == 0 || *rest == Formula::True || !seen.insert((id, text(rest))) {
        return Ok(());
    }
    let ([low, high], fact) = match id.checked_sub(2).map(|k| nodes[k]) {
        Some([level, low, high]) => ([low, high], facts[level].clone()),
        None => ([1, 1], Fact::first(rest).ok_or("a set that can come out breaks the rule")?),
    };
    for (id, truth) in [(low, false), (high, true)] {
        walk(nodes, facts, id, &fact.settled(rest, truth), seen)?;
    }
    Ok(())
}
