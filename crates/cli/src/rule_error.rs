//! A rule that can't be read enters, a message that underlines the place leaves. The Python package compiles this file, too.

use deepsade_spec::RuleError;
use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceCode};

/// The message; `path` is what the rule file is called.
pub fn rule_error(path: &str, error: &RuleError, terminal: bool) -> String {
    let theme = if terminal { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let report = RuleReport { error, source: NamedSource::new(format!("{path}, rule '{}'", error.rule), error.text.clone()) };
    let mut text = String::new();
    let handler = GraphicalReportHandler::new_themed(theme).with_width(100);
    if handler.render_report(&mut text, &report).is_err() {
        text = format!("error: {error}\n");
    }
    text
}

#[derive(Debug)]
struct RuleReport<'a> {
    error: &'a RuleError,
    source: NamedSource<String>,
}

impl std::fmt::Display for RuleReport<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.error.kind)
    }
}

impl std::error::Error for RuleReport<'_> {}

impl Diagnostic for RuleReport<'_> {
    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.source)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        Some(Box::new(std::iter::once(LabeledSpan::new_with_span(Some("here".into()), self.error.span.clone()))))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn std::fmt::Display + 'a>> {
        self.error.hint.as_ref().map(|hint| Box::new(hint) as Box<dyn std::fmt::Display>)
    }
}
