//! Label sets to choose an output from, as data.

use deepsade_spec::{Formula, Rational};

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
/// the order of [`deepsade_spec::NormalSpec::conditions`].
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

impl Diagram {
    /// Where it starts.
    pub fn root(&self) -> usize {
        self.nodes.len() + 1
    }
}

impl Sets {
    /// Formulas that hold for every one of the sets; none for a diagram, which says by its paths what the sets are.
    pub fn formulas(&self) -> Vec<Formula> {
        match self {
            Self::Diagram(_) => Vec::new(),
            // In both orders, as rules may write it.
            Self::Implications(pairs) => pairs
                .iter()
                .flat_map(|(a, b)| {
                    [[Formula::label(*a, false), Formula::label(*b, true)], [Formula::label(*b, true), Formula::label(*a, false)]]
                        .map(Formula::or)
                })
                .collect(),
            // One at least and one at most, for each item and each place, in the form that `exactly(1, ...)` has.
            Self::Assignment(n) => {
                let lines = (0..*n).flat_map(|i| [(i * n, 1), (i, *n)]);
                let count = |(start, step): (usize, usize), yes: bool| {
                    let terms = (0..*n).map(|k| (Rational::ONE, Formula::label(start + k * step, yes))).collect();
                    Formula::threshold(terms, Rational::from(if yes { 1 } else { n - 1 }), false)
                };
                lines.flat_map(|line| [count(line, true), count(line, false)]).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_assignment_is_written_as_rules_are() {
        let formulas = Sets::Assignment(3).formulas();
        assert_eq!(formulas[0], Formula::Or((0..3).map(|p| Formula::label(p, true)).collect()));
        let Formula::Threshold(t) = &formulas[3] else { panic!("{:?}", formulas[3]) };
        assert_eq!(t.terms.iter().map(|(_, f)| f.clone()).collect::<Vec<_>>(), [0, 3, 6].map(|j| Formula::label(j, false)));
        assert_eq!(t.bound, Rational::from(2));
    }
}
