//! What was asked for enters; the list of runs leaves, each with seeds that depend on its name alone.

use deepsade_check::sha256_hex;

use super::ReproduceError;
use super::case::{UseCase, cases};
use super::method::Method;

/// Folds, where nothing else is said.
pub const FOLDS: usize = 5;

/// How often they are dealt out, where nothing else is said.
pub fn repeats(quick: bool) -> u64 {
    if quick { 1 } else { 5 }
}

/// What `deepsade reproduce` is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Names of use cases; empty: all.
    pub cases: Vec<String>,
    /// Names of methods; empty: those of each use case.
    pub methods: Vec<String>,
    /// Times that the folds are dealt out anew.
    pub repeats: u64,
    /// Folds, each the test rows once.
    pub folds: usize,
    /// Less work.
    pub quick: bool,
    /// Decides everything that is random.
    pub seed: u64,
}

/// One training to be measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned {
    /// Index into [`Experiment::cases`].
    pub case: usize,
    /// How it is trained.
    pub method: Method,
    /// The weight, if it is not to be chosen: a run for a figure, not for the tables.
    pub weight: Option<f64>,
    /// Which repetition, from 0.
    pub repeat: u64,
    /// Which fold, from 0.
    pub fold: usize,
    /// Decides its initial weights and the order of its rows.
    pub seed: u64,
    /// Decides injected labels and folds; the same for all methods.
    pub split_seed: u64,
    /// About its seconds.
    pub cost: f64,
}

/// All runs, in the order in which they start.
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    /// The use cases.
    pub cases: Vec<UseCase>,
    /// The runs, use case by use case.
    pub runs: Vec<Planned>,
    /// Folds.
    pub folds: usize,
    /// Whether less work was asked for.
    pub quick: bool,
    /// The seed of all seeds.
    pub seed: u64,
}

impl Experiment {
    /// Lists the runs.
    pub fn new(options: &Options) -> Result<Self, ReproduceError> {
        let Options { folds, quick, seed, repeats, .. } = *options;
        if folds < 2 || repeats < 1 {
            return Err(ReproduceError::Counts { repeats, folds });
        }
        let known = cases(quick);
        let asked: Vec<String> = options.cases.iter().map(|name| name.to_lowercase()).collect();
        if let Some(name) = asked.iter().find(|name| *name != ALL && known.iter().all(|c| c.name != **name)) {
            let names = known.iter().map(|c| c.name.clone()).collect::<Vec<_>>().join(", ");
            return Err(ReproduceError::UnknownCase { name: name.clone(), known: names });
        }
        let all = asked.is_empty() || asked.iter().any(|name| name == ALL);
        let cases: Vec<UseCase> = known.into_iter().filter(|c| all || asked.contains(&c.name)).collect();
        let methods = options.methods.iter().map(|name| method(name, &cases)).collect::<Result<Vec<_>, _>>()?;
        let mut runs = Vec::new();
        for (k, case) in cases.iter().enumerate() {
            let chosen: Vec<Method> = match methods.as_slice() {
                [] => case.methods.clone(),
                asked => Method::ALL.into_iter().filter(|m| asked.contains(m) && case.can_run(*m)).collect(),
            };
            let sweep = case.sweep.iter().filter(|s| chosen.contains(&s.method));
            let swept: Vec<(Method, f64)> = sweep.flat_map(|s| s.weights.iter().map(|w| (s.method, *w))).collect();
            for repeat in 0..repeats {
                for fold in 0..folds {
                    let tables = chosen.iter().map(|m| (*m, None));
                    let figures = swept.iter().filter(|_| repeat == 0).map(|(m, w)| (*m, Some(*w)));
                    for (method, weight) in tables.chain(figures) {
                        let place = (&case.name, repeat);
                        let label = label(method, weight);
                        runs.push(Planned {
                            case: k,
                            method,
                            weight,
                            repeat,
                            fold,
                            seed: stable(&format!("{seed} train {place:?} {fold} {label}")),
                            split_seed: stable(&format!("{seed} split {place:?}")),
                            cost: cost(case, method, weight),
                        });
                    }
                }
            }
        }
        Ok(Self { cases, runs, folds, quick, seed })
    }

    /// Names of a run's use case and method in the results.
    pub fn names(&self, run: &Planned) -> (String, String) {
        let case = &self.cases[run.case].name;
        let case = if run.weight.is_some() { format!("{case}{SWEEP}") } else { case.clone() };
        (case, label(run.method, run.weight))
    }
}

/// The name of all use cases together.
const ALL: &str = "all";

/// What follows the name of a use case whose weights are swept.
pub const SWEEP: &str = "-lambda";

fn label(method: Method, weight: Option<f64>) -> String {
    weight.map_or_else(|| method.name().into(), |w| format!("{method}:{w}"))
}

fn method(name: &str, cases: &[UseCase]) -> Result<Method, ReproduceError> {
    let known = || Method::ALL.map(Method::name).join(", ");
    let method = Method::named(name).ok_or_else(|| ReproduceError::UnknownMethod { name: name.into(), known: known() })?;
    if cases.iter().any(|c| c.can_run(method)) {
        return Ok(method);
    }
    let cases = cases.iter().map(|c| c.name.clone()).collect::<Vec<_>>().join(", ");
    Err(ReproduceError::NotApplicable { name: name.into(), cases })
}

/// A number of a text, the same on every machine and in every version.
pub(super) fn stable(text: &str) -> u64 {
    u64::from_str_radix(&sha256_hex(text.as_bytes())[..16], 16).expect("a hash is hexadecimal")
}

fn cost(case: &UseCase, method: Method, weight: Option<f64>) -> f64 {
    let trials = match method.penalty() {
        Some(_) if weight.is_none() => {
            let weights = case.tune.weights.len() as f64;
            let share = case.tune.epochs.map_or(1.0, |_| 0.2);
            case.tune.folds as f64 * share * if method.weighs_each_rule() { weights * weights } else { weights }
        }
        _ => 0.0,
    };
    let more = match method {
        Method::DeepsadePaper => 5.0,
        method if method.chooses() => 2.0,
        _ => 0.0,
    };
    case.seconds * (1.0 + trials + more)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(cases: &[&str], methods: &[&str]) -> Options {
        let names = |names: &[&str]| names.iter().map(|n| (*n).to_string()).collect();
        Options { cases: names(cases), methods: names(methods), repeats: 2, folds: 3, quick: false, seed: 0 }
    }

    #[test]
    fn seeds_depend_on_the_run_alone() {
        let (all, some) = (Experiment::new(&options(&[], &[])).unwrap(), Experiment::new(&options(&["uc2"], &["ffn"])).unwrap());
        assert_eq!(some.runs.len(), 6);
        for run in &some.runs {
            let same = |r: &&Planned| all.names(r) == some.names(run) && (r.repeat, r.fold) == (run.repeat, run.fold);
            let other = all.runs.iter().find(same).unwrap();
            assert_eq!((other.seed, other.split_seed), (run.seed, run.split_seed));
        }
        let mut seeds: Vec<u64> = all.runs.iter().map(|r| r.seed).collect();
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), all.runs.len(), "every run has a seed of its own");
        // One for the folds of each use case and repetition, whatever the method.
        let mut splits: Vec<u64> = all.runs.iter().map(|r| r.split_seed).collect();
        splits.sort_unstable();
        splits.dedup();
        assert_eq!(splits.len(), 5 * 2);
    }

    #[test]
    fn weights_are_swept_once_beside_the_tables() {
        let plan = Experiment::new(&options(&["uc5"], &[])).unwrap();
        let swept: Vec<&Planned> = plan.runs.iter().filter(|r| r.weight.is_some()).collect();
        assert_eq!(swept.len(), 10 * 3);
        assert!(swept.iter().all(|r| r.repeat == 0));
        assert_eq!(plan.names(swept[3]), ("uc5-lambda".into(), "sl:0.3".into()));
        assert!(Experiment::new(&options(&["uc5"], &["ffn"])).unwrap().runs.iter().all(|r| r.weight.is_none()));
    }

    #[test]
    fn what_is_not_known_is_named() {
        let beside_all = Experiment::new(&options(&["all", "uc9"], &[])).unwrap_err().to_string();
        assert!(beside_all.contains("'uc9'"), "{beside_all}");
        assert_eq!(Experiment::new(&options(&["all", "UC2"], &[])).unwrap().cases.len(), 5);
        let error = |cases: &[&str], methods: &[&str]| Experiment::new(&options(cases, methods)).unwrap_err().to_string();
        assert!(error(&["uc9"], &[]).contains("uc9") && error(&["uc9"], &[]).contains("uc1, uc2"));
        assert!(error(&[], &["svm"]).contains("svm") && error(&[], &["svm"]).contains("deepsade-decode"));
        assert!(error(&["uc2", "uc3"], &["deepsade-plain"]).contains("uc2, uc3"));
    }
}
