//! What a rule file states and what a model says of itself enter; leaves whether both speak of the same thing.
//!
//! A rule is about named features and outputs. If the model gave these names to other columns, read its outputs in another way, or
//! covered less than the stated domain, then a proof about the model would say nothing about the rule that a person wrote.

use std::collections::BTreeSet;
use std::fmt;

use crate::compile::RuleText;
use crate::normalize::NormalSpec;
use crate::schema::{Domain, Filled, OneHot, Schema, Task};

/// Rules, and the features, domain and task that they are about: all of it stated, nothing taken from a model.
///
/// ```
/// use deepsade_spec::{Claim, Domain, Feature, Mismatch, OneHot, RuleText, Schema, Task};
///
/// let over = |hi| Schema {
///     features: vec![Feature { name: "income".into(), domain: Domain::Real { lo: 0.0, hi } }],
///     task: Task::regression(vec!["rent".into()]),
///     one_hot: OneHot::Full,
///     filled: vec![],
/// };
/// let claim = Claim { schema: over(100.0), rules: vec![RuleText { name: "afford".into(), text: "rent <= income".into() }] };
/// assert!(claim.covered_by(&over(200.0)).is_ok());
/// // A model for smaller incomes only says nothing about the larger ones.
/// assert!(matches!(claim.covered_by(&over(50.0)), Err(Mismatch::Domain { name, .. }) if name == "income"));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// Features in the order of the columns, their domains, and what is predicted.
    pub schema: Schema,
    /// The rules.
    pub rules: Vec<RuleText>,
}

/// In what a model is not what a claim is about.
#[derive(Debug, Clone, PartialEq)]
pub enum Mismatch {
    /// Another kind of task, other targets or classes, or the same in another order.
    Task {
        /// What the rules are about.
        stated: Task,
        /// What the model says.
        model: Task,
    },
    /// Categories become columns in another way.
    Encoding {
        /// What the rules are about.
        stated: OneHot,
        /// What the model says.
        model: OneHot,
    },
    /// A stated feature that the model does not have.
    Missing(String),
    /// A feature of the model that is not stated.
    Unmentioned(String),
    /// Features in another order.
    Order {
        /// The place, from 0.
        place: usize,
        /// The feature that is stated there.
        stated: String,
        /// The feature that the model has there.
        model: String,
    },
    /// A feature that has no value is read in another way, or other texts stand for no value.
    Filled {
        /// The feature.
        name: String,
        /// What the rule file says.
        stated: Option<Box<Filled>>,
        /// What the model says.
        model: Option<Box<Filled>>,
    },
    /// A category where the other has a number, levels in another order, or a domain that the model does not cover.
    Domain {
        /// The feature.
        name: String,
        /// What the rules are about.
        stated: Domain,
        /// What the model says.
        model: Domain,
    },
}

impl Claim {
    /// Whether the columns and outputs of a model are those that the claim is about, whatever domain it has and whether or not its
    /// outputs are kept whole.
    pub fn same_columns(&self, model: &Schema) -> Result<(), Mismatch> {
        let stated = &self.schema;
        if any_numbers(&stated.task) != any_numbers(&model.task) {
            return Err(Mismatch::Task { stated: stated.task.clone(), model: model.task.clone() });
        }
        let names = |schema: &Schema| schema.features.iter().map(|f| f.name.clone()).collect::<BTreeSet<String>>();
        let (of_model, of_claim) = (names(model), names(stated));
        if let Some(f) = stated.features.iter().find(|f| !of_model.contains(&f.name)) {
            return Err(Mismatch::Missing(f.name.clone()));
        }
        if let Some(f) = model.features.iter().find(|f| !of_claim.contains(&f.name)) {
            return Err(Mismatch::Unmentioned(f.name.clone()));
        }
        for (place, (s, m)) in stated.features.iter().zip(&model.features).enumerate() {
            if s.name != m.name {
                return Err(Mismatch::Order { place, stated: s.name.clone(), model: m.name.clone() });
            }
            let same = match (&s.domain, &m.domain) {
                (Domain::Category { levels }, Domain::Category { levels: others })
                | (Domain::Ordered { levels }, Domain::Ordered { levels: others }) => levels == others,
                (Domain::Category { .. } | Domain::Ordered { .. }, _) | (_, Domain::Category { .. } | Domain::Ordered { .. }) => {
                    false
                }
                _ => true,
            };
            if !same {
                return Err(Mismatch::Domain { name: s.name.clone(), stated: s.domain.clone(), model: m.domain.clone() });
            }
        }
        // Only a name that stands twice is left over here.
        match (stated.features.get(model.features.len()), model.features.get(stated.features.len())) {
            (Some(f), _) => return Err(Mismatch::Missing(f.name.clone())),
            (_, Some(f)) => return Err(Mismatch::Unmentioned(f.name.clone())),
            _ => {}
        }
        let categories = stated.features.iter().any(|f| f.domain.range().is_none());
        if categories && stated.one_hot != model.one_hot {
            return Err(Mismatch::Encoding { stated: stated.one_hot, model: model.one_hot });
        }
        Ok(())
    }

    /// Whether a model reads features without a value as the claim says, and the same texts as no value.
    pub fn same_gaps(&self, model: &Schema) -> Result<(), Mismatch> {
        let boxed = |filled: Option<&Filled>| filled.map(|f| Box::new(f.clone()));
        for Filled { feature: name, .. } in self.schema.filled.iter().chain(&model.filled) {
            let (stated, model) = (self.schema.filled(name), model.filled(name));
            if !stated.is_some_and(|s| model.is_some_and(|m| s.alike(m))) {
                return Err(Mismatch::Filled { name: name.into(), stated: boxed(stated), model: boxed(model) });
            }
        }
        Ok(())
    }

    /// Whether what holds for every input of a model's domain holds for every input that the claim is about.
    pub fn covered_by(&self, model: &Schema) -> Result<(), Mismatch> {
        self.same_columns(model)?;
        // Whole numbers where any are stated are other predictions than those that were asked for, as are any numbers where whole ones
        // are.
        if self.schema.task != model.task {
            return Err(Mismatch::Task { stated: self.schema.task.clone(), model: model.task.clone() });
        }
        self.same_gaps(model)?;
        for (s, m) in self.schema.features.iter().zip(&model.features) {
            let covered = match (&s.domain, &m.domain) {
                // Their levels are the same, by the above.
                (Domain::Category { .. }, Domain::Category { .. }) | (Domain::Ordered { .. }, Domain::Ordered { .. }) => true,
                (Domain::Real { lo, hi }, Domain::Real { lo: a, hi: b }) => a <= lo && hi <= b,
                (Domain::Integer { lo, hi }, Domain::Integer { lo: a, hi: b }) => a <= lo && hi <= b,
                (Domain::Stepped { lo, hi, step }, Domain::Stepped { lo: a, hi: b, step: other }) => {
                    a <= lo && hi <= b && step == other
                }
                // Not even whole numbers among reals: a constant beside a real is read as a float32, beside a whole number exactly.
                _ => false,
            };
            if !covered {
                return Err(Mismatch::Domain { name: s.name.clone(), stated: s.domain.clone(), model: m.domain.clone() });
            }
        }
        Ok(())
    }
}

/// A task whose numbers need not be whole.
fn any_numbers(task: &Task) -> Task {
    match task {
        Task::Regression { targets, .. } => Task::regression(targets.clone()),
        other => other.clone(),
    }
}

impl From<&NormalSpec> for Claim {
    fn from(spec: &NormalSpec) -> Self {
        let text = |(name, text): (&str, &str)| RuleText { name: name.into(), text: text.into() };
        Self { schema: spec.schema.clone(), rules: spec.texts().map(text).collect() }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Task { stated, model } => {
                write!(f, "the rules are about {}, the model is {}", stated.in_words(), model.in_words())
            }
            Self::Encoding { stated, model } => {
                write!(f, "the rules are about categories with {}, the model has {}", stated.in_words(), model.in_words())
            }
            Self::Filled { name, stated, model } => {
                let shown = |filled: &Option<Box<Filled>>| filled.as_ref().map_or("nothing".into(), ToString::to_string);
                let (stated, model) = (shown(stated), shown(model));
                write!(f, "where {name:?} has no value, the rule file reads {stated}, the model {model}")
            }
            Self::Missing(name) => write!(f, "the model has no feature {name:?}"),
            Self::Unmentioned(name) => write!(f, "the model has the feature {name:?}, of which the rule file says nothing"),
            Self::Order { place, stated, model } => {
                write!(f, "column {place} holds the feature {stated:?} in the rule file, {model:?} in the model")
            }
            Self::Domain { name, stated: Domain::Category { levels }, model: Domain::Category { levels: others } }
            | Self::Domain { name, stated: Domain::Ordered { levels }, model: Domain::Ordered { levels: others } } => {
                let k = levels.iter().zip(others).position(|(a, b)| a != b).unwrap_or(levels.len().min(others.len()));
                let shown = |l: Option<&String>| l.map_or("no level".into(), |l| format!("{l:?}"));
                let (stated, model) = (shown(levels.get(k)), shown(others.get(k)));
                write!(f, "level {k} of the feature {name:?} is {stated} in the rule file, {model} in the model")
            }
            Self::Domain { name, stated, model } => {
                write!(f, "the rules are about {} for {name:?}, the model is about {}", stated.in_words(), model.in_words())
            }
        }
    }
}

impl std::error::Error for Mismatch {}
