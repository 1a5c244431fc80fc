//! The `[task]` table and the target columns enter; a [`Task`] whose targets the data can serve leaves.

use std::collections::HashSet;

use deepsade_spec::Task;
use serde::{Deserialize, Serialize};

use super::error::{DataError, TargetProblem, TaskProblem};
use super::levels::{MOST_LEVELS, sort_by_level};
use super::number;
use super::overrides::{FeatureKind, FeatureOverride, Overrides};
use super::read::known;
use super::table::{Column, Table, TableValue};

/// What is predicted: the `[task]` table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskSettings {
    /// `"regression"`, `"binary"`, `"multiclass"`, `"multilabel"` or `"ranking"`. No default.
    pub kind: TaskKind,
    /// The columns to predict. Default: those of `[data]`; stated twice they must agree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub targets: Option<Vec<String>>,
    /// The classes of a classification, in output order. Default: those of the data, sorted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classes: Option<Vec<String>>,
    /// The probability of the second of two classes from which on it is predicted, between 0 and 1; the prediction of the model, and every
    /// rule about the class, is the one decided so. Default: 0.5. Only for `"binary"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cutoff: Option<f64>,
    /// The `[targets.NAME]` tables, which stand beside `[task]` in a rule file.
    #[serde(skip)]
    pub stated: Overrides,
}

/// The kind of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskKind {
    /// Numbers.
    Regression,
    /// One of two classes.
    Binary,
    /// One of several classes.
    Multiclass,
    /// A set of labels, a 0/1 column each.
    Multilabel,
    /// An ordering of items: a column each, holding its place from 1 to n.
    Ranking,
}

impl From<&Task> for TaskKind {
    fn from(task: &Task) -> Self {
        match task {
            Task::Regression { .. } => Self::Regression,
            Task::Binary { .. } => Self::Binary,
            Task::Multiclass { .. } => Self::Multiclass,
            Task::Multilabel { .. } => Self::Multilabel,
            Task::Ranking { .. } => Self::Ranking,
        }
    }
}

impl TaskSettings {
    /// The target columns, from here or from `[data]`.
    pub fn resolve_targets(&self, of_data: &[String]) -> Result<Vec<String>, DataError> {
        let targets = match &self.targets {
            Some(own) if !of_data.is_empty() && own != of_data => {
                return Err(TaskProblem::TargetsDiffer { data: of_data.to_vec(), task: own.clone() }.into());
            }
            Some(own) => own.clone(),
            None => of_data.to_vec(),
        };
        if targets.is_empty() {
            return Err(TaskProblem::NoTargets.into());
        }
        match repeated(&targets) {
            Some(target) => Err(TaskProblem::DuplicateTarget(target.clone()).into()),
            None => Ok(targets),
        }
    }

    /// The task for these targets; classes that are not stated come from the table, if there is one.
    pub fn build(&self, targets: Vec<String>, table: Option<&Table>) -> Result<Task, DataError> {
        if let Some(table) = table {
            known(&targets, &table.names, "`targets`")?;
        }
        if let Some(class) = self.classes.as_deref().and_then(repeated) {
            return Err(TaskProblem::DuplicateClass(class.clone()).into());
        }
        let classification = matches!(self.kind, TaskKind::Binary | TaskKind::Multiclass);
        if self.classes.is_some() && !classification {
            return Err(TaskProblem::NoClassesHere.into());
        }
        match self.cutoff {
            Some(_) if self.kind != TaskKind::Binary => return Err(TaskProblem::NoCutoffHere.into()),
            Some(cutoff) if !(0.001..=0.999).contains(&cutoff) => {
                let expected = "a probability from 0.001 to 0.999";
                return Err(DataError::Setting { setting: "cutoff", value: cutoff.to_string(), expected });
            }
            _ => {}
        }
        match self.kind {
            TaskKind::Regression => Ok(Task::regression(targets)),
            TaskKind::Multilabel => Ok(Task::Multilabel { labels: targets }),
            TaskKind::Ranking if targets.len() < 2 => Err(TaskProblem::TwoItems.into()),
            TaskKind::Ranking => Ok(Task::Ranking { items: targets }),
            TaskKind::Binary => {
                let (target, classes) = self.classes(targets, table, "binary")?;
                if classes.len() != 2 {
                    return Err(TaskProblem::ClassCount { kind: "binary", needed: "exactly two", found: classes }.into());
                }
                Ok(Task::Binary { target, classes })
            }
            TaskKind::Multiclass => {
                let (target, classes) = self.classes(targets, table, "multiclass")?;
                if classes.len() < 2 {
                    return Err(TaskProblem::ClassCount { kind: "multiclass", needed: "two or more", found: classes }.into());
                }
                Ok(Task::Multiclass { target, classes })
            }
        }
    }

    /// Those of the targets that `[targets]`, or `[features]`, states to be whole numbers.
    pub fn whole(&self, targets: &[String], features: &Overrides) -> Result<Vec<String>, DataError> {
        if let Some(name) = self.stated.keys().find(|name| !targets.contains(name)) {
            let nearest = deepsade_spec::nearest(name, targets.iter().map(String::as_str)).map(String::from);
            return Err(DataError::Target { name: name.clone(), problem: TargetProblem::NoTarget { nearest } });
        }
        let mut whole = Vec::new();
        for name in targets {
            let problem = |problem: TargetProblem| DataError::Target { name: name.clone(), problem };
            let kind = |stated: Option<&FeatureOverride>| stated.map_or(Ok(None), |s| self.target_kind(s)).map_err(problem);
            match (kind(self.stated.get(name))?, kind(features.get(name))?) {
                (Some(one), Some(other)) if one != other => return Err(problem(TargetProblem::Differs)),
                (Some(FeatureKind::Integer), _) | (_, Some(FeatureKind::Integer)) => whole.push(name.clone()),
                _ => {}
            }
        }
        Ok(whole)
    }

    /// What is stated of a target.
    fn target_kind(&self, stated: &FeatureOverride) -> Result<Option<FeatureKind>, TargetProblem> {
        match stated {
            _ if self.kind != TaskKind::Regression => Err(TargetProblem::OnlyRegression),
            FeatureOverride { kind, .. } if *stated == (FeatureOverride { kind: *kind, ..FeatureOverride::default() }) => {
                match kind {
                    Some(FeatureKind::Category) => Err(TargetProblem::Category),
                    kind => Ok(*kind),
                }
            }
            _ => Err(TargetProblem::OnlyKind),
        }
    }

    fn classes(
        &self,
        targets: Vec<String>,
        table: Option<&Table>,
        kind: &'static str,
    ) -> Result<(String, Vec<String>), DataError> {
        let [target]: [String; 1] =
            targets.try_into().map_err(|t: Vec<String>| TaskProblem::OneTarget { kind, found: t.len() })?;
        let classes = match (&self.classes, table.and_then(|t| t.column(&target))) {
            (Some(stated), _) => stated.clone(),
            (None, Some(column)) => values_of(&target, column)?,
            (None, None) => return Err(TaskProblem::ClassesNotStated.into()),
        };
        Ok((target, classes))
    }
}

/// The different values of a column as texts, sorted; numbers without needless decimals.
fn values_of(name: &str, column: &Column) -> Result<Vec<String>, DataError> {
    let mut values = match column {
        Column::Text { levels, .. } => levels.clone(),
        Column::Number(_) | Column::Bytes { .. } => {
            let mut bits: Vec<u64> = (0..column.len())
                .filter_map(|row| match column.value(row) {
                    TableValue::Number(v) => Some((v + 0.0).to_bits()),
                    _ => None,
                })
                .collect();
            bits.sort_unstable();
            bits.dedup();
            bits.into_iter().map(|b| number::as_text(f64::from_bits(b))).collect()
        }
    };
    if values.len() > MOST_LEVELS {
        return Err(DataError::TooManyLevels { column: name.to_owned(), count: values.len(), most: MOST_LEVELS });
    }
    sort_by_level(&mut values, |v| v);
    Ok(values)
}

/// The first name that occurs a second time.
pub(crate) fn repeated(names: &[String]) -> Option<&String> {
    let mut seen = HashSet::new();
    names.iter().find(|name| !seen.insert(*name))
}

#[cfg(test)]
#[path = "task/tests.rs"]
mod tests;
