//! The name of a tensor with scores enters; leaves the classes that the file's own labels give its columns, and the labels that are made
//! in a way that is not read.

use super::super::error::ImportError;
use super::super::proto::{NodeProto, element};
use super::said::{Nodes, STEPS, is, labels};
use super::{Carried, Port};

/// Operators that keep texts and whole numbers as they are.
const KEEPING: [&str; 5] = ["Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"];
/// Operators that leave the largest column of scores where it is. Not a Softmax: it may round two columns to one number.
const ORDERED: [&str; 5] = ["Flatten", "Identity", "Normalizer", "Reshape", "ZipMap"];
/// Operators that leave numbers as they are.
const SAME: [&str; 3] = ["Flatten", "Identity", "Reshape"];

/// What the labels of a file say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnLabels {
    /// The classes of the columns, in order, by each output with labels that is read.
    pub classes: Vec<Vec<String>>,
    /// These outputs: each names the largest score.
    pub picked: Vec<String>,
    /// Outputs whose labels are not read.
    pub unread: Vec<String>,
    /// Outputs whose labels a classifier may decide otherwise than by the largest score.
    pub doubtful: Vec<String>,
}

impl Carried<'_> {
    /// What the outputs that are no numbers in float32 say of the columns of a tensor.
    pub fn labels_of(&self, scores: &str) -> Result<OwnLabels, ImportError> {
        let nodes = self.nodes()?;
        let from = nodes.before(scores, &ORDERED);
        // What these were before a Softmax over the columns decides no less.
        let sooner = nodes.maker(from).filter(|n| over_columns(n)).and_then(|n| n.input.first());
        let sooner = sooner.map(|name| nodes.before(name, &ORDERED));
        let mut found = OwnLabels::default();
        // The names in a map of the scores are compared by themselves.
        let mapped =
            |port: &Port| nodes.maker(&port.name).is_some_and(|n| is(n, "ZipMap")) && nodes.before(&port.name, &ORDERED) == from;
        let may_label = |port: &&Port| port.name != scores && port.element != "float" && !mapped(port);
        for port in self.outputs.iter().filter(may_label) {
            if nodes.decides_itself(&port.name) {
                found.doubtful.push(port.name.clone());
            }
            match nodes.label(&port.name) {
                Some((classes, read)) if [Some(from), sooner].contains(&Some(nodes.before(read, &ORDERED))) => {
                    found.classes.push(classes);
                    found.picked.push(port.name.clone());
                }
                // The scores themselves once more, in double.
                None if nodes.before(&port.name, &SAME) == nodes.before(scores, &SAME) => {}
                _ => found.unread.push(port.name.clone()),
            }
        }
        Ok(found)
    }
}

/// Whether an operator is a Softmax over the columns of rows.
fn over_columns(node: &NodeProto) -> bool {
    let axis = node.attribute.iter().find(|a| a.name == "axis").and_then(|a| a.i);
    node.is_standard("Softmax") && [None, Some(1), Some(-1)].contains(&axis)
}

impl Nodes {
    fn maker(&self, name: &str) -> Option<&NodeProto> {
        self.all.iter().find(|n| n.output.iter().any(|o| o == name))
    }

    /// The tensor of which another is made by these operators, and by Casts that keep the order of numbers.
    fn before<'a>(&'a self, name: &'a str, through: &[&str]) -> &'a str {
        let wide = [element::FLOAT, element::DOUBLE].map(|code| Some(i64::from(code)));
        let cast = |n: &NodeProto| n.is_standard("Cast") && n.attribute.iter().any(|a| a.name == "to" && wide.contains(&a.i));
        self.through(name, &|n| through.contains(&n.op_type.as_str()) || cast(n))
    }

    /// The tensor of which another is made by operators that pass.
    fn through<'a>(&'a self, name: &'a str, passes: &dyn Fn(&NodeProto) -> bool) -> &'a str {
        let mut name = name;
        for _ in 0..STEPS {
            let first = |n: &&NodeProto| passes(n) && n.output.first().is_some_and(|o| o == name);
            let Some(from) = self.maker(name).filter(first).and_then(|n| n.input.first()) else { break };
            name = from;
        }
        name
    }

    /// The same through what keeps texts and whole numbers: a Cast to a type that holds them, too.
    fn kept<'a>(&'a self, name: &'a str) -> &'a str {
        let mut name = name;
        for _ in 0..STEPS {
            let before = self.through(name, &|n| KEEPING.contains(&n.op_type.as_str()));
            let holds = [element::INT64, element::INT32, element::STRING].map(|code| Some(i64::from(code)));
            let whole =
                |n: &&NodeProto| n.is_standard("Cast") && n.attribute.iter().any(|a| a.name == "to" && holds.contains(&a.i));
            name = self.maker(before).filter(whole).and_then(|n| n.input.first()).map_or(before, String::as_str);
        }
        name
    }

    /// Whether a label comes from a classifier of two classes that has a threshold of its own, or turns its scores into others: of the
    /// standard's ways only the logistic one decides at a half.
    fn decides_itself(&self, name: &str) -> bool {
        let Some(maker) = self.maker(self.kept(name)) else { return false };
        let turned = maker.attribute.iter().find(|a| a.name == "post_transform").and_then(|a| a.s.as_deref());
        match labels(maker) {
            Some(classes) => turned == Some(b"PROBIT") || classes.len() == 2 && turned != Some(b"LOGISTIC"),
            None => false,
        }
    }

    /// The classes of the columns of scores of which a label names the largest, and these scores.
    fn label(&self, name: &str) -> Option<(Vec<String>, &str)> {
        let maker = self.maker(self.kept(name))?;
        if let (Some(classes), [label, scores]) = (labels(maker), &maker.output[..]) {
            return (label == self.kept(name)).then_some((classes, scores.as_str()));
        }
        let picks = is(maker, "ArrayFeatureExtractor") || maker.is_standard("Gather");
        let (classes, number) = if picks {
            (Some(self.stored.get(maker.input.first()?)?.classes()?), maker.input.get(1)?.as_str())
        } else {
            (None, self.kept(name))
        };
        let largest = self.maker(self.kept(number)).filter(|n| n.is_standard("ArgMax"))?;
        let attribute = |name: &str| largest.attribute.iter().find(|a| a.name == name).and_then(|a| a.i);
        let over_columns = [Some(1), Some(-1)].contains(&attribute("axis")) && attribute("select_last_index").unwrap_or(0) == 0;
        let scores = largest.input.first().filter(|_| over_columns)?;
        let numbered = || Some((0..*self.widths().get(scores.as_str())?).map(|k| k.to_string()).collect());
        Some((classes.or_else(numbered)?, scores))
    }
}
