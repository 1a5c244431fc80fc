//! Rules in normal form enter; leaves whether for every input of the domain some output obeys them all, or an input where
//! none does. Outputs are what the task's can be: finite float32 numbers, whole ones where it says so; where several of them, or inputs,
//! are added up they are taken for reals.
//!
//! The inputs for which a conjunction of atoms has outputs are its shadow on the inputs. So: take an input outside the
//! shadows so far, look for outputs that obey the rules there, add the shadow of the atoms that made them true; until no input
//! is left (always possible) or one has no outputs (a conflict). Each round covers a new combination of atoms: it ends.

mod pair;

use deepsade_solve::budget::Budget;
use deepsade_solve::eliminate::{Point, project};
use deepsade_solve::finite::with_finite_outputs;
use deepsade_solve::irreducible::irreducible;
use deepsade_solve::satisfy::{MAX_TERMS, Satisfiable, float32_around, satisfy_within};
use deepsade_spec::{Atom, Formula, Linear, NormalRule, NormalSpec, Rational, Schema, Var};

pub use pair::{PairConflict, pair_conflict};

/// Combinations of atoms to try before giving up.
const MAX_ROUNDS: usize = 300;
/// Sets of rules to try when looking for the smallest that conflicts.
const MAX_SETS: usize = 2_000;
/// The same where all rules together are too hard: each set may be, too.
const MAX_SETS_UNDECIDED: usize = 20;

/// Whether rules can be obeyed for every input.
#[derive(Debug, Clone, PartialEq)]
pub enum Possible {
    /// For every input of the domain.
    Always,
    /// Not for this input.
    Not(Point),
    /// Out of budget.
    Unknown,
}

/// The smallest set of rules that can't be obeyed together, with an input that shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Conflict {
    /// Indices of the rules.
    pub rules: Vec<usize>,
    /// Values of the input variables that the rules mention.
    pub witness: Point,
}

impl Conflict {
    /// Whether real numbers would obey where no outputs of the task can: float32 has no 0.1, and nothing whole is 0.5.
    pub fn by_rounding(&self, spec: &NormalSpec) -> bool {
        let claims: Vec<_> = self.rules.iter().map(|k| &spec.rules[*k].claim).collect();
        let found = satisfy_within(&claims, &spec.schema, &self.witness, &Budget::new(MAX_TERMS));
        matches!(found, Satisfiable::Yes(..))
    }
}

/// Decides whether every input of the domain has outputs that obey all of the rules.
pub fn possible(rules: &[&NormalRule], schema: &Schema) -> Possible {
    possible_within(rules, schema, &Budget::new(MAX_TERMS))
}

/// The same, for one of several questions that share a budget.
pub fn possible_within(rules: &[&NormalRule], schema: &Schema, budget: &Budget) -> Possible {
    if !budget.spend(0) {
        return Possible::Unknown;
    }
    if let Some(classes) = schema.task.classes().filter(|_| rules.iter().all(|rule| !rule.reads_scores)) {
        let none_allowed = no_class_allowed(rules, classes.len(), budget);
        return none_allowed.map_or(Possible::Unknown, |formula| never(&formula, schema, budget));
    }
    let claims: Vec<Formula> = rules.iter().map(|rule| with_finite_outputs(&rule.claim, schema)).collect();
    let claims: &[&Formula] = &claims.iter().collect::<Vec<_>>();
    let inputs: Vec<_> = claims.iter().flat_map(|c| c.variables()).filter(|v| !v.is_output()).collect();
    let mut outside: Vec<Formula> = Vec::new();
    for _ in 0..MAX_ROUNDS {
        let mut x = match satisfy_within(&outside.iter().collect::<Vec<_>>(), schema, &Point::new(), budget) {
            Satisfiable::Yes(x, _) => x,
            Satisfiable::No => return Possible::Always,
            Satisfiable::Unknown => return Possible::Unknown,
        };
        complete(&mut x, &inputs, schema);
        let atoms = match satisfy_within(claims, schema, &x, budget) {
            Satisfiable::Yes(_, atoms) => atoms,
            Satisfiable::No => {
                return float32_points(&x, schema)
                    .find(|x| satisfy_within(claims, schema, x, budget) == Satisfiable::No)
                    .map_or(Possible::Unknown, Possible::Not);
            }
            Satisfiable::Unknown => return Possible::Unknown,
        };
        let Some(shadow) = project(&atoms, Var::is_output, budget) else { return Possible::Unknown };
        outside.push(Formula::or(shadow.into_iter().map(|a| Formula::Atom(a).negated())));
    }
    Possible::Unknown
}

/// Rules about the predicted class alone allow no class: a formula about the input, since one set of scores stands for all in which a
/// class wins. With scores as variables, `n` classes would be up to `n!` orders. `None` where the budget does not last.
fn no_class_allowed(rules: &[&NormalRule], classes: usize, budget: &Budget) -> Option<Formula> {
    let mut atoms = 0;
    rules.iter().for_each(|rule| rule.claim.atoms(&mut |_| atoms += 1));
    let mut all = Vec::new();
    for k in 0..classes {
        if !budget.spend(atoms) {
            return None;
        }
        let refused = Formula::or(rules.iter().map(|rule| rule.claim.replaced(&mut |atom| where_wins(k, atom)).negated()));
        // One class that is always allowed is enough.
        if refused == Formula::False {
            return Some(refused);
        }
        all.push(refused);
    }
    Some(Formula::and(all))
}

/// What is left of an atom where the score of a class is 1, and of all others 0.
fn where_wins(class: usize, atom: &Atom) -> Formula {
    let Atom { linear: Linear { terms, constant }, strict } = atom;
    if !atom.linear.mentions_output() {
        return Formula::Atom(atom.clone());
    }
    let inputs = terms.iter().filter(|(var, _)| !var.is_output()).map(|(var, c)| (*var, c.clone())).collect();
    let constant = terms.get(&Var::Output(class)).map_or_else(|| constant.clone(), |c| constant + c);
    Formula::compared(Linear { terms: inputs, constant }, *strict)
}

/// Whether a formula about the input holds nowhere, or where it does.
fn never(formula: &Formula, schema: &Schema, budget: &Budget) -> Possible {
    let mut x = match satisfy_within(&[formula], schema, &Point::new(), budget) {
        Satisfiable::Yes(x, _) => x,
        Satisfiable::No => return Possible::Always,
        Satisfiable::Unknown => return Possible::Unknown,
    };
    complete(&mut x, &formula.variables().into_iter().collect::<Vec<_>>(), schema);
    let holds = |x: &Point| matches!(satisfy_within(&[formula], schema, x, budget), Satisfiable::Yes(..));
    float32_points(&x, schema).find(holds).map_or(Possible::Unknown, Possible::Not)
}

/// The point itself if its reals are float32 values, as inputs are, else the float32 points around it.
fn float32_points(x: &Point, schema: &Schema) -> impl Iterator<Item = Point> {
    use deepsade_spec::Domain;
    let real = |var: &Var| matches!(var, Var::Feature(f) if matches!(schema.features[*f].domain, Domain::Real { .. }));
    let mut choices: Vec<(Var, Vec<Rational>)> = Vec::new();
    for (var, value) in x.iter().filter(|(var, _)| real(var)) {
        let (below, above) = float32_around(value);
        let mut values = vec![below, above];
        values.dedup();
        choices.push((*var, values));
    }
    let loose = choices.iter().filter(|(_, v)| v.len() > 1).count().min(10) as u32;
    let x = x.clone();
    (0..1usize << loose).map(move |bits| {
        let mut point = x.clone();
        let mut at = 0;
        for (var, values) in &choices {
            let chosen = if values.len() > 1 {
                at += 1;
                bits >> (at - 1) & 1
            } else {
                0
            };
            point.insert(*var, values[chosen].clone());
        }
        point
    })
}

/// Gives a value to every input variable that the search left open.
fn complete(x: &mut Point, inputs: &[Var], schema: &Schema) {
    use deepsade_spec::{Domain, normalize::var_range};
    x.retain(|var, _| !var.is_output());
    for var in inputs {
        match *var {
            Var::Level(f, _) => {
                let Domain::Category { levels } = &schema.features[f].domain else { continue };
                let allowed = |l: usize, x: &Point| x.get(&Var::Level(f, l)) != Some(&Rational::ZERO);
                let chosen = (0..levels.len())
                    .find(|l| x.get(&Var::Level(f, *l)) == Some(&Rational::ONE))
                    .or_else(|| (0..levels.len()).find(|l| allowed(*l, x)))
                    .unwrap_or(0);
                for l in 0..levels.len() {
                    x.insert(Var::Level(f, l), Rational::from(u8::from(l == chosen)));
                }
            }
            Var::Feature(_) => {
                x.entry(*var).or_insert_with(|| var_range(*var, schema).0);
            }
            Var::Output(_) => {}
        }
    }
}

/// Whether rules contradict each other.
#[derive(Debug, Clone, PartialEq)]
pub enum Conflicts {
    /// They don't, anywhere on the domain.
    None,
    /// They do.
    Found(Conflict),
    /// Out of budget.
    Unknown,
}

/// The smallest conflicting set of rules.
pub fn smallest_conflict(spec: &NormalSpec) -> Conflicts {
    smallest_conflict_until(spec, &|| false)
}

/// The same, unknown once `stop` says so.
pub fn smallest_conflict_until(spec: &NormalSpec, stop: &dyn Fn() -> bool) -> Conflicts {
    let n = spec.rules.len();
    let budget = Budget::until(3 * MAX_TERMS, stop);
    let test = |set: &[usize]| {
        let rules: Vec<_> = set.iter().map(|k| &spec.rules[*k]).collect();
        possible_within(&rules, &spec.schema, &budget)
    };
    let all: Vec<usize> = (0..n).collect();
    let witness = match test(&all) {
        Possible::Always => return Conflicts::None,
        // Few rules may be decided where all of them together are not.
        Possible::Unknown => None,
        Possible::Not(x) => Some(x),
    };
    let most = if witness.is_some() { MAX_SETS } else { MAX_SETS_UNDECIDED };
    let mut tried = 0;
    for size in 1..n {
        let mut set: Vec<usize> = (0..size).collect();
        loop {
            tried += 1;
            if tried > most {
                return witness.map_or(Conflicts::Unknown, |x| Conflicts::Found(irreducible_conflict(all, x, test)));
            }
            if let Possible::Not(x) = test(&set) {
                return Conflicts::Found(Conflict { rules: set, witness: x });
            }
            if !next_subset(&mut set, n) {
                break;
            }
        }
    }
    witness.map_or(Conflicts::Unknown, |witness| Conflicts::Found(Conflict { rules: all, witness }))
}

/// A conflict of which no rule can be spared.
fn irreducible_conflict(all: Vec<usize>, witness: Point, test: impl Fn(&[usize]) -> Possible) -> Conflict {
    let impossible = |set: &[usize]| match test(set) {
        Possible::Not(x) => Some(x),
        _ => None,
    };
    let (rules, last) = irreducible(all, impossible);
    Conflict { rules, witness: last.unwrap_or(witness) }
}

/// The next subset of 0..n of the same size, in order; false after the last.
fn next_subset(set: &mut [usize], n: usize) -> bool {
    let size = set.len();
    let Some(k) = (0..size).rev().find(|k| set[*k] < n - size + k) else { return false };
    set[k] += 1;
    for j in k + 1..size {
        set[j] = set[j - 1] + 1;
    }
    true
}
