use super::{Json, MAX_DEPTH, parse, quoted};

#[test]
fn values_are_read() {
    let text = r#" {"a" : [1, -2.5e+3, "x\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00"], "b":{}} "#;
    let n = |t: &str| Json::Number(t.into());
    let items = vec![n("1"), n("-2.5e+3")];
    let text_value = Json::Text("x\"\\/\u{8}\u{c}\n\r\té😀".into());
    let a = Json::Array(items.into_iter().chain([text_value]).collect());
    assert_eq!(parse(text), Ok(Json::Object(vec![("a".into(), a), ("b".into(), Json::Object(vec![]))])));
}

#[test]
fn what_is_quoted_is_read_back() {
    let text = "a\"b\\c\n\u{0}\u{1f}é😀/";
    assert_eq!(parse(&quoted(text)), Ok(Json::Text(text.into())));
}

#[test]
fn broken_texts_are_refused() {
    let broken = [
        "",
        " ",
        "{",
        "[",
        "\"",
        "\"\\",
        "\"\\u",
        "\"\\u12",
        "\"\\u12g4\"",
        "\"\\ud800\"",
        "\"\\ud800\\u0041\"",
        "\"\\udc00\"",
        "\"\\x\"",
        "\"a\nb\"",
        "01",
        "-",
        "-a",
        "1.",
        "1.e5",
        ".5",
        "1e",
        "1e+",
        "+1",
        "NaN",
        "inf",
        "nul",
        "tru",
        "[1,]",
        "[,1]",
        "[1 2]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "{1:2}",
        "{\"a\":1,\"a\":2}",
        "{\"a\":1 \"b\":2}",
        "1 2",
        "[]]",
        "{}}",
        "/* */ 1",
        "\u{feff}1",
        "'a'",
        "\u{a0}1",
        "\"\\u+123\"",
        "é",
    ];
    for text in broken {
        assert!(parse(text).is_err(), "{text:?} was read as {:?}", parse(text));
    }
}

#[test]
fn deep_and_long_texts_end_in_an_error_or_a_value() {
    assert!(parse(&"[".repeat(1_000_000)).is_err());
    assert!(parse(&"{\"a\":".repeat(1_000_000)).is_err());
    let nested = |n: usize| format!("{}1{}", "[".repeat(n), "]".repeat(n));
    assert!(parse(&nested(MAX_DEPTH)).is_ok());
    assert!(parse(&nested(MAX_DEPTH + 1)).is_err());
    let digits = "9".repeat(100_000);
    assert_eq!(parse(&digits), Ok(Json::Number(digits)));
}

#[test]
fn a_text_cut_anywhere_is_refused() {
    let text = r#"{"a":[1,-2.5e3,"é\u00e9😀"],"b":{"c":0}}"#;
    for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
        assert!(parse(&text[..end]).is_err(), "{}", &text[..end]);
    }
}
