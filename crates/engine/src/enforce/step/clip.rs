//! Rules, some of them between two inputs, and rows enter; bounds of each output leave to which a network's outputs are clipped, proved.
//!
//! A rule about one output is its bound. One about several, `a.y + c.x + d >= 0`, is dealt out: around outputs m(x), constant or affine in
//! the input, with `slack(x) = a.m(x) + c.x + d`, output j may use a share `s_j` of it, `|a_j| |y_j - m_j(x)| <= s_j slack(x)` to the side
//! that the rule minds. The shares, which sum to 1, are those for which least of the rows' own outputs is cut off. They do not depend on
//! the input, so that a bound moves with a feature as m and the slack do: clipping by it keeps what never falls with that feature.

mod centre;
mod moved;
mod safe;

use std::collections::BTreeSet;

use deepsade_check::Arithmetic;
use deepsade_check::step::{Clips, Number, Over, Round};
use deepsade_data::{Dataset, thinned};
use deepsade_net::{Matrix, Model, Network};
use deepsade_output::Judge;
use deepsade_spec::normalize::range;
use deepsade_spec::{Atom, Formula, Kept, Linear, Moves, NormalSpec, Pair, Rational, Task, Var};
use thiserror::Error;

use self::centre::{Affinely, fitted};
use self::safe::{calm, safe, vanishes};
use super::fallback::trees;
use super::usual::Usual;
use super::{StepError, ends_over};
use crate::artifact::{self, ArtifactError, CLIPS_KEY};
use crate::proof::{Proof, prove_clips};
use crate::vacuous::binding;

/// How outputs are made, in words.
pub const HOW: &str = "clipped to bounds that follow from the input, behind a network whose weights have the signs that rules between two inputs ask for";

/// What is left of a bound, as a share of its terms, for the rounding of float32.
const MARGIN: f64 = 1.0 / 65536.0;
/// Classes that are tried as the one which alternatives are chosen for.
const MOST_FAVOURED: usize = 20;
/// Rows by which shares are chosen: of those that obey all rules if they are enough.
const MOST_ROWS: usize = 20_000;
const ENOUGH: usize = 10;
/// How far from constant outputs towards those that are usual at an input rules about several are dealt out: what cuts off least is taken.
const FOLLOWED: [f64; 4] = [0.25, 0.5, 0.75, 1.0];
/// How far beyond the bounds the ranges of outputs reach, as a share of their width.
const AIR: f64 = 0.25;

/// Why outputs can't be clipped so that rules hold.
#[derive(Debug, Clone, Error)]
pub enum NoClips {
    /// There is nothing to clip.
    #[error("outputs are clipped where rules of one input stand beside rules between two")]
    NotMixed,
    /// Labels are present or not.
    #[error("labels and places are not clipped: beside rules between two inputs only the weights keep rules about them")]
    Labels,
    /// Bounds that leave no room.
    #[error(
        "beside rules between two inputs outputs are clipped to bounds that the other rules set, and these cross each other, or leave \
         float32 no room, as an equality or a narrow band does: loosen the rules that meet, or leave out those between two inputs, without \
         which the output step keeps equalities exactly"
    )]
    Cross,
    /// A rule that bounds don't keep.
    #[error("rule '{rule}' does not follow from bounds of single outputs: {why}")]
    Rule {
        /// Its name.
        rule: String,
        /// Why not.
        why: &'static str,
    },
    /// A rule between two inputs that bounds break.
    #[error("rule '{rule}' compares two inputs, and the bounds that other rules set move the other way")]
    Trend {
        /// Its name.
        rule: String,
    },
    /// No proof was found.
    #[error(
        "beside rules between two inputs outputs are clipped to bounds, and that these keep rule '{rule}' in float32 could not be shown: \
         loosen it or its condition a little, or try enforce = \"weights\""
    )]
    NotProved {
        /// Its name.
        rule: String,
    },
}

/// One bound, where its conditions hold.
#[derive(Debug, Clone)]
struct LearntBound {
    output: usize,
    upper: bool,
    when: Vec<(usize, bool)>,
    /// Weights by input column, and a constant.
    weights: Vec<f64>,
    constant: f64,
}

impl LearntBound {
    fn is_parallel_to(&self, other: &Self) -> bool {
        let (a, b) = ((self.output, self.upper), (other.output, other.upper));
        a == b && self.when == other.when && self.weights == other.weights
    }
}

/// Whether clipping is a way at all: rules of one input or whole numbers beside rules between two, over numbers.
pub fn is_mixed(spec: &NormalSpec) -> bool {
    let spec = &binding(spec);
    let labels = matches!(spec.schema.task, Task::Multilabel { .. } | Task::Ranking { .. });
    let whole = !spec.schema.task.whole_outputs().is_empty();
    !(spec.rules.is_empty() && !whole || spec.pairs.is_empty() || labels)
}

/// What the weights before clips are asked for: the rules between two inputs, of a change each output's share by itself, for clips
/// move outputs one by one.
pub fn before_clips(spec: &NormalSpec) -> NormalSpec {
    let mut between = NormalSpec { rules: Vec::new(), ..spec.clone() };
    for rule in &mut between.pairs {
        let shared = |part: Pair| match (&part.moves, &part.kept) {
            (Moves::By(_), Kept::Number { linear, by, strict }) if linear.terms.len() > 1 => {
                let by = by / Rational::from(linear.terms.len());
                let own = |(var, c): (&Var, &Rational)| Kept::Number {
                    linear: Linear::var(*var).scaled(c),
                    by: by.clone(),
                    strict: *strict,
                };
                linear.terms.iter().map(own).map(|kept| Pair { kept, ..part.clone() }).collect()
            }
            _ => vec![part],
        };
        rule.parts = std::mem::take(&mut rule.parts).into_iter().flat_map(shared).collect();
    }
    between
}

/// Finds bounds; without rows, some that would do.
pub fn clips(spec: &NormalSpec, rows: Option<&Dataset>) -> Result<Clips, NoClips> {
    let spec = &binding(spec);
    if matches!(spec.schema.task, Task::Multilabel { .. } | Task::Ranking { .. }) {
        return Err(NoClips::Labels);
    }
    if !is_mixed(spec) {
        return Err(NoClips::NotMixed);
    }
    let usual = rows.map_or_else(|| Usual::unknown(spec), |rows| Usual::of(&rows.y));
    let (judge, over) = (Judge::new(spec), Over::new(&spec.schema, None));
    let conditions = spec.conditions();
    let mut finder =
        ClipFinder { spec, judge, conditions, over, rows, usual: &usual, favoured: None, corner: false, followed: None };
    match finder.following()? {
        Err(NoClips::Cross) => {}
        other => return other,
    }
    // Alternatives of several rules may ask for different classes where all of them apply: one for all, if each rule allows it.
    for class in (0..spec.schema.task.classes().map_or(0, <[String]>::len)).take(MOST_FAVOURED) {
        finder.favoured = Some(class);
        if let Ok(clips) = finder.proved(finder.rounds(&finder.bounds()?, &[])) {
            return Ok(clips);
        }
    }
    // Both sides of an output may meet in a corner, as those of `0 <= y <= x` do where x is 0.
    (finder.favoured, finder.corner) = (None, true);
    let bounds = finder.bounds()?;
    let has = |j: usize, upper: bool| bounds.iter().any(|b| b.output == j && b.upper == upper);
    let meet: Vec<usize> = (0..spec.schema.task.outputs()).filter(|j| has(*j, true) && has(*j, false)).collect();
    finder.proved(finder.rounds(&bounds, &meet)).map_err(|_| NoClips::Cross)
}

/// Writes the network down with its clips, and proves it.
pub fn attach(spec: &NormalSpec, network: &Network, clips: &Clips) -> Result<(Model, Proof), StepError> {
    let mut model = artifact::model(spec, network.clone())?;
    model.metadata.insert(CLIPS_KEY.into(), clips.to_json());
    model.behind = Some(clips.behind(spec).map_err(StepError::Tail)?);
    let proof = prove_clips(spec, &model.to_bytes().map_err(ArtifactError::from)?, clips.clone());
    Ok((model, proof))
}

struct ClipFinder<'a> {
    spec: &'a NormalSpec,
    judge: Judge<'a>,
    conditions: Vec<Atom>,
    over: Over,
    rows: Option<&'a Dataset>,
    usual: &'a Usual,
    /// The class that alternatives are chosen for, where they are.
    favoured: Option<usize>,
    /// Whether a rule may leave no room for some input.
    corner: bool,
    /// How far from constant outputs towards the usual ones rules about several outputs are dealt out, and whether these are told from all
    /// columns, or from those alone that rules mention.
    followed: Option<(f64, bool)>,
}

impl ClipFinder<'_> {
    /// Proved bounds, rules about several outputs being dealt out around those that are usual at an input as far as that cuts off less of
    /// the rows.
    fn following(&mut self) -> Result<Result<Clips, NoClips>, NoClips> {
        let first = self.bounds()?;
        let mut best = self.proved(self.rounds(&first, &[]));
        let Task::Regression { .. } = self.spec.schema.task else { return Ok(best) };
        let ways = FOLLOWED.into_iter().flat_map(|share| [true, false].map(|all| (share, all)));
        for way in ways.filter(|_| self.rows.is_some()) {
            self.followed = Some(way);
            let bounds = self.bounds()?;
            if bounds.iter().map(|b| &b.weights).eq(first.iter().map(|b| &b.weights)) {
                break;
            }
            let found = self.proved(self.rounds(&bounds, &[]));
            let cut = |clips: &Result<Clips, NoClips>| clips.as_ref().map_or(f64::INFINITY, |clips| self.cut_off(clips));
            if cut(&found) < cut(&best) {
                best = found;
            }
        }
        self.followed = None;
        Ok(best)
    }

    /// How much of the rows' own outputs bounds cut off, in squares of what is usual.
    fn cut_off(&self, clips: &Clips) -> f64 {
        let (x, y): (Vec<&[f32]>, Vec<&[f32]>) = self.shown().unzip();
        let width = self.spec.schema.columns().len();
        let ends = ends_of(clips, self.spec, &Matrix { rows: x.len(), cols: width, data: x.concat() });
        let outside = |(r, y): (usize, &&[f32])| -> f64 {
            let (lo, hi) = ends.row(r).split_at(y.len());
            let by = |j: usize| f64::from((lo[j] - y[j]).max(y[j] - hi[j]).max(0.0)) / self.usual.scale[j];
            (0..y.len()).map(|j| by(j).powi(2)).sum()
        };
        y.iter().enumerate().map(outside).sum()
    }

    /// The bounds that keep all rules, moving as rules between two inputs ask.
    fn bounds(&self) -> Result<Vec<LearntBound>, NoClips> {
        let mut bounds = Vec::new();
        for rule in &self.spec.rules {
            let wrong = |why| NoClips::Rule { rule: rule.name.clone(), why };
            for part in rule.claim.conjuncts() {
                bounds.extend(self.part(part).map_err(wrong)?);
            }
        }
        bounds.iter_mut().for_each(|bound| self.turn(bound));
        // Of bounds that differ in their constants alone the tightest says it all.
        let mut tightest: Vec<LearntBound> = Vec::new();
        for bound in bounds {
            match tightest.iter_mut().find(|known| known.is_parallel_to(&bound)) {
                Some(known) if known.upper => known.constant = known.constant.min(bound.constant),
                Some(known) => known.constant = known.constant.max(bound.constant),
                None => tightest.push(bound),
            }
        }
        Ok(tightest)
    }

    /// The bounds that keep one part of a rule: conditions on the input, or else something about outputs.
    fn part(&self, part: &Formula) -> Result<Vec<LearntBound>, &'static str> {
        let alternatives = if let Formula::Or(parts) = part { &parts[..] } else { std::slice::from_ref(part) };
        let on_input = |f: &Formula| f.variables().iter().all(|v| !v.is_output());
        if let Some(at) = alternatives.iter().position(|f| matches!(f, Formula::And(_)) && on_input(f)) {
            // (p and q) or r  <=>  (p or r) and (q or r)
            let others = || alternatives.iter().enumerate().filter(|(k, _)| *k != at).map(|(_, f)| f.clone());
            let each = alternatives[at].conjuncts().iter().map(|f| self.part(&Formula::or(others().chain([f.clone()]))));
            return Ok(each.collect::<Result<Vec<_>, _>>()?.concat());
        }
        let (mut when, mut about) = (Vec::new(), Vec::new());
        for alternative in alternatives {
            match alternative {
                Formula::Atom(atom) if atom.is_condition() => when.push(self.fails(atom).ok_or("a condition was not found")?),
                other if other.variables().iter().any(|v| v.is_output()) => about.push(other),
                _ => return Err("its conditions are more than comparisons of which all hold"),
            }
        }
        // Of several alternatives the one that most rows obey.
        let obeyed = |f: &&Formula| {
            self.shown().map(|(x, y)| usize::from(f.holds(&mut |atom| self.judge.holds(atom, x, y)))).sum::<usize>()
        };
        let favours = |f: &&Formula| self.favoured.is_some_and(|class| f.conjuncts().iter().all(|part| raises(part, class)));
        let chosen = about.iter().rev().max_by_key(|f| (favours(f), obeyed(f))).ok_or("it says nothing of outputs")?;
        let conditions = || alternatives.iter().filter(|f| on_input(f)).cloned();
        let mut bounds = Vec::new();
        for part in chosen.conjuncts() {
            match part {
                Formula::Atom(atom) if atom.is_condition() => {}
                Formula::Atom(atom) => bounds.extend(self.atom(atom, &when)?),
                // p or (q and r)  <=>  (p or q) and (p or r)
                Formula::Or(_) => bounds.extend(self.part(&Formula::or(conditions().chain([part.clone()])))?),
                _ => return Err("it counts, or has alternatives within alternatives"),
            }
        }
        Ok(bounds)
    }

    /// The condition under which an atom does not hold.
    fn fails(&self, atom: &Atom) -> Option<(usize, bool)> {
        atom.place_among(&self.conditions).map(|(at, itself)| (at, !itself))
    }

    /// Some rows, with their outputs.
    fn shown(&self) -> impl Iterator<Item = (&[f32], &[f32])> {
        self.rows.into_iter().flat_map(|rows| thinned(rows.x.rows, MOST_ROWS).map(|r| (rows.x.row(r), rows.y.row(r))))
    }

    /// Those of them that meet conditions, and obey all rules if they are enough.
    fn obeying(&self, when: &[(usize, bool)]) -> Vec<(&[f32], &[f32])> {
        let met = |x: &[f32]| when.iter().all(|(c, truth)| self.judge.meets(&self.conditions[*c], x) == *truth);
        let rows: Vec<(&[f32], &[f32])> = self.shown().filter(|(x, _)| met(x)).collect();
        let obeying: Vec<_> = rows.iter().copied().filter(|(x, y)| !self.judge.breaks_any(x, y)).collect();
        if obeying.len() < ENOUGH { rows } else { obeying }
    }

    /// The columns that rules about one input read.
    fn mentioned(&self) -> BTreeSet<usize> {
        let mut mentioned = BTreeSet::new();
        let mut look = |atom: &Atom| {
            let weights = self.columns(&atom.linear).0;
            mentioned.extend(weights.iter().enumerate().filter(|(_, w)| **w != 0.0).map(|(c, _)| c));
        };
        self.spec.rules.iter().for_each(|rule| rule.claim.atoms(&mut look));
        mentioned
    }

    /// The part of a form that reads the input, as weights of columns and a constant.
    fn columns(&self, linear: &Linear) -> (Vec<f64>, f64) {
        let (mut form, mut constant) = (Vec::new(), linear.constant.clone());
        let inputs = linear.terms.iter().filter(|(var, _)| !var.is_output());
        inputs.for_each(|(var, c)| self.over.add(*var, c, &mut form, &mut constant));
        let mut weights = vec![0.0; self.spec.schema.columns().len()];
        form.iter().for_each(|(column, c)| weights[*column] += c.to_f64().value());
        (weights, constant.to_f64().value())
    }

    /// `a.y + c.x + d >= 0` as bounds of each output.
    fn atom(&self, atom: &Atom, when: &[(usize, bool)]) -> Result<Vec<LearntBound>, &'static str> {
        let width = self.spec.schema.columns().len();
        let terms: Vec<(usize, f64)> = atom
            .linear
            .terms
            .iter()
            .filter_map(|(v, c)| match v {
                Var::Output(j) => Some((*j, c.to_f64().value())),
                _ => None,
            })
            .collect();
        if let [_] = &terms[..] {
            return Ok(self.dealt(atom, &terms, &[Affinely::constant(width, 0.0)], when));
        }
        let centre = self.centre(&terms, self.least(&atom.linear)).ok_or("no outputs obey it for every input")?;
        let centre: Vec<Affinely> = centre.into_iter().map(|m| Affinely::constant(width, m)).collect();
        let Some((followed, all)) = self.followed else { return Ok(self.dealt(atom, &terms, &centre, when)) };
        // Around what is usual, read from columns with which bounds may move.
        let rows = self.obeying(when);
        let mentioned = self.mentioned();
        let mut columns: Vec<usize> = (0..width).filter(|c| all || mentioned.contains(c)).collect();
        loop {
            let usual = terms.iter().map(|(j, _)| fitted(&rows, *j, width, &columns));
            let centre: Vec<Affinely> = centre.iter().zip(usual).map(|(m, usual)| m.towards(&usual, followed)).collect();
            let bounds = self.dealt(atom, &terms, &centre, when);
            let read = |c: &usize| centre.iter().any(|m| m.weights[*c] != 0.0);
            let before = columns.len();
            columns.retain(|c| !read(c) || bounds.iter().all(|bound| self.moves_well(bound, *c)));
            if columns.len() == before {
                return Ok(bounds);
            }
        }
    }

    /// `a.y + c.x + d >= 0` as bounds of each output around outputs that may depend on the input.
    fn dealt(&self, atom: &Atom, terms: &[(usize, f64)], centre: &[Affinely], when: &[(usize, bool)]) -> Vec<LearntBound> {
        let (weights, constant) = self.columns(&atom.linear);
        let mut slack = Affinely { weights, constant };
        for ((_, a), m) in terms.iter().zip(centre) {
            slack.weights.iter_mut().zip(&m.weights).for_each(|(w, own)| *w += a * own);
            slack.constant += a * m.constant;
        }
        let shares = if terms.len() == 1 { vec![1.0] } else { self.shares(terms, centre, &slack, when) };
        let strict =
            if atom.strict { MARGIN * terms.iter().map(|(j, a)| a.abs() * self.usual.scale[*j]).sum::<f64>() } else { 0.0 };
        let bound = |((j, a), (m, s)): (&(usize, f64), (&Affinely, &f64))| LearntBound {
            output: *j,
            upper: *a < 0.0,
            when: when.to_vec(),
            weights: slack.weights.iter().zip(&m.weights).map(|(w, own)| own - s * w / a).collect(),
            constant: m.constant - s * (slack.constant - strict) / a,
        };
        terms.iter().zip(centre.iter().zip(&shares)).map(bound).collect()
    }

    /// The smallest value that the input gives to a form.
    fn least(&self, linear: &Linear) -> f64 {
        let mut input = linear.clone();
        input.terms.retain(|var, _| !var.is_output());
        range(&input, &self.spec.schema).0.to_f64().value()
    }

    /// Outputs with which the form is above 0 for every input: 0 if that will do, else as near to the usual ones as may be.
    fn centre(&self, terms: &[(usize, f64)], least: f64) -> Option<Vec<f64>> {
        if least > 0.0 || self.corner && least == 0.0 {
            return Some(vec![0.0; terms.len()]);
        }
        let size: f64 = terms.iter().map(|(j, a)| a.abs() * self.usual.scale[*j]).sum();
        let usual: Vec<f64> = terms.iter().map(|(j, _)| self.usual.at[*j]).collect();
        let missing = 0.5 * size - least - dot(terms, &usual);
        let moved = |((j, a), at): (&(usize, f64), &f64)| at + a.signum() * missing.max(0.0) / size * self.usual.scale[*j];
        Some(terms.iter().zip(&usual).map(moved).collect::<Vec<f64>>()).filter(|m| m.iter().all(|v| v.is_finite()))
    }

    /// The shares with which least is cut off: from those in proportion to what rows use, by moving a little from one to another.
    fn shares(&self, terms: &[(usize, f64)], centre: &[Affinely], slack: &Affinely, when: &[(usize, bool)]) -> Vec<f64> {
        let rows = self.obeying(when);
        // How much of its slack each row uses, by output: what lies on the side that the rule minds.
        let used: Vec<Vec<f64>> = rows
            .iter()
            .map(|(x, y)| {
                let slack = slack.at(x).max(1e-12);
                terms.iter().zip(centre).map(|((j, a), m)| (-a * (f64::from(y[*j]) - m.at(x)) / slack).max(0.0)).collect()
            })
            .collect();
        let slacks: Vec<f64> = rows.iter().map(|(x, _)| slack.at(x)).collect();
        // What is cut off counts in the units of the outputs, as in the score by which models are compared.
        let unit: Vec<f64> = terms.iter().map(|(_, a)| 1.0 / a.abs()).collect();
        let cut = |k: usize, share: f64| -> f64 {
            used.iter().zip(&slacks).map(|(u, slack)| ((u[k] - share).max(0.0) * slack * unit[k]).powi(2)).sum()
        };
        let n = terms.len();
        let mean: Vec<f64> = (0..n).map(|k| 1e-3 + used.iter().map(|u| u[k]).sum::<f64>() / used.len().max(1) as f64).collect();
        let total: f64 = mean.iter().sum();
        let mut shares: Vec<f64> = mean.iter().map(|m| m / total).collect();
        let mut cost: Vec<f64> = (0..n).map(|k| cut(k, shares[k])).collect();
        let mut step: f64 = 0.1;
        while step > 0.002 {
            let mut moved = false;
            for (from, to) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))).filter(|(i, j)| i != j) {
                let by = step.min(shares[from]);
                let after = [cut(from, shares[from] - by), cut(to, shares[to] + by)];
                if after[0] + after[1] < cost[from] + cost[to] - 1e-12 {
                    (shares[from], shares[to]) = (shares[from] - by, shares[to] + by);
                    (cost[from], cost[to]) = (after[0], after[1]);
                    moved = true;
                }
            }
            step *= if moved { 1.0 } else { 0.5 };
        }
        shares
    }

    /// The same clips with trees that show what must be shown of them.
    fn proved(&self, mut clips: Clips) -> Result<Clips, NoClips> {
        self.keeps_trends(&clips)?;
        let rules = &self.spec.rules;
        let failed = |k: usize| k.checked_sub(1).map_or(NoClips::Cross, |k| NoClips::NotProved { rule: rules[k].name.clone() });
        let claims = clips.claims(self.spec).map_err(|_| failed(0))?;
        let network = clips.network(self.spec.schema.columns().len());
        clips.trees = trees(&claims, &network, |_| Arithmetic::Float32).map_err(|(k, _)| failed(k))?;
        Ok(clips)
    }

    /// The bounds in as few rounds as they fit in, upper ones first, and ranges that hold them. Where the sides of an output meet, upper
    /// bounds are a little lower, so that rounding does not matter there.
    fn rounds(&self, bounds: &[LearntBound], meet: &[usize]) -> Clips {
        let ranges = self.spec.schema.column_ranges();
        let mut numbers = self.usual.ranges();
        self.spec.schema.task.whole_outputs().into_iter().for_each(|j| numbers[j].grid = Some(0));
        let mut rounds: Vec<(Vec<bool>, Round)> = Vec::new();
        let outputs = numbers.len();
        for upper in [true, false] {
            let first = rounds.len();
            for bound in bounds.iter().filter(|b| b.upper == upper) {
                let whole = numbers[bound.output].grid.is_some();
                let exact = if whole { self.whole(bound, &ranges) } else { None };
                let meets = meet.contains(&bound.output);
                let lowered = upper && meets && bound.weights.iter().any(|w| *w != 0.0);
                let wholly = lowered || !meets && vanishes(bound, &ranges);
                let (weights, bias, ends) = exact.filter(|_| !lowered).unwrap_or_else(|| safe(bound, &ranges, wholly));
                let (lo, hi) = (f64::from(numbers[bound.output].lo), f64::from(numbers[bound.output].hi));
                let air = AIR * (ends.1 - ends.0).max(ends.0.abs()).max(ends.1.abs());
                let number = &mut numbers[bound.output];
                (number.lo, number.hi) = (lo.min(ends.0 - air) as f32, hi.max(ends.1 + air) as f32);
                let free = rounds[first..].iter().position(|(taken, _)| !taken[bound.output]).map(|k| first + k);
                let at = free.unwrap_or_else(|| {
                    let round =
                        Round { upper, when: vec![Vec::new(); outputs], weights: Vec::new(), bias: vec![f32::NAN; outputs] };
                    rounds.push((vec![false; outputs], round));
                    rounds.len() - 1
                });
                let (taken, round) = &mut rounds[at];
                taken[bound.output] = true;
                round.when[bound.output].clone_from(&bound.when);
                round.bias[bound.output] = bias;
                let own = weights.iter().enumerate().filter(|(_, w)| **w != 0.0);
                round.weights.extend(own.map(|(column, w)| (bound.output, column, *w)));
            }
        }
        let numbers: Vec<Number> = numbers.into_iter().map(calm).collect();
        let mut rounds: Vec<Round> = rounds.into_iter().map(|(_, round)| round).collect();
        for round in &mut rounds {
            // Where an output has no bound in a round, an end of its range.
            let end = |n: &Number| if round.upper { n.hi } else { n.lo };
            round.bias.iter_mut().zip(&numbers).filter(|(b, _)| b.is_nan()).for_each(|(b, n)| *b = end(n));
        }
        Clips { numbers, rounds, meet: meet.to_vec(), trees: Vec::new() }
    }

    /// A bound of a whole number that is computed without rounding, if it is: a constant, or whole multiples of whole features.
    fn whole(&self, bound: &LearntBound, ranges: &[(f32, f32)]) -> Option<(Vec<f32>, f32, (f64, f64))> {
        let inward = |v: f64| {
            let near = 1e-9 * v.abs().max(1.0);
            if bound.upper { (v + near).floor() } else { (v - near).ceil() }
        };
        let whole_columns = self.over.whole_columns();
        let exact = |(w, whole): (&f64, bool)| *w == 0.0 || whole && w.fract() == 0.0;
        if !bound.weights.iter().zip(whole_columns).all(exact) {
            return None;
        }
        let weights: Vec<f32> = bound.weights.iter().map(|w| *w as f32).collect();
        let bias = inward(bound.constant);
        let ends = ends_over(bias, weights.iter().copied().zip(ranges.iter().copied()));
        Some((weights, bias as f32, ends))
    }
}

/// Whether an atom holds more easily as an output grows.
fn raises(part: &Formula, output: usize) -> bool {
    matches!(part, Formula::Atom(atom) if atom.linear.terms.get(&Var::Output(output)).is_some_and(|c| *c > Rational::ZERO))
}

fn dot(terms: &[(usize, f64)], at: &[f64]) -> f64 {
    terms.iter().zip(at).map(|((_, a), m)| a * m).sum()
}

/// The smallest and the largest that a row's outputs may be, output by output.
pub fn ends_of(clips: &Clips, spec: &NormalSpec, x: &Matrix) -> Matrix {
    let (judge, conditions, outputs) = (Judge::new(spec), spec.conditions(), clips.numbers.len());
    let mut ends = Matrix::zeros(x.rows, 2 * outputs);
    for r in 0..x.rows {
        let x = x.row(r);
        let (lo, hi) = ends.row_mut(r).split_at_mut(outputs);
        lo.iter_mut().zip(hi.iter_mut()).zip(&clips.numbers).for_each(|((lo, hi), n)| (*lo, *hi) = (n.lo, n.hi));
        for round in &clips.rounds {
            let mut bound = round.bias.clone();
            round.weights.iter().for_each(|(o, c, w)| bound[*o] += w * x[*c]);
            for (j, bound) in bound.into_iter().enumerate() {
                let met = |(c, truth): &(usize, bool)| judge.meets(&conditions[*c], x) == *truth;
                if round.when[j].iter().all(met) {
                    if round.upper {
                        hi[j] = hi[j].min(bound);
                    } else {
                        lo[j] = lo[j].max(bound);
                    }
                }
            }
        }
        // Lower bounds come last.
        lo.iter().zip(hi).for_each(|(lo, hi)| *hi = hi.max(*lo));
    }
    ends
}
