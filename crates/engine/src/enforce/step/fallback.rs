//! Rules enter; outputs leave that obey them for every input, in a few cases, with the trees that prove it: what the output step gives
//! where its candidate does not pass.
//!
//! A condition that is not known to hold or to fail counts as against us: what obeys the rules then obeys them in either reading. Where
//! nothing does, cases are told apart by one condition more.

use deepsade_check::step::{Case, OutputStep, Outputs};
use deepsade_check::{Arithmetic, Bounds, Tree};
use deepsade_net::Network;
use deepsade_solve::eliminate::Point;
use deepsade_solve::satisfy::{Satisfiable, satisfy};
use deepsade_spec::cells::cells;
use deepsade_spec::{Atom, Formula, NormalRule, NormalSpec, Rational, Task, Var};
use std::ops::ControlFlow;
use thiserror::Error;

use super::affine::{Affine, affine};
use super::equality::{self, Which};
use super::usual::Usual;
use super::whole::whole;
use crate::verify::{self, Settings};

/// Cases that a fallback may have.
const MOST_CASES: usize = 32;
/// Ways to obey a demand that are looked at.
const MOST_WAYS: usize = 64;
/// What counts as beyond a border that must not be touched, in units of the outputs.
const BEYOND: f64 = 1e-6;
/// Seconds that one proof may take.
const PATIENCE: f64 = 5.0;

/// Why there is no fallback.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NoFallback {
    /// For some inputs no outputs were found.
    #[error(
        "no outputs were found that obey the rules for every input in one of a few simple ways (constants or affine functions of the \
         features that the rules mention, case by case): {0}"
    )]
    NotFound(String),
    /// Outputs were found, but not proved.
    #[error("a fallback was found, but not proved at rule '{rule}': conditions on several features touch each other there")]
    NotProved {
        /// The rule.
        rule: String,
    },
}

/// Finds a fallback, and proves it.
pub fn fallback(spec: &NormalSpec, outputs: &Outputs, usual: &Usual) -> Result<Vec<Case>, NoFallback> {
    let finder = Finder { spec, outputs, usual, conditions: spec.conditions() };
    let mut leaves = Vec::new();
    finder.cases(&mut Vec::new(), &mut leaves)?;
    let mut why = NoFallback::NotFound("there is no case".into());
    // Which case answers where float32 cannot tell a condition from its opposite: the one for which the proof succeeds.
    for last in 0..leaves.len() {
        let mut cases = leaves.clone();
        let end = cases.remove(last);
        cases.push(Case { when: Vec::new(), ..end });
        match finder.proved(cases) {
            Ok(cases) => return Ok(cases),
            Err(rule) => why = NoFallback::NotProved { rule },
        }
    }
    Err(why)
}

struct Finder<'a> {
    spec: &'a NormalSpec,
    outputs: &'a Outputs,
    usual: &'a Usual,
    conditions: Vec<Atom>,
}

impl Finder<'_> {
    /// Adds the cases of the inputs that meet some conditions.
    fn cases(&self, path: &mut Vec<(usize, bool)>, out: &mut Vec<Case>) -> Result<(), NoFallback> {
        let given: Vec<Atom> = path.iter().map(|asked| self.atom(*asked)).collect();
        let met: Vec<Formula> = given.iter().cloned().map(Formula::Atom).collect();
        if !given.is_empty() && satisfy(&met.iter().collect::<Vec<_>>(), &self.spec.schema, &Point::new()) == Satisfiable::No {
            return Ok(());
        }
        if let Some(Affine { weights, bias }) = self.map(&self.demand(path), &given) {
            out.push(Case { when: path.clone(), weights, bias, trees: Vec::new() });
            return Ok(());
        }
        let open = (0..self.conditions.len()).find(|c| path.iter().all(|(k, _)| k != c));
        let (Some(condition), true) = (open, out.len() < MOST_CASES && path.len() < 10) else {
            return Err(NoFallback::NotFound(self.words(path)));
        };
        for truth in [true, false] {
            path.push((condition, truth));
            self.cases(path, out)?;
            path.pop();
        }
        Ok(())
    }

    fn atom(&self, (condition, truth): (usize, bool)) -> Atom {
        if truth { self.conditions[condition].clone() } else { self.conditions[condition].opposite() }
    }

    fn words(&self, path: &[(usize, bool)]) -> String {
        if !self.spec.schema.task.whole_outputs().is_empty() {
            return format!("{}{}", self.place(path), self.without_whole(path));
        }
        self.place(path)
    }

    /// For whole numbers, where weights must be whole and on whole features: the rule that leaves none by itself.
    fn without_whole(&self, path: &[(usize, bool)]) -> String {
        let given: Vec<Atom> = path.iter().map(|asked| self.atom(*asked)).collect();
        let none = |rule: &&NormalRule| self.map(&self.asked(rule, path), &given).is_none();
        let who = match self.spec.rules.iter().find(none) {
            Some(rule) => format!("rule '{}'", rule.name),
            None => "the rules together".into(),
        };
        format!(
            "; {who} may leave no whole number there, or none that is a whole multiple of whole features: widen it, or state the target as real"
        )
    }

    fn place(&self, path: &[(usize, bool)]) -> String {
        if path.is_empty() {
            return "whatever the input".into();
        }
        let shown = |asked: &(usize, bool)| deepsade_spec::print::formula(&Formula::Atom(self.atom(*asked)), &self.spec.schema);
        format!("where {}", path.iter().map(shown).collect::<Vec<_>>().join(" and "))
    }

    /// What the rules ask of the outputs: conditions as on the path, others as if they failed, whichever way they are asked.
    fn demand(&self, path: &[(usize, bool)]) -> Formula {
        Formula::and(self.spec.rules.iter().map(|rule| self.asked(rule, path)))
    }

    /// What one of them asks.
    fn asked(&self, rule: &NormalRule, path: &[(usize, bool)]) -> Formula {
        let known = |atom: &Atom| path.iter().any(|asked| self.atom(*asked) == *atom);
        rule.claim.replaced(&mut |atom| match atom {
            atom if !atom.is_condition() => Formula::Atom(atom.clone()),
            atom if known(atom) => Formula::True,
            _ => Formula::False,
        })
    }

    /// Outputs that meet a demand for every input that meets the given conditions.
    fn map(&self, demand: &Formula, given: &[Atom]) -> Option<Affine> {
        if let Outputs::Labels(n) = self.outputs {
            return self.labels(demand, *n);
        }
        if self.spec.schema.task.classes().is_some()
            && let Some(found) = self.class(demand)
        {
            return Some(found);
        }
        self.numbers(demand, given)
    }

    fn labels(&self, demand: &Formula, n: usize) -> Option<Affine> {
        let usual: Vec<f32> = self.usual.at.iter().map(|p| f32::from(u8::from(*p > 0.5))).collect();
        let found = [usual, vec![0.0; n], vec![1.0; n]].into_iter().find(|y| holds(demand, y));
        let solved = || match satisfy(&[demand], &self.spec.schema, &Point::new()) {
            Satisfiable::Yes(point, _) => {
                let present = |j: usize| point.get(&Var::Output(j)).is_some_and(|v| *v > Rational::ZERO);
                Some((0..n).map(|j| f32::from(u8::from(present(j)))).collect::<Vec<f32>>())
            }
            _ => None,
        };
        found.or_else(solved).filter(|y| holds(demand, y)).map(constant)
    }

    /// The most frequent class that may be given.
    fn class(&self, demand: &Formula) -> Option<Affine> {
        let count = self.usual.at.len();
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by(|a, b| self.usual.at[*b].total_cmp(&self.usual.at[*a]).then(a.cmp(b)));
        let wins = |k: &usize| (0..count).map(|j| if j == *k { 1.0 } else { 0.0 }).collect::<Vec<f32>>();
        order.iter().map(wins).find(|y| holds(demand, y)).map(constant)
    }

    /// The way to meet the demand that stays furthest inside; constants where they do.
    fn numbers(&self, demand: &Formula, given: &[Atom]) -> Option<Affine> {
        let mut best: Option<(Affine, f64)> = None;
        let mut ways = 0;
        let whole = !self.spec.schema.task.whole_outputs().is_empty();
        let _ = cells(demand, &mut |atoms| {
            ways += 1;
            let more = if ways < MOST_WAYS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
            if whole {
                let found = self::whole(atoms, given, &self.spec.schema, self.usual, self.outputs);
                if let Some((map, inside)) = found.filter(|(_, inside)| best.as_ref().is_none_or(|(_, least)| inside > least)) {
                    best = Some((map, inside));
                }
                return more;
            }
            let schema = &self.spec.schema;
            let equal = [Which::Last, Which::First].map(|which| equality::reduced(atoms, self.outputs, which));
            let solved = || equal.iter().flatten().find_map(|reduced| reduced.solve(given, schema, self.usual));
            let whole = || equal[0].as_ref().and_then(|_| self::whole(atoms, given, schema, self.usual, self.outputs));
            let found = solved().or_else(whole);
            let plain = || affine(atoms, given, &self.spec.schema, self.usual, false);
            let steep = || affine(atoms, given, &self.spec.schema, self.usual, true);
            let better = |a: Option<(Affine, f64)>, b: &dyn Fn() -> Option<(Affine, f64)>| match a {
                Some((map, inside)) if inside > 1e-3 => Some((map, inside)),
                a => b().filter(|(_, inside)| a.as_ref().is_none_or(|(_, least)| inside > least)).or(a),
            };
            // What must be strictly so is not at its very border.
            let strict = atoms.iter().any(|atom| atom.strict);
            let found = found.or_else(|| better(plain(), &steep).filter(|(_, inside)| !strict || *inside > BEYOND));
            if let Some((map, inside)) = found
                && best.as_ref().is_none_or(|(_, least)| inside > *least)
            {
                best = Some((map, inside));
            }
            more
        });
        best.map(|(map, _)| map)
    }

    /// The cases with their trees, or the rule that could not be proved.
    fn proved(&self, cases: Vec<Case>) -> Result<Vec<Case>, String> {
        let step = OutputStep { candidate: String::new(), outputs: self.outputs.clone(), fallback: cases };
        let columns = self.spec.schema.columns().len();
        let mut trees = Vec::new();
        for (k, case) in step.fallback.iter().enumerate() {
            let claims = step.claims(k, self.spec)?;
            let (network, arithmetic) = case.network(self.spec, columns);
            trees.push(self::trees(&claims, &network, arithmetic)?);
        }
        let mut cases = step.fallback;
        cases.iter_mut().zip(trees).for_each(|(case, trees)| case.trees = trees);
        Ok(cases)
    }
}

/// A tree for each claim about a network, or the claim that none was found for.
fn trees(claims: &NormalSpec, network: &Network, arithmetic: Arithmetic) -> Result<Vec<Tree>, String> {
    let settings =
        Settings { timeout: Settings::patience(PATIENCE), arithmetic, threads: 1, most_regions: 2000, ..Settings::default() };
    let mut trees = Vec::new();
    for rule in &claims.rules {
        if rule.claim == Formula::True {
            trees.push(Tree::Leaf { bounds: Bounds::Interval, cells: Vec::new(), lines: Vec::new() });
            continue;
        }
        let mut one = claims.clone();
        one.rules = vec![rule.clone()];
        let found = verify::trees(&one, network, &settings).ok_or_else(|| rule.name.clone())?;
        trees.extend(found);
    }
    Ok(trees)
}

fn constant(bias: Vec<f32>) -> Affine {
    Affine { weights: Vec::new(), bias }
}

/// Whether outputs meet a demand, exactly. An atom that reads the input, too, counts as not met.
fn holds(demand: &Formula, y: &[f32]) -> bool {
    let value = |v: Var| match v {
        Var::Output(j) => Rational::try_from(y[j]).unwrap_or_default(),
        _ => Rational::ZERO,
    };
    demand.holds(&mut |atom| atom.linear.terms.keys().all(|v| v.is_output()) && Formula::Atom(atom.clone()).at(&value))
}

/// Whether a task has classes and its rules read no scores, so that only which class wins matters.
pub fn only_classes(spec: &NormalSpec) -> bool {
    matches!(spec.schema.task, Task::Binary { .. } | Task::Multiclass { .. }) && spec.rules.iter().all(|r| !r.reads_scores)
}

#[cfg(test)]
mod tests;
