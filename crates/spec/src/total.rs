//! A decision diagram over labels and conditions enters, with a domain; leaves whether every input of the domain is left a set.

use std::collections::BTreeSet;

use crate::sets::{Diagram, Fact, Sets};
use crate::{Atom, Linear, NormalSpec, Rational, Region, Var};

/// Sets of nodes looked at: far above what diagrams of rules need.
const MAX_STATES: usize = 1 << 20;

impl Sets {
    /// Whether every input of the domain is left a set.
    pub fn total(&self, spec: &NormalSpec, domain: &Region) -> Result<(), String> {
        match self {
            Self::Diagram(diagram) => diagram.total(&diagram.facts(spec), domain),
            // All labels, and each item at its own place.
            Self::Implications(_) | Self::Assignment(_) => Ok(()),
        }
    }
}

impl Diagram {
    /// Whether for every input there is a path to the end whose conditions the input meets; else, conditions without one.
    ///
    /// Labels may be chosen with the input known, conditions may not. So all nodes that some choice of the labels above leads to
    /// are followed together, and each condition is followed both ways.
    fn total(&self, facts: &[Fact], domain: &Region) -> Result<(), String> {
        let mut sure = vec![false, true];
        for [level, low, high] in &self.nodes {
            let [low, high] = [sure[*low], sure[*high]];
            sure.push(if matches!(facts[*level], Fact::Label(_)) { low || high } else { low && high });
        }
        let mut search = PathSearch { diagram: self, facts, sure, seen: BTreeSet::new() };
        search.follow(BTreeSet::from([self.root()]), domain, &mut Vec::new()).map(|_| ())
    }
}

struct PathSearch<'d> {
    diagram: &'d Diagram,
    facts: &'d [Fact],
    /// Nodes with a choice of labels that leads to the end whatever the conditions.
    sure: Vec<bool>,
    /// Sets of nodes that have a path whatever the input.
    seen: BTreeSet<BTreeSet<usize>>,
}

impl PathSearch<'_> {
    /// Whether every input of the region that meets the conditions has a path from one of the nodes; `false` if that took the
    /// region or the conditions so far.
    fn follow(&mut self, mut nodes: BTreeSet<usize>, region: &Region, met: &mut Vec<Atom>) -> Result<bool, String> {
        nodes.remove(&0);
        if nodes.iter().any(|id| self.sure[*id]) || self.seen.contains(&nodes) {
            return Ok(true);
        }
        let level = |id: &usize| self.diagram.nodes[*id - 2][0];
        let Some(first) = nodes.iter().map(level).min() else {
            return if exclude(region, met) { Ok(false) } else { Err(format!("no set is left where {}", list(met))) };
        };
        if self.seen.len() > MAX_STATES {
            return Err(format!("more than {MAX_STATES} states to see whether every input has a set"));
        }
        let step = |sides: &[usize]| -> BTreeSet<usize> {
            let next = |id: &usize| {
                if level(id) == first { sides.iter().map(|s| self.diagram.nodes[*id - 2][*s]).collect() } else { vec![*id] }
            };
            nodes.iter().flat_map(next).collect()
        };
        let always = match &self.facts[first] {
            Fact::Label(_) => {
                let next = step(&[1, 2]);
                self.follow(next, region, met)?
            }
            Fact::Condition(condition) => {
                let mut always = true;
                for (next, atom) in [(step(&[1]), condition.opposite()), (step(&[2]), condition.clone())] {
                    let mut part = region.clone();
                    part.cut(&atom);
                    met.push(atom);
                    always &= if part.is_empty() { false } else { self.follow(next, &part, met)? };
                    met.pop();
                }
                always
            }
        };
        if always {
            self.seen.insert(nodes);
        }
        Ok(always)
    }
}

/// Whether no point of the region satisfies all atoms: one alone has none, or two have none in a sum that cancels a variable.
fn exclude(region: &Region, atoms: &[Atom]) -> bool {
    let refuted = |linear: &Linear, strict: bool| {
        let most = most(region, linear);
        most < Rational::ZERO || strict && most == Rational::ZERO
    };
    atoms.iter().enumerate().any(|(k, a)| {
        refuted(&a.linear, a.strict)
            || atoms[..k].iter().any(|b| {
                a.linear.terms.iter().any(|(var, ca)| match b.linear.terms.get(var) {
                    Some(cb) if (*ca > Rational::ZERO) != (*cb > Rational::ZERO) => {
                        // Both weights are positive.
                        let size = |c: &Rational| if *c < Rational::ZERO { -c.clone() } else { c.clone() };
                        let mut sum = a.linear.scaled(&size(cb));
                        sum.add_scaled(&size(ca), &b.linear);
                        refuted(&sum, a.strict || b.strict)
                    }
                    _ => false,
                })
            })
    })
}

/// The largest value of a linear form over the input. Numbers vary independently; a category has exactly one of its levels.
fn most(region: &Region, linear: &Linear) -> Rational {
    let exact = |x: f64| Rational::try_from(x).unwrap_or_default();
    let mut sum = linear.constant.clone();
    let features: BTreeSet<usize> = linear.terms.keys().filter_map(|v| v.feature()).collect();
    for f in features {
        if let (Some((lo, hi)), Some(c)) = (region.range(f), linear.terms.get(&Var::Feature(f))) {
            sum += c * exact(if *c < Rational::ZERO { lo } else { hi });
        } else if let Some(allowed) = region.levels(f) {
            let of = |l: usize| linear.terms.get(&Var::Level(f, l)).cloned().unwrap_or_default();
            sum += (0..allowed.len()).filter(|l| allowed[*l]).map(of).max().unwrap_or_default();
        }
    }
    sum
}

fn list(atoms: &[Atom]) -> String {
    let texts: Vec<String> = atoms.iter().map(|a| crate::canonical::text(&crate::Formula::Atom(a.clone()))).collect();
    if texts.is_empty() { "no condition is asked".into() } else { texts.join(" and ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Domain, Feature, OneHot, RuleText, Schema, Task, compile};

    /// x and y in [0, 1], k in p, q; one label.
    fn schema() -> Schema {
        let feature = |name: &str, domain| Feature { name: name.into(), domain };
        let unit = Domain::Real { lo: 0.0, hi: 1.0 };
        let levels = Domain::Category { levels: vec!["p".into(), "q".into()] };
        Schema {
            features: vec![feature("x", unit.clone()), feature("y", unit), feature("k", levels)],
            task: Task::Multilabel { labels: vec!["a".into()] },
            one_hot: OneHot::Full,
        }
    }

    /// Whether a set is left where each of the conditions holds, or none of the others: label free there, no set elsewhere.
    fn empty_where(conditions: &[&str]) -> Result<(), String> {
        let schema = schema();
        let rule = |k: usize| RuleText { name: format!("r{k}"), text: format!("{} => label[0]", conditions[k]) };
        let spec = compile(&(0..conditions.len()).map(rule).collect::<Vec<_>>(), &schema).unwrap();
        let n = spec.conditions().len();
        assert_eq!(n, conditions.len());
        // No set where all conditions hold, else every set. In normal form a premise is stated by its opposite.
        let facts: Vec<Fact> = spec.conditions().iter().map(|c| Fact::Condition(c.clone())).collect();
        let node = |level: usize| [level, if level + 1 == n { 0 } else { n - level }, 1];
        let diagram = Diagram { order: (1..=n).collect(), nodes: (0..n).rev().map(node).collect() };
        diagram.total(&facts, &Region::whole(&schema).unwrap())
    }

    #[test]
    fn conditions_that_exclude_each_other_need_no_set() {
        assert!(empty_where(&["x < 0.3", "x > 0.5"]).is_ok());
        assert!(empty_where(&["x < 0.3", "x > 0.2"]).unwrap_err().contains("no set is left where"));
        assert!(empty_where(&["k == 'p'", "x < 0.5", "x > 0.6"]).is_ok());
        assert!(empty_where(&["x + y > 1.5", "x + y < 1"]).is_ok(), "only together");
        assert!(empty_where(&["x + y > 1", "x - y > 0.5"]).is_err());
        assert!(empty_where(&["x + y >= 1.5", "x < 0.5"]).is_ok(), "what the first leaves is empty");
        assert!(empty_where(&["x + y >= 1.5", "x <= 0.5"]).is_err(), "x = 0.5, y = 1 meets both");
    }

    #[test]
    fn labels_are_chosen_knowing_the_conditions_below_them() {
        let spec = compile(&[RuleText { name: "r".into(), text: "x < 0.5 => label[0]".into() }], &schema()).unwrap();
        let facts = [Fact::Label(0), Fact::Condition(spec.conditions()[0].clone())];
        let domain = Region::whole(&schema()).unwrap();
        // label 0 iff the condition: no label fits both, but each condition has one.
        let apart = Diagram { order: vec![0, 1], nodes: vec![[1, 1, 0], [1, 0, 1], [0, 2, 3]] };
        assert_eq!(apart.total(&facts, &domain), Ok(()));
        let none = Diagram { order: vec![0, 1], nodes: vec![[1, 1, 0], [0, 2, 2]] };
        assert!(none.total(&facts, &domain).is_err());
        let nothing = Diagram { order: vec![0], nodes: vec![[0, 0, 0]] };
        assert!(nothing.total(&facts[..1], &domain).is_err());
    }
}
