//! A trained regression network enters; the model with the nearest outputs built in leaves, with its proof where there is a closed
//! form, else marked for the library to finish.

use std::ops::ControlFlow;

use deepsade_check::{Bounds, Lines, SLOPES, Tree};
use deepsade_net::{Model, Network, Op};
use deepsade_output::nearest::{Allowed, Face, Head, HeadError, Reason};
use deepsade_spec::cells::cells;
use deepsade_spec::sets::{NEAREST_KEY, Place};
use deepsade_spec::{Formula, NormalRule, NormalSpec};

use crate::artifact::{self, ArtifactError};
use crate::proof::{Certified, prove};

/// Margins to try, each four times the one before.
const MARGINS: i32 = 16;
/// Splits that one rule's proof may have.
const MAX_SPLITS: usize = 10;

/// A model with the rules built into its outputs.
#[derive(Debug, Clone)]
pub enum Attached {
    /// The graph itself ends at outputs that obey the rules.
    InGraph(Model, Box<Certified>),
    /// The graph ends at plain outputs; `predict` and the library move them, and why.
    Library(Model, HeadError),
}

/// Adds the head to a network; `gate` is the feature that its last node multiplies by.
pub fn attach(spec: &NormalSpec, network: &Network, gate: Option<usize>) -> Result<Attached, ArtifactError> {
    let allowed = Allowed::new(spec);
    let head = Head::new(&allowed).and_then(|head| {
        let fits = gate.is_none_or(|f| head.scales_with(f));
        if fits { Ok(head) } else { Err(HeadError::Gate) }
    });
    let head = match head {
        Ok(head) => head,
        Err(why) => return Ok(Attached::Library(marked(spec, network, Place::Library)?, why)),
    };
    for k in 0..MARGINS {
        let margin = size(&head, spec) * 2f64.powi(2 * k - 24);
        let (deployed, reasons) = with_head(&head, network, spec, margin);
        let model = marked(spec, &deployed, Place::InGraph)?;
        let trees: Option<Vec<Tree>> = spec.rules.iter().map(|rule| tree(rule, &allowed, &reasons)).collect();
        let Some(trees) = trees else {
            return Ok(Attached::Library(marked(spec, network, Place::Library)?, HeadError::ManySplits));
        };
        if let Ok(certified) = prove(spec, &model.to_bytes()?, trees) {
            return Ok(Attached::InGraph(model, Box::new(certified)));
        }
    }
    Ok(Attached::Library(marked(spec, network, Place::Library)?, HeadError::NoRoom))
}

fn marked(spec: &NormalSpec, network: &Network, place: Place) -> Result<Model, ArtifactError> {
    let mut model = artifact::model(spec, network.clone())?;
    model.metadata.insert(NEAREST_KEY.into(), place.name().into());
    Ok(model)
}

/// The size of the faces' offsets: what margins are measured by.
fn size(head: &Head, spec: &NormalSpec) -> f64 {
    let reach = |var: &deepsade_spec::Var| {
        let range = var.feature().and_then(|f| spec.schema.features[f].domain.range());
        range.map_or(1.0, |(lo, hi)| f64::from(lo.abs().max(hi.abs())))
    };
    let offset = |f: &Face| f.constant.abs() + f.x.iter().map(|(var, c)| c.abs() * reach(var)).sum::<f64>();
    head.faces().iter().map(offset).fold(1e-3, f64::max)
}

/// The network with the head before its gate, or at its end.
fn with_head(head: &Head, network: &Network, spec: &NormalSpec, margin: f64) -> (Network, Vec<Reason>) {
    let mut network = network.clone();
    let gate = network.nodes.pop_if(|node| node.op == Op::Gate);
    let value = gate.as_ref().map_or(network.nodes.len(), |gate| gate.from[0]);
    let (nearest, reasons) = head.append(&mut network, value, &spec.schema, gate.is_some(), margin);
    if let Some(mut gate) = gate {
        gate.from[0] = nearest;
        network.nodes.push(gate);
    }
    (network, reasons)
}

/// The proof of a rule; `None` if it would have too many leaves.
fn tree(rule: &NormalRule, allowed: &Allowed, reasons: &[Reason]) -> Option<Tree> {
    // Atoms of each cell, and why it is empty; without a reason no finite output is in it.
    let mut found: Vec<(usize, Option<&Reason>)> = Vec::new();
    let _ = cells::<()>(&rule.claim.negated(), &mut |atoms| {
        let face = |k: &usize| {
            atoms.iter().any(|atom| Formula::Atom(atom.clone()).negated() == Formula::Atom(allowed.faces()[*k].atom.clone()))
        };
        found.push((atoms.len(), (0..reasons.len()).find(face).map(|k| &reasons[k])));
        ControlFlow::Continue(())
    });
    let mut splits: Vec<(usize, usize)> = found.iter().filter_map(|(_, r)| r.and_then(|r| r.split)).collect();
    splits.sort_unstable();
    splits.dedup();
    if splits.len() > MAX_SPLITS {
        return None;
    }
    let lines = |(_, reason): &(usize, Option<&Reason>)| Lines {
        signs: vec![0.0; splits.len()],
        slopes: reason
            .iter()
            .flat_map(|r| &r.lines)
            .map(|(node, unit, steep)| [*node, *unit, if *steep { SLOPES } else { 0 }])
            .collect(),
    };
    let cells = found.iter().map(|(atoms, _)| vec![1; *atoms]).collect();
    let leaf = Tree::Leaf { bounds: Bounds::Relational, cells, lines: found.iter().map(lines).collect() };
    Some(splits.iter().rev().fold(leaf, |tree, (node, unit)| Tree::Unit {
        node: *node,
        unit: *unit,
        below: Box::new(tree.clone()),
        above: Box::new(tree),
    }))
}

#[cfg(test)]
mod tests {
    use deepsade_net::{Activation, Matrix, Network, Node, Op};
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::{Attached, attach};
    use crate::enforce::nearest::tests::spec;
    use deepsade_output::Judge;

    /// r and c to u and v through four hidden units; with `gate`, times r.
    fn network(rng: &mut ChaCha8Rng, gate: bool) -> Network {
        let mut dense = |rows: usize, cols: usize, scale: f32| {
            let mut values = |n: usize| (0..n).map(|_| (rng.random::<f32>() - 0.5) * scale).collect::<Vec<f32>>();
            Op::Dense { w: Matrix { rows, cols, data: values(rows * cols) }, b: values(rows) }
        };
        let mut nodes = vec![
            Node { op: dense(4, 2, 0.3), from: vec![0] },
            Node { op: Op::Act(Activation::Relu), from: vec![1] },
            Node { op: dense(2, 4, 8.0), from: vec![2] },
        ];
        if gate {
            nodes.push(Node { op: Op::Select(vec![0]), from: vec![0] });
            nodes.push(Node { op: Op::Gate, from: vec![3, 4] });
        }
        Network { inputs: 2, nodes }
    }

    #[test]
    fn what_has_a_closed_form_is_proved_and_holds_on_every_sample() {
        let rng = &mut ChaCha8Rng::seed_from_u64(7);
        for (rules, gate) in [
            (&["u <= 0.1 * r"][..], true),
            (&["u + v <= r", "u <= 0.1 * r"], true),
            (&["u + v <= r", "u <= 0.1 * r"], false),
            (&["0 <= u and u <= v"], false),
            (&["0 <= u and u <= v"], true),
            (&["-2 < u and u <= 3", "v >= 1"], false),
            (&["u - v <= r", "u - v >= 0 - 3 * r"], false),
            (&["u - v <= r", "u - v >= 0 - 3 * r"], true),
            (&["u <= 1e39", "1e-300 * v >= 0 - 1e300"], false),
            (&["u <= 1e39 and u >= 0 - 2", "v <= r"], false),
        ] {
            let spec = spec(rules);
            let Attached::InGraph(model, _) = attach(&spec, &network(rng, gate), gate.then_some(0)).unwrap() else {
                panic!("{rules:?} have a closed form")
            };
            let judge = Judge::new(&spec);
            let mut x: Vec<f32> = vec![1.0, 0.0, 1.0, 1.0, 100.0, 0.0, 100.0, 1.0];
            for _ in 0..2000 {
                x.extend([1.0 + 99.0 * rng.random::<f32>(), f32::from(u8::from(rng.random::<bool>()))]);
            }
            let x = Matrix { rows: x.len() / 2, cols: 2, data: x };
            assert_eq!(judge.count_breaking(&x, &model.network.forward(&x), |_| true), 0, "{rules:?} {gate}");
        }
    }

    #[test]
    fn what_has_none_is_left_to_the_library() {
        let rng = &mut ChaCha8Rng::seed_from_u64(8);
        for (rules, gate) in [(&["u <= 1 or v <= 1"][..], false), (&["u <= 0.1 * r + 1"], true), (&["u == v"], false)] {
            let spec = spec(rules);
            let attached = attach(&spec, &network(rng, gate), gate.then_some(0)).unwrap();
            assert!(matches!(attached, Attached::Library(..)), "{rules:?}");
        }
    }
}
