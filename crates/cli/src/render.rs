//! Errors as text for people: what, where, and what to do.

use std::io::IsTerminal;

use deepsade_engine::problem::ProblemError;
use deepsade_spec::RuleError;
use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceCode};

/// Prints an error on standard error.
pub fn error(error: &anyhow::Error) {
    let terminal = std::io::stderr().is_terminal();
    eprint!("{}", describe(error, terminal));
}

/// The error as text; colours only for a terminal.
pub fn describe(error: &anyhow::Error, terminal: bool) -> String {
    if let Some(ProblemError::Rules { path, errors }) = error.downcast_ref() {
        return errors.iter().map(|e| rule_error(&path.display().to_string(), e, terminal)).collect::<Vec<_>>().join("\n");
    }
    let mut text = format!("error: {error}\n");
    for cause in error.chain().skip(1) {
        // Most errors of ours already say their cause.
        if !text.contains(&cause.to_string()) {
            text.push_str(&format!("  because: {cause}\n"));
        }
    }
    text
}

fn rule_error(path: &str, error: &RuleError, terminal: bool) -> String {
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
