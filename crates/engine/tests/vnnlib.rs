//! VNN-LIB properties: what they mean as rules, where bad ones go wrong, and that written rules read back as the same question.

use deepsade_engine::verify::vnnlib::{PropertyProblem, WriteError, read, write};
use deepsade_solve::sexpr::ParenthesisFault;
use deepsade_spec::{Domain, Feature, NormalSpec, OneHot, RuleText, Schema, Task, Var, compile};

const DECLARED: &str = "(declare-const X_0 Real)\n(declare-const X_1 Real)\n(declare-const Y_0 Real)\n(declare-const Y_1 Real)\n";
const BOX: &str = "(assert (>= X_0 -1))(assert (<= X_0 1.0))\n(assert (>= X_1 0.1)) (assert (<= X_1 (+ 0.1 0.2)))\n";

fn rules(assertions: &str) -> Vec<String> {
    let property = read(&format!("{DECLARED}{BOX}{assertions}")).unwrap();
    property.rules.into_iter().map(|r| r.text).collect()
}

#[test]
fn assertions_become_the_rule_that_they_never_hold_together() {
    // The box is the domain: no rule repeats it, and a picture has thousands of its bounds.
    assert_eq!(rules("(assert (>= Y_0 Y_1))"), ["Y_0 < Y_1"]);
    assert_eq!(rules("(assert (> Y_0 Y_1))"), ["Y_0 <= Y_1"]);
    assert_eq!(rules("(assert (and (<= Y_0 3) (<= Y_1 (* 2 X_0))))"), ["Y_0 > 3 or Y_1 > 2 * X_0"]);
    // Parts of a disjunction are rules of their own.
    assert_eq!(rules("(assert (or (and (<= Y_0 -2.5)) (and (>= Y_1 1e1))))"), ["Y_0 > -2.5", "Y_1 < 10"]);
    assert_eq!(rules("(assert (not (=> (<= X_0 0) (< Y_0 (/ Y_1 4)))))").len(), 1);
    assert_eq!(rules("(assert (< 0 Y_0 Y_1))"), ["Y_0 <= 0 or Y_0 >= Y_1"]);
    // What the domain does not say stays: an end that is outside, and bounds of a part. 0.2 is no float32 value: it is rounded
    // outward, as the domain is, to 0.200000003, and written as short as that is read back.
    assert_eq!(rules("(assert (> X_0 -1)) (assert (<= Y_0 0))"), ["X_0 <= -1 or Y_0 > 0"]);
    let parts = rules("(assert (or (and (<= X_1 0.2) (<= Y_0 0)) (and (>= X_1 0.25) (>= Y_1 0))))");
    assert_eq!(parts, ["X_1 > 0.2 or Y_0 > 0", "X_1 < 0.25 or Y_1 < 0"]);
    let comments = read(&format!("; (assert (<= Y_9 0))\n{DECLARED}{BOX}(assert (<= Y_0 0)) ; the end")).unwrap();
    assert_eq!(comments.spec.rules.len(), 1);
}

#[test]
fn the_domain_is_the_hull_of_the_inputs_rounded_outward() {
    let property = read(&format!(
        "{DECLARED}(assert (or (and (>= X_0 0) (<= X_0 1) (= X_1 2) (<= Y_0 0)) (and (>= X_0 -3) (<= X_0 -2) (<= X_1 9) (>= X_1 0.1) (<= Y_1 0))))"
    ))
    .unwrap();
    let Domain::Real { lo, hi } = property.schema.features[0].domain else { panic!("a real feature") };
    assert_eq!((lo, hi), (-3.0, 1.0));
    let Domain::Real { lo, hi } = property.schema.features[1].domain else { panic!("a real feature") };
    assert!(f64::from(lo) <= 0.1 && f64::from(lo.next_up()) > 0.1, "{lo}");
    assert_eq!((hi, property.rules.len()), (9.0, 2));
}

#[test]
fn bad_texts_are_refused_at_their_place() {
    let of = |text: &str| {
        let error = read(text).unwrap_err();
        ((error.place.line, error.place.column), error.problem)
    };
    assert_eq!(of("(assert\n  (<= Y_0 0)"), ((1, 1), PropertyProblem::Parentheses(ParenthesisFault::Unclosed)));
    assert_eq!(of("(declare-const X_0 Real))"), ((1, 25), PropertyProblem::Parentheses(ParenthesisFault::Unopened)));
    let after = |last: &str| of(&format!("{DECLARED}{BOX}(assert (<= Y_0 0))\n(check-sat)(get-model)(exit){last}")).1;
    assert_eq!(after("(assert (<= Y_0 -9))"), PropertyProblem::After("assert".into()));
    assert_eq!(after("(declare-const Y_2 Real)"), PropertyProblem::After("declare-const".into()));
    assert_eq!(of("(push 1)"), ((1, 1), PropertyProblem::Command("push".into())));
    assert_eq!(of("(declare-const Z Real)"), ((1, 16), PropertyProblem::Declaration));
    assert_eq!(of("(declare-const X_01 Real)"), ((1, 16), PropertyProblem::Declaration));
    assert_eq!(of("(declare-const X_0 Int)"), ((1, 1), PropertyProblem::Declaration));
    assert_eq!(of("(declare-const X_0 Real)\n(declare-const X_0 Real)"), ((2, 16), PropertyProblem::Twice("X_0".into())));
    assert_eq!(of(&format!("{DECLARED}(assert (<= Y_7 0))")), ((5, 13), PropertyProblem::Unknown("Y_7".into())));
    assert_eq!(of(&format!("{DECLARED}(assert (<= y 0))")), ((5, 13), PropertyProblem::Unknown("y".into())));
    assert_eq!(of(&format!("{DECLARED}(assert (<= Y_0 1.2.3))")), ((5, 17), PropertyProblem::Number("1.2.3".into())));
    assert_eq!(of(&format!("{DECLARED}(assert (<= Y_0))")), ((5, 9), PropertyProblem::Operands("<=".into(), "two operands")));
    assert_eq!(of(&format!("{DECLARED}(assert (<= (* Y_0 X_0) 1))")), ((5, 13), PropertyProblem::NotLinear('*')));
    assert_eq!(of(&format!("{DECLARED}(assert (<= (/ Y_0 0) 1))")), ((5, 13), PropertyProblem::ByZero));
    assert!(matches!(of(&format!("{DECLARED}(assert (<= (sin Y_0) 1))")), ((5, 13), PropertyProblem::Operator(..))));
    assert!(matches!(of(&format!("{DECLARED}(assert (xor (<= Y_0 1)))")), ((5, 9), PropertyProblem::Operator(..))));
    assert!(matches!(
        of(&format!("{DECLARED}(assert (>= X_0 0))(assert (<= Y_0 1))")),
        ((1, 16), PropertyProblem::Unbounded(..))
    ));
    assert_eq!(
        of(&format!("{DECLARED}{BOX}(assert (>= X_0 2))(assert (<= Y_0 1))")),
        ((1, 16), PropertyProblem::Empty("X_0".into()))
    );
    assert_eq!(of(&format!("{DECLARED}{BOX}")).1, PropertyProblem::NoOutputs);
    assert_eq!(
        of("(declare-const X_1 Real)(declare-const Y_0 Real)(assert (<= Y_0 0))").1,
        PropertyProblem::Missing("X_0".into())
    );
    assert!(matches!(
        of(&format!("{DECLARED}(assert (<= X_0 1e60))(assert (>= X_0 0))(assert (<= Y_0 0))")).1,
        PropertyProblem::Range(_)
    ));
    assert_eq!(of(&"(".repeat(100_000)).1, PropertyProblem::Parentheses(ParenthesisFault::TooDeep));
    let message = read("(declare-const X_0 Real))").unwrap_err().to_string();
    assert_eq!(message, "line 1, column 25: this `)` closes nothing");
}

fn spec(texts: &[&str], one_hot: OneHot) -> NormalSpec {
    let feature = |name: &str, domain| Feature { name: name.into(), domain };
    let schema = Schema {
        features: vec![
            feature("x", Domain::Real { lo: -0.1, hi: 2.5 }),
            feature("k", Domain::Category { levels: ["p", "q", "r"].map(String::from).to_vec() }),
            feature("n", Domain::Integer { lo: -1, hi: 3 }),
        ],
        task: Task::regression(vec!["a".into(), "b".into()]),
        one_hot,
        filled: vec![],
    };
    let rules: Vec<RuleText> = texts.iter().map(|t| RuleText { name: (*t).into(), text: (*t).into() }).collect();
    compile(&rules, &schema).unwrap()
}

#[test]
fn written_rules_read_back_as_the_same_question() {
    for one_hot in [OneHot::Full, OneHot::DropFirst] {
        let spec = spec(&["k == 'p' and n >= 2 => a <= x / 3 + 1", "a < b or a > 2 * b"], one_hot);
        let text = write(&spec).unwrap();
        let back = read(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let columns = spec.schema.columns();
        assert_eq!((back.schema.features.len(), back.schema.task.outputs()), (columns.len(), 2));
        let dropped = usize::from(one_hot == OneHot::DropFirst);
        // Wherever a point of the domain breaks a rule, it breaks the property, and the other way round.
        let mut seen = [0, 0];
        for x in [-0.1f32, 0.0, 1.0, 2.5] {
            for level in 0..3usize {
                for n in -1..=3i32 {
                    for (a, b) in [(0.0f32, 0.0f32), (1.0, 2.0), (5.0, 1.0), (1.0, 1.0), (-1.0, -1.0), (1.5, 1.0)] {
                        let exact = |v: f32| deepsade_spec::Rational::try_from(v).unwrap();
                        let y = [a, b];
                        let first = spec.rules.iter().any(|r| {
                            !r.claim.at(&|var| match var {
                                Var::Output(j) => exact(y[j]),
                                Var::Feature(0) => exact(x),
                                Var::Feature(_) => exact(n as f32),
                                Var::Level(_, l) => exact(f32::from(u8::from(l == level))),
                            })
                        });
                        let mut row = vec![x];
                        row.extend((dropped..3).map(|l| f32::from(u8::from(l == level))));
                        row.push(n as f32);
                        let second = back.spec.rules.iter().any(|r| {
                            !r.claim.at(&|var| match var {
                                Var::Output(j) => exact(y[j]),
                                Var::Feature(f) | Var::Level(f, _) => exact(row[f]),
                            })
                        });
                        assert_eq!(first, second, "x {x} level {level} n {n} y {y:?}\n{text}");
                        seen[usize::from(first)] += 1;
                    }
                }
            }
        }
        assert!(seen[0] > 20 && seen[1] > 20, "{seen:?}");
    }
    let none = NormalSpec { rules: vec![], ..spec(&["a <= b"], OneHot::Full) };
    assert_eq!(write(&none), Err(WriteError::NoRules));
}

#[test]
fn written_bounds_are_read_as_they_were_to_the_last_float32_number() {
    let feature = |name: &str, lo: f32, hi: f32| Feature { name: name.into(), domain: Domain::Real { lo, hi } };
    let schema = Schema {
        features: vec![feature("x", 0.1, 0.7), feature("z", -0.3, 0.9)],
        task: Task::regression(vec!["a".into()]),
        one_hot: OneHot::Full,
        filled: vec![],
    };
    let exact = |v: f32| deepsade_spec::Rational::try_from(v).unwrap();
    let around = |v: f32| [v.next_down().next_down(), v.next_down(), v, v.next_up(), v.next_up().next_up()];
    // In 'all', every x of the domain counts: the domain itself is read back. The others have a border inside it.
    for (text, whole) in [
        ("a <= 0.1", true),
        ("x > 0.3 or z < 0.6 => a <= 0.1", true),
        ("x >= 0.3 => a <= 0.1", false),
        ("x > 0.3 and z < 0.6 => a <= 0.1", false),
        ("x <= 0.5 and z >= 1 / 3 => a <= 0.1", false),
        ("x < 0.5 and 3 * z <= 0.1 => a <= 0.1", false),
    ] {
        let spec = compile(&[RuleText { name: "r".into(), text: text.into() }], &schema).unwrap();
        let written = write(&spec).unwrap();
        let back = read(&written).unwrap_or_else(|e| panic!("{e}\n{written}"));
        let domains = |schema: &Schema| schema.features.iter().map(|f| f.domain.clone()).collect::<Vec<_>>();
        assert_eq!(domains(&back.schema) == domains(&schema), whole, "{written}");
        let inside = |domain: &Domain, v: f32| matches!(domain, Domain::Real { lo, hi } if (*lo..=*hi).contains(&v));
        let mut seen = [0, 0];
        for x in [0.1, 0.3, 0.5, 0.7].into_iter().flat_map(around) {
            for z in [-0.3, 0.1 / 3.0, 1.0 / 3.0, 0.6, 0.9].into_iter().flat_map(around) {
                // Outputs break what can be broken: whether the property asks about an input is what is compared.
                let broken = |spec: &NormalSpec, domains: &[Domain]| {
                    let value = |var| match var {
                        Var::Output(_) => exact(1.0),
                        Var::Feature(0) => exact(x),
                        Var::Feature(_) | Var::Level(..) => exact(z),
                    };
                    inside(&domains[0], x) && inside(&domains[1], z) && spec.rules.iter().any(|r| !r.claim.at(&value))
                };
                let asked = broken(&spec, &domains(&schema));
                assert_eq!(asked, broken(&back.spec, &domains(&back.schema)), "{text}: x {x:?} z {z:?}\n{written}");
                seen[usize::from(asked)] += 1;
            }
        }
        assert!(seen[0] > 20 && seen[1] > 20, "{text}: {seen:?}");
    }
}

#[test]
fn a_box_between_two_float32_numbers_is_not_empty() {
    let of = |inputs: &str| {
        let text = format!("{DECLARED}(assert (>= X_1 0))(assert (<= X_1 1)){inputs}(assert (<= Y_0 0.5))");
        read(&text).map(|p| (p.schema.features[0].domain.clone(), p.spec.rules[0].claim.variables().contains(&Var::Feature(0))))
    };
    let (down, up) = (0.1f32.next_down(), 0.1f32);
    for point in
        ["(assert (= X_0 0.1))", "(assert (>= X_0 0.1))(assert (<= X_0 0.1))", "(assert (and (<= X_0 0.1) (>= X_0 0.1)))"]
    {
        // The rule asks about both neighbours: no condition on X_0 is left in it.
        assert_eq!(of(point), Ok((Domain::Real { lo: down, hi: up }, false)), "{point}");
    }
    assert_eq!(of("(assert (>= X_0 0.5))(assert (< X_0 0.75))").unwrap(), (Domain::Real { lo: 0.5, hi: 0.75 }, true));
    // What no real number satisfies is refused, not rounded into something.
    for never in
        ["(assert (> X_0 0.1))(assert (<= X_0 0.1))", "(assert (>= X_0 0.1))(assert (<= X_0 0.0999999999))", "(assert false)"]
    {
        let problem = of(&format!("(assert (>= X_0 0))(assert (<= X_0 1)){never}")).unwrap_err().problem;
        assert!(matches!(problem, PropertyProblem::Empty(_) | PropertyProblem::Contradiction), "{never}: {problem:?}");
    }
    // A part that contradicts itself falls away; the others are asked.
    let parts = "(assert (>= X_0 0))(assert (<= X_0 1))(assert (or (and (> X_0 0.1) (< X_0 0.1) (>= Y_1 0)) (>= Y_1 7)))";
    assert!(of(parts).is_ok());
}

#[test]
fn thousands_of_parts_are_read() {
    for (word, n) in [("or", 5000), ("and", 900)] {
        let parts: Vec<String> = (0..n).map(|k| format!("(>= Y_0 (+ {k} (* 2 Y_1)))")).collect();
        let property = read(&format!("{DECLARED}{BOX}(assert ({word} {}))", parts.join(" "))).unwrap();
        assert_eq!(property.spec.rules.len(), 1);
    }
}

/// Boxes side by side, each with an unsafe output: on one line or on many, with few inputs or many.
#[test]
fn large_properties_are_read_in_proportion() {
    let text = |sets: usize, inputs: usize, line: &str| {
        let declared: String = (0..inputs).map(|k| format!("(declare-const X_{k} Real){line}")).collect();
        let bounds: String = (0..inputs).map(|k| format!("(assert (>= X_{k} 0)){line}(assert (<= X_{k} 1)){line}")).collect();
        let part = |k: usize| format!("(and (>= X_0 0.{k:05}) (<= X_0 0.9) (>= Y_0 {k}.5))");
        let parts = (0..sets).map(part).collect::<Vec<_>>().join(line);
        format!("{declared}(declare-const Y_0 Real){line}{bounds}(assert (or {parts}))")
    };
    let time = |text: &str| {
        let begun = std::time::Instant::now();
        assert!(read(text).is_ok());
        begun.elapsed().as_secs_f64()
    };
    for (few, many) in [(text(1_000, 2, " "), text(16_000, 2, " ")), (text(100, 100, "\n"), text(100, 1_600, "\n"))] {
        // Sixteen times a sixteenth: as long in proportion, a sixteenth as long by the square. Both take long enough to share the
        // processor with whatever else is running, and one of several tries is enough.
        let mut tries = Vec::new();
        let fine = (0..5).any(|_| {
            let (few, many) = ((0..16).map(|_| time(&few)).sum::<f64>(), time(&many));
            tries.push((few, many));
            many < 6.0 * few
        });
        assert!(fine, "{tries:?}");
    }
}

#[test]
fn multiples_of_a_step_are_listed_or_a_comment_says_that_they_are_not() {
    let written = |hi: f32| {
        let features = vec![Feature { name: "t".into(), domain: Domain::Stepped { lo: -0.25, hi, step: 0.25 } }];
        let schema = Schema { features, task: Task::regression(vec!["y".into()]), one_hot: OneHot::Full, filled: vec![] };
        let rule = RuleText { name: "r".into(), text: "y <= t".into() };
        write(&compile(&[rule], &schema).unwrap()).unwrap()
    };
    let few = written(0.25);
    for value in ["(= X_0 (- 0.25))", "(= X_0 0)", "(= X_0 0.25)"] {
        assert!(few.contains(value), "{few}");
    }
    assert!(written(100.0).contains("; X_0 is a multiple of 0.25, which is not said here"));
}
