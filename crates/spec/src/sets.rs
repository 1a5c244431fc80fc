//! Label sets to choose an output from: as data, and as the JSON text in a model's metadata (docs/certificate-format.md).

use std::collections::BTreeSet;

use crate::json::{self, Value};
use crate::{Atom, Formula, Linear, NormalSpec, Rational, Task, Var};

/// Metadata key: where the output is chosen, `"in-graph"` or `"library"`.
pub const DECODE_KEY: &str = "deepsade.decode";
/// Metadata key: what the library chooses among, [`Sets::to_json`].
pub const SETS_KEY: &str = "deepsade.decode.sets";

/// Metadata key: where outputs are moved to the nearest ones that obey the rules, `"in-graph"` or `"library"`.
pub const NEAREST_KEY: &str = "deepsade.nearest";

/// Where the output is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// By the last node of the ONNX graph: any runtime gives a valid output.
    InGraph,
    /// By the library, from the scores that the graph gives.
    Library,
}

impl Place {
    /// The word in the metadata and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::InGraph => "in-graph",
            Self::Library => "library",
        }
    }
}

/// The label sets that may come out of a choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sets {
    /// The paths of a decision diagram.
    Diagram(Diagram),
    /// All sets that with the first label of a pair have the second, too.
    Implications(Vec<(usize, usize)>),
    /// All ways to put this many items on as many places, one each; label `i * n + p` puts item i on place p.
    Assignment(usize),
}

/// A decision diagram over facts. Facts below the number of labels are labels, those from there on are conditions on the input, in
/// the order of [`crate::NormalSpec::conditions`].
///
/// Node 0 is no set, node 1 is the end, node k is `nodes[k - 2]`: its level, the node where the level's fact is false, the node
/// where it is true. It starts at the last node. Levels rise along every path, so each fact is asked once; a label of a level that
/// a path leaves out, or of none, is free.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Diagram {
    /// The fact of each level.
    pub order: Vec<usize>,
    /// The nodes, children first.
    pub nodes: Vec<[usize; 3]>,
}

/// What a level of a diagram asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fact {
    /// Whether a label is chosen: its output is 1, else 0.
    Label(usize),
    /// Whether the input meets a condition.
    Condition(Atom),
}

impl Fact {
    /// What the first atom of a formula asks; `None` for a constant.
    pub fn first(formula: &Formula) -> Option<Self> {
        let mut first = None;
        formula.atoms(&mut |atom| {
            first = first.take().or_else(|| match atom.linear.terms.keys().next() {
                // Outputs sort first.
                Some(Var::Output(j)) => Some(Self::Label(*j)),
                _ => Some(Self::Condition(atom.clone())),
            });
        });
        first
    }

    /// What is left of a formula where the fact is true or false.
    pub fn settled(&self, formula: &Formula, truth: bool) -> Formula {
        match self {
            Self::Label(j) => formula.with(Var::Output(*j), &Rational::from(u8::from(truth))),
            Self::Condition(condition) => formula.given(condition, truth),
        }
    }
}

/// Levels of a diagram: far above what is used, far below what exhausts a stack.
const MAX_LEVELS: usize = 4096;

impl Diagram {
    /// Where it starts.
    pub fn root(&self) -> usize {
        self.nodes.len() + 1
    }

    /// The fact of each level, for rules whose diagram this is.
    pub fn facts(&self, spec: &NormalSpec) -> Vec<Fact> {
        let (labels, conditions) = (spec.schema.task.outputs(), spec.conditions());
        let fact = |f: &usize| f.checked_sub(labels).map_or(Fact::Label(*f), |c| Fact::Condition(conditions[c].clone()));
        self.order.iter().map(fact).collect()
    }

    fn check(&self, facts: usize) -> Result<(), String> {
        let different = self.order.iter().collect::<BTreeSet<_>>().len() == self.order.len();
        if self.order.len() > MAX_LEVELS || !different || self.order.iter().any(|f| *f >= facts) {
            return Err(format!(
                "a level asks a fact that there is not, or one twice, or there are more than {MAX_LEVELS} levels"
            ));
        }
        let level = |id: usize| if id < 2 { self.order.len() } else { self.nodes[id - 2][0] };
        for (k, [at, low, high]) in self.nodes.iter().enumerate() {
            let deeper = |id: usize| id < k + 2 && level(id) > *at;
            if *at >= self.order.len() || !deeper(*low) || !deeper(*high) {
                return Err(format!("node {} does not lead to deeper levels", k + 2));
            }
        }
        Ok(())
    }
}

impl Sets {
    /// The text in the metadata.
    pub fn to_json(&self) -> String {
        let text = |list: &[usize]| format!("[{}]", list.iter().map(usize::to_string).collect::<Vec<_>>().join(","));
        let all = |lists: Vec<String>| format!("[{}]", lists.join(","));
        match self {
            Self::Diagram(Diagram { order, nodes }) => {
                format!("{{\"order\":{},\"nodes\":{}}}", text(order), all(nodes.iter().map(|n| text(n)).collect()))
            }
            Self::Implications(pairs) => {
                format!("{{\"implications\":{}}}", all(pairs.iter().map(|(a, b)| text(&[*a, *b])).collect()))
            }
            Self::Assignment(items) => format!("{{\"assignment\":{items}}}"),
        }
    }

    /// Reads what [`Sets::to_json`] wrote for these rules, which must be about what can be chosen: labels or a class, not numbers.
    pub fn from_json(text: &str, spec: &NormalSpec) -> Result<Self, String> {
        if matches!(spec.schema.task, Task::Regression { .. }) {
            return Err("labels or a class can be chosen, not the numbers of a regression".into());
        }
        spec.without_scores()?;
        Self::parse(text, spec.schema.task.outputs(), spec.conditions().len())
    }

    fn parse(text: &str, labels: usize, conditions: usize) -> Result<Self, String> {
        let Value::Object(fields) = json::parse(text)? else { return Err("the sets are no object".into()) };
        let field = |name: &str| fields.iter().find(|(key, _)| key == name).map(|(_, value)| value);
        let known = |a: usize| if a < labels { Ok(a) } else { Err(format!("there is no label {a}")) };
        match (fields.len(), field("order"), field("nodes"), field("implications"), field("assignment")) {
            (2, Some(order), Some(nodes), ..) => {
                let triple = |n: &Value| whole_numbers(n)?.try_into().map_err(|_| "a node is no triple".to_string());
                let nodes = array(nodes)?.iter().map(triple).collect::<Result<_, _>>()?;
                let diagram = Diagram { order: whole_numbers(order)?, nodes };
                diagram.check(labels + conditions)?;
                Ok(Self::Diagram(diagram))
            }
            (1, .., Some(pairs), None) => {
                let pair = |p: &Value| match whole_numbers(p)?[..] {
                    [a, b] => Ok((known(a)?, known(b)?)),
                    _ => Err("an implication is no pair".to_string()),
                };
                Ok(Self::Implications(array(pairs)?.iter().map(pair).collect::<Result<_, _>>()?))
            }
            (1, .., Some(items)) => match whole(items)? {
                n if n > 0 && n.checked_mul(n) == Some(labels) => Ok(Self::Assignment(n)),
                n => Err(format!("an assignment of {n} items for {labels} labels")),
            },
            _ => Err("the sets have other keys than `order` and `nodes`, `implications`, or `assignment`".into()),
        }
    }

    /// Formulas that hold for every one of the sets; none for a diagram, which says by its paths what the sets are.
    pub fn formulas(&self) -> Vec<Formula> {
        match self {
            Self::Diagram(_) => Vec::new(),
            // In both orders, as rules may write it.
            Self::Implications(pairs) => pairs
                .iter()
                .flat_map(|(a, b)| [[label(*a, false), label(*b, true)], [label(*b, true), label(*a, false)]].map(Formula::or))
                .collect(),
            // One at least and one at most, for each item and each place, in the form that `exactly(1, ...)` has.
            Self::Assignment(n) => {
                let lines = (0..*n).flat_map(|i| [(i * n, 1), (i, *n)]);
                let count = |(start, step): (usize, usize), yes: bool| {
                    let terms = (0..*n).map(|k| (Rational::ONE, label(start + k * step, yes))).collect();
                    Formula::threshold(terms, Rational::from(if yes { 1 } else { n - 1 }), false)
                };
                lines.flat_map(|line| [count(line, true), count(line, false)]).collect()
            }
        }
    }
}

/// That a label is chosen, or that it is not: as rules in normal form say it.
pub fn label(j: usize, chosen: bool) -> Formula {
    let positive = Atom { linear: Linear::var(Var::Output(j)), strict: true };
    Formula::Atom(if chosen { positive } else { positive.opposite() })
}

fn array(value: &Value) -> Result<&[Value], String> {
    if let Value::Array(items) = value { Ok(items) } else { Err("a list is missing among the sets".into()) }
}

fn whole_numbers(value: &Value) -> Result<Vec<usize>, String> {
    array(value)?.iter().map(whole).collect()
}

fn whole(value: &Value) -> Result<usize, String> {
    match value {
        Value::Number(text) if text.bytes().all(|b| b.is_ascii_digit()) => text.parse().ok(),
        _ => None,
    }
    .ok_or_else(|| "an entry of the sets is no whole number in range".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_read_back_and_nonsense_is_refused() {
        let diagram = Diagram { order: vec![1, 2, 0], nodes: vec![[2, 0, 1], [1, 2, 1], [0, 3, 2]] };
        for sets in [Sets::Diagram(diagram), Sets::Implications(vec![(0, 1), (1, 0)])] {
            assert_eq!(Sets::parse(&sets.to_json(), 2, 1), Ok(sets));
        }
        assert_eq!(Sets::parse("{\"assignment\":2}", 4, 0), Ok(Sets::Assignment(2)));
        let bad = [
            "{\"assignment\":2}",
            "{\"assignment\":0}",
            "{\"implications\":[[0,2]]}",
            "{\"implications\":[[0]]}",
            "{\"implications\":[[0,1]],\"assignment\":1}",
            "{\"order\":[0,0],\"nodes\":[]}",
            "{\"order\":[0,5],\"nodes\":[]}",
            "{\"order\":[0],\"nodes\":[[0,0,2]]}",
            "{\"order\":[0],\"nodes\":[[1,0,1]]}",
            "{\"order\":[0,1],\"nodes\":[[0,0,1],[1,0,2]]}",
            "{\"order\":[0],\"nodes\":[[0,0]]}",
            "{\"order\":[0],\"nodes\":[[0,0,-1]]}",
            "{\"order\":[0]}",
            "[]",
            "{",
        ];
        for text in bad {
            assert!(Sets::parse(text, 2, 1).is_err(), "{text}");
        }
    }

    #[test]
    fn an_assignment_is_written_as_rules_are() {
        let formulas = Sets::Assignment(3).formulas();
        assert_eq!(formulas[0], Formula::Or((0..3).map(|p| label(p, true)).collect()));
        let Formula::Threshold(t) = &formulas[3] else { panic!("{:?}", formulas[3]) };
        assert_eq!(t.terms.iter().map(|(_, f)| f.clone()).collect::<Vec<_>>(), [0, 3, 6].map(|j| label(j, false)));
        assert_eq!(t.bound, Rational::from(2));
    }
}
