//! Names, labels and levels, looked up in the schema.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::{Elaborator, Meaning};
use crate::ast::{Expr, ExprKind};
use crate::error::{Fault, RuleErrorKind, Span, listed, nearest};
use crate::linear::Var;
use crate::schema::{Domain, Task};
use crate::typed::{Bool, Num};

/// The columns of a list by their numbers.
pub(super) type ListColumns<'a> = BTreeMap<u64, Vec<&'a str>>;

impl<'a> Elaborator<'a> {
    /// The place of a feature.
    pub(super) fn feature(&self, name: &str) -> Option<usize> {
        let places = || self.schema.features.iter().enumerate().rev().map(|(f, feature)| (feature.name.as_str(), f)).collect();
        self.features.get_or_init(places).get(name).copied()
    }

    /// The columns called `h3`, `h_3` or `h 03`.
    fn numbered(&mut self, name: &str) -> Rc<ListColumns<'a>> {
        if let Some(known) = self.lists.get(name) {
            return known.clone();
        }
        let schema = self.schema;
        let columns = schema.features.iter().map(|f| f.name.as_str()).chain(schema.task.target_columns());
        let mut list = ListColumns::new();
        for column in columns {
            if let Some(k) = column.strip_prefix(name).and_then(number_behind) {
                list.entry(k).or_default().push(column);
            }
        }
        self.lists.entry(name.into()).or_insert(Rc::new(list)).clone()
    }

    pub(super) fn name(&self, name: &str, span: &Span) -> Result<Meaning, Fault> {
        if let Some((_, value)) = self.indices.iter().rev().find(|(n, _)| n == name) {
            return Ok(Meaning::Num(Num::constant(value.clone())));
        }
        self.column(name, span)
    }

    /// A feature or a target, whatever the indices in scope are called.
    fn column(&self, name: &str, span: &Span) -> Result<Meaning, Fault> {
        if let Some(f) = self.feature(name) {
            return Ok(match self.schema.features[f].domain {
                Domain::Category { .. } => Meaning::Category(f),
                Domain::Ordered { .. } => Meaning::Ordered(f),
                Domain::Real { .. } | Domain::Integer { .. } | Domain::Stepped { .. } => Meaning::Num(Num::var(Var::Feature(f))),
            });
        }
        let Some(j) = self.schema.task.target_columns().iter().position(|t| *t == name) else {
            return Err((RuleErrorKind::UnknownName(name.into()), span.clone(), self.hint_for_unknown(name)));
        };
        match &self.schema.task {
            Task::Regression { .. } => Ok(Meaning::Num(Num::var(Var::Output(j)))),
            Task::Binary { .. } | Task::Multiclass { .. } => Ok(Meaning::Class),
            Task::Multilabel { .. } => Ok(Meaning::Bool(Bool::Label(j))),
            Task::Ranking { .. } => {
                let kind = RuleErrorKind::Type { expected: "a number or a condition", found: format!("the item '{name}'") };
                Err((kind, span.clone(), Some(format!("say where the item is: at['{name}', 0] is true if it comes first"))))
            }
        }
    }

    fn hint_for_unknown(&self, name: &str) -> Option<String> {
        let levels = self.schema.features.iter().filter_map(|f| Some((&f.name, f.domain.levels()?)));
        let target = self.schema.task.target_columns()[0].to_string();
        let classes = self.schema.task.classes().map(|classes| (&target, classes));
        for (owner, levels) in levels.chain(classes) {
            if levels.iter().any(|l| l == name) {
                return Some(format!("'{name}' is a level of '{owner}'; a level goes in quotes: '{name}'"));
            }
        }
        let known = self.schema.features.iter().map(|f| f.name.as_str()).chain(self.schema.task.target_columns());
        nearest(name, known).map(|near| {
            let plain = near.chars().all(|c| c.is_alphanumeric() || c == '_');
            if plain { format!("did you mean `{near}`?") } else { format!("did you mean `{near}`, with its backticks?") }
        })
    }

    pub(super) fn index(&mut self, name: &str, indices: &[Expr], span: &Span) -> Result<Meaning, Fault> {
        let schema = self.schema;
        let wrong =
            |construct, needs| (RuleErrorKind::WrongTask { construct, needs, task: schema.task.kind() }, span.clone(), None);
        match (name, &schema.task, indices) {
            ("label", Task::Multilabel { labels }, [label]) => Ok(Meaning::Bool(Bool::Label(self.member(label, labels)?))),
            ("at", Task::Ranking { items }, [item, place]) => {
                let j = self.member(item, items)? * items.len() + self.place(place, items.len())?;
                Ok(Meaning::Bool(Bool::Label(j)))
            }
            ("label", Task::Multilabel { .. }, _) => Err((
                RuleErrorKind::WrongArguments { function: "label[...]", takes: "one index, as in label[3]" },
                span.clone(),
                None,
            )),
            ("at", Task::Ranking { .. }, _) => {
                let takes = "an item and a place, as in at[0, 3]";
                Err((RuleErrorKind::WrongArguments { function: "at[...]", takes }, span.clone(), None))
            }
            ("label", ..) => Err(wrong("label[...]", "multilabel")),
            ("at", ..) => Err(wrong("at[...]", "ranking")),
            (_, _, [index]) => self.listed(name, index, span),
            _ => {
                let takes = "one index, as in h[3]; only at[item, place] takes two";
                Err((RuleErrorKind::WrongArguments { function: "a list of columns", takes }, span.clone(), None))
            }
        }
    }

    /// A column of a list: `h[3]` is the one called `h3`, `h_3` or `h 03`; in a regression `y[3]` is the target number 3, counted from 0,
    /// unless columns are called so.
    fn listed(&mut self, name: &str, index: &Expr, span: &Span) -> Result<Meaning, Fault> {
        let schema = self.schema;
        let list = self.numbered(name);
        let unknown = |what: String, hint: String| (RuleErrorKind::UnknownName(what), span.clone(), Some(hint));
        if let (Task::Regression { targets, .. }, "y", true) = (&schema.task, name, list.is_empty()) {
            return Ok(Meaning::Num(Num::var(Var::Output(self.member(index, targets)?))));
        }
        if list.is_empty() {
            let hint = format!(
                "{name}[3] needs a column called {name}3 or {name}_3; label[i] (multilabel), at[item, place] (ranking) and y[i] (the \
                 targets of a regression) take an index, too"
            );
            return Err(unknown(format!("{name}[...]"), hint));
        }
        let i = self.whole(index)?;
        let called = u64::try_from(i).ok().and_then(|i| list.get(&i)).map_or(&[][..], |columns| columns);
        match called {
            [column] => self.column(column, span),
            [] => {
                let (least, most) = (list.keys().min().unwrap_or(&0), list.keys().max().unwrap_or(&0));
                let count: usize = list.values().map(Vec::len).sum();
                let hint = format!("there are {count} such columns, from {name}[{least}] to {name}[{most}]");
                Err(unknown(format!("{name}[{i}]"), format!("{hint}; a range a..b leaves b out")))
            }
            _ => {
                let columns: Vec<String> = called.iter().map(|column| format!("`{column}`")).collect();
                Err(unknown(format!("{name}[{i}]"), format!("it could be {}; write the one that is meant", columns.join(" or "))))
            }
        }
    }

    /// A raw output: `score('N')`, `score(3)`, `score(item, place)`, or the target's name for regression.
    pub(super) fn score(&mut self, args: &[Expr], span: &Span) -> Result<Meaning, Fault> {
        let schema = self.schema;
        let j = match (&schema.task, args) {
            (Task::Binary { target, classes } | Task::Multiclass { target, classes }, [class]) => match &class.kind {
                ExprKind::Text(text) => Self::level(text, target, classes, &class.span)?,
                _ => self.member(class, classes)?,
            },
            (Task::Multilabel { labels }, [label]) => self.member(label, labels)?,
            (Task::Ranking { items }, [item, place]) => {
                self.member(item, items)? * items.len() + self.place(place, items.len())?
            }
            (Task::Regression { .. }, _) => {
                let hint = "in a regression the target's name is the output itself";
                let kind = RuleErrorKind::WrongTask { construct: "score(...)", needs: "classification", task: "regression" };
                return Err((kind, span.clone(), Some(hint.into())));
            }
            (Task::Ranking { .. }, _) => {
                let takes = "an item and a place, as in score(0, 3)";
                return Err((RuleErrorKind::WrongArguments { function: "score", takes }, span.clone(), None));
            }
            _ => {
                let takes = "one class or label, as in score('N') or score(3)";
                return Err((RuleErrorKind::WrongArguments { function: "score", takes }, span.clone(), None));
            }
        };
        self.reads_scores = true;
        Ok(Meaning::Num(Num::var(Var::Output(j))))
    }

    /// The position of `text` among the levels of `owner`.
    pub(super) fn level(text: &str, owner: &str, levels: &[String], span: &Span) -> Result<usize, Fault> {
        levels.iter().position(|l| l == text).ok_or_else(|| {
            let near = nearest(text, levels.iter().map(String::as_str));
            let hint = near.map_or_else(|| format!("its levels are {}", list(levels)), |near| format!("did you mean '{near}'?"));
            (RuleErrorKind::UnknownLevel { owner: owner.into(), level: text.into() }, span.clone(), Some(hint))
        })
    }

    /// A member of a list, by number or by name.
    fn member(&mut self, expr: &Expr, names: &[String]) -> Result<usize, Fault> {
        if let ExprKind::Text(text) = &expr.kind {
            return Self::level(text, "the target", names, &expr.span);
        }
        self.place(expr, names.len())
    }

    fn place(&mut self, expr: &Expr, len: usize) -> Result<usize, Fault> {
        let index = self.whole(expr)?;
        usize::try_from(index).ok().filter(|i| *i < len).ok_or_else(|| {
            let kind = RuleErrorKind::IndexOutOfRange { index: index.to_string(), len };
            (kind, expr.span.clone(), Some("indices start at 0, and a range a..b leaves b out".into()))
        })
    }
}

/// The number that ends a column's name behind the name of its list: `3`, `_3`, ` 03`.
fn number_behind(rest: &str) -> Option<u64> {
    let digits = rest.strip_prefix(['_', ' ', '-', '.']).unwrap_or(rest);
    digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?
}

/// `'a', 'b', 'c'`, cut after eight.
pub(super) fn list(levels: &[String]) -> String {
    listed(levels.iter().map(|l| format!("'{l}'")), 8)
}
