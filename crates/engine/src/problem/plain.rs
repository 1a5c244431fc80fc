//! What a reader of settings says in the words of its own language enters; the same in plain words leaves.
//!
//! serde and toml hand over sentences and no data, so this reads their English, by its beginnings: for people alone, nothing is decided by
//! it, and what is not recognised is shown as it is.

/// The place in a rule file and what is wrong there.
pub(super) fn of_toml(error: &toml::de::Error) -> String {
    let (shown, message) = (error.to_string(), error.message());
    let place = shown.trim_end().strip_suffix(message.trim_end()).unwrap_or_default();
    format!("{place}{}", words(message.trim_end()))
}

/// What is wrong with a value: what was expected comes first, without names of types.
pub(super) fn words(message: &str) -> String {
    if let Some(rest) = message.strip_prefix("unknown field ") {
        return format!("unknown setting {}", rest.replace("there are no fields", "there are none here"));
    }
    if let Some(rest) = message.strip_prefix("unknown variant ") {
        return format!("unknown value {rest}");
    }
    if let Some(name) = message.strip_prefix("missing field ") {
        return format!("{name} is missing");
    }
    if let Some(name) = message.strip_prefix("duplicate field ") {
        return format!("{name} is stated twice");
    }
    for start in ["invalid type: ", "invalid value: ", "invalid length "] {
        // What was given may hold these words as well, and stands before them.
        let Some((given, expected)) = message.strip_prefix(start).and_then(|rest| rest.rsplit_once(", expected ")) else {
            continue;
        };
        let given = if start == "invalid length " { format!("one of length {given}") } else { found(given) };
        return format!("expected {}, found {given}", wanted(expected));
    }
    if message == "wanted string or table" { "expected a word in quotes".into() } else { message.into() }
}

/// A value that was given.
fn found(given: &str) -> String {
    let kinds = [
        ("string ", "the text "),
        ("integer ", "the number "),
        ("floating point ", "the number "),
        ("character ", "the character "),
        ("boolean ", ""),
    ];
    if let Some(shown) = kinds.iter().find_map(|(kind, word)| given.strip_prefix(kind).map(|value| format!("{word}{value}"))) {
        return shown;
    }
    match given {
        "sequence" => "a list".into(),
        "map" => "a table".into(),
        "null" | "unit value" | "Option value" => "nothing".into(),
        other if other.ends_with("variant") || other == "enum" => "a table".into(),
        other => other.into(),
    }
}

/// What has to stand there.
fn wanted(expected: &str) -> String {
    match expected {
        "usize" | "u8" | "u16" | "u32" | "u64" => "a whole number, 0 or above".into(),
        "isize" | "i8" | "i16" | "i32" | "i64" => "a whole number".into(),
        "f32" | "f64" => "a number".into(),
        "bool" | "a boolean" => "true or false".into(),
        "a string" | "str" | "path string" => "text in quotes".into(),
        "a character" | "char" => "one character in quotes".into(),
        "a sequence" | "sequence" => "a list".into(),
        "a map" | "map" => "a table".into(),
        "string or map" | "string only" | "a string or map" => "a word in quotes".into(),
        "option" => "a value".into(),
        _ => phrase(expected),
    }
}

/// The same for what begins with the kind of a type.
fn phrase(expected: &str) -> String {
    let (kind, rest) = expected.split_once(' ').unwrap_or((expected, ""));
    match kind {
        "an" if rest.starts_with("array of ") => format!("a list of {} values", rest.rsplit(' ').next().unwrap_or_default()),
        "struct" => match rest.split_once(" with ") {
            Some((_, values)) => format!("a table with {}", values.replace("element", "value")),
            None => "a table".into(),
        },
        "enum" | "variant" => "a word in quotes".into(),
        "tuple" => "a list".into(),
        _ => expected.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::problem::Problem;

    fn refusal(text: &str) -> String {
        let head = if text.contains("[task]") { "" } else { "[task]\nkind = \"regression\"\n" };
        Problem::parse(&format!("{head}{text}"), Path::new("r.toml")).err().map(|e| e.to_string()).unwrap_or_default()
    }

    /// Names of settings that a table knows, as the reader itself lists them.
    fn names(table: &str) -> Vec<String> {
        let message = refusal(&format!("{table}\nzzz = 1\n"));
        let Some((_, listed)) = message.split_once("unknown setting `zzz`") else { panic!("{table}: {message}") };
        listed.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    }

    #[test]
    fn no_message_about_a_wrong_value_speaks_of_types() {
        let tables =
            "[data] [task] [network] [train] [train.paper] [train.penalty] [features.x] [targets.x] [[rule]] [data.split]";
        let values =
            ["\"word\"", "-3", "2.5", "true", "[[1]]", "['a', 'b', 'c']", "{ a = 1 }", "1979-05-27", "[]", "99999999999"];
        let foreign = "struct usize isize u8 u16 u32 u64 i8 i16 i32 i64 f32 f64 enum variant tuple map sequence unit newtype borrowed \
                       serde bool str field visitor deserialize char boolean";
        let mut refused = 0;
        for table in tables.split_whitespace() {
            let names = names(table);
            assert!(!names.is_empty(), "{table}");
            for (name, value) in names.iter().flat_map(|n| values.iter().map(move |v| (n, v))) {
                let message = refusal(&format!("{table}\n{name} = {value}\n"));
                let said = message.lines().last().unwrap_or_default();
                let words = || said.split(|c: char| !c.is_alphanumeric() && c != '_');
                let capitals = |word: &str| word.chars().filter(|c| c.is_uppercase()).count();
                let typed = |word: &str| foreign.split_whitespace().any(|f| f == word) || capitals(word) > 1 && word.len() > 4;
                assert_eq!(words().find(|word| typed(word)), None, "{table} {name} = {value}: {said}");
                refused += usize::from(!message.is_empty());
            }
        }
        assert!(refused > 200, "{refused} values are refused");
    }

    #[test]
    fn what_was_expected_is_said_and_what_stands_there() {
        let odd = "expected a whole number, 0 or above, found the text \"x, expected usize\"";
        for (text, expected) in [
            ("[train]\nbatch = \"x, expected usize\"", odd),
            ("[data]\nsplit = 3", "expected a table: shares"),
            ("[network]\nactivation = 'gelu'", "unknown value `gelu`, expected one of `relu`, `sigmoid`, `tanh`"),
            ("[features.a]\nrange = [1, 2, 3]", "expected a list of 2 values"),
            ("[train]\nbetch = 1", "unknown setting `betch`, expected one of `optimiser`"),
        ] {
            let message = refusal(text);
            assert!(message.contains(expected), "{text}: {message}");
        }
    }
}
