//! What is asked of the outputs enters; maps of the input leave that should meet it, the best first.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use deepsade_check::step::Outputs;
use deepsade_solve::eliminate::Point;
use deepsade_solve::satisfy::{Satisfiable, satisfy};
use deepsade_solve::tied::tied;
use deepsade_spec::cells::cells;
use deepsade_spec::{Atom, Formula, Rational, Var, nearest_multiple};

use super::{MapFinder, Path, all};
use crate::enforce::step::affine::{AIM, Affine, Found, Query};
use crate::enforce::step::equality::{Which, reduced};
use crate::enforce::step::usual::Usual;

/// Ways to obey a demand that are looked at.
const MOST_WAYS: usize = 64;
/// What looking for maps costs beside the atoms that are looked at.
const LOOK: usize = 100;
/// A distance from every border that is enough.
const ENOUGH: f64 = 1e-3;
/// Grids for weights where a coarse one will do, and for outputs that need none: sums of whole features are exact there.
const COARSE: i32 = 2;
const SHORT: i32 = 4;

impl MapFinder<'_> {
    /// Outputs that meet the demand of a path for every input that meets the given conditions.
    pub(super) fn maps(&self, path: &Path, given: &[Atom]) -> Vec<Affine> {
        let demand = self.demand(path);
        let mut looked_at = LOOK;
        demand.atoms(&mut |_| looked_at += 1);
        if !self.budget.spend(looked_at) {
            return Vec::new();
        }
        if let Outputs::Labels(n) = self.outputs {
            return self.labels(&demand, *n).into_iter().collect();
        }
        if self.spec.schema.task.classes().is_some()
            && let Some(found) = self.class(&demand)
        {
            return vec![found];
        }
        self.numbers(&demand, given)
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

    /// Of each way to meet the demand the map that stays furthest inside; the furthest of all first. Outputs that nothing ties together
    /// are mapped apart.
    pub(super) fn numbers(&self, demand: &Formula, given: &[Atom]) -> Vec<Affine> {
        let Outputs::Numbers(numbers) = self.outputs else { return Vec::new() };
        if *demand == Formula::False {
            return Vec::new();
        }
        let mut usual = constant(self.usual.at.iter().zip(numbers).map(|(at, n)| to_grid(*at, n.grid)).collect());
        let mut found_apart: Vec<(Vec<usize>, Vec<Affine>)> = Vec::new();
        for (outputs, demand) in apart(demand) {
            let part = TiedOutputs {
                usual: &self.usual.of_outputs(&outputs),
                grids: outputs.iter().map(|j| numbers[*j].grid).collect(),
            };
            // The way that the solver finds is tried first, however many there are.
            let first = match satisfy(&[&demand, &all(given)], &self.spec.schema, &Point::new()) {
                Satisfiable::No => return Vec::new(),
                Satisfiable::Yes(_, mut atoms) => {
                    atoms.retain(|atom| !given.contains(atom));
                    all(&atoms)
                }
                Satisfiable::Unknown => Formula::False,
            };
            let found = self.part(&counted(&Formula::or([first, demand]), &outputs), given, &part);
            if found.is_empty() {
                return Vec::new();
            }
            found_apart.push((outputs, found));
        }
        let tries = found_apart.iter().map(|(_, found)| found.len()).max().unwrap_or(1);
        let map = |k: usize| {
            for (outputs, found) in &found_apart {
                let Affine { weights, bias } = &found[k.min(found.len() - 1)];
                usual.weights.retain(|(o, ..)| !outputs.contains(o));
                usual.weights.extend(weights.iter().map(|(o, c, w)| (outputs[*o], *c, *w)));
                outputs.iter().zip(bias).for_each(|(o, v)| usual.bias[*o] = *v);
            }
            usual.weights.sort_by_key(|(o, c, _)| (*o, *c));
            usual.clone()
        };
        (0..tries).map(map).collect()
    }

    /// The maps of outputs that are tied together.
    fn part(&self, demand: &Formula, given: &[Atom], part: &TiedOutputs) -> Vec<Affine> {
        let mut all: Vec<Found> = Vec::new();
        let mut ways = 0;
        let _ = cells(demand, &mut |atoms| {
            ways += 1;
            all.extend(self.way(atoms, given, part));
            let enough = all.iter().any(|found| found.inside >= AIM) || ways >= MOST_WAYS;
            if enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let steps = |found: &Found| (found.inside / ENOUGH) as i64;
        all.sort_by_key(|found| std::cmp::Reverse(steps(found)));
        all.into_iter().map(|found| found.map).collect()
    }

    /// Maps for which atoms hold: constants; where they leave no room, affine ones; where these don't either, those with short weights, too.
    fn way(&self, atoms: &[Atom], given: &[Atom], TiedOutputs { usual, grids }: &TiedOutputs) -> Vec<Found> {
        let coarse: Vec<Option<i32>> = grids.iter().map(|grid| grid.map(|k| k.min(COARSE))).collect();
        let short: Vec<Option<i32>> = coarse.iter().map(|grid| Some(grid.unwrap_or(SHORT))).collect();
        let atoms = &strongest(atoms);
        let equal: Vec<_> = [Which::Last, Which::First].into_iter().filter_map(|which| reduced(atoms, which)).collect();
        let mut all: Vec<Found> = Vec::new();
        for (grids, steep) in [(grids, false), (&coarse, true), (&short, true), (grids, true)] {
            let query = Query { atoms, given, schema: &self.spec.schema, usual, grids, steep };
            all.extend(equal.iter().filter_map(|reduced| reduced.solve(&query)));
            if equal.is_empty() {
                all.extend(query.solve());
            }
            if all.iter().any(|found| found.inside > ENOUGH) {
                break;
            }
        }
        all
    }
}

/// What is known of outputs that are tied together.
struct TiedOutputs<'a> {
    usual: &'a Usual,
    grids: Vec<Option<i32>>,
}

/// Parts of a demand that share no output, and the outputs of each; what is asked of the input alone last.
fn apart(demand: &Formula) -> Vec<(Vec<usize>, Formula)> {
    let parts = demand.conjuncts();
    let and = |own: Vec<usize>| Formula::and(own.into_iter().map(|k| parts[k].clone()));
    let mut all: Vec<(Vec<usize>, Formula)> =
        tied(parts).into_iter().map(|tied| (tied.outputs.into_iter().collect(), and(tied.parts))).collect();
    let alone = and((0..parts.len()).filter(|k| parts[*k].outputs().is_empty()).collect());
    if alone != Formula::True {
        all.push((Vec::new(), alone));
    }
    all
}

/// The atoms without those that another one, of the same sum, implies.
fn strongest(atoms: &[Atom]) -> Vec<Atom> {
    let mut by_sum: BTreeMap<&BTreeMap<Var, Rational>, &Atom> = BTreeMap::new();
    for atom in atoms {
        let strongest = by_sum.entry(&atom.linear.terms).or_insert(atom);
        if (&atom.linear.constant, !atom.strict) < (&strongest.linear.constant, !strongest.strict) {
            *strongest = atom;
        }
    }
    atoms.iter().filter(|atom| std::ptr::eq(by_sum[&atom.linear.terms], *atom)).cloned().collect()
}

/// A demand whose outputs are called by their places among these.
fn counted(demand: &Formula, outputs: &[usize]) -> Formula {
    demand.renamed(&|var| match var {
        Var::Output(j) => Var::Output(outputs.iter().position(|o| *o == j).unwrap_or(j)),
        input => input,
    })
}

fn to_grid(v: f64, grid: Option<i32>) -> f32 {
    nearest_multiple(v, grid.map(|k| f64::from(-k).exp2())) as f32 + 0.0
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
