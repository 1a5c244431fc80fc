//! Columns as a list: `h[i]` and `y[i]`.

use deepsade_spec::{Domain, Feature, OneHot, RuleError, RuleText, Schema, Task, compile, print};

fn schema(targets: &[&str], features: &[&str]) -> Schema {
    let real = |name: &&str| Feature { name: (*name).into(), domain: Domain::Real { lo: 0.0, hi: 10.0 } };
    let task = Task::regression(targets.iter().map(|t| (*t).to_string()).collect());
    Schema { features: features.iter().map(real).collect(), task, one_hot: OneHot::Full, filled: vec![] }
}

fn normal(text: &str, schema: &Schema) -> Result<String, Box<RuleError>> {
    let rule = RuleText { name: "r".into(), text: text.into() };
    compile(&[rule], schema).map(|spec| print::formula(&spec.rules[0].claim, schema)).map_err(|mut e| Box::new(e.remove(0)))
}

#[test]
fn an_index_is_the_number_in_the_name() {
    let hours = schema(&["h1", "h2", "h3"], &["cap_01", "cap_02", "cap_03", "total"]);
    assert_eq!(normal("sum(h[i] for i in 1..4) <= total", &hours), normal("h1 + h2 + h3 <= total", &hours));
    assert_eq!(
        normal("forall i in 1..4: h[i] <= cap[i]", &hours),
        normal("h1 <= cap_01 and h2 <= cap_02 and h3 <= cap_03", &hours)
    );
    assert_eq!(normal("h[1 + 1] >= 0", &hours), normal("h2 >= 0", &hours));
    // The targets by their place, or by their name.
    assert_eq!(normal("y[0] + y[2] <= 5", &hours), normal("h1 + h3 <= 5", &hours));
    assert_eq!(normal("y['h2'] <= 5", &hours), normal("h2 <= 5", &hours));
    // Names of indices do not come between.
    assert_eq!(normal("forall h2 in 0..1: h[2] >= h2", &hours), normal("h2 >= 0", &hours));
    // Columns that are called so go before places.
    let y = schema(&["y1", "y0"], &["x"]);
    assert_eq!(normal("y[0] <= x", &y), normal("y0 <= x", &y));
}

#[test]
fn refusals_say_what_there_is() {
    let hours = schema(&["h0", "h1", "h2"], &["x1", "x_1", "z"]);
    let refused =
        |text: &str| normal(text, &hours).map_err(|e| format!("{}; {}", e.kind, e.hint.unwrap_or_default())).unwrap_err();
    assert_eq!(
        refused("sum(h[i] for i in 0..4) <= z"),
        "nothing is called 'h[3]'; there are 3 such columns, from h[0] to h[2]; a range a..b leaves b out"
    );
    assert_eq!(refused("h0 <= x[1]"), "nothing is called 'x[1]'; it could be `x1` or `x_1`; write the one that is meant");
    assert!(refused("g[0] <= z").contains("g[3] needs a column called g3 or g_3"));
    assert!(refused("z[0] <= h0").contains("'z[...]'"));
    assert!(refused("y[3] <= z").contains("index 3 is outside 0..3"));
    assert!(refused("y['h7'] <= z").contains("no level 'h7'"));
    assert!(refused("h[0, 1] <= z").contains("one index"));
    assert!(refused("h[0.5] <= z").contains("whole number"));
    assert!(refused("h[z] <= z").contains("a value that varies"));
    assert!(refused("h[-1] <= z").contains("'h[-1]'"));
}
