//! Rules enter; leave the alternatives that the outputs of one input have: faces, each demanded unless a condition on the input holds.
//!
//! Outputs that no rule ties together have alternatives of their own: six times two are twelve, and not 64.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::ControlFlow;

use deepsade_check::step::Number;
use deepsade_solve::active_set::{HalfSpace, nearest};
use deepsade_solve::finite;
use deepsade_solve::tied::{TiedParts, tied};
use deepsade_spec::cells::cells;
use deepsade_spec::{Atom, Formula, Linear, NormalSpec, Rational, Schema};

use super::super::MakeError;
use super::select::{Quota, choices};

/// Alternatives of a group that a graph may try one after the other.
pub(super) const MOST: usize = 32;
/// Alternatives that are looked at before those without any outputs are left out.
const MOST_SEEN: usize = 4096;

/// Comparisons that tie outputs to each other: what makes candidates has matrices with a line and a column for each.
const MOST_TIES: usize = 2048;

/// Faces that these may have together.
const MOST_FACES: usize = 1 << 16;

/// Atoms of conditions that they may hold copies of.
const MOST_COPIED: usize = 1 << 20;

/// Faces that obey all rules together.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Alternative {
    /// Conditions on the input, without which it is none.
    pub(super) demands: Vec<Formula>,
    /// The faces.
    pub(super) faces: Vec<GuardedFace>,
}

/// A face that is demanded unless a condition on the input holds.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct GuardedFace {
    /// The condition.
    pub(super) unless: Formula,
    /// The option of a choice that it belongs to: it is demanded only if that is taken.
    pub(super) option: Option<usize>,
    /// The face: an atom that mentions outputs.
    pub(super) face: Atom,
}

/// Outputs that rules tie together, directly or through others, and their alternatives.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Group {
    pub(super) outputs: BTreeSet<usize>,
    pub(super) ways: Vec<Alternative>,
    /// What each row chooses for itself, where alternatives are too many: the one way then has the faces of all options.
    pub(super) choices: Vec<Quota>,
}

/// The groups; each alternative has outputs within the ranges for some input, as far as can be seen without its conditions.
pub(super) fn alternatives(spec: &NormalSpec, ranges: &[Number]) -> Result<Vec<Group>, MakeError> {
    let claims = spec.rules.iter().enumerate().flat_map(|(k, rule)| {
        let claim = rule.claim.replaced(&mut |atom| match decided(atom, &spec.schema, ranges) {
            Some(true) => Formula::True,
            Some(false) => Formula::False,
            None => Formula::Atom(atom.clone()),
        });
        claim.conjuncts().iter().map(|part| (k, part.clone())).collect::<Vec<_>>()
    });
    let (mut groups, mut options) = (Vec::new(), 0);
    for part in parts(&claims.collect::<Vec<_>>()) {
        let rules = || part.rules.iter().map(|k| format!("'{}'", spec.rules[*k].name)).collect::<Vec<_>>().join(", ");
        let mut ties: HashSet<Atom> = HashSet::new();
        let several = |atom: &Atom| atom.linear.terms.keys().filter(|v| v.is_output()).count() > 1;
        let mut collect = |atom: &Atom| {
            if several(atom) {
                ties.insert(atom.clone());
            }
        };
        part.claims.iter().for_each(|claim| claim.atoms(&mut collect));
        if ties.len() > MOST_TIES {
            return Err(MakeError::TooManyTies { rules: rules(), found: ties.len(), most: MOST_TIES });
        }
        let few = match ways(&Formula::and(part.claims.iter().cloned())) {
            Ok(ways) => {
                let possible: Vec<_> = ways.into_iter().filter(|way| possible(way, &spec.schema, ranges)).collect();
                if possible.is_empty() {
                    return Err(MakeError::NothingAllowed { rules: rules() });
                }
                Some(possible).filter(|ways| ways.len() <= MOST)
            }
            Err(TooMany) => None,
        };
        let (ways, choices) = match few {
            Some(ways) => (ways, Vec::new()),
            None => match choices(&part.claims, options) {
                Some((way, choices)) => (vec![way], choices),
                None => return Err(MakeError::TooManyPieces { rules: rules(), most: MOST }),
            },
        };
        options += choices.iter().map(Quota::options).sum::<usize>();
        groups.push(Group { outputs: part.outputs, ways, choices });
    }
    Ok(groups)
}

/// What rules say of outputs that they tie together.
struct ClaimPart {
    rules: BTreeSet<usize>,
    claims: Vec<Formula>,
    outputs: BTreeSet<usize>,
}

/// Claims of rules that share an output as one; what is said of the input alone goes to the first.
fn parts(claims: &[(usize, Formula)]) -> Vec<ClaimPart> {
    let mut groups = tied(claims.iter().map(|(_, claim)| claim));
    let inputs = (0..claims.len()).filter(|k| claims[*k].1 != Formula::True && claims[*k].1.outputs().is_empty());
    let inputs: Vec<usize> = inputs.collect();
    if groups.is_empty() && !inputs.is_empty() {
        groups.push(TiedParts::default());
    }
    if let Some(first) = groups.first_mut() {
        first.parts.extend(inputs);
    }
    let part = |TiedParts { outputs, parts }: TiedParts| ClaimPart {
        rules: parts.iter().map(|k| claims[*k].0).collect(),
        claims: parts.iter().map(|k| claims[*k].1.clone()).collect(),
        outputs,
    };
    groups.into_iter().map(part).collect()
}

/// More alternatives than are looked at.
pub(super) struct TooMany;

/// What the ranges and the domain decide.
fn decided(atom: &Atom, schema: &Schema, ranges: &[Number]) -> Option<bool> {
    let (lo, hi) = reach(&atom.linear, schema, ranges);
    atom.decided(&lo, &hi)
}

/// Smallest and largest value of a linear form.
pub(super) fn reach(linear: &Linear, schema: &Schema, ranges: &[Number]) -> (Rational, Rational) {
    finite::reach(linear, schema, |j| (ranges[j].lo, ranges[j].hi))
}

pub(super) fn of_inputs(formula: &Formula) -> bool {
    let mut outputs = false;
    formula.atoms(&mut |atom| outputs |= atom.linear.mentions_output());
    !outputs
}

fn ways(formula: &Formula) -> Result<Vec<Alternative>, TooMany> {
    let mut all = match formula {
        Formula::True => vec![Alternative::default()],
        Formula::False => Vec::new(),
        condition if of_inputs(condition) => vec![Alternative { demands: vec![condition.clone()], faces: Vec::new() }],
        Formula::Atom(atom) => {
            vec![Alternative {
                demands: Vec::new(),
                faces: vec![GuardedFace { unless: Formula::False, option: None, face: atom.clone() }],
            }]
        }
        Formula::And(parts) => {
            let mut all = vec![Alternative::default()];
            for part in parts {
                let ways = ways(part)?;
                few(all.len() * ways.len())?;
                let faces = |all: &[Alternative]| all.iter().map(|way| way.faces.len()).sum::<usize>();
                if all.len() * faces(&ways) + ways.len() * faces(&all) > MOST_FACES {
                    return Err(TooMany);
                }
                all = all.iter().flat_map(|before| ways.iter().map(|way| before.and(way))).collect();
            }
            all
        }
        Formula::Or(parts) => {
            let (conditions, rest): (Vec<_>, Vec<_>) = parts.iter().cloned().partition(of_inputs);
            let unless = Formula::or(conditions);
            copied(&unless, rest.len())?;
            let mut all = Vec::new();
            for part in &rest {
                all.extend(ways(part)?.into_iter().map(|way| way.unless(&unless)));
                few(all.len())?;
            }
            all
        }
        Formula::Threshold(_) => {
            let (mut all, mut faces) = (Vec::new(), 0);
            let ended = cells(formula, &mut |atoms| {
                faces += atoms.len();
                all.push(Alternative::of(atoms));
                if all.len() > MOST_SEEN || faces > MOST_FACES { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            few(if ended.is_break() { usize::MAX } else { all.len() })?;
            all
        }
    };
    leave_least(&mut all);
    Ok(all)
}

/// One that demands what another does and more is never nearer: of each such pair the other is left, of equals the first.
fn leave_least(all: &mut Vec<Alternative>) {
    // Demands and faces by numbers: a list of thousands is compared with itself.
    let mut numbers: HashMap<(Option<&Formula>, Option<&GuardedFace>), usize> = HashMap::new();
    let mut parts: Vec<BTreeSet<usize>> = Vec::new();
    for way in all.iter() {
        let of_inputs = way.demands.iter().map(|demand| (Some(demand), None));
        let own = of_inputs.chain(way.faces.iter().map(|face| (None, Some(face))));
        let next = |part, numbers: &mut HashMap<_, usize>| {
            let new = numbers.len();
            *numbers.entry(part).or_insert(new)
        };
        parts.push(own.map(|part| next(part, &mut numbers)).collect());
    }
    let mut by_least: HashMap<Option<usize>, Vec<usize>> = HashMap::new();
    for (k, own) in parts.iter().enumerate() {
        by_least.entry(own.first().copied()).or_default().push(k);
    }
    let beaten = |k: usize| {
        let among = parts[k].iter().copied().map(Some).chain([None]).filter_map(|least| by_least.get(&least));
        let beats = |i: &usize| *i != k && parts[*i].is_subset(&parts[k]) && (*i < k || parts[*i].len() < parts[k].len());
        among.flatten().any(beats)
    };
    let keep: Vec<bool> = (0..all.len()).map(|k| !beaten(k)).collect();
    let mut keep = keep.into_iter();
    all.retain(|_| keep.next() == Some(true));
}

fn few(ways: usize) -> Result<(), TooMany> {
    if ways > MOST_SEEN { Err(TooMany) } else { Ok(()) }
}

/// Whether a condition may be copied so many times: each face holds its own.
pub(super) fn copied(condition: &Formula, times: usize) -> Result<(), TooMany> {
    let mut atoms = 0;
    condition.atoms(&mut |_| atoms += 1);
    if atoms * times > MOST_COPIED { Err(TooMany) } else { Ok(()) }
}

impl Alternative {
    fn of(atoms: &[Atom]) -> Self {
        let (conditions, faces): (Vec<_>, Vec<_>) = atoms.iter().cloned().partition(Atom::is_condition);
        Self {
            demands: conditions.into_iter().map(Formula::Atom).collect(),
            faces: faces.into_iter().map(|face| GuardedFace { unless: Formula::False, option: None, face }).collect(),
        }
    }

    fn and(&self, other: &Self) -> Self {
        let mut both = self.clone();
        both.demands.extend(other.demands.iter().filter(|d| !self.demands.contains(d)).cloned());
        both.faces.extend(other.faces.iter().filter(|f| !self.faces.contains(f)).cloned());
        both
    }

    fn unless(mut self, condition: &Formula) -> Self {
        let also = |f: &Formula| Formula::or([condition.clone(), f.clone()]);
        self.demands.iter_mut().for_each(|d| *d = also(d));
        self.faces.iter_mut().for_each(|f| f.unless = also(&f.unless));
        self
    }
}

/// Whether some input and outputs within their ranges obey all faces that hold under no condition.
pub(super) fn possible(way: &Alternative, schema: &Schema, ranges: &[Number]) -> bool {
    let Spaces { spaces, middle } = Spaces::of(way, schema, ranges);
    nearest(&middle, &spaces.iter().map(|(a, c)| HalfSpace { a, c: *c }).collect::<Vec<_>>()).is_ok()
}

/// Half spaces of length 1 over the outputs and the columns that some face mentions, and the middle of their ranges: a column that none
/// mentions is free, and of thousands of columns a rule mentions few.
struct Spaces {
    spaces: Vec<(Vec<f64>, f64)>,
    middle: Vec<f64>,
}

impl Spaces {
    fn of(way: &Alternative, schema: &Schema, ranges: &[Number]) -> Self {
        let columns = schema.column_ranges();
        let mut faces = Vec::new();
        for GuardedFace { face, .. } in way.faces.iter().filter(|f| f.unless == Formula::False) {
            let face = crate::nearest::Face::new(face, ranges.len());
            let (row, constant) = face.over_columns(schema);
            let row: Vec<(usize, f64)> = row.into_iter().enumerate().filter(|(_, c)| *c != 0.0).collect();
            faces.push((face.a.clone(), row, constant));
        }
        let mentioned: BTreeSet<usize> = faces.iter().flat_map(|(_, row, _)| row.iter().map(|(column, _)| *column)).collect();
        let place: BTreeMap<usize, usize> = mentioned.iter().enumerate().map(|(k, column)| (*column, ranges.len() + k)).collect();
        let width = ranges.len() + mentioned.len();
        let mut spaces: Vec<(Vec<f64>, f64)> = Vec::new();
        for (mut a, row, constant) in faces {
            a.resize(width, 0.0);
            row.iter().for_each(|(column, c)| a[place[column]] = *c);
            let length = a.iter().map(|v| v * v).sum::<f64>().sqrt();
            spaces.push((a.iter().map(|v| v / length).collect(), constant / length));
        }
        let ends = ranges.iter().map(|n| (n.lo, n.hi)).chain(mentioned.iter().map(|c| columns[*c]));
        let mut middle = Vec::new();
        for (k, (lo, hi)) in ends.enumerate() {
            let (lo, hi) = (f64::from(lo), f64::from(hi));
            for (sign, end) in [(1.0, -lo), (-1.0, hi)] {
                let mut a = vec![0.0; width];
                a[k] = sign;
                spaces.push((a, end));
            }
            middle.push(0.5 * lo + 0.5 * hi);
        }
        Self { spaces, middle }
    }
}

#[cfg(test)]
mod tests {
    use deepsade_check::step::Number;
    use deepsade_spec::{Domain, Feature, OneHot, RuleText, Schema, Task, compile};

    use super::{Spaces, alternatives, possible};

    /// What is looked at grows with what the rules mention, not with the columns of the data.
    #[test]
    fn columns_that_no_rule_mentions_take_no_room() {
        let real = |k: usize| Feature { name: format!("c{k}"), domain: Domain::Real { lo: 0.0, hi: 1.0 } };
        let schema = Schema {
            features: (0..20_000).map(real).collect(),
            task: Task::regression(vec!["y".into()]),
            one_hot: OneHot::Full,
            filled: vec![],
        };
        let rule = |text: &str| RuleText { name: text.into(), text: text.into() };
        let ranges = [Number { lo: -10.0, hi: 10.0, grid: None }];
        for (text, columns, can) in
            [("y <= 5", 0, true), ("y >= c7 + c19999", 2, true), ("y >= 9 + c3 and y <= c4 - 2", 2, false)]
        {
            let spec = compile(&[rule(text)], &schema).unwrap();
            let Ok(ways) = super::ways(&spec.rules[0].claim) else { panic!("{text} has few ways") };
            let found = Spaces::of(&ways[0], &schema, &ranges);
            assert_eq!(found.middle.len(), 1 + columns, "{text}");
            assert!(found.spaces.iter().all(|(a, _)| a.len() == 1 + columns), "{text}");
            assert_eq!(possible(&ways[0], &schema, &ranges), can, "{text}");
            assert_eq!(alternatives(&spec, &ranges).is_ok(), can, "{text}");
        }
    }
}
