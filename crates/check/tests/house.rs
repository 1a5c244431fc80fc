//! The checker stays small: its dependencies and its size are part of what makes it trustworthy.

use std::fs;
use std::path::Path;

fn home() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn it_depends_on_spec_net_and_integers_alone() {
    let text = fs::read_to_string(home().join("Cargo.toml")).unwrap();
    let (_, list) = text.split_once("[dependencies]\n").unwrap();
    let names: Vec<&str> = list.lines().filter(|l| !l.is_empty()).map(|l| l.split(['.', ' ']).next().unwrap()).collect();
    assert_eq!(names, ["dashu", "deepsade-net", "deepsade-spec"]);
    assert!(!text.contains("-dependencies"));
}

#[test]
fn it_has_fewer_than_1500_lines() {
    let mut lines = 0;
    for file in fs::read_dir(home().join("src")).unwrap() {
        let path = file.unwrap().path();
        if path.is_dir() {
            let inside: Vec<_> = fs::read_dir(&path).unwrap().map(|f| f.unwrap().file_name()).collect();
            // The writer of certificates and the words of rejections: no check calls them.
            let beside = ["certificate/write.rs", "rejected/words.rs"].map(|file| home().join("src").join(file));
            assert!(inside == ["tests.rs"] || inside.iter().all(|f| beside.contains(&path.join(f))), "{path:?} holds more");
        } else {
            lines += fs::read_to_string(path).unwrap().lines().count();
        }
    }
    assert!(lines < 1500, "{lines} lines");
}
