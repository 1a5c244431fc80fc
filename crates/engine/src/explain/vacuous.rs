//! A rule enters; leaves whether it says anything: whether some input of the domain lies under its condition.

use std::ops::ControlFlow;

use deepsade_spec::cells::cells;
use deepsade_spec::{Formula, Region, Schema};

/// Cells to look at, and atoms in them; a rule with more is taken to say something.
const MAX_CELLS: usize = 10_000;
const MAX_ATOMS: usize = 2_000_000;

/// True if no input of the domain, float32 values all of them, could break the rule whatever is predicted there.
pub fn vacuous(claim: &Formula, schema: &Schema) -> bool {
    let Ok(whole) = Region::whole(schema) else { return false };
    let (mut seen, mut in_all) = (0, 0);
    let broken = cells(&claim.negated(), &mut |atoms| {
        let mut region = whole.clone();
        atoms.iter().for_each(|atom| region.cut(atom));
        seen += 1;
        in_all += atoms.len();
        if region.is_empty() && seen < MAX_CELLS && in_all < MAX_ATOMS {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    });
    broken.is_continue()
}

#[cfg(test)]
mod tests {
    use deepsade_spec::{Domain, Feature, OneHot, RuleText, Schema, Task, compile};

    use super::vacuous;

    #[test]
    fn a_condition_that_no_float32_input_meets_says_nothing() {
        let schema = Schema {
            features: vec![
                Feature { name: "r".into(), domain: Domain::Real { lo: 0.0, hi: 1.0 } },
                Feature { name: "n".into(), domain: Domain::Integer { lo: 0, hi: 5 } },
            ],
            task: Task::Regression { targets: vec!["u".into()] },
            one_hot: OneHot::Full,
        };
        for (text, expected) in [
            ("r == 0.1 => u >= 0", false),
            ("3 * r == 0.3 => u >= 0", false),
            ("r > 0.1 and r < 0.1 => u >= 0", true),
            ("r == 0.5 => u >= 0", false),
            ("n > 2 and n < 3 => u >= 0", true),
            ("n > 2 and n < 4 => u >= 0", false),
            ("r > 2 => u >= 0", true),
            ("u >= 0", false),
        ] {
            let rule = RuleText { name: "rule".into(), text: text.into() };
            let spec = compile(&[rule], &schema).unwrap();
            assert_eq!(vacuous(&spec.rules[0].claim, &schema), expected, "{text}");
        }
    }
}
