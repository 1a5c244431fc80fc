//! Rules enter; leaves how far an input is outside of their conditions on single features: there a rule asks nothing, and what is 0 where
//! it applies need not be held back.

use std::ops::ControlFlow;

use deepsade_spec::cells::cells;
use deepsade_spec::{Atom, Domain, NormalSpec, Var};

use crate::train::Outside;

/// Conditions that are taken: each is another copy of the last hidden layer.
const MOST: usize = 4;
/// Cells of a rule that are looked at.
const MOST_CELLS: usize = 64;
/// The share of a real feature's range over which the copy comes up.
const RAMP: f64 = 0.05;

/// The first conditions on single features under which rules about outputs apply.
pub fn outside(spec: &NormalSpec) -> Vec<Outside> {
    let mut found: Vec<Outside> = Vec::new();
    for rule in &spec.rules {
        let mut left = MOST_CELLS;
        let _: ControlFlow<()> = cells(&rule.claim.negated(), &mut |atoms| {
            for one in atoms.iter().filter_map(|atom| of_atom(atom, spec)) {
                if found.len() < MOST && !found.contains(&one) {
                    found.push(one);
                }
            }
            left -= 1;
            if left == 0 || found.len() == MOST { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
    }
    found
}

/// `v >= end` and `v <= end`: 0 up to the end, and 1 a little beyond.
fn of_atom(atom: &Atom, spec: &NormalSpec) -> Option<Outside> {
    let bound = atom.single_bound()?;
    let columns = spec.schema.column_map();
    let feature = match bound.var {
        Var::Output(_) => return None,
        Var::Feature(feature) => feature,
        Var::Level(feature, level) => {
            let own = columns.level(feature, level);
            // A level without a column of its own is there where that of the only other one is 0.
            let mut all = columns.columns(feature);
            let column = own.or_else(|| all.next().filter(|_| all.next().is_none()))?;
            let is_one = own.is_some() != bound.above;
            return Some(if is_one {
                Outside { column, scale: -1.0, shift: 1.0 }
            } else {
                Outside { column, scale: 1.0, shift: 0.0 }
            });
        }
    };
    let domain = &spec.schema.features[feature].domain;
    let (lo, hi) = domain.range()?;
    let (lo, hi, sign) = (f64::from(lo), f64::from(hi), if bound.above { 1.0 } else { -1.0 });
    let step = match domain {
        Domain::Integer { .. } | Domain::Ordered { .. } => 1.0,
        Domain::Stepped { step, .. } => f64::from(*step),
        Domain::Real { .. } | Domain::Category { .. } => 0.0,
    };
    // The last number for which it holds; nothing is outside of what always holds.
    let end = bound.end.to_f64().value() - if bound.strict { sign * step } else { 0.0 };
    let ramp = if step > 0.0 { step } else { RAMP * (hi - lo) };
    let beyond = if bound.above { end < hi } else { end > lo };
    let outside = Outside { column: columns.first(feature), scale: (sign / ramp) as f32, shift: (-sign * end / ramp) as f32 };
    Some(outside).filter(|_| beyond && ramp > 0.0)
}

#[cfg(test)]
mod tests {
    use deepsade_net::Matrix;
    use deepsade_spec::{Feature, OneHot, RuleText, Schema, Task, compile};

    use super::outside;
    use crate::gate;
    use crate::train::NetworkSettings;

    fn spec(rules: &[&str]) -> deepsade_spec::NormalSpec {
        use deepsade_spec::Domain::{Category, Integer, Real};
        let feature = |name: &str, domain| Feature { name: name.into(), domain };
        let levels = ["p", "q"].map(String::from).to_vec();
        let features = vec![
            feature("x", Real { lo: 0.0, hi: 10.0 }),
            feature("n", Integer { lo: 0, hi: 9 }),
            feature("c", Category { levels }),
        ];
        let schema = Schema { features, task: Task::regression(vec!["y".into()]), one_hot: OneHot::DropFirst, filled: vec![] };
        let text = |(k, text): (usize, &&str)| RuleText { name: format!("r{k}"), text: (*text).into() };
        compile(&rules.iter().enumerate().map(text).collect::<Vec<_>>(), &schema).unwrap()
    }

    /// A copy of the last hidden layer is 0 exactly where its condition holds, and the layer itself a little beyond.
    #[test]
    fn copies_are_0_where_a_condition_holds() {
        for (rule, holds, beyond) in [
            ("x < 4 => y <= 1", [4.0, 9.0, 1.0], [4.5, 9.0, 1.0]),
            ("x >= 4 => y <= 1", [4.0, 9.0, 1.0], [3.5, 9.0, 1.0]),
            ("n > 3 => y <= 1", [5.0, 4.0, 0.0], [5.0, 3.0, 0.0]),
            ("n < 3 => y <= 1", [5.0, 2.0, 0.0], [5.0, 3.0, 0.0]),
            ("c == 'q' => y <= 1", [5.0, 2.0, 1.0], [5.0, 2.0, 0.0]),
            ("c == 'p' => y <= 1", [5.0, 2.0, 0.0], [5.0, 2.0, 1.0]),
        ] {
            let spec = spec(&[rule]);
            assert_eq!(outside(&spec).len(), 1, "{rule}");
            let settings = NetworkSettings { hidden: vec![5], copies: true, ..NetworkSettings::default() };
            let mut network = gate::network(&spec, &settings, None, 3);
            network.nodes.pop();
            let read = |x: [f32; 3]| network.forward(&Matrix { rows: 1, cols: 3, data: x.to_vec() }).data;
            let (inside, out) = (read(holds), read(beyond));
            assert_eq!(inside[5..10], [0.0; 5], "{rule}");
            assert!(out[..5].iter().any(|z| *z > 0.0) && (0..5).all(|k| (out[k] - out[5 + k]).abs() < 1e-5), "{rule} {out:?}");
        }
    }

    #[test]
    fn sums_and_what_always_holds_have_none() {
        assert_eq!(outside(&spec(&["x + n > 4 => y <= 1", "x >= 0 => y >= -9", "y <= 7"])), []);
        // Each alone, and both together.
        let both = spec(&["x > 4 and c == 'q' => y <= 1"]);
        assert_eq!(outside(&both).len(), 2);
        let settings = NetworkSettings { hidden: vec![5], copies: true, ..NetworkSettings::default() };
        let mut network = gate::network(&both, &settings, None, 3);
        network.nodes.pop();
        assert_eq!(network.outputs(), 4 * 5 + 2);
    }
}
