//! Rules enter; what a command that looks at one input at a time does not see of them leaves, in words: rules between two inputs.

use deepsade_spec::{NormalSpec, shown};

/// Names that a sentence lists.
const MOST_NAMES: usize = 20;

/// The names of the rules between two inputs.
pub fn pair_names(spec: &NormalSpec) -> Vec<&str> {
    spec.pairs.iter().map(|rule| rule.name.as_str()).collect()
}

/// Which rules compare two inputs, as in `rules 'a' and 'b' compare two inputs`; `None` if there are none.
pub fn pairs_in_words(spec: &NormalSpec) -> Option<String> {
    let names = pair_names(spec);
    let quoted: Vec<String> = names.iter().take(MOST_NAMES).map(|name| format!("'{}'", shown::name(name))).collect();
    let quoted = quoted.join(", ");
    match names.len() {
        0 => None,
        1 => Some(format!("rule {quoted} compares two inputs")),
        n if n > MOST_NAMES => Some(format!("rules {quoted} and {} more compare two inputs", n - MOST_NAMES)),
        _ => Some(format!("rules {quoted} compare two inputs")),
    }
}
