//! Rules in normal form enter; trees over numbered atoms leave, whose parts a penalty grades from the bottom up.

use deepsade_output::Judge;
use deepsade_spec::{Formula, NormalSpec, Rational, Var};

use super::RowPenalty;
use crate::units::Units;

/// A claim with its atoms replaced by their numbers.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum GradedFormula {
    /// Decided by the domain.
    Constant(bool),
    /// An atom.
    Atom(usize),
    /// All of them.
    All(Vec<GradedFormula>),
    /// One of them at least.
    Any(Vec<GradedFormula>),
    /// Weights of those that hold sum to the bound at least.
    Count(Vec<(f64, GradedFormula)>, f64),
}

/// `sum_j c_j y_j + (what the input adds) >= 0`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct AffineAtom {
    pub outputs: Vec<(usize, f64)>,
    /// True if it is about the input alone: it holds or it does not.
    pub condition: bool,
    atom: deepsade_spec::Atom,
}

/// The rules of a problem as trees.
#[derive(Debug, Clone)]
pub(super) struct Graded {
    pub trees: Vec<GradedFormula>,
    pub affine: Vec<AffineAtom>,
}

impl Graded {
    pub fn new(spec: &NormalSpec) -> Self {
        let mut affine = Vec::new();
        let trees = spec.rules.iter().map(|rule| tree(&rule.claim, &mut affine)).collect();
        Self { trees, affine }
    }

    pub fn rules(&self) -> usize {
        self.trees.len()
    }

    pub fn atoms(&self) -> usize {
        self.affine.len()
    }

    /// For each atom: 0 or 1 for a condition, else what the input adds to its sum.
    pub fn side<'a>(&'a self, judge: &'a Judge, x: &'a [f32]) -> impl Iterator<Item = f32> + 'a {
        self.affine.iter().map(move |a| {
            if a.condition {
                return f32::from(u8::from(judge.meets(&a.atom, x)));
            }
            let inputs = a.atom.linear.terms.iter().filter(|(var, _)| !var.is_output());
            let sum: f64 = inputs.map(|(var, c)| c.to_f64().value() * judge.input(x, *var)).sum();
            (sum + a.atom.linear.constant.to_f64().value()) as f32
        })
    }
}

fn tree(formula: &Formula, affine: &mut Vec<AffineAtom>) -> GradedFormula {
    match formula {
        Formula::True => GradedFormula::Constant(true),
        Formula::False => GradedFormula::Constant(false),
        Formula::And(parts) => GradedFormula::All(parts.iter().map(|p| tree(p, affine)).collect()),
        Formula::Or(parts) => GradedFormula::Any(parts.iter().map(|p| tree(p, affine)).collect()),
        Formula::Threshold(t) => {
            let whole = |v: &Rational| v.to_f64().value().fract() == 0.0;
            let step = t.strict && whole(&t.bound) && t.terms.iter().all(|(w, _)| whole(w));
            // More than 10 is at least 11 among whole numbers.
            let bound = t.bound.to_f64().value() + f64::from(u8::from(step));
            GradedFormula::Count(t.terms.iter().map(|(w, p)| (w.to_f64().value(), tree(p, affine))).collect(), bound)
        }
        Formula::Atom(atom) => {
            let known = affine.iter().position(|a| a.atom == *atom);
            GradedFormula::Atom(known.unwrap_or_else(|| {
                let output = |(var, c): (&Var, &Rational)| match var {
                    Var::Output(j) => Some((*j, c.to_f64().value())),
                    _ => None,
                };
                let outputs = atom.linear.terms.iter().filter_map(output).collect();
                affine.push(AffineAtom { outputs, condition: atom.is_condition(), atom: atom.clone() });
                affine.len() - 1
            }))
        }
    }
}

/// How atoms and what is made of them are graded.
pub(super) trait Grading {
    /// The grade of an atom with this value, and its derivative.
    fn atom(&self, atom: usize, value: f64) -> [f64; 2];
    /// The grade of what holds, or does not, whatever is predicted.
    fn constant(&self, holds: bool) -> f64;
    /// The grade of all.
    fn all(&self, grades: &[f64]) -> f64;
    /// The derivative of [`Self::all`] with respect to each.
    fn all_slopes(&self, grades: &[f64], slopes: &mut [f64]);
    /// The grade of any.
    fn any(&self, grades: &[f64]) -> f64;
    /// The derivative of [`Self::any`] with respect to each.
    fn any_slopes(&self, grades: &[f64], slopes: &mut [f64]);
    /// The grade of a count, and the derivative with respect to each.
    fn count(&self, weights: &[f64], grades: &[f64], bound: f64, slopes: &mut [f64]) -> f64;
    /// What a rule with this grade costs, and the derivative.
    fn cost(&self, grade: f64) -> [f64; 2];
}

/// The penalty of graded rules.
pub(super) struct Grades<'a, G> {
    graded: &'a Graded,
    units: Units,
    weights: Vec<f64>,
    grading: G,
    /// Grade and derivative of each atom.
    atoms: Vec<[f64; 2]>,
    /// What the penalty changes by with each atom's grade.
    slopes: Vec<f64>,
}

impl<'a, G: Grading> Grades<'a, G> {
    pub fn new(graded: &'a Graded, units: &Units, weights: Vec<f64>, grading: G) -> Self {
        let atoms = graded.atoms();
        Self { graded, units: units.clone(), weights, grading, atoms: vec![[0.0; 2]; atoms], slopes: vec![0.0; atoms] }
    }

    fn grade(&self, tree: &GradedFormula) -> f64 {
        let of = |parts: &[GradedFormula]| parts.iter().map(|p| self.grade(p)).collect::<Vec<_>>();
        match tree {
            GradedFormula::Constant(holds) => self.grading.constant(*holds),
            GradedFormula::Atom(a) => self.atoms[*a][0],
            GradedFormula::All(parts) => self.grading.all(&of(parts)),
            GradedFormula::Any(parts) => self.grading.any(&of(parts)),
            GradedFormula::Count(terms, bound) => {
                let (weights, grades): (Vec<f64>, Vec<f64>) = terms.iter().map(|(w, p)| (*w, self.grade(p))).unzip();
                self.grading.count(&weights, &grades, *bound, &mut vec![0.0; weights.len()])
            }
        }
    }

    /// Adds `by` times the derivative of the tree's grade to that of its atoms.
    fn backward(&self, tree: &GradedFormula, by: f64, atoms: &mut [f64]) {
        if by == 0.0 {
            return;
        }
        let down = |parts: Vec<&GradedFormula>, slopes: &[f64], atoms: &mut [f64]| {
            parts.iter().zip(slopes).for_each(|(part, slope)| self.backward(part, by * slope, atoms));
        };
        match tree {
            GradedFormula::Constant(_) => {}
            GradedFormula::Atom(a) => atoms[*a] += by,
            GradedFormula::All(parts) | GradedFormula::Any(parts) => {
                let grades: Vec<f64> = parts.iter().map(|p| self.grade(p)).collect();
                let mut slopes = vec![0.0; grades.len()];
                if matches!(tree, GradedFormula::All(_)) {
                    self.grading.all_slopes(&grades, &mut slopes);
                } else {
                    self.grading.any_slopes(&grades, &mut slopes);
                }
                down(parts.iter().collect(), &slopes, atoms);
            }
            GradedFormula::Count(terms, bound) => {
                let (weights, grades): (Vec<f64>, Vec<f64>) = terms.iter().map(|(w, p)| (*w, self.grade(p))).unzip();
                let mut slopes = vec![0.0; weights.len()];
                self.grading.count(&weights, &grades, *bound, &mut slopes);
                down(terms.iter().map(|(_, p)| p).collect(), &slopes, atoms);
            }
        }
    }
}

impl<G: Grading> RowPenalty for Grades<'_, G> {
    fn row(&mut self, scores: &[f32], side: &[f32], slope: &mut [f64]) -> f64 {
        let Units { shift, scale } = &self.units;
        for (k, (affine, side)) in self.graded.affine.iter().zip(side).enumerate() {
            self.atoms[k] = if affine.condition {
                [self.grading.constant(*side > 0.5), 0.0]
            } else {
                let y = |j: usize| shift[j] + scale[j] * f64::from(scores[j]);
                self.grading.atom(k, f64::from(*side) + affine.outputs.iter().map(|(j, c)| c * y(*j)).sum::<f64>())
            };
        }
        let mut slopes = std::mem::take(&mut self.slopes);
        slopes.fill(0.0);
        let mut total = 0.0;
        for (tree, weight) in self.graded.trees.iter().zip(&self.weights) {
            let [cost, by] = self.grading.cost(self.grade(tree));
            total += weight * cost;
            self.backward(tree, weight * by, &mut slopes);
        }
        for ((affine, [_, own]), by) in self.graded.affine.iter().zip(&self.atoms).zip(&slopes) {
            for (j, c) in &affine.outputs {
                slope[*j] += by * own * c * scale[*j];
            }
        }
        self.slopes = slopes;
        total
    }
}
