//! Rules enter; outputs leave that obey them for every input, in a few cases, with the trees that prove it: what the output step gives
//! where its candidate does not pass.
//!
//! A condition that is not known to hold or to fail counts as against us: what obeys the rules then obeys them in either answer. Where
//! nothing does, cases are told apart by one condition more: where it is computed to hold, where it is computed to fail, and where
//! float32 cannot tell.

mod maps;
mod why;

use deepsade_check::step::{Case, Number, OutputStep, Outputs, Over, room};
use deepsade_check::{Arithmetic, Bounds, Tree};
use deepsade_net::Network;
use deepsade_output::make::classes::{FORBIDDEN, KEPT};
use deepsade_solve::budget::Budget;
use deepsade_solve::eliminate::Point;
use deepsade_solve::satisfy::{Satisfiable, satisfy};
use deepsade_spec::{Atom, Formula, Linear, NormalRule, NormalSpec, Rational, Task, Var};

pub use self::why::NoFallback;
use self::why::{NoMap, Unproved};
use super::affine::Affine;
use super::usual::Usual;
use crate::verify::{self, CounterExample, VerifySettings};

/// Cases that a fallback may have.
const MOST_CASES: usize = 32;
/// Conditions by which one case may be told from others.
const MOST_CONDITIONS: usize = 10;
/// Atoms that are looked at in search of maps: some seconds.
const MOST_LOOKED_AT: usize = 500_000;
/// Maps of which a proof is tried.
const MOST_PROOFS: usize = 6;
/// Seconds that one proof may take.
const PATIENCE: f64 = 5.0;

/// Finds a fallback, and proves it.
pub fn fallback(spec: &NormalSpec, outputs: &Outputs, usual: &Usual) -> Result<Vec<Case>, NoFallback> {
    let finder = MapFinder::new(spec, outputs, usual, spec.conditions());
    let cases = finder.cases(&mut Vec::new())?;
    finder.proved(cases)
}

/// Why nothing obeys at the border of a condition on several features, where classes would have to change. Nothing is proved there: a network
/// that keeps the rules by its weights would have to be sure of both sides, too, within the rounding of its outputs.
pub fn torn(spec: &NormalSpec) -> Option<NoFallback> {
    let conditions = spec.conditions();
    let sums = !conditions.is_empty() && conditions.iter().all(|c| c.linear.terms.len() > 1);
    if !sums || conditions.len() > MOST_CONDITIONS || !only_classes(spec) {
        return None;
    }
    let scores = Number { lo: FORBIDDEN, hi: KEPT, grid: None };
    let outputs = Outputs::Numbers(vec![scores; spec.schema.task.outputs()]);
    let usual = Usual::unknown(spec);
    let finder = MapFinder::new(spec, &outputs, &usual, conditions);
    finder.cases(&mut Vec::new()).err().filter(|why| matches!(why, NoFallback::Unclear(_)))
}

struct MapFinder<'a> {
    spec: &'a NormalSpec,
    outputs: &'a Outputs,
    usual: &'a Usual,
    conditions: Vec<Atom>,
    budget: Budget<'static>,
}

/// How a condition is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConditionIs {
    Holds,
    Fails,
    /// Near its border, where float32 may compute neither.
    Unclear,
}

type Path = Vec<(usize, ConditionIs)>;

impl<'a> MapFinder<'a> {
    fn new(spec: &'a NormalSpec, outputs: &'a Outputs, usual: &'a Usual, conditions: Vec<Atom>) -> Self {
        Self { spec, outputs, usual, conditions, budget: Budget::new(MOST_LOOKED_AT) }
    }

    /// The cases of the inputs that meet some conditions; the last of them answers wherever those before it do not.
    fn cases(&self, path: &mut Path) -> Result<Vec<Case>, NoFallback> {
        let given = self.given(path);
        if !given.is_empty() && satisfy(&[&all(&given)], &self.spec.schema, &Point::new()) == Satisfiable::No {
            return Ok(Vec::new());
        }
        let failure = match self.map(path, &given) {
            Ok(Affine { weights, bias }) => return Ok(vec![Case { when: when(path), weights, bias, trees: Vec::new() }]),
            Err(failure) => failure,
        };
        let Some(condition) = self.next(path) else { return Err(self.why(path, failure)) };
        let read = |answer: ConditionIs, path: &mut Path| {
            path.push((condition, answer));
            let found = self.cases(path);
            path.pop();
            found
        };
        let mut children = vec![read(ConditionIs::Holds, path)?, read(ConditionIs::Fails, path)?];
        let [holds, fails] = self.unclear(condition);
        if (holds > Rational::ZERO || fails > Rational::ZERO) && !self.reaches(path, condition, &mut children) {
            children.push(read(ConditionIs::Unclear, path)?);
        }
        let mut cases: Vec<Case> = children.into_iter().flatten().collect();
        if let Some(last) = cases.last_mut() {
            last.when = when(path);
        }
        if cases.len() <= MOST_CASES { Ok(cases) } else { Err(NoFallback::TooMany { place: self.place(path), most: MOST_CASES }) }
    }

    /// Whether one of two sides of a condition has a map that obeys where float32 cannot tell, too; it becomes the last of them then.
    fn reaches(&self, path: &mut Path, condition: usize, sides: &mut [Vec<Case>]) -> bool {
        path.push((condition, ConditionIs::Unclear));
        let given = self.given(path);
        path.pop();
        let reaches = |side: &[Case]| match side {
            [Case { weights, bias, .. }] => {
                self.obeys(&Affine { weights: weights.clone(), bias: bias.clone() }, &given, None).is_ok()
            }
            _ => false,
        };
        let found = [1, 0].into_iter().find(|k| reaches(&sides[*k]));
        if found == Some(0) {
            sides.swap(0, 1);
        }
        found.is_some()
    }

    /// The condition to tell cases apart by: one that helps at once, if there is any.
    fn next(&self, path: &mut Path) -> Option<usize> {
        let open: Vec<usize> = (0..self.conditions.len()).filter(|c| path.iter().all(|(k, _)| k != c)).collect();
        let mut helps = |condition: usize, answer| {
            path.push((condition, answer));
            let helps = !self.maps(path, &self.given(path)).is_empty();
            path.pop();
            helps
        };
        let found = open.iter().copied().find(|c| helps(*c, ConditionIs::Holds) || helps(*c, ConditionIs::Fails));
        found.or(open.first().copied()).filter(|_| path.len() < MOST_CONDITIONS && self.budget.left() > 0)
    }

    fn atom(&self, condition: usize, holds: bool) -> Atom {
        self.conditions[condition].asked(holds)
    }

    /// How far beyond its border a condition may be and not be computed to hold, and the same of its opposite.
    fn unclear(&self, condition: usize) -> [Rational; 2] {
        let over = Over::new(&self.spec.schema, None);
        [true, false]
            .map(|truth| Rational::try_from(room(&self.atom(condition, truth), &over).unwrap_or(0.0)).unwrap_or_default())
    }

    /// What is known of the input on a path.
    fn given(&self, path: &Path) -> Vec<Atom> {
        let mut given = Vec::new();
        for (condition, answer) in path {
            match answer {
                ConditionIs::Holds => given.push(self.atom(*condition, true)),
                ConditionIs::Fails => given.push(self.atom(*condition, false)),
                ConditionIs::Unclear => {
                    for (by, holds) in self.unclear(*condition).into_iter().zip([true, false]) {
                        let mut linear = self.atom(*condition, holds).linear.scaled(&-Rational::ONE);
                        linear.add_scaled(&Rational::ONE, &Linear::constant(by));
                        given.push(Atom { linear, strict: false });
                    }
                }
            }
        }
        given
    }

    /// What the rules ask of the outputs: conditions as on the path, others as if they failed, whichever way they are asked.
    fn demand(&self, path: &Path) -> Formula {
        Formula::and(self.spec.rules.iter().map(|rule| self.asked(rule, path)))
    }

    /// What one of them asks.
    fn asked(&self, rule: &NormalRule, path: &Path) -> Formula {
        let known = |atom: &Atom| when(path).iter().any(|(c, holds)| self.atom(*c, *holds) == *atom);
        rule.claim.replaced(&mut |atom| match atom {
            atom if !atom.is_condition() => Formula::Atom(atom.clone()),
            atom if known(atom) => Formula::True,
            _ => Formula::False,
        })
    }

    /// Outputs that obey for every input that meets the given conditions.
    fn map(&self, path: &Path, given: &[Atom]) -> Result<Affine, NoMap> {
        let mut failure = NoMap::NotFound;
        for map in self.maps(path, given).into_iter().take(MOST_PROOFS) {
            match self.obeys(&map, given, None) {
                Ok(()) => return Ok(map),
                Err((rule, _)) if matches!(failure, NoMap::NotFound) => failure = NoMap::NotProved { map, rule },
                Err(_) => {}
            }
        }
        Err(failure)
    }

    /// Whether a map obeys every rule for every input that meets the given conditions, as it is computed or in some arithmetic; or the rule
    /// for which that was not shown, and an input that breaks it.
    fn obeys(&self, map: &Affine, given: &[Atom], how: Option<Arithmetic>) -> Result<(), (usize, Option<CounterExample>)> {
        let case = Case { when: Vec::new(), weights: map.weights.clone(), bias: map.bias.clone(), trees: Vec::new() };
        let network = case.network(self.spec.schema.columns().len());
        let constants: Vec<(usize, Rational)> = (0..map.bias.len())
            .filter(|o| map.weights.iter().all(|(output, ..)| output != o))
            .map(|o| (o, Rational::try_from(map.bias[o]).unwrap_or_default()))
            .collect();
        let mut claims = self.spec.clone();
        for rule in &mut claims.rules {
            let claim = Formula::or([all(given).negated(), rule.claim.clone()]);
            rule.claim = constants.iter().fold(claim, |claim, (o, value)| claim.with(Var::Output(*o), value));
        }
        let arithmetic = |rule: usize| how.unwrap_or_else(|| case.arithmetic(&self.spec.rules[rule].claim, self.spec));
        trees(&claims, &network, arithmetic).map(|_| ())
    }

    /// The cases with their trees.
    fn proved(&self, cases: Vec<Case>) -> Result<Vec<Case>, NoFallback> {
        let step = OutputStep { candidate: String::new(), outputs: self.outputs.clone(), fallback: cases };
        let columns = self.spec.schema.columns().len();
        let mut all = Vec::new();
        for (k, case) in step.fallback.iter().enumerate() {
            let place = || self.place_of(&case.when);
            let not_proved = |rule: String| NoFallback::NotProved { rule, place: place(), why: Unproved::Unknown };
            let claims = step.claims(k, self.spec).map_err(|why| NoFallback::Float32 { place: place(), why })?;
            let arithmetic = |rule: usize| case.arithmetic(&self.spec.rules[rule].claim, self.spec);
            let found = trees(&claims, &case.network(columns), arithmetic);
            all.push(found.map_err(|(rule, _)| not_proved(self.spec.rules[rule].name.clone()))?);
        }
        let mut cases = step.fallback;
        cases.iter_mut().zip(all).for_each(|(case, trees)| case.trees = trees);
        Ok(cases)
    }
}

/// What of a path is asked of an input.
fn when(path: &Path) -> Vec<(usize, bool)> {
    let asked = path.iter().filter(|(_, answer)| *answer != ConditionIs::Unclear);
    asked.map(|(c, answer)| (*c, *answer == ConditionIs::Holds)).collect()
}

fn all(atoms: &[Atom]) -> Formula {
    Formula::and(atoms.iter().cloned().map(Formula::Atom))
}

/// A tree for each claim about a network, or the claim that none was found for, and an input that breaks it.
pub(super) fn trees(
    claims: &NormalSpec,
    network: &Network,
    arithmetic: impl Fn(usize) -> Arithmetic,
) -> Result<Vec<Tree>, (usize, Option<CounterExample>)> {
    let settings = VerifySettings {
        timeout: VerifySettings::patience(PATIENCE),
        threads: 1,
        most_regions: 2000,
        ..VerifySettings::default()
    };
    let mut trees = Vec::new();
    for (k, rule) in claims.rules.iter().enumerate() {
        if rule.claim == Formula::True {
            trees.push(Tree::Leaf { bounds: Bounds::Interval, cells: Vec::new(), lines: Vec::new() });
            continue;
        }
        let mut one = claims.clone();
        one.rules = vec![rule.clone()];
        let settings = VerifySettings { arithmetic: arithmetic(k), ..settings.clone() };
        trees.extend(verify::trees(&one, network, &settings).map_err(|example| (k, example))?);
    }
    Ok(trees)
}

/// Whether a task has classes and its rules read no scores, so that only which class wins matters.
pub fn only_classes(spec: &NormalSpec) -> bool {
    matches!(spec.schema.task, Task::Binary { .. } | Task::Multiclass { .. }) && spec.rules.iter().all(|r| !r.reads_scores)
}

#[cfg(test)]
mod tests;
