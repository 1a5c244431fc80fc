//! A sheet and the wishes enter; what is predicted, and by which kind of task, leaves.

use deepsade_data::{Column, TaskKind};
use deepsade_spec::nearest;

use super::columns::{Described, LeftOut, Role, distinct, is_whole, levels, numbers};
use super::sheet::Sheet;

/// Names of columns that are there to be predicted.
const OBVIOUS: [&str; 10] = ["target", "label", "class", "y", "outcome", "response", "output", "is_fraud", "survived", "churn"];
/// Names of columns that are often predicted, where nothing more obvious is there.
const LIKELY: [&str; 10] =
    ["mpg", "price", "saleprice", "medv", "salary", "default", "diagnosis", "species", "quality", "loan_status"];
/// More classes than this are a mistake.
const MOST_CLASSES: usize = 1000;
/// Whole numbers with no more values than this are classes.
const FEW_CLASSES: usize = 10;

/// What is predicted.
pub(super) struct Aim {
    pub kind: TaskKind,
    pub targets: Vec<String>,
    /// For a classification its classes, in the order of the data's values.
    pub classes: Vec<String>,
    /// For a regression whether all values of a target are whole numbers.
    pub whole: Vec<bool>,
    /// Why these targets, if they were guessed.
    pub why: &'static str,
    /// What else could be meant.
    pub warning: Option<String>,
}

/// The targets that are wished for, or the likeliest, and the task that their values make.
pub(super) fn aim(sheet: &Sheet, columns: &[Described], wished: &[String]) -> Result<Aim, String> {
    let (targets, why) = match wished {
        [] => guess(columns)?,
        wished => (wished.to_vec(), "as wished"),
    };
    for (k, name) in targets.iter().enumerate() {
        if targets[..k].contains(name) {
            return Err(format!("the target '{name}' is named twice"));
        }
        let Some(column) = columns.iter().find(|c| c.name == *name) else {
            let near = nearest(name, columns.iter().map(|c| c.name.as_str()));
            let hint = near.map(|near| format!("; did you mean '{near}'?")).unwrap_or_default();
            return Err(format!("there is no column '{name}' to predict{hint}"));
        };
        if let Role::Out(
            why @ (LeftOut::Empty | LeftOut::Constant | LeftOut::Twice | LeftOut::Type { .. } | LeftOut::Beyond { .. }),
        ) = &column.role
        {
            return Err(format!("the target '{name}' can't be predicted: {}", why.in_words()));
        }
    }
    let held: Vec<&Column> = targets.iter().filter_map(|name| sheet.table.column(name)).collect();
    match held[..] {
        [column] => one(&targets[0], column).map(|aim| Aim { targets: targets.clone(), why, ..aim }),
        _ => several(&targets, &held).map(|aim| Aim { targets: targets.clone(), why, ..aim }),
    }
}

/// The column with an obvious name, else the last that can be predicted.
fn guess(columns: &[Described]) -> Result<(Vec<String>, &'static str), String> {
    let usable = |c: &&Described| !matches!(c.role, Role::Out(_));
    let called = |names: &[&str]| {
        let by = |name: &&str| columns.iter().filter(usable).find(|c| c.name.to_lowercase() == **name);
        names.iter().find_map(by).map(|c| vec![c.name.clone()])
    };
    let last = || columns.iter().rfind(usable).map(|c| vec![c.name.clone()]);
    called(&OBVIOUS)
        .map(|t| (t, "by its name"))
        .or_else(|| called(&LIKELY).map(|t| (t, "by its name")))
        .or_else(|| last().map(|t| (t, "the last column that can be predicted")))
        .ok_or_else(|| format!("no column can be predicted: {}", super::columns::why_out(columns)))
}

fn one(name: &str, column: &Column) -> Result<Aim, String> {
    let aim =
        |kind, classes: Vec<String>, warning| Aim { kind, classes, warning, whole: Vec::new(), targets: Vec::new(), why: "" };
    let by_count = |classes: &[String]| if classes.len() == 2 { TaskKind::Binary } else { TaskKind::Multiclass };
    let Some(values) = numbers(column) else {
        let classes = levels(column);
        if classes.len() > MOST_CLASSES {
            let count = classes.len();
            return Err(format!(
                "the target '{name}' has {count} different texts, too many for classes: name another by --target"
            ));
        }
        let kind = by_count(&classes);
        return Ok(aim(kind, classes, None));
    };
    let found = distinct(&values);
    // A number for nearly every row is measured, however few the rows are.
    let few = found.len() <= FEW_CLASSES && is_whole(&values) && values.len() >= 3 * found.len();
    if found.len() == 2 || few {
        let classes: Vec<String> = found.iter().map(|v| format!("{}", v + 0.0)).collect();
        let warning = (found.len() > 2).then(|| {
            let n = found.len();
            format!("'{name}' has {n} different whole numbers and is taken for classes; `kind = \"regression\"` takes them for amounts")
        });
        return Ok(aim(by_count(&classes), classes, warning));
    }
    Ok(Aim { whole: vec![is_whole(&values)], ..aim(TaskKind::Regression, Vec::new(), None) })
}

fn several(targets: &[String], held: &[&Column]) -> Result<Aim, String> {
    let mut whole = Vec::new();
    let mut labels = true;
    for (name, column) in targets.iter().zip(held) {
        let Some(values) = numbers(column) else {
            return Err(format!("the target '{name}' holds text; several targets are numbers, or labels of 0 and 1"));
        };
        labels &= values.iter().all(|v| *v == 0.0 || *v == 1.0);
        whole.push(is_whole(&values));
    }
    let kind = match () {
        () if labels => TaskKind::Multilabel,
        () if is_ranking(held) => TaskKind::Ranking,
        () => TaskKind::Regression,
    };
    Ok(Aim { kind, whole, classes: Vec::new(), targets: Vec::new(), why: "", warning: None })
}

/// Whether each row has every place from 1 to n once.
fn is_ranking(held: &[&Column]) -> bool {
    let n = held.len();
    let columns: Vec<Vec<f64>> = held.iter().filter_map(|c| numbers(c)).collect();
    let rows = held.first().map_or(0, |c| c.len());
    columns.iter().all(|c| c.len() == rows)
        && (0..rows).all(|row| {
            let mut places: Vec<f64> = columns.iter().map(|c| c[row]).collect();
            places.sort_unstable_by(f64::total_cmp);
            places.iter().zip(1..=n).all(|(place, k)| *place == k as f64)
        })
}
