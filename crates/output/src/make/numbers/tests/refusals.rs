//! What can't be made says why.

use deepsade_check::StepFault;

use super::*;

fn of(targets: &[&str], rules: &[&str]) -> NormalSpec {
    spec(vec![whole("n", 0, 1000), real("r", 0.0, 1.0)], targets, rules)
}

fn refusal(rules: &[&str], grid: Option<i32>) -> MakeError {
    let ranges = vec![Number { lo: -1024.0, hi: 1024.0, grid }; 3];
    make(&of(&["u", "v", "t"], rules), &SOURCE, &ranges, &ALIKE[..ranges.len()], None).map(|made| made.how).unwrap_err()
}

fn not_equal(rules: &[&str], grid: Option<i32>) -> NotEqual {
    match refusal(rules, grid) {
        MakeError::Equality { why, .. } => why,
        other => panic!("{other}"),
    }
}

#[test]
fn equalities_that_no_grid_meets() {
    assert_eq!(not_equal(&["u + v == n"], None), NotEqual::NoGrid);
    assert_eq!(not_equal(&["2 * u + 3 * v == n"], Some(3)), NotEqual::Factors);
    assert_eq!(not_equal(&["u + v == 0.3 * n"], Some(3)), NotEqual::OffGrid);
    assert_eq!(not_equal(&["u + v == r"], Some(3)), NotEqual::OffGrid);
    assert_eq!(not_equal(&["u + v == n"], Some(14)), NotEqual::TooLarge);
    // More alternatives than a graph tries.
    let many: Vec<String> = (0..40).map(|k| format!("n == {k} => u + v == {k}")).chain(["v + t == n".into()]).collect();
    assert_eq!(not_equal(&many.iter().map(String::as_str).collect::<Vec<_>>(), Some(3)), NotEqual::Entangled);
    let spec = of(&["u", "v", "t"], &["u + v == n"]);
    let too_large = grids(&spec, &wide(3, -1e9, 1e9)).unwrap_err();
    assert_eq!(too_large, MakeError::Equality { rule: "rule 0".into(), why: NotEqual::TooLarge });
}

/// Alternatives of alternatives, tied together: no row can choose among them one by one.
#[test]
fn too_many_alternatives() {
    let names: Vec<String> = (0..6).map(|k| format!("u{k}")).collect();
    let mut rules: Vec<String> = names.iter().map(|n| format!("{n} <= -5 or {n} >= -3 and ({n} <= 1 or {n} >= 2)")).collect();
    rules.push(format!("sum({}) <= 40", names.join(", ")));
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
    let refused = make(&of(&names, &rules), &SOURCE, &wide(6, -10.0, 10.0), &ALIKE[..6], None).unwrap_err();
    let named: Vec<String> = (0..7).map(|k| format!("'rule {k}'")).collect();
    assert_eq!(refused, MakeError::TooManyPieces { rules: named.join(", "), most: 32 });
    // Those that contradict each other do not count.
    let (mut rules, few) = (rules, ["u0 >= 2", "u1 >= 2", "u2 >= 2", "u3 >= 2"]);
    rules.extend(few);
    assert!(make(&of(&names, &rules), &SOURCE, &wide(6, -10.0, 10.0), &ALIKE[..6], None).is_ok());
}

/// More than a graph should hold: comparisons that tie outputs, and conditions.
#[test]
fn graphs_that_would_be_too_large() {
    let names: Vec<String> = (0..30).map(|k| format!("u{k}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let rules = ["forall i in 0..30, j in 0..30, k in 0..30: u[i] + u[j] + u[k] <= 3"];
    let refused = make(&of(&names, &rules), &SOURCE, &wide(30, -10.0, 10.0), &[1.0; 30], None).unwrap_err();
    assert!(matches!(refused, MakeError::TooManyTies { most: 2048, .. }), "{refused}");
    let list = (0..12_000).map(|k| format!("0.{k:05}1")).collect::<Vec<_>>().join(", ");
    let refused = refusal(&[&format!("r in {{{list}}} => u <= 1")], None);
    assert!(matches!(refused, MakeError::Float32 { why: StepFault::Large { .. } }), "{refused}");
    assert!(refused.to_string().ends_with("a range instead of a long list"), "{refused}");
}

#[test]
fn what_does_not_fit() {
    let nothing = |rules: &str| MakeError::NothingAllowed { rules: rules.into() };
    assert_eq!(refusal(&["u >= 1", "v <= 3", "u <= 0"], None), nothing("'rule 0', 'rule 2'"));
    assert_eq!(refusal(&["u >= 4000"], None), nothing("'rule 0'"));
    let spec = of(&["u", "v"], &["u >= 1"]);
    assert_eq!(
        make(&spec, &SOURCE, &wide(3, 0.0, 1.0), &ALIKE[..2], None).unwrap_err(),
        MakeError::Ranges { found: 3, outputs: 2 }
    );
    let anchor = Anchor { weights: vec![(0, 2, 1.0)], bias: vec![0.0; 2] };
    let refused = make(&spec, &SOURCE, &wide(2, 0.0, 9.0), &ALIKE[..2], Some(&anchor)).unwrap_err();
    assert_eq!(refused, MakeError::Anchor { outputs: 2, columns: 2 });
}
