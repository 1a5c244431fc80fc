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

/// Convolutions and pools took 240: rows are read the same way as those of dense layers, a pool has a file of its own. Leaves on
/// several threads, and weights column by column, took 150: they halve the time of a check, and each stands in a file of its own.
/// Magnitudes and ends column by column, and lines made once for all forms of a layer, took 100: a leaf takes 0.4 of the time.
/// Loops over lanes that stay vectors, and memory that is used again, took 200: a check takes two thirds of the time. What cells leave of regions, kept, took 20: deep trees spent half on it.
/// What a file does not read took 110, most of it in a file of its own: with it `unaffected` needs no other proof, of any model.
/// Rules between two inputs that nothing can break took 150, in a file of its own: without it they had to be kept at their full cost.
/// How much clipped outputs change took 70: one function, and the forms of a change as data.
/// Bounds that meet in a corner took 60. Reasons of rejections as data took 250, all of them declarations: nothing is decided there, and nobody reads sentences any more.
#[test]
fn it_has_fewer_than_6210_lines() {
    let lines = lines(&home().join("src"));
    assert!(lines < 6210, "{lines} lines");
}

/// Lines of a folder, without tests, the writer of certificates and the words of rejections: no check calls them.
fn lines(folder: &Path) -> usize {
    let beside = ["certificate/write.rs", "rejected/words.rs"].map(|file| home().join("src").join(file));
    let counted = |path: &Path| !path.ends_with("tests.rs") && !beside.iter().any(|b| b == path);
    let inside = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let count = |path: &Path| fs::read_to_string(path).unwrap().lines().count();
    inside.filter(|path| counted(path)).map(|path| if path.is_dir() { lines(&path) } else { count(&path) }).sum()
}
