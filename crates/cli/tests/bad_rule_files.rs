//! Every file in tests/bad is refused with exit code 2 and a message worth reading; the snapshot shows them all.

use std::path::Path;
use std::process::Command;

#[test]
fn every_bad_rule_file_is_refused_with_a_message() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad");
    let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
    files.sort();
    assert!(files.len() >= 20, "the folder of bad rule files is there");
    let mut shown = String::new();
    for file in files {
        let output = Command::new(env!("CARGO_BIN_EXE_deepsade"))
            .args(["explain", &file])
            .current_dir(&folder)
            .env_remove("DEEPSADE_DATA")
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{file}");
        assert!(output.stdout.is_empty(), "{file}: errors go to standard error");
        let text = std::fs::read_to_string(folder.join(&file)).unwrap();
        let rules = text.lines().filter(|l| l.starts_with("text = ")).collect::<Vec<_>>().join("\n");
        let message = String::from_utf8(output.stderr).unwrap();
        shown.push_str(&format!("=== {file}\n{rules}\n{}\n\n", message.trim_end()));
    }
    insta::assert_snapshot!(shown);
}
