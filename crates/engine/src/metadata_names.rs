//! The metadata of another tool's model enter; the lists of names that stand there leave, in the order of the numbers that they name.
//!
//! Tools write them as JSON, as Python prints them, or plainly: `["good", "bad"]`, `{0: 'good', 1: 'bad'}`, `{"bad": 1, "good": 0}`,
//! `good,bad`, `[{"name": "good"}, {"name": "bad"}]`, or one key each, `class_0` and `class_1`.

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::str::CharIndices;

use deepsade_spec::{Schema, Task};

/// What this program writes is read elsewhere.
const OWN: &str = "deepsade.";
/// Texts that are longer are not looked at.
const LONGEST: usize = 1_000_000;
/// Lists within lists.
const DEEPEST: usize = 16;
/// Keys under which tools list classes, small letters and digits alone.
const CLASS_KEYS: [&str; 12] = [
    "classes",
    "classnames",
    "classlabels",
    "labels",
    "labelnames",
    "id2label",
    "label2id",
    "classtoidx",
    "idxtoclass",
    "indextoname",
    "indextoclass",
    "targetnames",
];
/// Keys of a list's entries that hold its names.
const NAME_KEYS: [&str; 4] = ["name", "label", "class", "displayname"];

/// A list, and the key that it stands under where it is all that does.
#[derive(Debug, Clone, PartialEq, Eq)]
struct NamedList {
    key: Option<String>,
    names: Vec<String>,
}

/// What metadata say of the classes or targets: lists under a key for classes, and those of just these names under any.
pub(crate) fn of_outputs(metadata: &BTreeMap<String, String>, task: &Task) -> Vec<Vec<String>> {
    let targets: Vec<String> = task.target_columns().into_iter().map(String::from).collect();
    let names = task.classes().unwrap_or(&targets);
    let for_classes = |key: &String| task.classes().is_some() && CLASS_KEYS.contains(&key.as_str());
    let of_classes = |list: &NamedList| list.key.as_ref().is_some_and(for_classes) && list.names.len() > 1;
    let lists = lists(metadata).into_iter().filter(|list| of_classes(list) || permutes(&list.names, names));
    lists.map(|list| list.names).collect()
}

/// The columns or features in the order that metadata give them, if it is another than that of the rules.
pub(crate) fn other_columns(metadata: &BTreeMap<String, String>, schema: &Schema) -> Option<Vec<String>> {
    let columns: Vec<String> = schema.columns().into_iter().map(|c| c.name).collect();
    let features: Vec<String> = schema.given().iter().map(|f| f.name.clone()).collect();
    let other = |list: &NamedList| [&columns, &features].into_iter().any(|own| permutes(&list.names, own) && list.names != *own);
    lists(metadata).into_iter().find(other).map(|list| list.names)
}

/// Whether a list holds just these names, each once. Numbers in a list need not be names.
fn permutes(list: &[String], names: &[String]) -> bool {
    let sorted = |names: &[String]| {
        let mut names = names.to_vec();
        names.sort_unstable();
        names
    };
    names.len() > 1
        && list.len() == names.len()
        && names.iter().any(|n| n.parse::<f64>().is_err())
        && sorted(list) == sorted(names)
}

fn lists(metadata: &BTreeMap<String, String>) -> Vec<NamedList> {
    let foreign = || metadata.iter().filter(|(key, text)| !key.starts_with(OWN) && text.len() <= LONGEST);
    let mut found = Vec::new();
    for (key, text) in foreign() {
        if let Some(told) = ToldText::read(text) {
            told.lists(Some(key), &mut found);
        }
    }
    // One key each.
    let mut numbered: BTreeMap<&str, Vec<(u64, String)>> = BTreeMap::new();
    for (key, text) in foreign() {
        let stem = key.trim_end_matches(|c: char| c.is_ascii_digit());
        if let Ok(number) = key[stem.len()..].parse() {
            numbered.entry(stem).or_default().push((number, text.trim().to_string()));
        }
    }
    found.extend(
        numbered.into_iter().filter_map(|(stem, names)| Some(NamedList { key: Some(plain(stem)), names: by_number(names)? })),
    );
    found
}

fn plain(key: &str) -> String {
    key.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Names in the order of their numbers, of which no two are the same.
fn by_number(mut names: Vec<(u64, String)>) -> Option<Vec<String>> {
    names.sort_unstable();
    let distinct = names.windows(2).all(|pair| pair[0].0 != pair[1].0);
    distinct.then(|| names.into_iter().map(|(_, name)| name).collect())
}

/// A text, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ToldText {
    Word(String),
    /// Entries, with their keys where they have any.
    Entries(Vec<(Option<String>, ToldText)>),
}

impl ToldText {
    /// Takes a text apart; `None` for one that is no list.
    fn read(text: &str) -> Option<Self> {
        let mut rest = text.char_indices().peekable();
        let entries = entries(text, &mut rest, None, 0)?;
        Some(match <[_; 1]>::try_from(entries) {
            Ok([(None, only)]) => only,
            Ok([entry]) => Self::Entries(vec![entry]),
            Err(entries) => Self::Entries(entries),
        })
    }

    /// Every list in it.
    fn lists(&self, key: Option<&str>, found: &mut Vec<NamedList>) {
        let Self::Entries(entries) = self else { return };
        if let Some(names) = names(entries) {
            found.push(NamedList { key: key.map(plain), names });
        }
        entries.iter().for_each(|(_, told)| told.lists(None, found));
    }

    /// The name that an entry of a list stands for.
    fn name(&self) -> Option<String> {
        match self {
            Self::Word(word) => Some(word.clone()),
            Self::Entries(entries) => entries.iter().find_map(|(key, told)| {
                let named = key.as_ref().is_some_and(|key| NAME_KEYS.contains(&plain(key).as_str()));
                if named { told.name() } else { None }
            }),
        }
    }
}

/// The names that entries list: in their order, or in that of the numbers which are their keys or values.
fn names(entries: &[(Option<String>, ToldText)]) -> Option<Vec<String>> {
    if entries.iter().all(|(key, _)| key.is_none()) {
        return entries.iter().map(|(_, told)| told.name()).collect();
    }
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let keyed = entries.iter().map(|(key, told)| Some((number(key.as_ref()?)?, told.name()?)));
    let valued = entries.iter().map(|(key, told)| Some((number(&told.name()?)?, key.clone()?)));
    by_number(keyed.collect::<Option<_>>().or_else(|| valued.collect())?)
}

/// Entries up to a closing bracket, or to the end of the text where none is open.
fn entries(
    text: &str,
    rest: &mut Peekable<CharIndices>,
    closing: Option<char>,
    depth: usize,
) -> Option<Vec<(Option<String>, ToldText)>> {
    let mut entries = Vec::new();
    let (mut key, mut value): (Option<String>, Option<ToldText>) = (None, None);
    while let Some((at, c)) = rest.next() {
        match c {
            _ if Some(c) == closing => {
                entries.extend(value.map(|value| (key, value)));
                return Some(entries);
            }
            ',' | ';' | '|' | '\n' => entries.extend(value.take().map(|value| (key.take(), value))),
            ':' | '=' if key.is_none() => key = Some(value.take()?.name()?),
            '[' | '{' | '(' if value.is_none() && depth < DEEPEST => {
                let closing = [('[', ']'), ('{', '}'), ('(', ')')].into_iter().find(|(open, _)| *open == c)?.1;
                value = Some(ToldText::Entries(self::entries(text, rest, Some(closing), depth + 1)?));
            }
            '"' | '\'' if value.is_none() => value = Some(ToldText::Word(quoted(rest, c)?)),
            _ if c.is_whitespace() => {}
            _ if value.is_none() => {
                let ends = |c: char| [',', ';', '|', '\n', ':', '=', ']', '}', ')', '[', '{', '('].contains(&c);
                let mut end = at + c.len_utf8();
                while let Some((next, c)) = rest.next_if(|(_, c)| !ends(*c)) {
                    end = next + c.len_utf8();
                }
                value = Some(ToldText::Word(text[at..end].trim().to_string()));
            }
            // Prose, or the language of something else.
            _ => return None,
        }
    }
    entries.extend(value.map(|value| (key, value)));
    closing.is_none().then_some(entries)
}

/// What stands between quotation marks.
fn quoted(rest: &mut Peekable<CharIndices>, mark: char) -> Option<String> {
    let mut word = String::new();
    loop {
        match rest.next()?.1 {
            c if c == mark => return Some(word),
            '\\' => word.push(match rest.next()?.1 {
                'n' => '\n',
                't' => '\t',
                'u' => {
                    let code: String = (0..4).map_while(|_| rest.next().map(|(_, c)| c)).collect();
                    char::from_u32(u32::from_str_radix(&code, 16).ok()?)?
                }
                c => c,
            }),
            c => word.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use deepsade_spec::{Domain, Feature, OneHot};

    use super::*;

    fn told(key: &str, text: &str) -> Vec<Vec<String>> {
        let task = Task::Multiclass { target: "risk".into(), classes: ["good", "bad"].map(String::from).to_vec() };
        of_outputs(&[(key.into(), text.into())].into(), &task)
    }

    #[test]
    fn lists_are_read_in_the_order_of_their_numbers() {
        for text in [
            "{0: 'bad', 1: 'good'}",
            "{1: 'good', 0: 'bad'}",
            "{\"good\": 1, \"bad\": 0}",
            "{\"good\":\"1\",\"bad\":\"0\"}",
            "[\"bad\", \"good\"]",
            "('bad', 'good')",
            "bad,good",
            "0=bad;1=good",
            "[{\"name\":\"bad\"},{\"name\":\"good\"}]",
            "{\"model\": {\"size\": [1, 2], \"of\": {\"b\\u0061d\": 0, \"good\": 1}}}",
        ] {
            assert_eq!(told("some key", text), [["bad", "good"]], "{text}");
        }
    }

    #[test]
    fn what_lists_other_things_is_no_list_of_classes() {
        for text in [
            "bad",
            "goods, bad",
            "good or bad",
            "good, bad, good",
            "",
            "tells bad (from: good",
            "{\"good\": 1, \"bad\": 1}",
            "[[[[",
            "[",
        ] {
            assert_eq!(told("description", text), Vec::<Vec<String>>::new(), "{text}");
        }
        assert_eq!(told("description", &"[".repeat(1000)), Vec::<Vec<String>>::new());
        // Under a key for classes, other names are other classes.
        assert_eq!(told("class_names", "[\"x\", \"y\"]"), [["x", "y"]]);
        assert_eq!(told("id2label", "{\"0\": \"x\", \"1\": \"y\"}"), [["x", "y"]]);
    }

    #[test]
    fn one_key_each_is_a_list() {
        let keys = [("class_10", "good"), ("class_9", "bad"), ("author", "x")].map(|(key, value)| (key.into(), value.into()));
        let task = Task::Multiclass { target: "risk".into(), classes: ["good", "bad"].map(String::from).to_vec() };
        assert_eq!(of_outputs(&keys.into(), &task), [["bad", "good"]]);
    }

    #[test]
    fn columns_in_another_order_are_found() {
        let feature = |name: &str| Feature { name: name.into(), domain: Domain::Real { lo: 0.0, hi: 1.0 } };
        let features = vec![feature("u"), feature("v")];
        let schema = Schema { features, task: Task::regression(vec!["y".into()]), one_hot: OneHot::Full, filled: vec![] };
        let other = |text: &str| other_columns(&[("feature_names".into(), text.into())].into(), &schema);
        assert_eq!(other("['v', 'u']"), Some(vec!["v".into(), "u".into()]));
        assert_eq!(other("{\"u\": 1, \"v\": 0}"), Some(vec!["v".into(), "u".into()]));
        for text in ["['u', 'v']", "['u', 'w']", "['u']"] {
            assert_eq!(other(text), None, "{text}");
        }
    }
}
