//! Rules and any supported network enter; a proof, a counter-example or the reason for neither leaves.
//!
//! Attack first, which settles most broken rules in milliseconds; then branch and bound. The search runs in float64 with float32's
//! error terms; what it finds is written as a certificate, and only the checker says "proved". A counter-example is an input that
//! was run through the network, in float32 or exactly as was asked, and judged by the rule itself.

mod attack;
mod bound;
mod branch;
mod choice;
mod chosen;
mod exact;
mod file;
mod many_cells;
mod outcome;
mod pair;
mod pass;
mod plan;
mod product;
mod rows;
mod sensitivity;
mod settings;
mod stepped;
pub mod vnnlib;
mod windows;
pub mod words;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use deepsade_check::{InputPart, PairArgument, Rejected, Step, Tree, Why};
use deepsade_net::{Network, Op};
use deepsade_output::Judge;
use deepsade_spec::{Cut, NormalSpec, Region, Schema, Task};

use crate::artifact::{self, ArtifactError};
use crate::proof::{ProofWatch, prove_until};
pub use attack::CounterExample;
use attack::{Attacked, Effort};
pub use branch::Halt;
use branch::{LeftOpen, RegionSearch, SearchEnd};
pub(crate) use choice::Choice;
pub(crate) use chosen::chosen;
use chosen::through_totals;
pub use file::{FileAnswer, verify_file};
pub(crate) use many_cells::nearest_cell;
pub use outcome::{LeadsThere, Outcome, OverflowAt, StepUnproved, Undecided, VerifyError, Work};
use pair::PairQuestion;
use plan::BoundPlan;
pub use settings::{SECONDS, VerifySettings};
pub use stepped::verify_model;
pub(crate) use stepped::{broken, passes_on, proved};

/// The part of the time that is for the search; the rest is for the checker.
const SEARCH_SHARE: f64 = 0.75;
/// Weights that the attack before the search goes through at each step, over all its starts.
const ATTACK_WORK: usize = 4_000_000;
/// Times that leaves which the checker does not accept are split further.
const REOPENED: usize = 40;

/// What all searches about a network share.
struct Question<'a> {
    spec: &'a NormalSpec,
    network: &'a Network,
    settings: &'a VerifySettings,
    plan: BoundPlan,
    judge: Judge<'a>,
    root: OnceLock<Arc<branch::KnownBoxes>>,
}

impl<'a> Question<'a> {
    fn new(spec: &'a NormalSpec, network: &'a Network, settings: &'a VerifySettings) -> Self {
        let plan = BoundPlan::new(network, &spec.schema, settings.arithmetic);
        Self { spec, network, settings, plan, judge: Judge::new(spec), root: OnceLock::new() }
    }

    fn search<'s>(&'s self, rule: usize, stop: &'s (dyn Fn() -> Option<Halt> + Sync)) -> RegionSearch<'s> {
        let Self { spec, network, settings, plan, judge, root } = self;
        let VerifySettings { threads, seed, most_open, most_regions, .. } = **settings;
        let target = Attacked { plan, network, spec, judge, rule, stop };
        RegionSearch { target, threads, seed, most_open, most_regions, root }
    }

    /// Attacks every rule, then searches until each is proved or the time is over. If `exactly`, what only exact arithmetic can tell
    /// stays open: no checker will look at it.
    fn search_all(
        &self,
        whole: &Region,
        exactly: bool,
        interrupted: &(dyn Fn() -> bool + Sync),
        work: &mut Work,
    ) -> Result<Vec<branch::SearchState>, Outcome> {
        let settings = self.settings;
        let started = Instant::now();
        let stop = || halt(started, settings.timeout, interrupted);
        let mut states = Vec::new();
        let mut unknown: BTreeMap<usize, Undecided> = BTreeMap::new();
        for rule in 0..self.spec.rules.len() {
            let search = self.search(rule, &stop);
            let effort = Effort { starts: (ATTACK_WORK / self.plan.weights().max(1)).clamp(10, 60), steps: 40 };
            let mut state = search.start(whole.clone());
            let mut ended = None;
            if let Some(state) = &mut state {
                if exactly {
                    state.doubt();
                }
                // What its bounds close at once, beyond doubt, need not be attacked.
                let first = RegionSearch { most_regions: self.settings.most_regions.min(1), ..self.search(rule, &stop) };
                ended = Some(first.run(state));
                work.regions += state.regions;
            }
            let attack = || state.as_ref().and_then(|state| search.attack(state, whole, effort));
            let example = match ended {
                Some(SearchEnd::Proved) if state.as_ref().is_some_and(branch::SearchState::hopes) => attack(),
                Some(SearchEnd::Proved) => None,
                Some(SearchEnd::Refuted(example)) => Some(example),
                Some(SearchEnd::Open(why)) => {
                    if matches!(why, LeftOpen::Margin) {
                        unknown.insert(rule, settings.undecided(&why));
                    }
                    attack()
                }
                None => search.attack_near(whole, effort),
            };
            if let Some(example) = example {
                return Err(Outcome::Refuted(example));
            }
            if state.is_none() {
                unknown.insert(rule, Undecided::TooManyCells);
            }
            states.push(state);
        }
        // Rules whose cells are too many stay unknown; the others may still be refuted.
        let mut open: Vec<usize> =
            (0..states.len()).filter(|rule| states[*rule].is_some() && !unknown.contains_key(rule)).collect();
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
/// use deepsade_engine::verify::{Outcome, VerifySettings, verify};
/// use deepsade_net::{Activation, Matrix, Network, Node, Op};
/// use deepsade_spec::{Domain, Feature, OneHot, RuleText, Schema, Task, compile};
///
/// // y = relu(x) - x / 2 is |x| / 2 for x from -1 to 1.
/// let dense = |data: Vec<f32>, from| Node { op: Op::Dense { w: Matrix { rows: 1, cols: data.len(), data }, b: vec![0.0] }, from: vec![from] };
/// let relu = Node { op: Op::Act(Activation::Relu), from: vec![1] };
/// let beside = Node { op: Op::Concat, from: vec![2, 0] };
/// let network = Network { inputs: 1, nodes: vec![dense(vec![1.0], 0), relu, beside, dense(vec![1.0, -0.5], 3)] };
/// let features = vec![Feature { name: "x".into(), domain: Domain::Real { lo: -1.0, hi: 1.0 } }];
/// let schema = Schema { features, task: Task::regression(vec!["y".into()]), one_hot: OneHot::Full, filled: vec![] };
/// let decide = |text: &str| {
///     let spec = compile(&[RuleText { name: "rule".into(), text: text.into() }], &schema).unwrap();
///     verify(&spec, &network, &VerifySettings::default(), &|| false).unwrap().0
/// };
/// let Outcome::Proved(proof) = decide("-0.01 <= y <= 0.51") else { panic!("it holds") };
/// assert_eq!(proof.accepted().rules[0].name, "rule");
/// let Outcome::Refuted(example) = decide("y <= 0.4") else { panic!("y is 0.5 at -1 and 1") };
/// assert!(example.y[0] > 0.4);
/// ```
pub fn verify(
    spec: &NormalSpec,
    network: &Network,
    settings: &VerifySettings,
    interrupted: &(dyn Fn() -> bool + Sync),
) -> Result<(Outcome, Work), VerifyError> {
    let (outcome, work) = decide(spec, network, settings, interrupted)?;
    let outcome = match outcome.reachable(&spec.schema) {
        Outcome::Unknown { rule, why: Undecided::Unreachable(name) } => {
            // Rows without gaps can be asked about, all of them.
            match complete(&spec.schema).and_then(|rows| broken_within(spec, network, &rows, settings, interrupted).ok()?) {
                Some(example) => Outcome::Refuted(example),
                None => Outcome::Unknown { rule, why: Undecided::Unreachable(name) },
            }
        }
        outcome => outcome,
    };
    Ok((outcome, work))
}

/// The inputs in which nothing was filled in.
fn complete(schema: &Schema) -> Option<Region> {
    let mut indicators = schema.given().len()..schema.features.len();
    let without = |region: Region, feature| region.split(feature, &Cut::At(0.0)).ok().map(|[below, _]| below);
    indicators.try_fold(Region::domain(schema).ok()?, without)
}

fn decide(
    spec: &NormalSpec,
    network: &Network,
    settings: &VerifySettings,
    interrupted: &(dyn Fn() -> bool + Sync),
) -> Result<(Outcome, Work), VerifyError> {
    fits(spec, network)?;
    match chosen(spec, network, settings.arithmetic)? {
        Some(Outcome::Unknown { rule, why: Undecided::Choice { reason, .. } }) => {
            return through_totals(spec, network, settings, interrupted, rule, *reason);
        }
        Some(outcome) => return Ok((outcome, Work::default())),
        None => {}
    }
    let started = Instant::now();
    let stop = || halt(started, settings.timeout, interrupted);
    let whole = Region::domain(&spec.schema).map_err(VerifyError::Domain)?;
    // The checker goes through what the search finds, within the same time.
    let searching = VerifySettings { timeout: settings.timeout.map(|t| t.mul_f64(SEARCH_SHARE)), ..settings.clone() };
    let question = Question::new(spec, network, &searching);
    let mut work = Work::default();
    let mut states = match question.search_all(&whole, false, interrupted, &mut work) {
        Ok(states) => states,
        Err(outcome) => return Ok((outcome, work)),
    };
    if let Task::Regression { whole, .. } = &spec.schema.task
        && !whole.is_empty()
    {
        return Ok((Outcome::Unknown { rule: 0, why: Undecided::NotWhole(whole.clone()) }, work));
    }
    let between =
        PairQuestion { spec, network, behind: None, plan: &question.plan, whole: &whole, seed: settings.seed, stop: &stop };
    if let Some(example) = between.attack() {
        return Ok((Outcome::Refuted(example), work));
    }
    // The signs of the weights first; where they say nothing, the slopes.
    let mut arguments = vec![PairArgument::Signs; spec.pairs.len()];
    let mut tries = vec![0; spec.pairs.len()];
    let model = artifact::model(spec, network.clone())?;
    let bytes = model.to_bytes().map_err(ArtifactError::from)?;
    for attempt in 0.. {
        let trees = states.iter().map(branch::SearchState::tree);
        let now = Instant::now();
        let watch = ProofWatch { threads: settings.threads, stop: &|| stop().is_some() };
        let proof = prove_until(spec, &bytes, settings.arithmetic, trees, arguments.clone(), watch);
        work.check_seconds += now.elapsed().as_secs_f64();
        let Rejected { at, why } = match proof {
            Ok(certified) => return Ok((Outcome::Proved(Box::new(certified)), work)),
            Err(refused) => refused.rejected,
        };
        let rejected = |rule| Outcome::Unknown { rule, why: Undecided::Rejected { at: at.clone(), why: Box::new(why.clone()) } };
        let (rule, path) = match (&at, &why) {
            (_, Why::Stopped) => {
                let why = if interrupted() { Undecided::Interrupted } else { Undecided::Unchecked };
                return Ok((Outcome::Unknown { rule: 0, why }, work));
            }
            (Step::Rule { rule, path, .. }, _) => (*rule, path),
            (Step::Input(InputPart::Range), why) => {
                return Ok((
                    Outcome::Unknown { rule: 0, why: Undecided::Overflow(OverflowAt::Checked(Box::new(why.clone()))) },
                    work,
                ));
            }
            (Step::Input(_), _) => return Ok((rejected(0), work)),
            (Step::Pair { rule, .. }, _) => {
                let index = spec.rules.len() + rule;
                match between.another(*rule, &arguments[*rule], &mut tries[*rule], &mut work.regions) {
                    Ok(Some(argument)) => arguments[*rule] = argument,
                    Ok(None) => return Ok((rejected(index), work)),
                    Err(Some(halt)) => return Ok((Outcome::Unknown { rule: index, why: Undecided::from(halt) }, work)),
                    Err(None) => {
                        let why = Undecided::TwoInputs(Box::new(why));
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
pub(crate) fn trees(
    spec: &NormalSpec,
    network: &Network,
    settings: &VerifySettings,
) -> Result<Vec<Tree>, Option<CounterExample>> {
    let whole = Region::domain(&spec.schema).map_err(|_| None)?;
    let question = Question::new(spec, network, settings);
    match question.search_all(&whole, false, &|| false, &mut Work::default()) {
        Ok(states) => Ok(states.iter().map(branch::SearchState::tree).collect()),
        Err(Outcome::Refuted(example)) => Err(Some(example)),
        Err(_) => Err(None),
    }
}

/// Whether a region, such as a ball around a point, holds an input that breaks some rule.
pub(crate) fn broken_within(
    spec: &NormalSpec,
    network: &Network,
    region: &Region,
    settings: &VerifySettings,
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
        let example =
            state.as_ref().map_or_else(|| search.attack_near(region, effort), |state| search.attack(state, region, effort));
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
    let boxes = plan.boxes(&plan.inputs(region), pass::Reach::Interval, None, &mut pass::Pass::default());
    if unknown.is_none() && plan.may_overflow(&boxes) {
        unknown = Some(Undecided::Overflow(OverflowAt::Row));
    }
    unknown.map_or(Ok(None), Err)
}

fn halt(started: Instant, timeout: Option<Duration>, interrupted: &(dyn Fn() -> bool + Sync)) -> Option<Halt> {
    if interrupted() {
        return Some(Halt::Interrupted);
    }
    timeout.filter(|t| started.elapsed() > *t).map(|_| Halt::Timeout)
}
