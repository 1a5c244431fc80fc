//! Exact `MaxSMT` as in the paper: the algorithm of Fu and Malik (2006) over an SMT solver's process, with weights.
//!
//! All soft constraints are assumed at once. While the solver finds a core of assumptions that can't hold together, each
//! constraint of the core gets a fresh relaxation variable, at most one of the core's may be used, and the core's least weight is
//! paid; a constraint that weighs more is split, and the rest of it stays as it was (WPM1, Ansotegui et al. 2009).

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::path::PathBuf;

use crate::sexpr::Sexpr;

use super::smtlib::{self, Labels, Quantifiers, joined};
use super::solver::{Process, SolverError, SolverName};
use super::{MaxSmt, MaxSmtBudget, MaxSmtOutcome, MaxSmtProblem, Solution, Unsolved};

/// Checks that are spent on making one core smaller.
const MINIMISING_CHECKS: usize = 40;

/// The engine over an SMT solver.
#[derive(Debug, Clone, Default)]
pub struct FuMalik {
    /// Which solver.
    pub solver: SolverName,
    /// What to start instead of [`SolverName::program`].
    pub program: Option<OsString>,
    /// What becomes of "for every input".
    pub quantifiers: Quantifiers,
    /// A file to which everything that is sent is appended.
    pub replay: Option<PathBuf>,
}

/// A soft constraint, or a part of one, with the relaxation variables it has got.
#[derive(Debug, Clone)]
struct Assumed {
    /// `s_I` and relaxation variables: one of them must be true.
    literals: Vec<String>,
    weight: f64,
    /// The literal that is assumed for it.
    name: String,
}

impl FuMalik {
    /// Starts the solver once, to find out whether it is there.
    pub fn probe(&self) -> Result<(), SolverError> {
        let program = self.program.clone().unwrap_or_else(|| self.solver.program());
        Process::start(self.solver, &program, std::time::Instant::now(), None).map(|_| ())
    }
}

impl MaxSmt for FuMalik {
    fn solve(&mut self, problem: &MaxSmtProblem, budget: MaxSmtBudget) -> Result<MaxSmtOutcome, SolverError> {
        let replay = match &self.replay {
            Some(path) => {
                let file = OpenOptions::new().create(true).append(true).open(path);
                Some(file.map_err(|source| SolverError::Replay { path: path.display().to_string(), source })?)
            }
            None => None,
        };
        let program = self.program.clone().unwrap_or_else(|| self.solver.program());
        let mut process = Process::start(self.solver, &program, budget.deadline(), replay)?;
        process.tell(&smtlib::preamble(problem, self.quantifiers, &Labels::default()));
        let outcome = CoreSearch { problem, process: &mut process, fresh: 0 }.run().unwrap_or_else(MaxSmtOutcome::Unknown);
        process.tell("(exit)\n; ---\n");
        Ok(outcome)
    }
}

struct CoreSearch<'a> {
    problem: &'a MaxSmtProblem,
    process: &'a mut Process,
    fresh: usize,
}

/// What `check-sat` said.
enum Answer {
    Sat,
    Unsat,
}

impl CoreSearch<'_> {
    fn run(mut self) -> Result<MaxSmtOutcome, Unsolved> {
        // K' and the box alone first: weights for it are an answer if time runs out.
        if let Answer::Unsat = self.check("(check-sat)\n")? {
            return Ok(MaxSmtOutcome::Infeasible);
        }
        let first = self.model()?;
        let mut assumed: Vec<Assumed> = Vec::new();
        let mut paid = 0.0;
        for (i, soft) in self.problem.soft.iter().enumerate() {
            // A row that no weights of the box satisfy is a core of one: seen without asking.
            if soft.rows.iter().any(|row| row.extreme(1.0, &self.problem.lo, &self.problem.hi) < 0.0) {
                paid += soft.weight;
                continue;
            }
            self.process.tell(&smtlib::soft(self.problem, i, soft));
            let assumption = self.assume(vec![format!("s_{i}")], soft.weight);
            assumed.push(assumption);
        }
        loop {
            match self.core(&assumed, &(0..assumed.len()).collect::<Vec<_>>()) {
                Ok(None) => return Ok(MaxSmtOutcome::Optimal(self.model()?)),
                Ok(Some(core)) => {
                    let core = self.smaller(&assumed, core);
                    paid += self.relax(&mut assumed, &core)?;
                }
                Err(Unsolved::MaxSmtBudget | Unsolved::Solver) => {
                    return Ok(MaxSmtOutcome::Feasible { solution: first, bound: self.problem.total() - paid });
                }
                Err(why) => return Err(why),
            }
        }
    }

    fn fresh(&mut self, letter: &str) -> String {
        self.fresh += 1;
        let name = format!("{letter}_{}", self.fresh);
        self.process.tell(&format!("(declare-const {name} Bool)\n"));
        name
    }

    fn assume(&mut self, literals: Vec<String>, weight: f64) -> Assumed {
        let name = self.fresh("a");
        self.process.tell(&format!("(assert (=> {name} {}))\n", joined("or", &literals)));
        Assumed { literals, weight, name }
    }

    /// Relaxes a core; returns the weight that is paid.
    fn relax(&mut self, assumed: &mut Vec<Assumed>, core: &[usize]) -> Result<f64, Unsolved> {
        let least = core.iter().map(|k| assumed[*k].weight).fold(f64::INFINITY, f64::min);
        if !least.is_finite() {
            return Err(Unsolved::Failed("it gave an empty core for constraints that can hold".into()));
        }
        let mut relaxations = Vec::new();
        for &k in core {
            assumed[k].weight -= least;
            // The variable of a core of one is free to be true: nothing is left to assume.
            if core.len() > 1 {
                let r = self.fresh("r");
                let literals = assumed[k].literals.iter().cloned().chain([r.clone()]).collect();
                let part = self.assume(literals, least);
                assumed.push(part);
                relaxations.push(r);
            }
        }
        self.at_most_one(&relaxations);
        assumed.retain(|a| a.weight > 0.0);
        Ok(least)
    }

    /// A ladder: `used_i` says that one of the first i is true, and then the next is not.
    fn at_most_one(&mut self, variables: &[String]) {
        let mut used: Option<String> = None;
        for (k, r) in variables.iter().enumerate() {
            if let Some(used) = &used {
                self.process.tell(&format!("(assert (not (and {used} {r})))\n"));
            }
            if k + 1 < variables.len() {
                let next = self.fresh("u");
                self.process.tell(&format!("(assert (=> {r} {next}))\n"));
                if let Some(used) = used {
                    self.process.tell(&format!("(assert (=> {used} {next}))\n"));
                }
                used = Some(next);
            }
        }
    }

    fn check(&mut self, command: &str) -> Result<Answer, Unsolved> {
        let answer = self.process.ask(command)?;
        match answer.word() {
            Some("sat") => Ok(Answer::Sat),
            Some("unsat") => Ok(Answer::Unsat),
            Some("unknown") => Err(Unsolved::Solver),
            _ => Err(Unsolved::Failed(format!("{answer:?} is no answer to check-sat"))),
        }
    }

    /// Leaves out of a core what it does not need. Solvers name more than they need, cvc5 often everything, and each constraint of
    /// a core gets a variable: what this costs in checks it saves many times over in the checks that follow.
    fn smaller(&mut self, assumed: &[Assumed], mut core: Vec<usize>) -> Vec<usize> {
        let mut checks = MINIMISING_CHECKS;
        let mut at = 0;
        while at < core.len() && core.len() > 1 && checks > 0 {
            checks -= 1;
            let fewer: Vec<usize> = core.iter().copied().filter(|k| *k != core[at]).collect();
            match self.core(assumed, &fewer) {
                Ok(Some(found)) if !found.is_empty() => {
                    at = at.min(found.len());
                    core = found;
                }
                Ok(_) => at += 1,
                // Time is up, or the solver does not know: the core is one all the same.
                Err(_) => break,
            }
        }
        core
    }

    /// Which of the chosen constraints can't hold together; `None` if all can.
    fn core(&mut self, assumed: &[Assumed], chosen: &[usize]) -> Result<Option<Vec<usize>>, Unsolved> {
        let names: Vec<&str> = chosen.iter().map(|k| assumed[*k].name.as_str()).collect();
        // cvc5 refuses an empty list of assumptions.
        let command =
            if names.is_empty() { "(check-sat)\n".into() } else { format!("(check-sat-assuming ({}))\n", names.join(" ")) };
        if let Answer::Sat = self.check(&command)? {
            return Ok(None);
        }
        let answer = self.process.ask("(get-unsat-assumptions)\n")?;
        let listed: Vec<&str> = answer.list().unwrap_or_default().iter().filter_map(Sexpr::word).collect();
        Ok(Some(chosen.iter().copied().filter(|k| listed.contains(&assumed[*k].name.as_str())).collect()))
    }

    fn model(&mut self) -> Result<Solution, Unsolved> {
        let n = self.problem.unknowns();
        let names: Vec<String> = (0..n).map(|k| smtlib::unknown(self.problem, k)).collect();
        let answer = self.process.ask(&format!("(get-value ({}))\n", names.join(" ")))?;
        let value = |pair: &Sexpr| pair.list().and_then(|p| p.get(1)).and_then(Sexpr::rational).map(|v| v.to_f64().value());
        let w: Option<Vec<f64>> = answer.list().unwrap_or_default().iter().map(value).collect();
        match w.filter(|w| w.len() == n) {
            Some(w) => Ok(Solution { satisfied: self.problem.satisfied(&w), w }),
            None => Err(Unsolved::Failed("a value is no rational number".into())),
        }
    }
}
