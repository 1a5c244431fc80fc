//! A rule that can't be read enters, a message that underlines the place leaves. The Python package compiles this file, too.

use deepsade_spec::{RuleError, Span, shown};
use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceCode};

/// Rules of one file whose errors are shown.
const MOST_RULES: usize = 20;
/// Bytes of a long rule that are shown on either side of the place, and of the place itself.
const AROUND: usize = 400;

/// The messages for rules of one file; `path` is what it is called.
pub fn rule_errors(path: &str, errors: &[RuleError], terminal: bool) -> String {
    let mut texts: Vec<String> = errors.iter().take(MOST_RULES).map(|e| rule_error(path, e, terminal)).collect();
    if errors.len() > MOST_RULES {
        texts.push(format!("... and {} rules more that can't be read\n", errors.len() - MOST_RULES));
    }
    texts.join("\n")
}

fn rule_error(path: &str, error: &RuleError, terminal: bool) -> String {
    let theme = if terminal { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let (text, span) = excerpt(&error.text, &error.span);
    let named = format!("{}, rule '{}'", shown::name(path), shown::name(&shown::abridged(&error.rule, 100)));
    let hint = error.hint.as_deref().map(shown::message);
    let report = RuleReport { kind: shown::message(&error.kind.to_string()), hint, span, source: NamedSource::new(named, text) };
    let mut text = String::new();
    let handler = GraphicalReportHandler::new_themed(theme).with_width(100);
    if handler.render_report(&mut text, &report).is_err() {
        text = format!("error: {report}\n");
    }
    text
}

/// The rule around the place, shown and not obeyed, and where the place is in it.
fn excerpt(text: &str, span: &Span) -> (String, Span) {
    let boundary = |at: usize| (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let all = text.len() <= 4 * AROUND;
    let start = boundary(span.start);
    let end = boundary(if all { span.end } else { span.end.min(start + AROUND) }).max(start);
    let from = if all { 0 } else { boundary(start.saturating_sub(AROUND)) };
    let to = if all { text.len() } else { boundary(end + AROUND) };
    let mut out = String::from(if from > 0 { "... " } else { "" });
    out += &shown::lines(&text[from..start]);
    let first = out.len();
    out += &shown::lines(&text[start..end]);
    let span = first..out.len();
    out += &shown::lines(&text[end..to]);
    out += if to < text.len() { " ..." } else { "" };
    (out, span)
}

#[derive(Debug)]
struct RuleReport {
    kind: String,
    hint: Option<String>,
    span: Span,
    source: NamedSource<String>,
}

impl std::fmt::Display for RuleReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.kind)
    }
}

impl std::error::Error for RuleReport {}

impl Diagnostic for RuleReport {
    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.source)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        Some(Box::new(std::iter::once(LabeledSpan::new_with_span(Some("here".into()), self.span.clone()))))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn std::fmt::Display + 'a>> {
        self.hint.as_ref().map(|hint| Box::new(hint) as Box<dyn std::fmt::Display>)
    }
}
