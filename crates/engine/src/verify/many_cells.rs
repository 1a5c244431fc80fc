//! A rule with more cells than can be looked at one by one enters; a counter-example leaves if an attack finds one.
//!
//! From each start the attack goes for the cell that is nearest to being reached there, and chooses again now and then on the way.

use deepsade_spec::{Atom, Formula, Rational, Region};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::attack::{Attacked, CounterExample, Effort};
use super::bound::CellForms;

/// Times that a cell is chosen from one start.
const CHOICES: usize = 4;

impl Attacked<'_> {
    /// Looks for a counter-example in the cells that come near.
    pub fn search_near(&self, region: &Region, effort: Effort, seed: u64, stopped: &dyn Fn() -> bool) -> Option<CounterExample> {
        let negation = self.spec.rules[self.rule].claim.negated();
        let inputs = self.plan.inputs(region);
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        for start in 0..effort.starts {
            let mut x = self.start(start, &inputs, &mut rng);
            self.snap(&mut x, region);
            for _ in 0..CHOICES {
                if stopped() {
                    return None;
                }
                let values = self.plan.values(&x);
                let value = |atom: &Atom| {
                    let atom = CellForms::new(self.plan, std::slice::from_ref(atom));
                    atom.value(0, &values[self.plan.output()], &x)
                };
                let (nearest, atoms) = nearest_cell(&negation, &value);
                let cell = CellForms::new(self.plan, &atoms);
                let part = cell.part(region);
                if nearest == f64::NEG_INFINITY || part.is_empty() {
                    break;
                }
                self.snap(&mut x, &part);
                match self.climb(&cell, &part, &self.plan.inputs(&part), effort.steps / CHOICES, x, &mut rng) {
                    Ok(found) => return Some(found),
                    Err(end) => x = end,
                }
            }
        }
        None
    }
}

/// The cell whose smallest atom is largest, and that atom's value. Of a count those terms are taken that lie nearest, until it is
/// reached.
pub(crate) fn nearest_cell(formula: &Formula, value: &impl Fn(&Atom) -> f64) -> (f64, Vec<Atom>) {
    let all = |(a, mut atoms): (f64, Vec<Atom>), (b, more): (f64, Vec<Atom>)| {
        atoms.extend(more);
        (a.min(b), atoms)
    };
    let everything = (f64::INFINITY, Vec::new());
    let nothing = (f64::NEG_INFINITY, Vec::new());
    match formula {
        Formula::True => everything,
        Formula::False => nothing,
        Formula::Atom(atom) => (value(atom), vec![atom.clone()]),
        Formula::And(parts) => parts.iter().map(|p| nearest_cell(p, value)).fold(everything, all),
        Formula::Or(parts) => parts.iter().map(|p| nearest_cell(p, value)).fold(nothing, |a, b| if b.0 > a.0 { b } else { a }),
        Formula::Threshold(t) => {
            let mut terms: Vec<_> = t.terms.iter().map(|(weight, p)| (weight, nearest_cell(p, value))).collect();
            terms.sort_by(|a, b| b.1.0.total_cmp(&a.1.0));
            let (mut count, mut cell) = (Rational::ZERO, everything);
            for (weight, term) in terms {
                if t.reached_by(&count) {
                    break;
                }
                count += weight;
                cell = all(cell, term);
            }
            if t.reached_by(&count) { cell } else { nothing }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deepsade_spec::{Domain, Feature, OneHot, RuleText, Schema, Task, Var, compile};

    #[test]
    fn the_cell_that_is_nearest_is_chosen() {
        let schema = Schema {
            features: vec![Feature { name: "x".into(), domain: Domain::Real { lo: -1.0, hi: 1.0 } }],
            task: Task::regression((0..3).map(|j| format!("y{j}")).collect()),
            one_hot: OneHot::Full,
            filled: vec![],
        };
        let at = [0.75, -0.5, 0.25];
        let chosen = |text: &str| {
            let rule = compile(&[RuleText { name: "r".into(), text: text.into() }], &schema).unwrap();
            let value = |var: Var| if let Var::Output(j) = var { Rational::try_from(at[j]).unwrap() } else { Rational::ZERO };
            let (nearest, atoms) = nearest_cell(&rule.rules[0].claim, &|atom| atom.linear.at(&value).to_f64().value());
            let mentioned = atoms.iter().flat_map(|a| a.linear.terms.keys().copied()).collect::<Vec<_>>();
            (nearest, mentioned)
        };
        assert_eq!(chosen("y0 >= 0 or y1 >= 0"), (0.75, vec![Var::Output(0)]));
        assert_eq!(chosen("y1 >= 0 and y2 >= 0").0, -0.5);
        assert_eq!(chosen("(y1 >= 0 and y0 >= 0) or y2 >= 0.5"), (-0.25, vec![Var::Output(2)]));
        assert_eq!(chosen("count(y0 >= 0, y1 >= 0, y2 >= 0) >= 2"), (0.25, vec![Var::Output(0), Var::Output(2)]));
    }
}
