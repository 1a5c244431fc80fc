//! The `[[rule]]` tables of a rule file enter; rules that stand by themselves leave: those of other files are read, and a hierarchy
//! becomes a rule for each pair. What is proved, written beside a model or checked knows no files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use deepsade_data::TaskKind;
use deepsade_spec::lex::{TokenKind, lex};
use deepsade_spec::{RuleText, nearest, print, shown};
use serde::Deserialize;
use thiserror::Error;

use crate::artifact::read_at_most;

/// Bytes that a file of rules or pairs may have.
const MAX_BYTES: u64 = 16 << 20;
/// How names of such files end: a rule file from elsewhere should not make the program read and quote any file.
const RULES: [&str; 3] = ["txt", "rules", "rule"];
const PAIRS: [&str; 3] = ["csv", "txt", "tsv"];

/// One `[[rule]]` as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RuleTable {
    name: Option<String>,
    text: Option<String>,
    file: Option<String>,
}

/// What is wrong with the rules of other files.
#[derive(Debug, Error)]
pub enum RuleFileError {
    /// A `[[rule]]` that lacks something.
    #[error("[[rule]] number {number}: {problem}")]
    Entry {
        /// Which, from 1.
        number: usize,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The file can't be read.
    #[error("rule '{rule}': can't read {}: {why}", path.display())]
    Unreadable {
        /// The rule.
        rule: String,
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// A line that can't be used.
    #[error("{}, line {line}: {problem}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: u64,
        /// What is wrong.
        problem: String,
    },
    /// `hierarchy(...)` where it can't stand.
    #[error("rule '{rule}': {problem}")]
    Hierarchy {
        /// The rule.
        rule: String,
        /// What is wrong.
        problem: String,
    },
}

/// What a hierarchy is about.
pub(crate) struct LabelNames<'a> {
    pub task: TaskKind,
    /// The labels, if the rule file states them.
    pub names: &'a [String],
}

impl From<RuleText> for RuleTable {
    fn from(rule: RuleText) -> Self {
        Self { name: Some(rule.name), text: Some(rule.text), file: None }
    }
}

/// The rules of a rule file, with those of the files that it names; `folder` is where these are.
pub(crate) fn expand(entries: Vec<RuleTable>, folder: &Path, labels: &LabelNames) -> Result<Vec<RuleText>, RuleFileError> {
    let mut rules = Vec::with_capacity(entries.len());
    for (k, entry) in entries.into_iter().enumerate() {
        let wrong = |problem| RuleFileError::Entry { number: k + 1, problem };
        match entry {
            RuleTable { name: Some(name), text: Some(text), file: None } => {
                expanded(RuleText { name, text }, folder, labels, &mut rules)?;
            }
            RuleTable { name, text: None, file: Some(file) } => {
                let path = folder.join(&file);
                let rule = name.clone().unwrap_or_else(|| file.clone());
                let text = read(&path, &RULES, &rule)?;
                let folder = path.parent().unwrap_or(Path::new(""));
                for rule in lines(&path, name.as_deref().unwrap_or(&file), &text)? {
                    expanded(rule, folder, labels, &mut rules)?;
                }
            }
            RuleTable { text: Some(_), file: Some(_), .. } => return Err(wrong("it has `text` and `file`; give one of them")),
            RuleTable { name: None, text: Some(_), .. } => {
                return Err(wrong("it has no `name`, which messages and reports need"));
            }
            RuleTable { text: None, file: None, .. } => {
                return Err(wrong("it has no `text`: a rule is `name` and `text`, or `file` with a rule a line"));
            }
        }
    }
    Ok(rules)
}

/// Reads a file that a rule names, if it may be one.
fn read(path: &Path, endings: &[&str], rule: &str) -> Result<String, RuleFileError> {
    let failed = |why: String| RuleFileError::Unreadable { rule: shown::name(rule).into_owned(), path: path.into(), why };
    let ends = |p: &Path| p.extension().is_some_and(|e| endings.contains(&e.to_string_lossy().to_lowercase().as_str()));
    // A link must not lead elsewhere, either.
    let real = path.canonicalize().map_err(|e| failed(e.to_string()))?;
    if !ends(path) || !ends(&real) {
        let all: Vec<String> = endings.iter().map(|e| format!(".{e}")).collect();
        return Err(failed(format!("the name of such a file ends in {}", all.join(", "))));
    }
    let bytes = read_at_most(&real, MAX_BYTES).map_err(|e| failed(e.to_string()))?;
    let bytes = bytes.map_err(|bytes| failed(format!("it has {bytes} bytes, more than {MAX_BYTES}")))?;
    String::from_utf8(bytes).map_err(|_| failed("it is not UTF-8 text".into()))
}

/// The rules of a file: one a line, perhaps with a name before `::`; behind a # nothing counts.
fn lines(path: &Path, of: &str, text: &str) -> Result<Vec<RuleText>, RuleFileError> {
    let mut rules: Vec<RuleText> = Vec::new();
    for (k, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let rule = outside_quotes(line, "#").map_or(line, |at| &line[..at]).trim();
        let wrong = |problem: &str| RuleFileError::Line { path: path.into(), line: k as u64 + 1, problem: problem.into() };
        let (name, text) = match outside_quotes(rule, "::") {
            Some(at) => (rule[..at].trim().to_owned(), rule[at + 2..].trim()),
            None => (format!("{of}, line {}", k + 1), rule),
        };
        match (name.is_empty(), text.is_empty()) {
            (_, true) if rule.is_empty() => {}
            (true, _) => return Err(wrong("there is no name before `::`; leave out both, or write NAME :: RULE")),
            (_, true) => return Err(wrong("there is no rule behind `::`")),
            _ => rules.push(RuleText { name, text: text.into() }),
        }
    }
    if rules.is_empty() {
        let problem = "the file has no rules: write one a line".into();
        return Err(RuleFileError::Line { path: path.into(), line: 1, problem });
    }
    Ok(rules)
}

/// Where a sign stands first outside names and levels.
fn outside_quotes(line: &str, sign: &str) -> Option<usize> {
    let mut open = None;
    for (at, c) in line.char_indices() {
        match open {
            Some(quote) => open = Some(quote).filter(|quote| *quote != c),
            None if line[at..].starts_with(sign) => return Some(at),
            None => open = Some(c).filter(|c| ['\'', '"', '`'].contains(c)),
        }
    }
    None
}

/// A rule as it is, or those of its hierarchy.
fn expanded(rule: RuleText, folder: &Path, labels: &LabelNames, rules: &mut Vec<RuleText>) -> Result<(), RuleFileError> {
    match hierarchy(&rule)? {
        None => rules.push(rule),
        Some(file) => rules.extend(pairs(&rule.name, &folder.join(file), labels)?),
    }
    Ok(())
}

/// The file of a rule that is a hierarchy. A text that can't be read is left for the compiler, which underlines the place.
fn hierarchy(rule: &RuleText) -> Result<Option<String>, RuleFileError> {
    let problem = "hierarchy(\"FILE.csv\") takes a file of pairs in quotes and is a rule of its own, with nothing beside it";
    let wrong = || RuleFileError::Hierarchy { rule: shown::name(&rule.name).into_owned(), problem: problem.into() };
    let Ok(tokens) = lex(&rule.text) else {
        // A file name without quotes is no text of a rule.
        let bare = rule.text.trim_start().strip_prefix("hierarchy").is_some_and(|rest| rest.trim_start().starts_with('('));
        return if bare { Err(wrong()) } else { Ok(None) };
    };
    let kinds: Vec<&TokenKind> = tokens.iter().map(|t| &t.kind).collect();
    let opens = |pair: &[&TokenKind]| *pair[0] == TokenKind::Name("hierarchy".into()) && *pair[1] == TokenKind::Symbol("(");
    if !kinds.windows(2).any(opens) {
        return Ok(None);
    }
    match kinds[..] {
        [_, _, TokenKind::Text(file), TokenKind::Symbol(")"), TokenKind::End] if opens(&kinds[..2]) => Ok(Some(file.clone())),
        _ => Err(wrong()),
    }
}

/// For each pair of a file "the child implies the parent".
fn pairs(name: &str, path: &Path, labels: &LabelNames) -> Result<Vec<RuleText>, RuleFileError> {
    if labels.task != TaskKind::Multilabel {
        let problem = "hierarchy(...) speaks of labels: it needs `kind = \"multilabel\"`".into();
        return Err(RuleFileError::Hierarchy { rule: shown::name(name).into_owned(), problem });
    }
    let text = read(path, &PAIRS, name)?;
    let wrong = |line: u64, problem: String| RuleFileError::Line { path: path.into(), line, problem };
    let separator = if path.extension().is_some_and(|e| e == "tsv") { b'\t' } else { b',' };
    let text = text.trim_start_matches('\u{feff}').as_bytes();
    let mut reader = csv::ReaderBuilder::new().delimiter(separator).trim(csv::Trim::All).flexible(true).from_reader(text);
    let header = reader.headers().map_err(|e| wrong(1, e.to_string()))?.clone();
    let place = |column: &str| header.iter().position(|h| h.eq_ignore_ascii_case(column));
    let (Some(child), Some(parent)) = (place("child"), place("parent")) else {
        return Err(wrong(1, "the first line names the columns, among them `child` and `parent`".into()));
    };
    if let Some(twice) = ["child", "parent"].iter().find(|c| header.iter().filter(|h| h.eq_ignore_ascii_case(c)).count() > 1) {
        return Err(wrong(1, format!("two columns are called `{twice}`; which one is meant?")));
    }
    let mut rules: Vec<RuleText> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    let mut above: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for record in reader.records() {
        let record = record.map_err(|e| wrong(e.position().map_or(0, csv::Position::line), "it can't be read".into()))?;
        // A record begins where the one before ended: empty lines come first.
        let line = record.position().map_or(0, |at| {
            let empty = text[at.byte() as usize..].iter().take_while(|b| matches!(b, b'\n' | b'\r'));
            at.line() + empty.filter(|b| **b == b'\n').count() as u64
        });
        let (Some(child), Some(parent)) = (record.get(child), record.get(parent)) else {
            return Err(wrong(line, format!("{} values, but the first line names {} columns", record.len(), header.len())));
        };
        let shown_pair = format!("{} => {}", shown::name(child), shown::name(parent));
        if child.is_empty() || child == parent {
            return Err(wrong(line, format!("'{shown_pair}' is no pair of a child and its parent")));
        }
        // A root has no parent.
        if parent.is_empty() || !seen.insert((child.to_owned(), parent.to_owned())) {
            continue;
        }
        if let Some(way) = way_up(&above, parent, child) {
            let names: Vec<_> = [child].into_iter().chain(way.iter().map(String::as_str)).map(shown::name).collect();
            return Err(wrong(line, format!("'{}' is above itself: {}", shown::name(child), names.join(" => "))));
        }
        above.entry(child.into()).or_default().push(parent.into());
        let spelt = |label: &str| of_labels(label, labels.names).map_err(|problem| wrong(line, problem));
        let text = format!("label[{}] => label[{}]", spelt(child)?, spelt(parent)?);
        rules.push(RuleText { name: format!("{name}: {shown_pair}"), text });
    }
    if rules.is_empty() {
        return Err(wrong(1, "no line has a child with a parent".into()));
    }
    Ok(rules)
}

/// The labels from one up to another that is above it.
fn way_up(above: &BTreeMap<String, Vec<String>>, from: &str, to: &str) -> Option<Vec<String>> {
    let (mut ways, mut seen) = (vec![vec![from.to_string()]], BTreeSet::new());
    while let Some(way) = ways.pop() {
        let last = &way[way.len() - 1];
        if last == to {
            return Some(way);
        }
        if seen.insert(last.clone()) {
            ways.extend(above.get(last).into_iter().flatten().map(|next| [&way[..], std::slice::from_ref(next)].concat()));
        }
    }
    None
}

/// A label in quotes, if there is such a one.
fn of_labels(label: &str, names: &[String]) -> Result<String, String> {
    if !names.is_empty() && !names.iter().any(|name| name == label) {
        let near = nearest(label, names.iter().map(String::as_str));
        let hint = near.map(|near| format!("; did you mean '{near}'?")).unwrap_or_default();
        return Err(format!("'{}' is no label{hint}", shown::name(label)));
    }
    print::level(label).ok_or_else(|| "a label with both kinds of quotes can't stand in a rule".into())
}

#[cfg(test)]
#[path = "rule_files/tests.rs"]
mod tests;
