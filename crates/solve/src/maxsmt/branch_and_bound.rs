//! Exact `MaxSMT` by branch and bound over linear programs: a problem enters, the weights that satisfy most leave, or the best so far.
//!
//! Each soft constraint i that the box leaves open gets a variable `z_i` in [0, 1] that costs its weight, and its rows become
//! `a.w + c + M z_i >= 0`, M just large enough for the box. A clause with several choices gets a u in [0, 1] for each, of which one
//! at least is 1. K' itself comes in as cuts: where the weights at hand break it, the form at its largest point is a row that all
//! feasible weights satisfy.

use std::collections::BinaryHeap;
use std::time::Instant;

use super::local_search::LocalSearch;
use super::problem::{Clause, LayerRow};
use super::{MaxSmt, MaxSmtBudget, MaxSmtOutcome, MaxSmtProblem, Solution, SolverError, Unsolved};
use crate::simplex::{Simplex, Status};

/// Added to the costs, so that ties are broken and the dual method does not go round in circles: at most this much in all.
const PERTURBATION: f64 = 1e-5;
/// Pivots of one linear program.
const PIVOTS: usize = 5_000;
/// Rounds of cuts at a node.
const ROUNDS: usize = 400;
/// Moves of the local search that gives the first solution.
const FIRST_MOVES: usize = 60;

/// The native exact engine.
#[derive(Debug, Clone, Default)]
pub struct BranchAndBound;

impl MaxSmt for BranchAndBound {
    fn solve(&mut self, problem: &MaxSmtProblem, budget: MaxSmtBudget) -> Result<MaxSmtOutcome, SolverError> {
        // The local search knows nothing of the tree: what it finds is a first solution to beat.
        let first = LocalSearch.solve(problem, MaxSmtBudget { nodes: FIRST_MOVES.min(budget.nodes), ..budget })?;
        if let MaxSmtOutcome::Optimal(_) = first {
            return Ok(first);
        }
        let mut search = BranchSearch::new(problem, budget);
        search.best = first.solution().cloned();
        Ok(search.run(budget.nodes))
    }
}

/// What branching decided: these variables are fixed.
#[derive(Debug, Clone)]
struct BranchNode {
    /// The least weight that is violated below here.
    bound: f64,
    fixed: Vec<(usize, bool)>,
}

impl PartialEq for BranchNode {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for BranchNode {}
impl PartialOrd for BranchNode {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for BranchNode {
    /// The greatest has the least bound, and among equals the most decisions.
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        other.bound.total_cmp(&self.bound).then(self.fixed.len().cmp(&other.fixed.len()))
    }
}

struct BranchSearch<'a> {
    problem: &'a MaxSmtProblem,
    lp: Simplex,
    /// For each soft constraint its z, if the box leaves it open.
    z: Vec<Option<usize>>,
    /// For each clause the u of its choices, if it has several.
    u: Vec<Vec<usize>>,
    /// Weight that is violated everywhere in the box.
    lost: f64,
    best: Option<Solution>,
    total: f64,
    /// Costs of solutions are whole multiples of this; 0 if they are not.
    unit: f64,
    deadline: Instant,
}

/// What became of a node.
enum Visit {
    /// Nothing better is below it.
    Done,
    /// A variable to branch on, the value to try first, and the bound.
    Branch(usize, bool, f64),
    /// It could not be decided.
    Stuck,
}

impl<'a> BranchSearch<'a> {
    fn new(problem: &'a MaxSmtProblem, budget: MaxSmtBudget) -> Self {
        let n = problem.unknowns();
        let (lo, hi) = (&problem.lo, &problem.hi);
        let spread: f64 = lo.iter().zip(hi).map(|(lo, hi)| hi - lo).sum::<f64>() + 1.0;
        // Towards the middle of nothing in particular; only that no two are alike.
        let tie = |k: usize| PERTURBATION / (2.0 * spread) * (0.5 + 0.5 * ((k as f64 * 0.618_033_988_75).fract()));
        let mut cost: Vec<f64> = (0..n).map(|k| if k % 2 == 0 { tie(k) } else { -tie(k) }).collect();
        let (mut lower, mut upper) = (lo.clone(), hi.clone());
        let mut variable = |c: f64| {
            cost.push(c);
            lower.push(0.0);
            upper.push(1.0);
            cost.len() - 1
        };
        let mut lost = 0.0;
        let mut z = Vec::new();
        for soft in &problem.soft {
            let never = soft.rows.iter().any(|row| row.extreme(1.0, lo, hi) < 0.0);
            let always = soft.rows.iter().all(|row| row.extreme(-1.0, lo, hi) >= 0.0);
            lost += if never { soft.weight } else { 0.0 };
            z.push((!never && !always).then(|| variable(soft.weight)));
        }
        let several = |clause: &Clause| if clause.choices.len() > 1 { clause.choices.len() } else { 0 };
        let u: Vec<Vec<usize>> =
            problem.hard.iter().map(|clause| (0..several(clause)).map(|_| variable(0.0)).collect()).collect();
        let mut lp = Simplex::new(cost, lower, upper);
        for (soft, z) in problem.soft.iter().zip(&z) {
            let Some(z) = z else { continue };
            for row in &soft.rows {
                let most = -row.extreme(-1.0, lo, hi);
                if most > 0.0 {
                    let a: Vec<(usize, f64)> = row.a.iter().copied().chain([(*z, most)]).collect();
                    lp.add_row(&a, row.c);
                }
            }
        }
        for choices in u.iter().filter(|u| !u.is_empty()) {
            let a: Vec<(usize, f64)> = choices.iter().map(|u| (*u, 1.0)).collect();
            lp.add_row(&a, -1.0);
        }
        let weight = problem.soft.first().map_or(1.0, |s| s.weight);
        let unit = if problem.soft.iter().all(|s| s.weight == weight) { weight } else { 0.0 };
        Self { problem, lp, z, u, lost, best: None, total: problem.total(), unit, deadline: budget.deadline() }
    }

    /// The least violated weight known.
    fn incumbent(&self) -> f64 {
        self.best.as_ref().map_or(f64::INFINITY, |best| self.total - best.satisfied)
    }

    /// Whether a node of this bound may hold something better.
    fn promising(&self, bound: f64) -> bool {
        bound <= self.incumbent() - (0.999 * self.unit).max(1e-6)
    }

    fn run(mut self, nodes: usize) -> MaxSmtOutcome {
        let mut open = BinaryHeap::from([BranchNode { bound: self.lost, fixed: Vec::new() }]);
        // The least bound of what was given up undecided.
        let mut given_up = f64::INFINITY;
        let mut visited = 0;
        let mut dive: Option<BranchNode> = None;
        while let Some(node) = dive.take().or_else(|| open.pop()) {
            if !self.promising(node.bound) {
                continue;
            }
            if visited == nodes || Instant::now() >= self.deadline {
                given_up = given_up.min(node.bound);
                // All that is open has a bound, too.
                open.iter().for_each(|n| given_up = given_up.min(n.bound));
                break;
            }
            visited += 1;
            match self.visit(&node) {
                Visit::Done => {}
                Visit::Stuck => given_up = given_up.min(node.bound),
                Visit::Branch(var, first, bound) => {
                    let child = |value| {
                        let fixed = node.fixed.iter().copied().chain([(var, value)]).collect();
                        BranchNode { bound: bound.max(node.bound), fixed }
                    };
                    open.push(child(!first));
                    dive = Some(child(first));
                }
            }
        }
        let decided = given_up.is_infinite() || !self.promising(given_up);
        match self.best {
            Some(solution) if decided => MaxSmtOutcome::Optimal(solution),
            Some(solution) => MaxSmtOutcome::Feasible { bound: self.total - given_up.max(self.lost), solution },
            None if decided && given_up.is_infinite() => MaxSmtOutcome::Infeasible,
            None => MaxSmtOutcome::Unknown(Unsolved::MaxSmtBudget),
        }
    }

    fn visit(&mut self, node: &BranchNode) -> Visit {
        for var in
            self.problem.unknowns()..self.problem.unknowns() + self.z.iter().flatten().count() + self.u.iter().flatten().count()
        {
            let fixed = node.fixed.iter().find(|(v, _)| *v == var).map(|(_, value)| f64::from(u8::from(*value)));
            self.lp.set_bounds(var, fixed.unwrap_or(0.0), fixed.unwrap_or(1.0));
        }
        for _ in 0..ROUNDS {
            match self.lp.solve(PIVOTS) {
                Status::Infeasible => return Visit::Done,
                Status::Limit => return Visit::Stuck,
                Status::Optimal => {}
            }
            let bound = self.lost + self.lp.objective() - PERTURBATION;
            if !self.promising(bound) {
                return Visit::Done;
            }
            let w: Vec<f64> = (0..self.problem.unknowns()).map(|k| self.lp.value(k)).collect();
            let cuts = self.cuts(&w, node);
            if !cuts.is_empty() {
                for (row, u) in cuts {
                    self.add_cut(&row, u);
                }
                if Instant::now() >= self.deadline {
                    return Visit::Stuck;
                }
                continue;
            }
            if let Some(branch) = self.open_clause(&w, node) {
                return Visit::Branch(branch, true, bound);
            }
            let satisfied = self.problem.satisfied(&w);
            if self.total - satisfied < self.incumbent() - 1e-9 {
                self.best = Some(Solution { w: w.clone(), satisfied });
            }
            if !self.promising(bound) {
                return Visit::Done;
            }
            return self.open_soft(&w, node).map_or(Visit::Done, |(z, first)| Visit::Branch(z, first, bound));
        }
        Visit::Stuck
    }

    /// Rows that these weights break: of clauses with one choice, and of the choices that the node has fixed.
    fn cuts(&self, w: &[f64], node: &BranchNode) -> Vec<(LayerRow, Option<usize>)> {
        let mut cuts = Vec::new();
        for (clause, u) in self.problem.hard.iter().zip(&self.u) {
            for (k, choice) in clause.choices.iter().enumerate() {
                let var = u.get(k).copied();
                if var.is_none_or(|var| node.fixed.contains(&(var, true)))
                    && let Some(row) = self.problem.violated(clause, choice, w)
                    && !cuts.contains(&(row.clone(), var))
                {
                    // Cells that are emptied alike ask for the same row.
                    cuts.push((row, var));
                }
            }
        }
        cuts
    }

    /// `row + M (1 - u) >= 0`; without a u the row itself.
    fn add_cut(&mut self, row: &LayerRow, u: Option<usize>) {
        match u {
            None => self.lp.add_row(&row.a, row.c),
            Some(u) => {
                let most = (-row.extreme(-1.0, &self.problem.lo, &self.problem.hi)).max(0.0);
                let a: Vec<(usize, f64)> = row.a.iter().copied().chain([(u, -most)]).collect();
                self.lp.add_row(&a, row.c + most);
            }
        }
    }

    /// The u of a clause that does not hold: of the choice nearest to holding that is not ruled out.
    fn open_clause(&self, w: &[f64], node: &BranchNode) -> Option<usize> {
        for (clause, u) in self.problem.hard.iter().zip(&self.u) {
            if u.is_empty() || self.problem.clause_holds(clause, w) {
                continue;
            }
            let excess = |k: usize| self.problem.violated(clause, &clause.choices[k], w).map_or(0.0, |row| -row.value(w));
            let free = (0..u.len()).filter(|k| !node.fixed.iter().any(|(var, _)| *var == u[*k]));
            if let Some(k) = free.min_by(|a, b| excess(*a).total_cmp(&excess(*b))) {
                return Some(u[k]);
            }
        }
        None
    }

    /// The z of a soft constraint that is violated and not paid for in full, nearest to a half; and what to try first.
    fn open_soft(&self, w: &[f64], node: &BranchNode) -> Option<(usize, bool)> {
        let open = self.problem.soft.iter().zip(&self.z).filter_map(|(soft, z)| Some((soft, (*z)?)));
        let violated = open.filter(|(soft, z)| !soft.holds(w) && !node.fixed.iter().any(|(var, _)| var == z));
        let (_, z) =
            violated.min_by(|(_, a), (_, b)| (self.lp.value(*a) - 0.5).abs().total_cmp(&(self.lp.value(*b) - 0.5).abs()))?;
        Some((z, self.lp.value(z) > 0.5))
    }
}
