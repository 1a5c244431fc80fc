//! The vocabulary of a problem: features with their domains, the task, and how features become network columns.

mod columns;
mod filled;
mod sound;

pub use columns::{ColumnMap, VarColumns};
pub use filled::{Fill, Filled, indicator_of};

use serde::{Deserialize, Serialize};

use crate::error::listed;
pub use sound::{LARGEST_INTEGER, SchemaError};

/// Metadata key under which a model's file carries its schema, as JSON.
pub const SCHEMA_KEY: &str = "deepsade.schema";

/// Everything a rule may mention, and the set D over which it must hold.
///
/// ```
/// use deepsade_spec::{Domain, Feature, OneHot, Schema, Task};
///
/// let levels = ["Rural", "Urban"].map(String::from).to_vec();
/// let features = vec![
///     Feature { name: "income".into(), domain: Domain::Real { lo: 0.0, hi: 100.0 } },
///     Feature { name: "area".into(), domain: Domain::Category { levels } },
/// ];
/// let task = Task::Binary { target: "loan".into(), classes: vec!["no".into(), "yes".into()] };
/// let schema = Schema { features, task, one_hot: OneHot::Full, filled: vec![] };
/// let columns: Vec<String> = schema.columns().into_iter().map(|c| c.name).collect();
/// assert_eq!(columns, ["income", "area=Rural", "area=Urban"]);
/// assert_eq!(Schema::from_json(&schema.to_json())?, schema);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "sound::Stated")]
pub struct Schema {
    /// The input features, in the order of the network's columns.
    pub features: Vec<Feature>,
    /// What is predicted.
    pub task: Task,
    /// How categories become columns.
    pub one_hot: OneHot,
    /// What is read where a feature has no value, in the order of the features; empty where every feature must have one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filled: Vec<Filled>,
}

/// One input feature.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Feature {
    /// The name that rules and data files use.
    pub name: String,
    /// The values it may take.
    pub domain: Domain,
}

/// The values a feature may take.
///
/// Real bounds are float32 values, rounded outward from what was stated, so that rounding a value of the stated range to
/// float32 never leaves the domain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Domain {
    /// All float32 values from `lo` to `hi`.
    Real {
        /// Smallest value.
        lo: f32,
        /// Largest value.
        hi: f32,
    },
    /// All whole numbers from `lo` to `hi`; both within ±2^24, where float32 is exact.
    Integer {
        /// Smallest value.
        lo: i32,
        /// Largest value.
        hi: i32,
    },
    /// All multiples of `step` from `lo` to `hi`, which are multiples of it themselves and at most 2^24 steps from 0, where float32 is
    /// exact. The step is a power of two from 2^-20 to 2^20 and not 1: those are [`Domain::Integer`].
    Stepped {
        /// Smallest value.
        lo: f32,
        /// Largest value.
        hi: f32,
        /// What every value is a multiple of.
        step: f32,
    },
    /// One of the named levels, which have an order: the place of a level, from 0 on, is a whole number.
    Ordered {
        /// The levels, from the lowest to the highest.
        levels: Vec<String>,
    },
    /// One of the named levels.
    Category {
        /// The levels, in the order of their one-hot columns.
        levels: Vec<String>,
    },
}

/// What is predicted. The network's outputs are raw scores; how they are read is part of the task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Task {
    /// One number a target.
    Regression {
        /// Target names, in output order.
        targets: Vec<String>,
        /// Those of them that are whole numbers, in the same order; the others are any numbers.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        whole: Vec<String>,
    },
    /// Two classes, one score each; the predicted class has the largest score, the class listed first wins a tie.
    Binary {
        /// The target's name.
        target: String,
        /// The two classes, in output order.
        classes: Vec<String>,
    },
    /// Like [`Task::Binary`], with more classes.
    Multiclass {
        /// The target's name.
        target: String,
        /// The classes, in output order.
        classes: Vec<String>,
    },
    /// One score a label; a label is predicted iff its score is above zero.
    Multilabel {
        /// Label names, in output order.
        labels: Vec<String>,
    },
    /// n items on n places, n * n scores, item-major; item i is put on place p iff score `i * n + p` is above zero.
    Ranking {
        /// Item names; the places are numbered from 0 to n - 1.
        items: Vec<String>,
    },
}

/// How a category of n levels becomes columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OneHot {
    /// n columns, exactly one of them 1.
    #[default]
    Full,
    /// n - 1 columns, all 0 for the first level.
    DropFirst,
}

/// One column of the network's input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputColumn {
    /// `income`, or `Property_Area=Urban` for a level.
    pub name: String,
    /// Index into [`Schema::features`].
    pub feature: usize,
    /// What the column holds.
    pub kind: ColumnKind,
}

/// What an input column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// The feature's own value, in raw units.
    Number,
    /// 1 if the category has this level, else 0.
    Level(usize),
}

impl Schema {
    /// The network's input columns, feature by feature.
    pub fn columns(&self) -> Vec<InputColumn> {
        let mut columns = Vec::new();
        for (feature, f) in self.features.iter().enumerate() {
            match &f.domain {
                Domain::Real { .. } | Domain::Integer { .. } | Domain::Stepped { .. } | Domain::Ordered { .. } => {
                    columns.push(InputColumn { name: f.name.clone(), feature, kind: ColumnKind::Number });
                }
                Domain::Category { levels } => {
                    columns.extend(levels.iter().enumerate().skip(self.one_hot.dropped()).map(|(l, level)| InputColumn {
                        name: format!("{}={level}", f.name),
                        feature,
                        kind: ColumnKind::Level(l),
                    }));
                }
            }
        }
        columns
    }

    /// Reads what [`Schema::to_json`] wrote.
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// The schema as it stands in a model's metadata.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("plain data becomes JSON")
    }

    /// Index of a feature by name.
    pub fn feature(&self, name: &str) -> Option<usize> {
        self.features.iter().position(|f| f.name == name)
    }
}

/// The multiple of a step that is nearest to v; v itself without a step.
pub fn nearest_multiple(v: f64, step: Option<f64>) -> f64 {
    step.map_or(v, |step| (v / step).round() * step)
}

impl Domain {
    /// All whole numbers that float32 holds.
    pub const WHOLE: Self = Self::Integer { lo: -LARGEST_INTEGER, hi: LARGEST_INTEGER };

    /// The interval of a number; `None` for a category.
    pub fn range(&self) -> Option<(f32, f32)> {
        match self {
            Domain::Real { lo, hi } | Domain::Stepped { lo, hi, .. } => Some((*lo, *hi)),
            Domain::Integer { lo, hi } => Some((*lo as f32, *hi as f32)),
            Domain::Ordered { levels } => Some((0.0, levels.len().saturating_sub(1) as f32)),
            Domain::Category { .. } => None,
        }
    }

    /// The k for which all of its numbers are multiples of 2^-k: 0 for whole ones; `None` if they may be any, or it is a category.
    pub fn grid(&self) -> Option<i32> {
        match self {
            Domain::Integer { .. } | Domain::Ordered { .. } => Some(0),
            Domain::Stepped { step, .. } => power_of_two(*step).map(|k| -k),
            Domain::Real { .. } | Domain::Category { .. } => None,
        }
    }

    /// The number of the domain that is nearest to v; `None` for a category.
    pub fn nearest(&self, v: f64) -> Option<f32> {
        let (lo, hi) = self.range()?;
        Some((nearest_multiple(v, self.grid().map(|k| 2f64.powi(-k))) as f32).clamp(lo, hi))
    }

    /// Whether a number is one of the domain's; a category has none.
    pub fn holds(&self, v: f32) -> bool {
        self.range().is_some_and(|(lo, hi)| lo <= v && v <= hi && self.on_grid(v.into()))
    }

    /// Whether a number is one of these multiples, or they may be any; its size is not looked at.
    pub fn on_grid(&self, v: f64) -> bool {
        self.grid().is_none_or(|k| (v * 2f64.powi(k)).fract() == 0.0)
    }

    /// The domain for people.
    pub fn in_words(&self) -> String {
        match self {
            Domain::Real { lo, hi } => format!("numbers from {lo} to {hi}"),
            Domain::Integer { lo, hi } => format!("whole numbers from {lo} to {hi}"),
            Domain::Stepped { lo, hi, step } => format!("multiples of {step} from {lo} to {hi}"),
            Domain::Ordered { levels } => format!("one of {}, in this order", first_quoted(levels)),
            Domain::Category { levels } => format!("one of {}", first_quoted(levels)),
        }
    }

    /// The names of its values, if it has some: levels, ordered or not.
    pub fn levels(&self) -> Option<&[String]> {
        match self {
            Domain::Ordered { levels } | Domain::Category { levels } => Some(levels),
            Domain::Real { .. } | Domain::Integer { .. } | Domain::Stepped { .. } => None,
        }
    }
}

/// The k for which a number is 2^k, from -126 to 127; `None` if it is no such power.
fn power_of_two(v: f32) -> Option<i32> {
    // Neither a sign nor a fraction.
    let exponent = v.to_bits() >> 23;
    (v.to_bits() & 0x807f_ffff == 0 && (1..255).contains(&exponent)).then(|| exponent as i32 - 127)
}

impl OneHot {
    /// How many levels of a category, from the first on, have no column.
    pub fn dropped(self) -> usize {
        usize::from(self == Self::DropFirst)
    }

    /// The encoding for people.
    pub fn in_words(self) -> &'static str {
        match self {
            OneHot::Full => "a column for each level",
            OneHot::DropFirst => "a column for each level but the first",
        }
    }
}

/// Names for people, at most ten of them.
fn first_few(names: &[String]) -> String {
    listed(names, 10)
}

/// Values for people, at most ten of them, each in quotes: it may be empty, or hold a comma.
fn first_quoted(values: &[String]) -> String {
    listed(values.iter().map(|v| format!("{v:?}")), 10)
}

impl Task {
    /// A regression of any numbers.
    pub fn regression(targets: Vec<String>) -> Self {
        Task::Regression { targets, whole: Vec::new() }
    }

    /// Which outputs are promised to be whole numbers, in order.
    pub fn whole_outputs(&self) -> Vec<usize> {
        match self {
            Task::Regression { targets, whole } => (0..targets.len()).filter(|j| whole.contains(&targets[*j])).collect(),
            _ => Vec::new(),
        }
    }

    /// The data columns that hold the truth: one a target, label or item; one in all for classes.
    pub fn target_columns(&self) -> Vec<&str> {
        match self {
            Task::Regression { targets: names, .. } | Task::Multilabel { labels: names } | Task::Ranking { items: names } => {
                names.iter().map(String::as_str).collect()
            }
            Task::Binary { target, .. } | Task::Multiclass { target, .. } => vec![target],
        }
    }

    /// How many outputs the network has.
    pub fn outputs(&self) -> usize {
        match self {
            Task::Regression { targets, .. } => targets.len(),
            Task::Binary { classes, .. } | Task::Multiclass { classes, .. } => classes.len(),
            Task::Multilabel { labels } => labels.len(),
            Task::Ranking { items } => items.len() * items.len(),
        }
    }

    /// The word for this task in rule files and messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Task::Regression { .. } => "regression",
            Task::Binary { .. } => "binary",
            Task::Multiclass { .. } => "multiclass",
            Task::Multilabel { .. } => "multilabel",
            Task::Ranking { .. } => "ranking",
        }
    }

    /// The task for people: its kind and, in their order, what is predicted.
    pub fn in_words(&self) -> String {
        match self {
            Task::Regression { targets, whole } if whole.is_empty() => format!("a regression of {}", first_few(targets)),
            Task::Regression { targets, whole } if whole == targets => {
                format!("a regression of {} in whole numbers", first_few(targets))
            }
            Task::Regression { targets, whole } => {
                format!("a regression of {} ({} in whole numbers)", first_few(targets), first_few(whole))
            }
            Task::Binary { target, classes } | Task::Multiclass { target, classes } => {
                format!("a {} classification of {target} as {}", self.kind(), first_quoted(classes))
            }
            Task::Multilabel { labels } => format!("a multilabel task with the labels {}", first_few(labels)),
            Task::Ranking { items } => format!("a ranking of {}", first_few(items)),
        }
    }

    /// What output `j` is called in messages.
    pub fn output_name(&self, j: usize) -> String {
        match self {
            Task::Regression { targets, .. } => targets[j].clone(),
            Task::Binary { classes, .. } | Task::Multiclass { classes, .. } => format!("score('{}')", classes[j]),
            Task::Multilabel { .. } => format!("score({j})"),
            Task::Ranking { items } => format!("score({}, {})", j / items.len(), j % items.len()),
        }
    }

    /// The classes of a classification; `None` for other tasks.
    pub fn classes(&self) -> Option<&[String]> {
        match self {
            Task::Binary { classes, .. } | Task::Multiclass { classes, .. } => Some(classes),
            _ => None,
        }
    }
}
