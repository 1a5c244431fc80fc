//! What was found of a data file enters; a rule file with comments leaves.

use std::path::Path;

use deepsade_data::{SplitShares, TaskKind};

use super::DraftedFile;
use super::columns::{Described, LeftOut, Role, ends, numbers};
use super::sheet::Sheet;
use super::spelled::{key, list, number, text as quoted};
use super::suggest::Suggestion;
use super::target::Aim;
use crate::by_shape::{Shape, usual};

/// Columns that are stated one by one; more are left to the data, with a margin.
const MOST_STATED: usize = 1000;
/// The share of a range that unstated domains reach beyond the data.
const MARGIN: f64 = 0.1;
/// Classes that are listed.
const MOST_CLASSES: usize = 50;

/// The rule file.
pub(super) fn text(file: &Path, sheet: &Sheet, aim: &Aim, draft: &DraftedFile, folder: &Path) -> String {
    let used: Vec<&Described> = draft.columns.iter().filter(|c| !matches!(c.role, Role::Out(_))).collect();
    let mut out = format!(
        "# A draft that `deepsade init` made of {} rows. `deepsade train` takes it as it is; docs/rules.md has the language of the\n\
         # rules, docs/data.md and docs/training.md all settings.\n\n",
        draft.rows
    );
    out += &data(file, sheet, aim, draft, folder, used.len());
    out += &task(aim);
    if used.len() <= MOST_STATED {
        out += "# The domain: the rules are proved for every input in it, and `predict` flags rows outside.\n";
        used.iter().for_each(|column| out += &feature(sheet, column, draft.rows));
    }
    out += &settings(&used, draft.rows);
    out + &rules(&draft.rules)
}

/// What network and training follow, for those who want to hold on to it.
fn settings(used: &[&Described], rows: usize) -> String {
    let width = |column: &&Described| match &column.role {
        Role::Category { levels } => levels.len(),
        _ => 1,
    };
    let SplitShares { train, validation, .. } = SplitShares::default();
    let share = |share: f64| (share * rows as f64) as usize;
    let columns = used.iter().map(width).sum();
    let (network, train) = usual(Shape { rows: share(train).max(1), validation: share(validation), columns });
    let patience = train.patience.map(|p| format!("# patience = {p}\n")).unwrap_or_default();
    format!(
        "# Network and training follow the shape of the data; without the # they stay at what it is now.\n\
         # [network]\n# hidden = {:?}\n# [train]\n# learning_rate = {}\n# weight_decay = {}\n# batch = {}\n\
         # epochs = {}\n{patience}\n",
        network.hidden, train.learning_rate, train.weight_decay, train.batch, train.epochs
    )
}

fn data(file: &Path, sheet: &Sheet, aim: &Aim, draft: &DraftedFile, folder: &Path, used: usize) -> String {
    let mut out = format!("[data]\nfile = {}\n", quoted(&named_from(file, folder)));
    let guessed = if draft.guessed { format!("   # guessed ({}): put the right one here", aim.why) } else { String::new() };
    out += &format!("targets = {}{guessed}\n", list(&aim.targets));
    if let Some(separator) = sheet.separator {
        out += &format!("separator = {}\n", quoted(&separator.to_string()));
    }
    let left_out: Vec<String> = draft.columns.iter().filter_map(left_out).collect();
    if !left_out.is_empty() {
        out += &format!("ignore = [\n{}]\n", left_out.concat());
    }
    if draft.rows_with_gaps > 0 {
        let gaps: Vec<&Described> = draft.columns.iter().filter(|c| c.missing > 0 && !matches!(c.role, Role::Out(_))).collect();
        let each: Vec<String> = gaps.iter().take(20).map(|c| format!("{} {}", quoted(&c.name), c.missing)).collect();
        let (policy, words) = if gaps.is_empty() {
            ("drop", "rows without a target are left out".to_owned())
        } else {
            ("impute", format!("missing: {}; \"drop\" leaves such rows out", each.join(", ")))
        };
        out += &format!("# {} of {} rows have gaps; {words}\n", draft.rows_with_gaps, draft.rows);
        out += &format!("missing = {}\n", quoted(policy));
    }
    if used > MOST_STATED {
        out += &format!("margin = {}   # how far the domain of a number reaches beyond the data\n", number(MARGIN));
    }
    out + "# split = { train = 0.7, validation = 0.1, test = 0.2 }\n\n"
}

/// A line of `ignore`, with what brings the column in.
fn left_out(column: &Described) -> Option<String> {
    let Role::Out(why) = &column.role else { return None };
    let back = match why {
        // Texts need a word on what they are.
        LeftOut::Identifier | LeftOut::Dates | LeftOut::Levels { .. } | LeftOut::Words { .. } => {
            "; to use it, delete this line: `train` says what else it needs"
        }
        why if why.can_return() => "; delete this line to use it",
        _ => "",
    };
    Some(format!("    {},   # {}{back}\n", quoted(&column.name), comment(&why.in_words())))
}

/// The file's name as the rule file finds it.
fn named_from(file: &Path, folder: &Path) -> String {
    let whole = |path: &Path| path.canonicalize().ok();
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let path = match (whole(file), whole(folder)) {
        (Some(file), Some(folder)) => file.strip_prefix(&folder).map(Path::to_owned).unwrap_or(file),
        (Some(file), None) => file,
        _ => file.to_owned(),
    };
    path.to_string_lossy().into_owned()
}

fn task(aim: &Aim) -> String {
    let (kind, words) = match aim.kind {
        TaskKind::Regression => ("regression", "numbers"),
        TaskKind::Binary => ("binary", "one of two classes"),
        TaskKind::Multiclass => ("multiclass", "one of several classes"),
        TaskKind::Multilabel => ("multilabel", "a set of labels"),
        TaskKind::Ranking => ("ranking", "an ordering of the targets"),
    };
    let mut out = format!("[task]\nkind = {}   # {words}\n", quoted(kind));
    if !aim.classes.is_empty() && aim.classes.len() <= MOST_CLASSES {
        out += &format!("classes = {}\n", list(&aim.classes));
    }
    if let Some(warning) = &aim.warning {
        out += &format!("# {}\n", comment(warning));
    }
    for (name, _) in aim.targets.iter().zip(&aim.whole).filter(|(_, whole)| **whole && aim.kind == TaskKind::Regression) {
        out += &format!("\n# Only whole numbers occur; without the # only such are predicted.\n# [targets.{}]\n", key(name));
        out += "# kind = \"integer\"\n";
    }
    out + "\n"
}

fn feature(sheet: &Sheet, column: &Described, rows: usize) -> String {
    let mut out = format!("[features.{}]", key(&column.name));
    if column.missing > 0 {
        out += &format!("   # missing in {} of {rows} rows", column.missing);
    }
    out += "\n";
    let seen = || {
        let values = sheet.table.column(&column.name).and_then(numbers).unwrap_or_default();
        let (lo, hi) = ends(&values);
        format!("   # the data: {} to {}", number(lo), number(hi))
    };
    let range = |[lo, hi]: &[f64; 2]| format!("range = [{}, {}]{}\n", number(*lo), number(*hi), seen());
    match &column.role {
        Role::Integer { range: r } => out += &format!("kind = \"integer\"\n{}", range(r)),
        Role::Real { range: r } => out += &range(r),
        Role::Category { levels } => out += &format!("levels = {}\n", list(levels)),
        Role::Out(_) => {}
    }
    out + "\n"
}

fn rules(rules: &[Suggestion]) -> String {
    let mut out = String::from("# The rules. Each must hold for every input of the domain");
    out += match rules.iter().filter(|r| !r.stands).count() {
        0 => ".\n\n",
        _ => {
            "; those behind a # are suggested by the rows: take\n# the # away from the ones that are true of the matter, not only of these rows.\n\n"
        }
    };
    for rule in rules {
        let mark = if rule.stands { "" } else { "# " };
        let share = 100.0 * rule.obey as f64 / rule.of.max(1) as f64;
        let share = format!("{:.2}", (share * 100.0).floor() / 100.0);
        let share = share.trim_end_matches('0').trim_end_matches('.');
        out += &format!("{mark}[[rule]]   # obeyed by {} of {} {} ({share} %)\n", rule.obey, rule.of, rule.counted);
        out += &format!("{mark}name = {}\n{mark}text = {}\n\n", quoted(&rule.name), quoted(&rule.text));
    }
    if rules.is_empty() {
        out += "# [[rule]]\n# name = \"\"\n# text = \"\"\n";
    }
    out.trim_end().to_owned() + "\n"
}

/// Words behind a #: nothing that ends the line.
fn comment(words: &str) -> String {
    deepsade_spec::shown::name(words).into_owned()
}
