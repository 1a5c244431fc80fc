//! Every line of docs/cannot.md: what it calls impossible is refused in these words, and what it offers instead is understood.

mod support;

use std::fs;

use support::{deepsade, stderr};

/// Cells of a row of a table of three columns.
fn cells(line: &str) -> Option<[&str; 3]> {
    let inner = line.strip_prefix("| ")?.strip_suffix(" |")?;
    inner.splitn(3, " | ").map(str::trim).collect::<Vec<_>>().try_into().ok()
}

/// What stands first between backticks.
fn code(cell: &str) -> &str {
    cell.split('`').nth(1).unwrap_or_else(|| panic!("no rule in {cell}"))
}

#[test]
fn what_cannot_be_said_is_refused_and_what_is_offered_is_understood() {
    let page = include_str!("../../../docs/cannot.md");
    let dir = tempfile::tempdir().unwrap();
    let explain = |problem: &str, rule: &str| {
        fs::write(dir.path().join("r.toml"), format!("{problem}\n[[rule]]\nname = \"r\"\ntext = \"\"\"{rule}\"\"\"\n")).unwrap();
        let output = deepsade(dir.path(), &["explain", "r.toml", "-q"]);
        (output.status.code(), stderr(&output))
    };
    let mut lines = 0;
    for part in page.split("```toml\n").skip(1) {
        let (problem, rest) = part.split_once("```").unwrap();
        for [not, says, instead] in rest.lines().take_while(|l| !l.starts_with("## Of the whole")).filter_map(cells) {
            if not == "not" || not.starts_with("---") {
                continue;
            }
            let (status, error) = explain(problem, code(not));
            assert_eq!(status, Some(2), "{not}: {error}");
            assert!(error.contains(says), "{not}: {error}");
            let (status, error) = explain(problem, code(instead));
            assert_eq!(status, Some(0), "{instead}: {error}");
            lines += 1;
        }
    }
    assert_eq!(lines, 16, "every line of both tables");
}
