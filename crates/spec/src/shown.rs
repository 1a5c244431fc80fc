//! Text that somebody else wrote enters; what may be shown of it leaves: nothing that moves a cursor, turns the direction of
//! writing, hides, pretends to be a line of ours, or goes on for megabytes.

use std::borrow::Cow;
use std::fmt::Write;

use crate::schema::{Domain, Fill, Schema, Task};
use crate::{NormalRule, NormalSpec, PairRule};

/// Characters that one line of a message may have; the middle of longer ones is left out.
const LONGEST_LINE: usize = 600;
/// Lines that one message may have.
const MOST_LINES: usize = 60;

/// Whether a character does something else than being seen: controls (C0, DEL, C1), marks that turn the direction of writing,
/// line separators, all that Unicode lets a font leave out (`Default_Ignorable_Code_Point`, the selectors of variants among them), and
/// the empty pattern of Braille. The joiners of Persian, Indic scripts and emoji stay.
pub fn hidden(c: char) -> bool {
    c.is_control()
        || ignorable(c) && !matches!(c, '\u{200c}' | '\u{200d}')
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{2800}' | '\u{fff9}'..='\u{fffb}')
}

/// `Default_Ignorable_Code_Point` of Unicode 17, code points without a character yet included.
fn ignorable(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}')
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}')
        || matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}')
        || matches!(c, '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Hidden characters as JSON spells them, so that a JSON text reads back the same.
fn escaped(text: &str, keep: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(|c| hidden(c) && !keep(c)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            c if !hidden(c) || keep(c) => out.push(c),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c => c.encode_utf16(&mut [0; 2]).iter().for_each(|half| {
                let _ = write!(out, "\\u{half:04x}");
            }),
        }
    }
    Cow::Owned(out)
}

/// A name or another text that belongs on one line.
pub fn name(text: &str) -> Cow<'_, str> {
    escaped(text, |_| false)
}

/// A text of several lines, such as a page of results, in words or as JSON.
pub fn lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c == '\n' || c == '\t')
}

/// A message that may quote what a file says: long lines without their middle, and every line but the first set in, so that a
/// quoted line can't be taken for one of ours.
pub fn message(text: &str) -> String {
    let mut out = String::new();
    for (k, line) in text.trim_end().split('\n').enumerate() {
        if k == MOST_LINES {
            out.push_str("\n  ...");
            break;
        }
        out.push_str(if k == 0 { "" } else { "\n  " });
        out.push_str(&lines(&abridged(line, LONGEST_LINE)));
    }
    out
}

/// A text of at most so many characters, and what was left out of its middle.
pub fn abridged(text: &str, most: usize) -> Cow<'_, str> {
    // A character has four bytes at most: short texts need no count.
    let count = if text.len() <= most { return Cow::Borrowed(text) } else { text.chars().count() };
    if count <= most {
        return Cow::Borrowed(text);
    }
    let place = |n: usize| text.char_indices().nth(n).map_or(text.len(), |(at, _)| at);
    let (head, tail) = (2 * most / 3, most / 3);
    let cut = count - head - tail;
    Cow::Owned(format!("{} ... ({cut} characters left out) ... {}", &text[..place(head)], &text[place(count - tail)..]))
}

impl Schema {
    /// A copy for pages that people read: every name on one line, nothing hidden in it.
    #[must_use]
    pub fn shown(&self) -> Self {
        let mut copy = self.clone();
        let show = |names: &mut Vec<String>| names.iter_mut().for_each(show);
        for feature in &mut copy.features {
            self::show(&mut feature.name);
            if let Domain::Category { levels } | Domain::Ordered { levels } = &mut feature.domain {
                show(levels);
            }
        }
        for filled in &mut copy.filled {
            self::show(&mut filled.feature);
            if let Fill::Level(level) = &mut filled.with {
                self::show(level);
            }
        }
        match &mut copy.task {
            Task::Regression { targets, whole } => {
                show(targets);
                show(whole);
            }
            Task::Multilabel { labels: names } | Task::Ranking { items: names } => show(names),
            Task::Binary { target, classes } | Task::Multiclass { target, classes } => {
                self::show(target);
                show(classes);
            }
        }
        copy
    }
}

impl NormalSpec {
    /// Likewise, with the rules: a text of several lines becomes one.
    #[must_use]
    pub fn shown(&self) -> Self {
        let rule = |r: &NormalRule| {
            let mut copy = r.clone();
            show(&mut copy.name);
            copy.text = one_line(&r.text);
            copy
        };
        let pair = |r: &PairRule| {
            let mut copy = r.clone();
            show(&mut copy.name);
            copy.text = one_line(&r.text);
            copy
        };
        let (rules, pairs) = (self.rules.iter().map(rule).collect(), self.pairs.iter().map(pair).collect());
        Self { schema: self.schema.shown(), rules, pairs, skip: self.skip.clone(), gate: self.gate.clone() }
    }
}

fn one_line(text: &str) -> String {
    name(&text.split_whitespace().collect::<Vec<_>>().join(" ")).into_owned()
}

fn show(text: &mut String) {
    if let Cow::Owned(shown) = name(text) {
        *text = shown;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_the_cursor_or_the_direction_is_spelled_out() {
        assert_eq!(name("plain, é, \u{645}\u{6cc}\u{200c}\u{62e}"), "plain, é, \u{645}\u{6cc}\u{200c}\u{62e}");
        assert_eq!(name("a\u{1b}[2K\rb"), "a\\u001b[2K\\rb");
        for hostile in
            "\u{0}\u{7}\u{8}\t\n\u{b}\u{c}\r\u{1b}\u{7f}\u{85}\u{9b}\u{9d}\u{200f}\u{2028}\u{202e}\u{2066}\u{feff}".chars()
        {
            assert!(name(&format!("a{hostile}b")).chars().all(|c| !hidden(c)), "{hostile:?}");
            let json_text = lines(&serde_json::to_string(&format!("a{hostile}b")).unwrap()).into_owned();
            assert!(json_text.chars().all(|c| !hidden(c)), "{json_text:?}");
            assert_eq!(serde_json::from_str::<String>(&json_text).unwrap(), format!("a{hostile}b"));
        }
        assert_eq!(lines("two\nlines\t\u{9b}31m"), "two\nlines\t\\u009b31m");
        assert_eq!(serde_json::from_str::<String>(&lines("\"\u{e0041}\"")).unwrap(), "\u{e0041}");
    }

    #[test]
    fn what_has_no_shape_is_spelled_out() {
        let unseen = "\u{ad}\u{34f}\u{61c}\u{115f}\u{1160}\u{17b4}\u{17b5}\u{180b}\u{180e}\u{180f}\u{200b}\u{2800}\u{3164}\u{fe00}\
                      \u{fe0f}\u{ffa0}\u{fff0}\u{1bca0}\u{1d173}\u{e0000}\u{e0100}\u{e01ef}\u{e0fff}";
        for c in unseen.chars() {
            let shown = name(&format!("a{c}b")).into_owned();
            assert!(shown.starts_with("a\\u") && shown.ends_with('b') && shown.is_ascii(), "{c:?}: {shown}");
        }
        assert_eq!(name("ok\u{fe0f}"), "ok\\ufe0f");
        assert_eq!(name("ok\u{e0100}"), "ok\\udb40\\udd00");
        // Their neighbours, the other dots of Braille, Hangul and the joiners are seen, or shape what is.
        for seen in "\u{ae}\u{350}\u{1161}\u{17b6}\u{1810}\u{200c}\u{200d}\u{2801}\u{3163}\u{fe10}\u{ff71}\u{fffd}".chars() {
            assert_eq!(name(&format!("a{seen}b")), format!("a{seen}b"));
        }
    }

    #[test]
    fn a_message_is_short_and_its_further_lines_are_set_in() {
        let long = format!("'{}' is no number: write a decimal", "9".repeat(3_000_000));
        let shown = message(&long);
        assert!(shown.len() < 1000 && shown.starts_with("'99") && shown.ends_with("write a decimal"), "{shown}");
        assert_eq!(message("bad column 'a\nerror: all is well'\n"), "bad column 'a\n  error: all is well'");
        assert!(message(&"x\n".repeat(100_000)).lines().count() < 100);
        assert_eq!(abridged("ééé", 3), "ééé");
        assert_eq!(abridged("éééé", 3), "éé ... (1 characters left out) ... é");
    }
}
