//! A rule between two inputs and the rules about one input beside it enter; whether no two inputs can break it, so that nothing need keep it,
//! leaves.
//!
//! Both inputs lie in the region that the condition's own comparisons leave of the domain. Then there is nothing to show if one of these holds:
//!
//! 1. No input meets the condition.
//! 2. The two inputs are the same: each feature that may move has one value left, or the next one is farther away than it may move. Equal
//!    inputs, computed in the same order, have equal outputs; a claim that equal outputs obey holds.
//! 3. The rules about one input, which are proved of each of the two outputs by itself, leave no room for it. Of these rules what holds on
//!    the region is taken: a conjunct whose other alternatives are conditions that no input of the region meets. One about a single output
//!    is an end of it. Then a form of outputs differs by at most the widths of its terms, and a
//!    condition on outputs that always holds, or never, is the same for both.

use std::borrow::Cow;

use deepsade_spec::{Atom, Formula, Kept, Linear, Moves, NormalSpec, Pair, Rational, Region, Var};

/// Whether no two inputs of a domain can break a part of a rule between two inputs, if all rules about one input hold.
pub fn idle(part: &Pair, spec: &NormalSpec, domain: &Region) -> bool {
    let region = match &part.condition {
        Formula::True => Cow::Borrowed(domain),
        condition => {
            let own = |f: &Formula| if let Formula::Atom(atom) = f { Some(atom.clone()) } else { None };
            Cow::Owned(domain.cut_by(&condition.conjuncts().iter().filter_map(own).collect::<Vec<_>>()))
        }
    };
    region.is_empty()
        || region.excludes(&part.condition, &spec.schema)
        || equal_outputs_obey(part) && (0..part.features.len()).all(|k| stays(part, k, &region))
        || no_room(part, &Confined::new(part, spec, &region))
}

/// Whether a claim holds of two equal outputs.
pub(crate) fn equal_outputs_obey(part: &Pair) -> bool {
    match &part.kept {
        Kept::Number { by, strict, .. } => *by > Rational::ZERO || *by == Rational::ZERO && !strict,
        Kept::Condition(_) => true,
    }
}

/// Whether a feature is the same in both inputs.
fn stays(part: &Pair, k: usize, region: &Region) -> bool {
    let f = part.features[k];
    let single = match (region.range(f), region.levels(f)) {
        (Some((lo, hi)), _) => lo == hi,
        (None, Some(left)) => left.iter().filter(|left| **left).count() == 1,
        (None, None) => false,
    };
    let near = |step: f64| matches!(&part.moves, Moves::By(by) if by[k] < exact(step));
    single || region.step(f).is_some_and(near)
}

fn no_room(part: &Pair, confined: &Confined) -> bool {
    match &part.kept {
        Kept::Number { linear, by, strict } => {
            let turned = linear.scaled(&-Rational::ONE);
            let width = confined.most(linear).and_then(|up| Some(up + confined.most(&turned)?));
            width.is_some_and(|width| if *strict { width < *by } else { width <= *by })
        }
        Kept::Condition(formula) => confined.holds(formula) || confined.holds(&formula.negated()) || confined.decides(formula),
    }
}

/// What rules about one input say of all inputs of a region.
struct Confined {
    /// Of each output the least and the most, where there is one.
    ends: Vec<[Option<Rational>; 2]>,
    facts: Vec<Formula>,
}

impl Confined {
    /// Of the outputs that a part compares.
    fn new(part: &Pair, spec: &NormalSpec, region: &Region) -> Self {
        let outputs = part.outputs();
        let mut confined = Self { ends: vec![[None, None]; spec.schema.task.outputs()], facts: Vec::new() };
        for conjunct in spec.rules.iter().flat_map(|rule| rule.claim.conjuncts()) {
            let alternatives = if let Formula::Or(parts) = conjunct { &parts[..] } else { std::slice::from_ref(conjunct) };
            let never = |f: &Formula| f.outputs().is_empty() && region.excludes(f, &spec.schema);
            let left = Formula::or(alternatives.iter().filter(|f| !never(f)).cloned());
            for fact in left.conjuncts().iter().filter(|fact| fact.outputs().iter().all(|j| outputs.contains(j))) {
                if let Formula::Atom(atom) = fact {
                    confined.bound(atom, spec, region);
                }
                confined.facts.push(fact.clone());
            }
        }
        confined
    }

    /// `c y + g(x) >= 0` bounds y by `-max g / c`, from below if c is positive, else from above.
    fn bound(&mut self, atom: &Atom, spec: &NormalSpec, region: &Region) {
        let mut inputs = atom.linear.clone();
        inputs.terms.retain(|var, _| !var.is_output());
        let mut outputs = atom.linear.terms.iter().filter(|(var, _)| var.is_output());
        let (Some((Var::Output(j), c)), None) = (outputs.next(), outputs.next()) else { return };
        let end = -region.most(&inputs, &spec.schema) / c;
        let [lo, hi] = &mut self.ends[*j];
        if *c > Rational::ZERO {
            *lo = lo.take().max(Some(end));
        } else {
            *hi = Some(hi.take().map_or(end.clone(), |hi| hi.min(end)));
        }
    }

    /// The most that a form of outputs may be.
    fn most(&self, linear: &Linear) -> Option<Rational> {
        linear.terms.iter().try_fold(linear.constant.clone(), |sum, (var, c)| {
            let Var::Output(j) = var else { return None };
            Some(sum + c * self.ends[*j][usize::from(*c > Rational::ZERO)].as_ref()?)
        })
    }

    /// Whether a condition on outputs has the same truth for all of them.
    fn decides(&self, formula: &Formula) -> bool {
        let met = |atom: &Atom| self.most(&atom.linear).is_none_or(|most| atom.met_by(&most));
        let left = formula.replaced(&mut |atom| match (met(atom), met(&atom.opposite())) {
            (true, true) => Formula::Atom(atom.clone()),
            (may, _) => may.into(),
        });
        matches!(left, Formula::True | Formula::False)
    }

    /// Whether a condition is what rules say, word for word.
    fn holds(&self, formula: &Formula) -> bool {
        formula.conjuncts().iter().all(|part| self.facts.contains(part))
    }
}

fn exact(v: f64) -> Rational {
    Rational::try_from(v).unwrap_or_default()
}

#[cfg(test)]
mod tests;
