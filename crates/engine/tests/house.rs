//! One way through the house: no top-level module of a crate needs one that needs it, none holds most of the code, functions are short,
//! a word has one meaning.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const CRATES: [&str; 10] = ["check", "cli", "data", "engine", "lab", "net", "output", "python", "solve", "spec"];

type Graph = BTreeMap<String, BTreeSet<String>>;

/// Which top-level modules each of them names, tests left out: by `crate::`, by as many `super::` as lead to the root, or by a macro that one
/// of them defines.
fn modules(src: &Path) -> Graph {
    let mut graph = Graph::new();
    for entry in fs::read_dir(src).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if let Some(name) = name.strip_suffix(".rs").filter(|n| !["lib", "main"].contains(n)) {
            graph.insert(name.into(), BTreeSet::new());
        }
    }
    let names: Vec<String> = graph.keys().cloned().collect();
    let shown = shown_at_the_root(src);
    let macros: BTreeMap<String, String> = names.iter().flat_map(|name| defined_macros(src, name)).collect();
    for name in &names {
        let mut found = BTreeSet::new();
        let mut read = |path: &Path, depth| {
            let text = code(path);
            found.extend(paths_in(&text, depth));
            found.extend(macros.iter().filter(|(call, _)| calls(&text, call)).map(|(_, module)| module.clone()));
        };
        read(&src.join(format!("{name}.rs")), 1);
        let mut folders = vec![(src.join(name), 2)];
        while let Some((folder, depth)) = folders.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push((path, depth + 1));
                } else if path.extension().is_some_and(|e| e == "rs") && path.file_name().is_some_and(|f| f != "tests.rs") {
                    read(&path, depth);
                }
            }
        }
        let of_item = found.iter().filter_map(|item| shown.get(item).cloned()).collect::<Vec<_>>();
        found.extend(of_item);
        found.retain(|other| other != name && graph.contains_key(other));
        graph.insert(name.clone(), found);
    }
    graph
}

/// The module of each item that the root of a crate shows as its own: `crate::Item` names that module.
fn shown_at_the_root(src: &Path) -> BTreeMap<String, String> {
    let text = fs::read_to_string(src.join("lib.rs")).unwrap_or_default();
    let mut shown = BTreeMap::new();
    for (_, rest) in text.split(';').filter_map(|part| part.trim().split_once("use ")) {
        let rest = rest.strip_prefix("self::").unwrap_or(rest);
        let Some((module, items)) = rest.split_once("::") else { continue };
        let words = items.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
        words.for_each(|item| drop(shown.insert(item.to_string(), module.to_string())));
    }
    shown
}

#[test]
fn items_of_the_root_are_those_of_their_modules() {
    let net = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("net/src");
    let shown = shown_at_the_root(&net);
    assert_eq!((shown["Op"].as_str(), shown["Conv"].as_str(), shown["Model"].as_str()), ("op", "op", "onnx"));
}

/// A file without its tests and comments, which may point anywhere.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    code.join("\n")
}

/// The modules that code names by paths from the root.
fn paths_in(text: &str, depth: usize) -> Vec<String> {
    let mut found = Vec::new();
    for root in ["crate::", &"super::".repeat(depth)] {
        for (at, _) in text.match_indices(root) {
            let before = text[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || "_:$".contains(c)) {
                continue;
            }
            found.extend(named(&text[at + root.len()..]));
        }
    }
    found
}

/// The macros that the file of a top-level module defines, each with its module.
fn defined_macros(src: &Path, module: &str) -> Vec<(String, String)> {
    let text = code(&src.join(format!("{module}.rs")));
    let names = text.lines().filter_map(|line| line.strip_prefix("macro_rules! ")?.split_once(' '));
    names.map(|(name, _)| (name.to_string(), module.to_string())).collect()
}

/// Whether code calls a macro of this name.
fn calls(text: &str, name: &str) -> bool {
    let call = format!("{name}!");
    text.match_indices(&call).any(|(at, _)| !text[..at].ends_with(|c: char| c.is_alphanumeric() || "_:".contains(c)))
}

#[test]
fn macros_are_those_of_their_modules() {
    let cli = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("cli/src");
    assert_eq!(defined_macros(&cli, "render"), [("eprintln".to_string(), "render".to_string())]);
    assert!(modules(&cli)["command"].contains("render"));
    assert!(calls("    eprintln!(\"a\")", "eprintln") && !calls("std::eprintln!(); my_eprintln!()", "eprintln"));
}

/// The modules that a path names behind its root: one, or those of a group at its own level, whatever groups these have inside.
fn named(rest: &str) -> Vec<String> {
    let name = |part: &str| part.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let Some(group) = rest.strip_prefix('{') else { return vec![name(rest)] };
    let (mut depth, mut from, mut names) = (1, 0, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 || depth == 1 && c == ',' {
            names.push(name(&group[from..at]));
            from = at + 1;
        }
        if depth == 0 {
            break;
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

#[test]
fn groups_are_read_to_their_end() {
    assert_eq!(named("a::{B, c::D};\n use crate::e;"), ["a"]);
    assert_eq!(named("{a::{B, C}, d, e::f::{G, h::{I}}, j};\n k"), ["a", "d", "e", "j"]);
}

/// A way from a module back to itself.
fn cycle(graph: &Graph) -> Option<Vec<String>> {
    fn walk(graph: &Graph, at: &str, path: &mut Vec<String>, done: &mut BTreeSet<String>) -> Option<Vec<String>> {
        if let Some(k) = path.iter().position(|p| p == at) {
            return Some(path[k..].to_vec());
        }
        if done.contains(at) {
            return None;
        }
        path.push(at.into());
        let found = graph[at].iter().find_map(|next| walk(graph, next, path, done));
        path.pop();
        done.insert(at.into());
        found
    }
    let mut done = BTreeSet::new();
    graph.keys().find_map(|at| walk(graph, at, &mut Vec::new(), &mut done))
}

#[test]
fn no_module_needs_one_that_needs_it() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for name in CRATES {
        let graph = modules(&crates.join(name).join("src"));
        assert!(graph.values().map(BTreeSet::len).sum::<usize>() > 0, "{name}: nothing was read");
        assert_eq!(cycle(&graph), None, "crates/{name}");
    }
}

/// All Rust files below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let inside = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let below = |path: PathBuf| if path.is_dir() { sources(&path) } else { vec![path] };
    inside.flat_map(below).filter(|path| path.extension().is_some_and(|e| e == "rs")).collect()
}

/// Functions of formatted code that are longer than so many lines.
fn long_functions(text: &str, most: usize) -> Vec<&str> {
    let lines: Vec<&str> = text.lines().collect();
    let before = ["pub", "const", "unsafe", "async", "extern"];
    let begins = |line: &str| {
        let start = line.split_once("fn ").map(|(start, _)| start);
        start.is_some_and(|start| start.split_whitespace().all(|word| before.iter().any(|w| word.starts_with(w))))
    };
    // It ends at the next line with its indent that closes a block or, without one, ends a declaration.
    let length = |k: usize| {
        let indent = lines[k].len() - lines[k].trim_start().len();
        let ends = |line: &str| line.get(indent..).is_some_and(|rest| !rest.starts_with(' ') && rest.ends_with([';', '}']));
        lines[k..].iter().position(|line| ends(line)).map_or(0, |n| n + 1)
    };
    (0..lines.len()).filter(|k| begins(lines[*k]) && length(*k) > most).map(|k| lines[k].trim()).collect()
}

#[test]
fn functions_are_short_and_no_crate_holds_most_of_the_code() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut lines: BTreeMap<String, usize> = BTreeMap::new();
    for name in CRATES {
        for path in sources(&crates.join(name).join("src")) {
            let text = fs::read_to_string(&path).unwrap();
            *lines.entry(name.into()).or_default() += text.lines().count();
            assert_eq!(long_functions(&text, 100), Vec::<&str>::new(), "{}", path.display());
        }
    }
    let all: usize = lines.values().sum();
    let (largest, most) = lines.iter().max_by_key(|(_, n)| **n).unwrap();
    assert!(5 * most < 2 * all, "{largest} has {most} of {all} lines");
}

#[test]
fn a_long_function_is_seen() {
    let body = "        x();\n".repeat(100);
    let text = format!("impl A {{\n    pub fn long(\n        &self,\n    ) {{\n{body}    }}\n\n    fn short() {{\n    }}\n}}\n");
    assert_eq!(long_functions(&text, 100), ["pub fn long("]);
    assert!(long_functions(&text, 104).is_empty());
}

/// The type that a line declares, if it is not inside of another item.
fn declared(line: &str) -> Option<&str> {
    let line = match line.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(") ")?.1,
        Some(rest) => rest.strip_prefix(' ')?,
        None => line,
    };
    let name = ["struct ", "enum ", "trait ", "type "].iter().find_map(|keyword| line.strip_prefix(keyword))?;
    Some(&name[..name.find(|c: char| !c.is_alphanumeric()).unwrap_or(name.len())])
}

#[test]
fn a_word_has_one_meaning() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut places: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    // Python's types wrap those of their name.
    for name in CRATES.iter().filter(|name| **name != "python") {
        let of_tests =
            |path: &PathBuf| path.components().any(|part| ["tests", "tests.rs"].iter().any(|t| part.as_os_str() == *t));
        for path in sources(&crates.join(name).join("src")).into_iter().filter(|path| !of_tests(path)) {
            for word in fs::read_to_string(&path).unwrap().lines().filter_map(declared) {
                places.entry(word.into()).or_default().push(path.clone());
            }
        }
    }
    assert!(places.len() > 500, "only {} types were read", places.len());
    places.retain(|_, places| places.len() > 1);
    assert_eq!(places, BTreeMap::new());
}

#[test]
fn declarations_are_seen() {
    let lines = [
        "pub struct A<'a>(f32);",
        "pub(super) enum Bc {",
        "trait D: E {",
        "type F = G;",
        "    struct H;",
        "impl I {",
        "structure",
    ];
    assert_eq!(lines.map(declared), [Some("A"), Some("Bc"), Some("D"), Some("F"), None, None, None]);
}

#[test]
fn a_cycle_is_seen() {
    let graph = |edges: &[(&str, &[&str])]| -> Graph {
        edges.iter().map(|(a, b)| ((*a).to_string(), b.iter().map(ToString::to_string).collect())).collect()
    };
    assert_eq!(cycle(&graph(&[("a", &["b", "c"]), ("b", &["c"]), ("c", &[])])), None);
    assert_eq!(cycle(&graph(&[("a", &["b"]), ("b", &["c"]), ("c", &["b"])])), Some(vec!["b".into(), "c".into()]));
}
