//! A rule as long or as nested as a file can hold it is read, or refused with a message, on a small stack.

use deepsade_spec::{Domain, Feature, OneHot, RuleErrorKind, RuleText, Schema, Task, canonical, compile, print};

fn schema() -> Schema {
    Schema {
        features: vec![Feature { name: "x".into(), domain: Domain::Real { lo: 0.0, hi: 1.0 } }],
        task: Task::regression(vec!["y".into()]),
        one_hot: OneHot::Full,
        filled: vec![],
    }
}

/// How many characters the normal form has, or what is wrong with the rule.
fn read(text: String) -> Result<usize, RuleErrorKind> {
    let work = move || {
        let spec = compile(&[RuleText { name: "r".into(), text }], &schema()).map_err(|mut errors| errors.remove(0).kind)?;
        assert!(canonical::canonical(&spec.clone()).len() > 10);
        let opposite = spec.rules[0].claim.negated();
        Ok(print::formula(&spec.rules[0].claim, &spec.schema).len().min(print::formula(&opposite, &spec.schema).len()))
    };
    std::thread::Builder::new().stack_size(1 << 20).spawn(work).unwrap().join().unwrap()
}

#[test]
fn long_lists_are_read() {
    let list = |word: &str| (0..20_000).map(|k| format!("y <= {k}")).collect::<Vec<_>>().join(word);
    let members = (0..20_000).map(|k| k.to_string()).collect::<Vec<_>>().join(", ");
    let many = (0..20_000).map(|k| format!("y - {k}")).collect::<Vec<_>>().join(", ");
    for text in [
        list(" or "),
        list(" and "),
        format!("not ({})", list(" or ")),
        format!("x > 0.5 => {}", list(" or ")),
        format!("y in {{{members}}}"),
        format!("not (y not in {{{members}}})"),
        format!("0 <= {}", vec!["y"; 20_000].join(" <= ")),
        format!("max({many}) <= 1"),
        format!("sum({many}) <= 1"),
        format!("at_least(3, {})", list(", ")),
    ] {
        let length = text.len();
        assert!(read(text).is_ok_and(|shown| shown > 0), "a rule of {length} characters");
    }
}

#[test]
fn deep_nesting_is_refused_in_words() {
    let many = 200_000;
    for text in [
        format!("{}y <= 1{}", "(".repeat(many), ")".repeat(many)),
        format!("{}y <= 1", "not ".repeat(many)),
        format!("{}y <= 1", "-".repeat(many)),
        format!("y{} <= 1", " + y".repeat(many)),
        format!("y{} <= 1", " * 1".repeat(many)),
        format!("y <= 1{}", " => y <= 1".repeat(many)),
        format!("y <= 1{}", " <=> y <= 1".repeat(many)),
        format!("{}y <= 1{}", "if y <= 0 then y <= 1 else ".repeat(many), ""),
        format!("{}y <= 1", "forall i in 0..1: ".repeat(many)),
        format!("{}y{} <= 1", "max(y, ".repeat(many), ")".repeat(many)),
    ] {
        let error = read(text.clone()).unwrap_err();
        assert!(matches!(error, RuleErrorKind::TooDeep(_)), "{error} for {}...", &text[..60]);
    }
    // As deep as is allowed, and doubled at each step.
    let error = read(format!("y <= 1{}", " <=> y <= 1".repeat(900))).unwrap_err();
    assert!(matches!(error, RuleErrorKind::TooLarge(_)), "{error}");
}

/// Each case of a piece copies those that follow it: without a count of the copies, three thousand of them filled the memory.
#[test]
fn sums_of_pieces_are_refused_while_they_are_small() {
    for text in [
        "sum((if x <= i / 3000 then y else 2 * y) for i in 0..3000) <= 5",
        "sum(max(y, i * x) for i in 0..2000) <= 5",
        "sum(abs(y - i) for i in 0..3000) <= 5",
    ] {
        assert!(matches!(read(text.into()), Err(RuleErrorKind::TooLarge(_))), "{text}");
    }
    // What is written once and stands twice doubles at each level; the parentheses of `if` are levels, too, and 64 are allowed.
    let nested =
        |open: &str, inner: &str, close: &str, times: usize| format!("{}{inner}{} <= 1", open.repeat(times), close.repeat(times));
    let members = (0..9000).map(|k| k.to_string()).collect::<Vec<_>>().join(", ");
    for text in [
        nested("abs(", "y", ")", 24),
        nested("abs(", "y + x", " - 1)", 60),
        nested("(if 0 <= ", "y", " <= 1 then y else x)", 30),
        nested("(if ", "y", " in {1, 2, 3} then y else x)", 30),
        format!("sum(abs(y - i) for i in 0..9000) in {{{members}}}"),
    ] {
        let error = read(text.clone()).unwrap_err();
        assert!(matches!(error, RuleErrorKind::TooLarge(_)), "{error}: {}", &text[..60]);
    }
    assert!(read(nested("abs(", "y", " - 1)", 8)).is_ok());
    // Terms of one output are one term, however often it is copied.
    assert!(read(format!("sum(y * i for i in 0..9000) in {{{members}}}")).is_ok());
    assert!(read("sum((if x <= i / 8 then y else 2 * y) for i in 0..8) <= 5".into()).is_ok());
}

/// What stands twice doubles at each level, and a class of forty is compared with thirty-nine others each time.
#[test]
fn classes_levels_and_long_sums_are_counted_as_what_they_become() {
    let names = |of: &str, many: usize| (0..many).map(|k| format!("{of}{k}")).collect::<Vec<_>>();
    let real = |name: String| Feature { name, domain: Domain::Real { lo: 0.0, hi: 1.0 } };
    let mut features: Vec<Feature> = names("x", 500).into_iter().map(real).collect();
    features.push(Feature { name: "c".into(), domain: Domain::Category { levels: names("l", 400) } });
    let task = Task::Multiclass { target: "g".into(), classes: names("c", 40) };
    let schema = Schema { features, task, one_hot: OneHot::Full, filled: vec![] };
    let chain = |times: usize, part: &dyn Fn(usize) -> String| (0..times).map(part).collect::<Vec<_>>().join(" <=> ");
    let class = |k: usize| format!("g == 'c{k}'");
    let levels = |k: usize| format!("c in {{{}}}", (k..k + 300).map(|l| format!("'l{l}'")).collect::<Vec<_>>().join(", "));
    let sum = |k: usize| format!("sum({}) >= {k}", names("x", 500).join(", "));
    for (text, many) in [(chain(14, &class), 14), (chain(13, &levels), 13), (chain(12, &sum), 12)] {
        let rule = RuleText { name: "r".into(), text: format!("({text}) or g == 'c0'") };
        let errors = compile(&[rule], &schema).expect_err("it is too large");
        assert!(matches!(errors[0].kind, RuleErrorKind::TooLarge(_)), "{many}: {}", errors[0].kind);
    }
    for text in [chain(6, &class), chain(3, &levels), chain(3, &sum)] {
        let rule = RuleText { name: "r".into(), text: format!("({text}) or g == 'c0'") };
        assert!(compile(&[rule], &schema).is_ok(), "{}", &text[..60]);
    }
}
