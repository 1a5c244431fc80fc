//! Rules and any supported network enter; a proof, a counter-example or the reason for neither leaves.
//!
//! Attack first, which settles most broken rules in milliseconds; then branch and bound. The search runs in float64 with float32's
//! error terms; what it finds is written as a certificate, and only the checker says "proved". A counter-example is an input that
//! was run through the network, in float32 or exactly as was asked, and judged by the rule itself.

mod attack;
mod bound;
mod branch;
mod choice;
mod exact;
mod many_cells;
mod pair;
mod pass;
mod plan;
mod rows;
mod sensitivity;
mod stepped;
pub mod vnnlib;
pub mod words;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use deepsade_check::{Arithmetic, MAX_ATOMS, PairArgument, RANGE, Rejected, Step, Tree};
use deepsade_net::{Network, Node, Op};
use deepsade_output::Judge;
use deepsade_spec::{NormalSpec, Region, Task};
use thiserror::Error;

use crate::artifact::{self, ArtifactError};
use crate::limits;
use crate::proof::{Certified, prove_until};
pub use attack::CounterExample;
use attack::{Effort, Target};
pub use branch::Halt;
use branch::{LeftOpen, RegionSearch, SearchEnd};
pub(crate) use choice::Choice;
pub(crate) use many_cells::nearest_cell;
use pair::PairQuestion;
use plan::BoundPlan;
pub use stepped::verify_model;
pub(crate) use stepped::{broken, passes_on, proved};

/// Inputs of each part of the domain that are tried where a network chooses.
const TRIED: usize = 2_000;
/// Times that leaves which the checker does not accept are split further.
const REOPENED: usize = 40;

/// How long and in what arithmetic.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Seconds for everything; `None`: until decided. Default 60 s.
    pub timeout: Option<Duration>,
    /// The arithmetic of the network. Default float32.
    pub arithmetic: Arithmetic,
    /// Threads. Default: all cores.
    pub threads: usize,
    /// Decides where attacks start. Default 0.
    pub seed: u64,
    /// Open regions that may wait at once, which bounds memory. Default 100 000.
    pub most_open: usize,
    /// Regions that may be bounded for each rule: a limit of work that, unlike time, is the same on every machine. Default: none.
    pub most_regions: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            timeout: Some(Duration::from_mins(1)),
            arithmetic: Arithmetic::Float32,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            seed: 0,
            most_open: 100_000,
            most_regions: usize::MAX,
        }
    }
}

impl Settings {
    /// For so many seconds, on so many threads or all cores; `None` unless the seconds are a positive number.
    pub fn new(seconds: f64, threads: Option<usize>) -> Option<Self> {
        let default = Self::default();
        let threads = threads.unwrap_or(default.threads).max(1);
        (seconds > 0.0 && seconds.is_finite()).then(|| Self { timeout: Self::patience(seconds), threads, ..default })
    }

    /// A timeout of so many seconds; `None`, which is no limit, for more than clocks can count.
    pub fn patience(seconds: f64) -> Option<Duration> {
        Duration::try_from_secs_f64(seconds).ok().filter(|d| Instant::now().checked_add(*d).is_some())
    }

    fn undecided(&self, why: &LeftOpen) -> Undecided {
        match why {
            LeftOpen::Halted(halt) => Undecided::from(*halt),
            LeftOpen::Margin => self.margin(),
            LeftOpen::TooManyOpen => Undecided::TooManyOpen,
            LeftOpen::TooManyRegions => Undecided::TooManyRegions,
        }
    }

    fn margin(&self) -> Undecided {
        if self.arithmetic == Arithmetic::Real { Undecided::ExactMargin } else { Undecided::Margin }
    }
}

/// What was decided.
#[derive(Debug)]
pub enum Outcome {
    /// Every rule holds for every input of the domain.
    Proved(Box<Certified>),
    /// A rule does not.
    Refuted(CounterExample),
    /// Neither was shown.
    Unknown {
        /// The rule.
        rule: usize,
        /// What stood in the way.
        why: Undecided,
    },
}

impl Outcome {
    /// What that says about the file that was read, where it and the network differ in rounding: a proof is one of the network, and
    /// a counter-example may be one of the network alone.
    #[must_use]
    pub fn of_file(self, inexact: &[String]) -> Self {
        match self {
            Self::Proved(_) if !inexact.is_empty() => Self::Unknown { rule: 0, why: Undecided::Inexact(inexact.join("; ")) },
            // What is beyond rounding is beyond another rounding, too, though nobody ran the file.
            Self::Refuted(example) if !inexact.is_empty() && example.in_every_runtime => {
                Self::Refuted(CounterExample { in_every_runtime: false, ..example })
            }
            Self::Refuted(example) if !inexact.is_empty() => {
                Self::Unknown { rule: example.rule, why: Undecided::Inexact(inexact.join("; ")) }
            }
            other => other,
        }
    }
}

/// Why nothing was decided.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum Undecided {
    /// The time is over.
    #[error("the time is over")]
    Timeout,
    /// Ctrl-C.
    #[error("it was interrupted")]
    Interrupted,
    /// The rule holds or is broken by less than rounding.
    #[error("it holds or is broken by less than float32 rounding can decide (--arithmetic real asks about exact numbers)")]
    Margin,
    /// The rule holds or is broken by less than the bounds can tell, in exact arithmetic.
    #[error("it holds or is broken by less than the bounds tell apart, in exact numbers")]
    ExactMargin,
    /// Too many ways to break the rule.
    #[error(
        "it can be broken in more than {} ways, or by more than {MAX_ATOMS} conditions together (or {} in all), too many to look at one by \
         one; an attack found nothing; split it into simpler rules",
        limits::MAX_CELLS,
        limits::MAX_ATOMS
    )]
    TooManyCells,
    /// The file computes something else in places.
    #[error(
        "every rule is proved for the network as it was read, but the file rounds differently there: {0}. Deploy the model that \
         --certificate writes, for which the proof holds, or export the file without these operators"
    )]
    Inexact(String),
    /// Numbers beyond float32.
    #[error("values inside the network can exceed float32's range on this domain ({0}): narrow the domain")]
    Overflow(String),
    /// Memory.
    #[error("too many regions are open at once for the memory that is allowed")]
    TooManyOpen,
    /// Work.
    #[error("it takes more regions than are allowed")]
    TooManyRegions,
    /// No time is left for the checker.
    #[error("the search found a proof, but the time is over before the checker has been through it; give it more (--timeout)")]
    Unchecked,
    /// What the network chooses from has no proof.
    #[error("the network chooses its outputs, and {reason}; {whether}")]
    Choice {
        /// What the checker says.
        reason: String,
        /// Whether an input leads there.
        whether: String,
    },
    /// The proof of an output step is not one of these rules.
    #[error(
        "its output step does not prove these rules ({0}), and inputs that were tried break none; `deepsade shield` puts a step for \
         them behind any model"
    )]
    Step(String),
    /// Outputs that must be whole numbers.
    #[error(
        "every rule holds, but nothing in a network keeps {0} whole, as the rule file asks; `deepsade shield` puts an output step behind \
         it that does"
    )]
    NotWhole(String),
    /// Neither signs nor slopes show it.
    #[error(
        "no pair of inputs that was tried breaks it, but neither the signs of the weights nor bounds of the slopes show that none does \
         ({0}); `deepsade train` trains a network whose signs do"
    )]
    TwoInputs(String),
    /// The checker does not accept what the search found.
    #[error("the search is convinced that it holds, but the checker is not, at {at}: {why}")]
    Rejected {
        /// Where.
        at: Step,
        /// Why.
        why: deepsade_check::Why,
    },
}

impl From<Halt> for Undecided {
    fn from(halt: Halt) -> Self {
        match halt {
            Halt::Timeout => Self::Timeout,
            Halt::Interrupted => Self::Interrupted,
        }
    }
}

/// Why a network can't be looked at.
#[derive(Debug, Error)]
pub enum VerifyError {
    /// Columns or outputs don't fit.
    #[error(
        "the network has {inputs} inputs and {outputs} outputs, the rules speak of {columns} columns ({names}) and {targets} outputs; \
         features must be listed in the order of the network's columns, categories one column a level"
    )]
    Shape {
        /// Of the network.
        inputs: usize,
        /// Of the network.
        outputs: usize,
        /// Of the schema.
        columns: usize,
        /// The schema's columns.
        names: String,
        /// Of the schema.
        targets: usize,
    },
    /// A choice where none is expected.
    #[error(
        "the network chooses rows of a table (ArgMax, Gather); that can be the last step of a network that is verified, and a network \
         that chooses can't be repaired: train it with enforce = \"decode\""
    )]
    Choice,
    /// The domain can't be used.
    #[error("{0}")]
    Domain(String),
    /// The model can't be written down.
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
}

/// How much work it was.
#[derive(Debug, Clone, Copy, Default)]
pub struct Work {
    /// Regions bounded.
    pub regions: usize,
    /// Seconds of them all in the checker.
    pub check_seconds: f64,
}

/// What all searches about a network share.
struct Question<'a> {
    spec: &'a NormalSpec,
    network: &'a Network,
    settings: &'a Settings,
    plan: BoundPlan,
    judge: Judge<'a>,
}

impl<'a> Question<'a> {
    fn new(spec: &'a NormalSpec, network: &'a Network, settings: &'a Settings) -> Self {
        let plan = BoundPlan::new(network, &spec.schema, settings.arithmetic);
        Self { spec, network, settings, plan, judge: Judge::new(spec) }
    }

    fn search<'s>(&'s self, rule: usize, stop: &'s (dyn Fn() -> Option<Halt> + Sync)) -> RegionSearch<'s> {
        let Self { spec, network, settings, plan, judge } = self;
        let Settings { threads, seed, most_open, most_regions, .. } = **settings;
        let target = Target { plan, network, spec, judge, rule, stop };
        RegionSearch { target, threads, seed, most_open, most_regions }
    }

    /// Attacks every rule, then searches until each is proved or the time is over. If `exactly`, what only exact arithmetic can tell
    /// stays open: no checker will look at it.
    fn search_all(
        &self,
        whole: &Region,
        exactly: bool,
        interrupted: &(dyn Fn() -> bool + Sync),
        work: &mut Work,
    ) -> Result<Vec<branch::State>, Outcome> {
        let settings = self.settings;
        let started = Instant::now();
        let stop = || halt(started, settings.timeout, interrupted);
        let mut states = Vec::new();
        let mut unknown: BTreeMap<usize, Undecided> = BTreeMap::new();
        for rule in 0..self.spec.rules.len() {
            let search = self.search(rule, &stop);
            let effort = Effort { starts: 60, steps: 40 };
            let mut state = search.start(whole.clone());
            if exactly && let Some(state) = &mut state {
                state.doubt();
            }
            let example = state.as_ref().map_or_else(|| search.attack_near(whole, effort), |state| search.attack(state, effort));
            if let Some(example) = example {
                return Err(Outcome::Refuted(example));
            }
            if state.is_none() {
                unknown.insert(rule, Undecided::TooManyCells);
            }
            states.push(state);
        }
        // Rules whose cells are too many stay unknown; the others may still be refuted.
        let mut open: Vec<usize> = (0..states.len()).filter(|rule| states[*rule].is_some()).collect();
        // What is left of the time is shared by the rules that are left; what a rule does not use is for the others, again and again.
        while !open.is_empty() {
            let rules = std::mem::take(&mut open);
            for (done, &rule) in rules.iter().enumerate() {
                let left = (rules.len() - done) as u32;
                let now = Instant::now();
                let share = settings.timeout.map(|t| t.saturating_sub(now - started) / left);
                let stop = || halt(now, share, interrupted);
                let Some(state) = &mut states[rule] else { continue };
                let before = state.regions;
                let ended = self.search(rule, &stop).run(state);
                work.regions += state.regions - before;
                match ended {
                    SearchEnd::Proved => {}
                    SearchEnd::Refuted(example) => return Err(Outcome::Refuted(example)),
                    SearchEnd::Open(LeftOpen::Halted(Halt::Timeout))
                        if settings.timeout.is_some_and(|t| started.elapsed() < t) =>
                    {
                        open.push(rule);
                    }
                    SearchEnd::Open(why) => drop(unknown.insert(rule, settings.undecided(&why))),
                }
            }
        }
        if let Some((rule, why)) = unknown.pop_first() {
            return Err(Outcome::Unknown { rule, why });
        }
        Ok(states.into_iter().flatten().collect())
    }
}

/// Says whether the network has the columns and outputs of the rules.
pub fn fits(spec: &NormalSpec, network: &Network) -> Result<(), VerifyError> {
    let columns = spec.schema.columns();
    let (inputs, outputs, targets) = (network.inputs, network.outputs(), spec.schema.task.outputs());
    if (inputs, outputs) == (columns.len(), targets) {
        let choices = network.nodes.iter().rev().skip(1).filter(|n| matches!(n.op, Op::Choose(_))).count();
        return if choices == 0 { Ok(()) } else { Err(VerifyError::Choice) };
    }
    let mut names: Vec<String> = columns.iter().take(12).map(|c| c.name.clone()).collect();
    if columns.len() > 12 {
        names.push("...".into());
    }
    Err(VerifyError::Shape { inputs, outputs, columns: columns.len(), names: names.join(", "), targets })
}

/// Decides the rules for a network; `interrupted` is asked now and then.
///
/// ```
/// use deepsade_engine::verify::{Outcome, Settings, verify};
/// use deepsade_net::{Activation, Matrix, Network, Node, Op};
/// use deepsade_spec::{Domain, Feature, OneHot, RuleText, Schema, Task, compile};
///
/// // y = relu(x) - x / 2 is |x| / 2 for x from -1 to 1.
/// let dense = |data: Vec<f32>, from| Node { op: Op::Dense { w: Matrix { rows: 1, cols: data.len(), data }, b: vec![0.0] }, from: vec![from] };
/// let relu = Node { op: Op::Act(Activation::Relu), from: vec![1] };
/// let beside = Node { op: Op::Concat, from: vec![2, 0] };
/// let network = Network { inputs: 1, nodes: vec![dense(vec![1.0], 0), relu, beside, dense(vec![1.0, -0.5], 3)] };
/// let features = vec![Feature { name: "x".into(), domain: Domain::Real { lo: -1.0, hi: 1.0 } }];
/// let schema = Schema { features, task: Task::regression(vec!["y".into()]), one_hot: OneHot::Full };
/// let decide = |text: &str| {
///     let spec = compile(&[RuleText { name: "rule".into(), text: text.into() }], &schema).unwrap();
///     verify(&spec, &network, &Settings::default(), &|| false).unwrap().0
/// };
/// let Outcome::Proved(proof) = decide("-0.01 <= y <= 0.51") else { panic!("it holds") };
/// assert_eq!(proof.accepted().rules[0].name, "rule");
/// let Outcome::Refuted(example) = decide("y <= 0.4") else { panic!("y is 0.5 at -1 and 1") };
/// assert!(example.y[0] > 0.4);
/// ```
pub fn verify(
    spec: &NormalSpec,
    network: &Network,
    settings: &Settings,
    interrupted: &(dyn Fn() -> bool + Sync),
) -> Result<(Outcome, Work), VerifyError> {
    fits(spec, network)?;
    match chosen(spec, network, settings.arithmetic)? {
        Some(Outcome::Unknown { rule, why: Undecided::Choice { reason, .. } }) => {
            return through_totals(spec, network, settings, interrupted, rule, reason);
        }
        Some(outcome) => return Ok((outcome, Work::default())),
        None => {}
    }
    let started = Instant::now();
    let stop = || halt(started, settings.timeout, interrupted);
    let whole = Region::whole(&spec.schema).map_err(VerifyError::Domain)?;
    let question = Question::new(spec, network, settings);
    let mut work = Work::default();
    let mut states = match question.search_all(&whole, false, interrupted, &mut work) {
        Ok(states) => states,
        Err(outcome) => return Ok((outcome, work)),
    };
    if let Task::Regression { whole, .. } = &spec.schema.task
        && !whole.is_empty()
    {
        return Ok((Outcome::Unknown { rule: 0, why: Undecided::NotWhole(whole.join(", ")) }, work));
    }
    let between = PairQuestion { spec, network, plan: &question.plan, whole: &whole, seed: settings.seed, stop: &stop };
    if let Some(example) = between.attack() {
        return Ok((Outcome::Refuted(example), work));
    }
    // The signs of the weights first; where they say nothing, the slopes.
    let mut arguments = vec![PairArgument::Signs; spec.pairs.len()];
    let model = artifact::model(spec, network.clone())?;
    let bytes = model.to_bytes().map_err(ArtifactError::from)?;
    for attempt in 0.. {
        let trees = states.iter().map(branch::State::tree);
        let now = Instant::now();
        let proof = prove_until(spec, &bytes, settings.arithmetic, trees, arguments.clone(), &|| stop().is_some());
        work.check_seconds += now.elapsed().as_secs_f64();
        let Rejected { at, why } = match proof {
            Ok(certified) => return Ok((Outcome::Proved(Box::new(certified)), work)),
            Err(refused) => refused.rejected,
        };
        let rejected = |rule| Outcome::Unknown { rule, why: Undecided::Rejected { at: at.clone(), why: why.clone() } };
        let (rule, path) = match (&at, &why) {
            (_, deepsade_check::Why::Stopped) => {
                let why = if interrupted() { Undecided::Interrupted } else { Undecided::Unchecked };
                return Ok((Outcome::Unknown { rule: 0, why }, work));
            }
            (Step::Rule { rule, path, .. }, _) => (*rule, path),
            (Step::Input(RANGE), why) => {
                return Ok((Outcome::Unknown { rule: 0, why: Undecided::Overflow(why.to_string()) }, work));
            }
            (Step::Input(_), _) => return Ok((rejected(0), work)),
            (Step::Pair { rule, .. }, _) => {
                let index = spec.rules.len() + rule;
                if arguments[*rule] != PairArgument::Signs {
                    return Ok((rejected(index), work));
                }
                match between.slopes(*rule, &mut work.regions) {
                    Ok(argument) => arguments[*rule] = argument,
                    Err(Some(halt)) => return Ok((Outcome::Unknown { rule: index, why: Undecided::from(halt) }, work)),
                    Err(None) => {
                        let why = Undecided::TwoInputs(why.to_string());
                        return Ok((Outcome::Unknown { rule: index, why }, work));
                    }
                }
                continue;
            }
        };
        let again = attempt < REOPENED && stop().is_none();
        if !again || !(states[rule].doubt() || states[rule].reopen(&whole, path)) {
            return Ok((rejected(rule), work));
        }
        let before = states[rule].regions;
        let ended = question.search(rule, &stop).run(&mut states[rule]);
        work.regions += states[rule].regions - before;
        match ended {
            SearchEnd::Proved => {}
            SearchEnd::Refuted(example) => return Ok((Outcome::Refuted(example), work)),
            SearchEnd::Open(LeftOpen::TooManyOpen | LeftOpen::TooManyRegions) => return Ok((rejected(rule), work)),
            SearchEnd::Open(why) => return Ok((Outcome::Unknown { rule, why: settings.undecided(&why) }, work)),
        }
    }
    unreachable!("the loop ends with an answer")
}

/// Trees that should prove each rule, which no checker has seen yet; or an input that breaks a rule, if that is why there are none.
pub(crate) fn trees(spec: &NormalSpec, network: &Network, settings: &Settings) -> Result<Vec<Tree>, Option<CounterExample>> {
    let whole = Region::whole(&spec.schema).map_err(|_| None)?;
    let question = Question::new(spec, network, settings);
    match question.search_all(&whole, false, &|| false, &mut Work::default()) {
        Ok(states) => Ok(states.iter().map(branch::State::tree).collect()),
        Err(Outcome::Refuted(example)) => Err(Some(example)),
        Err(_) => Err(None),
    }
}

/// Whether a region, such as a ball around a point, holds an input that breaks some rule.
pub(crate) fn broken_within(
    spec: &NormalSpec,
    network: &Network,
    region: &Region,
    settings: &Settings,
    interrupted: &(dyn Fn() -> bool + Sync),
) -> Result<Option<CounterExample>, Undecided> {
    let started = Instant::now();
    let stop = || halt(started, settings.timeout, interrupted);
    let question = Question::new(spec, network, settings);
    let mut unknown = None;
    for rule in 0..spec.rules.len() {
        let search = question.search(rule, &stop);
        let effort = Effort { starts: 4, steps: 20 };
        let state = search.start(region.clone());
        let example = state.as_ref().map_or_else(|| search.attack_near(region, effort), |state| search.attack(state, effort));
        if example.is_some() {
            return Ok(example);
        }
        let Some(mut state) = state else {
            unknown = Some(Undecided::TooManyCells);
            continue;
        };
        // No checker looks at this proof: what only exact arithmetic can tell stays open.
        state.doubt();
        match search.run(&mut state) {
            SearchEnd::Proved => {}
            SearchEnd::Refuted(example) => return Ok(Some(example)),
            SearchEnd::Open(LeftOpen::Halted(Halt::Interrupted)) => return Err(Undecided::Interrupted),
            SearchEnd::Open(why) => unknown = Some(settings.undecided(&why)),
        }
    }
    let plan = &question.plan;
    let boxes = plan.boxes(&plan.inputs(region), pass::Kind::Interval, None, &mut pass::Pass::default());
    if unknown.is_none() && plan.may_overflow(&boxes) {
        unknown = Some(Undecided::Overflow("near this row".into()));
    }
    unknown.map_or(Ok(None), Err)
}

fn halt(started: Instant, timeout: Option<Duration>, interrupted: &(dyn Fn() -> bool + Sync)) -> Option<Halt> {
    if interrupted() {
        return Some(Halt::Interrupted);
    }
    timeout.filter(|t| started.elapsed() > *t).map(|_| Halt::Timeout)
}

/// The answer for a network that chooses its outputs from a table: that every row obeys the rules. `None` for other networks.
pub(crate) fn chosen(spec: &NormalSpec, network: &Network, arithmetic: Arithmetic) -> Result<Option<Outcome>, VerifyError> {
    if !matches!(network.nodes.last(), Some(Node { op: Op::Choose(_), .. })) {
        return Ok(None);
    }
    let model = artifact::model(spec, network.clone())?;
    let model = model.to_bytes().map_err(ArtifactError::from)?;
    Ok(Some(match prove_until(spec, &model, arithmetic, std::iter::repeat(Tree::Decode), Vec::new(), &|| false) {
        Ok(certified) => Outcome::Proved(Box::new(certified)),
        Err(refused) => {
            let Rejected { at, why } = refused.rejected;
            let rule = if let Step::Rule { rule, .. } = at { rule } else { 0 };
            Outcome::Unknown {
                rule,
                why: Undecided::Choice {
                    reason: why.to_string(),
                    whether: "whether an input leads there is not searched".into(),
                },
            }
        }
    }))
}

/// The answer for a network that chooses from a table some rows of which break a rule: whether an input leads to one of them. That
/// none does can be found, but no certificate says so.
fn through_totals(
    spec: &NormalSpec,
    network: &Network,
    settings: &Settings,
    interrupted: &(dyn Fn() -> bool + Sync),
    rule: usize,
    reason: String,
) -> Result<(Outcome, Work), VerifyError> {
    let unknown = |rule, whether: &str| Outcome::Unknown { rule, why: Undecided::Choice { reason, whether: whether.into() } };
    let Some(choice) = Choice::new(spec, network, settings.arithmetic) else {
        return Ok((unknown(rule, "a choice hides the scores, so no input can be looked for"), Work::default()));
    };
    let whole = Region::whole(&spec.schema).map_err(VerifyError::Domain)?;
    let started = Instant::now();
    let stop = || halt(started, settings.timeout, interrupted).is_some();
    if let Some(example) = choice.tried(&whole, &[], TRIED, settings.seed, &stop) {
        return Ok((Outcome::Refuted(example), Work::default()));
    }
    let Some(totals) = &choice.totals else {
        let many = "the table is too long to search for an input that leads there; none of some thousands that were tried does";
        return Ok((unknown(rule, many), Work::default()));
    };
    let none = "the search finds that no input leads to an output that breaks a rule, but certificates can't say so of a choice";
    if totals.spec.rules.is_empty() {
        return Ok((unknown(rule, none), Work::default()));
    }
    let question = Question::new(&totals.spec, choice.before(), settings);
    let mut work = Work::default();
    let outcome = match question.search_all(&whole, true, interrupted, &mut work) {
        Err(Outcome::Refuted(example)) => match choice.chosen(totals, example) {
            Some(example) => Outcome::Refuted(example),
            None => Outcome::Unknown { rule, why: Undecided::Overflow("in the totals".into()) },
        },
        Err(Outcome::Unknown { rule, why: why @ Undecided::Interrupted }) => Outcome::Unknown { rule: totals.rule(rule), why },
        Err(Outcome::Unknown { rule, why }) => {
            unknown(totals.rule(rule), &format!("whether an input leads there was not decided: {why}"))
        }
        Ok(_) | Err(Outcome::Proved(_)) => unknown(rule, none),
    };
    Ok((outcome, work))
}
