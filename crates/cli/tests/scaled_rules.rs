//! A rule multiplied by a number says the same: it is certified on public data in whatever units it is written.

#[path = "../../../tests/rust/needs.rs"]
mod needs;
mod support;

use std::path::Path;

use needs::{Need, data_folder};
use support::{expect, json};

needs::tests! {
    loans: Need::Data;
    music: Need::Data;
}

const LOANS: &str = "[data]\nfile = \"loan_data_set.csv\"\ntargets = [\"Loan_Status\"]\nignore = [\"Gender\"]\nmissing = \"drop\"\n\
                     one_hot = \"drop-first\"\n[task]\nkind = \"binary\"\n[network]\nhidden = [12, 6]\n[train]\nepochs = 2\nbatch = 16\n";
const MUSIC: &str = "[data]\nfile = \"uc3_equiv_music_data.csv\"\ntargets = [\"Music Style\"]\nignore = [\"\"]\n[task]\n\
                     kind = \"multiclass\"\n[network]\nhidden = [12, 6]\n[train]\nepochs = 2\nbatch = 16\n";

fn certified(folder: &Path, data: &Path, head: &str, rule: &str, seed: &str) {
    std::fs::write(folder.join("rules.toml"), format!("{head}[[rule]]\nname = \"r\"\ntext = \"{rule}\"\n")).unwrap();
    let data = data.to_str().unwrap();
    let report =
        json(folder, 0, &["train", "rules.toml", "--force", "--out", "run", "--data", data, "--seed", seed, "--json", "-q"]);
    assert_eq!(report["certified"], true, "{rule}: {report}");
    expect(folder, 0, &["check", "run"]);
}

fn loans() {
    let data = data_folder();
    let folder = tempfile::tempdir().unwrap();
    for (k, factor) in ["0.000001", "0.001", "1", "10", "1000", "1000000"].into_iter().enumerate() {
        let rule = format!(
            "{factor} * 1000 * LoanAmount > {factor} * 100 * (ApplicantIncome + CoapplicantIncome) => Loan_Status == 'N'"
        );
        certified(folder.path(), &data, LOANS, &rule, &k.to_string());
    }
}

fn music() {
    let data = data_folder();
    let folder = tempfile::tempdir().unwrap();
    let header = std::fs::read_to_string(data.join("uc3_equiv_music_data.csv")).unwrap();
    let columns: Vec<&str> = header.lines().next().unwrap().split(',').map(|c| c.trim_matches('"')).collect();
    let numbers: Vec<&&str> = columns.iter().filter(|c| !c.is_empty() && **c != "Music Style" && **c != "the_beatles").collect();
    for factor in ["0.000001", "1", "1000", "1000000"] {
        let rule = format!(
            "{factor} * `{}` + {factor} * 2 * `{}` > {factor} * 3 * `{}` and the_beatles == 1 => `Music Style` in {{'Rock', 'Pop'}}",
            numbers[0], numbers[1], numbers[2]
        );
        certified(folder.path(), &data, MUSIC, &rule, "0");
    }
}
