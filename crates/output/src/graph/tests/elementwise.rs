//! Functions of one element, of two, and the choice between two.

use super::*;

/// Equal, NaN with NaN too.
fn same(found: &Value, expected: &[f32]) {
    let Value::Float(found) = found else { panic!("{found:?}") };
    assert_eq!(found.data.len(), expected.len());
    for (f, e) in found.data.iter().zip(expected) {
        assert!(f == e || f.is_nan() && e.is_nan(), "{:?} is not {expected:?}", found.data);
    }
}

fn check(op: &str, x: &[f32], y: &[f32]) {
    same(&plain(op, &[float(&[x.len()], x)]), y);
}

#[test]
fn functions_of_one_number() {
    check("Abs", &[-1.5, 2.0, -INF, NAN], &[1.5, 2.0, INF, NAN]);
    check("Neg", &[-1.5, 2.0, INF], &[1.5, -2.0, -INF]);
    check("Floor", &[-1.5, 1.5, 2.0, NAN], &[-2.0, 1.0, 2.0, NAN]);
    check("Ceil", &[-1.5, 1.5, 2.0, INF], &[-1.0, 2.0, 2.0, INF]);
    check("Relu", &[-1.5, 0.0, 2.0, -INF, NAN], &[0.0, 0.0, 2.0, 0.0, NAN]);
    check("Exp", &[0.0, -INF, INF, NAN], &[1.0, 0.0, INF, NAN]);
    check("Sqrt", &[0.0, 2.25, -1.0, INF], &[0.0, 1.5, NAN, INF]);
    check("Sigmoid", &[0.0, -INF, INF, NAN], &[0.5, 0.0, 1.0, NAN]);
    check("Identity", &[1.0, NAN], &[1.0, NAN]);
    assert_eq!(plain("Abs", &[int(&[2], &[-3, i64::MIN])]), int(&[2], &[3, i64::MIN]));
    assert_eq!(plain("Neg", &[int(&[1, 1], &[-3])]), int(&[1, 1], &[3]));
    assert_eq!(plain("IsNaN", &[float(&[3], &[1.0, NAN, INF])]), bools(&[3], &[0, 1, 0]));
    assert_eq!(plain("Not", &[bools(&[2], &[0, 1])]), bools(&[2], &[1, 0]));
    assert_eq!(plain("Identity", &[texts(&[1], &["a"])]), texts(&[1], &["a"]));
    let wrong = Wrong::Element { operand: 0, found: "bool", expected: "float" };
    assert_eq!(refused("Floor", &[bools(&[1], &[1])], &[]), wrong);
    assert_eq!(refused("Not", &[int(&[1], &[1])], &[]), Wrong::Element { operand: 0, found: "int64", expected: "bool" });
}

#[test]
fn casts() {
    let to = |code: i64, x: Value| with("Cast", &[x], &[("to", Attribute::Int(code))]);
    assert_eq!(to(1, bools(&[2], &[0, 1])), float(&[2], &[0.0, 1.0]));
    assert_eq!(to(1, int(&[2], &[-3, 1 << 40])), float(&[2], &[-3.0, (1u64 << 40) as f32]));
    assert_eq!(to(7, float(&[5], &[1.9, -1.9, 0.0, NAN, INF])), int(&[5], &[1, -1, 0, 0, i64::MAX]));
    assert_eq!(to(7, bools(&[2], &[0, 1])), int(&[2], &[0, 1]));
    assert_eq!(to(9, float(&[4], &[0.0, -0.0, 0.5, NAN])), bools(&[4], &[0, 0, 1, 1]));
    assert_eq!(to(9, int(&[2], &[0, -7])), bools(&[2], &[0, 1]));
    assert_eq!(to(1, float(&[], &[2.5])), float(&[], &[2.5]));
    let wrong = Wrong::Element { operand: 0, found: "string", expected: "float, int64 or bool" };
    assert_eq!(refused("Cast", &[texts(&[1], &["1"])], &[("to", Attribute::Int(1))]), wrong);
}

#[test]
fn clip_with_either_limit_left_out() {
    let x = float(&[4], &[-2.0, 0.5, 3.0, NAN]);
    let [lo, hi] = [float(&[], &[-1.0]), float(&[1], &[1.0])];
    same(&plain("Clip", &[x.clone(), lo.clone(), hi.clone()]), &[-1.0, 0.5, 1.0, NAN]);
    same(&plain("Clip", &[x.clone(), lo.clone()]), &[-1.0, 0.5, 3.0, NAN]);
    same(&plain("Clip", std::slice::from_ref(&x)), &[-2.0, 0.5, 3.0, NAN]);
    let only_above = call("Clip", &["x0".into(), String::new(), "x1".into()], &[]);
    same(&run_call(only_above, &[x.clone(), hi.clone()]).unwrap(), &[-2.0, 0.5, 1.0, NAN]);
    // Limits that cross: the upper one holds.
    same(&plain("Clip", &[x.clone(), hi, lo]), &[-1.0, -1.0, -1.0, NAN]);
    assert_eq!(plain("Clip", &[int(&[3], &[-9, 0, 9]), int(&[], &[-1]), int(&[], &[1])]), int(&[3], &[-1, 0, 1]));
    let many = refused("Clip", &[x.clone(), float(&[2], &[0.0, 1.0])], &[]);
    assert_eq!(many, Wrong::Shape { found: vec![2], expected: "one number" });
    let wrong = Wrong::Element { operand: 1, found: "int64", expected: "float" };
    assert_eq!(refused("Clip", &[x, int(&[], &[0])], &[]), wrong);
}

#[test]
fn arithmetic() {
    let (a, b) = ([6.0, -1.0, 0.0], [4.0, 0.0, 0.0]);
    let check = |op: &str, y: &[f32]| same(&plain(op, &[float(&[3], &a), float(&[3], &b)]), y);
    check("Add", &[10.0, -1.0, 0.0]);
    check("Sub", &[2.0, -1.0, 0.0]);
    check("Mul", &[24.0, 0.0, 0.0]);
    check("Div", &[1.5, -INF, NAN]);
    check("Max", &[6.0, 0.0, 0.0]);
    check("Min", &[4.0, -1.0, 0.0]);
    let [n, d] = [int(&[3], &[7, -7, i64::MAX]), int(&[3], &[2, 2, 1])];
    assert_eq!(plain("Div", &[n.clone(), d.clone()]), int(&[3], &[3, -3, i64::MAX]));
    assert_eq!(plain("Add", &[n.clone(), d]), int(&[3], &[9, -5, i64::MIN]));
    assert_eq!(refused("Div", &[n.clone(), int(&[], &[0])], &[]), Wrong::DivisionByZero);
    let wrong = Wrong::Element { operand: 1, found: "float", expected: "int64" };
    assert_eq!(refused("Sub", &[n, float(&[], &[0.0])], &[]), wrong);
    let wrong = Wrong::Element { operand: 0, found: "bool", expected: "float or int64" };
    assert_eq!(refused("Mul", &[bools(&[1], &[1]), float(&[], &[0.0])], &[]), wrong);
}

#[test]
fn max_and_min_of_any_number_keep_nan() {
    let all = [float(&[3], &[1.0, NAN, 5.0]), float(&[], &[3.0]), float(&[2, 1], &[2.0, NAN])];
    same(&plain("Max", &all), &[3.0, NAN, 5.0, NAN, NAN, NAN]);
    same(&plain("Min", &all), &[1.0, NAN, 2.0, NAN, NAN, NAN]);
    same(&plain("Max", &all[..1]), &[1.0, NAN, 5.0]);
    assert_eq!(plain("Min", &[int(&[2], &[1, 5]), int(&[2], &[3, 4])]), int(&[2], &[1, 4]));
    let wrong = Wrong::Element { operand: 2, found: "int64", expected: "float" };
    assert_eq!(refused("Max", &[float(&[], &[0.0]), float(&[], &[0.0]), int(&[], &[0])], &[]), wrong);
}

#[test]
fn comparisons_never_hold_for_nan() {
    let [a, b] = [float(&[4], &[1.0, 2.0, 3.0, NAN]), float(&[4], &[2.0, 2.0, 2.0, NAN])];
    let check = |op: &str, y: &[u8]| assert_eq!(plain(op, &[a.clone(), b.clone()]), bools(&[4], y), "{op}");
    check("Greater", &[0, 0, 1, 0]);
    check("Less", &[1, 0, 0, 0]);
    check("GreaterOrEqual", &[0, 1, 1, 0]);
    check("LessOrEqual", &[1, 1, 0, 0]);
    check("Equal", &[0, 1, 0, 0]);
    assert_eq!(plain("Less", &[int(&[2], &[1, 2]), int(&[], &[2])]), bools(&[2], &[1, 0]));
    assert_eq!(plain("Equal", &[bools(&[2], &[0, 1]), bools(&[1], &[1])]), bools(&[2], &[0, 1]));
    assert_eq!(plain("Equal", &[texts(&[2], &["a", "b"]), texts(&[], &["b"])]), bools(&[2], &[0, 1]));
    let wrong = Wrong::Element { operand: 1, found: "int64", expected: "float" };
    assert_eq!(refused("Greater", &[a.clone(), int(&[], &[1])], &[]), wrong);
    assert_eq!(refused("Equal", &[a, int(&[], &[1])], &[]), wrong);
}

#[test]
fn and_or() {
    let [a, b] = [bools(&[4], &[0, 0, 1, 1]), bools(&[4], &[0, 1, 0, 1])];
    assert_eq!(plain("And", &[a.clone(), b.clone()]), bools(&[4], &[0, 0, 0, 1]));
    assert_eq!(plain("Or", &[a.clone(), b]), bools(&[4], &[0, 1, 1, 1]));
    assert_eq!(plain("Or", &[a, bools(&[2, 1], &[0, 1])]), bools(&[2, 4], &[0, 0, 1, 1, 1, 1, 1, 1]));
}

#[test]
fn where_selects_and_does_not_compute() {
    let c = bools(&[2, 1], &[1, 0]);
    let chosen = plain("Where", &[c.clone(), float(&[2], &[1.0, 2.0]), float(&[], &[NAN])]);
    same(&chosen, &[1.0, 2.0, NAN, NAN]);
    assert_eq!(chosen.dims(), [2, 2]);
    assert_eq!(plain("Where", &[bools(&[], &[0]), int(&[1], &[1]), int(&[2], &[3, 4])]), int(&[2], &[3, 4]));
    assert_eq!(plain("Where", &[c.clone(), bools(&[1, 1], &[1]), bools(&[], &[0])]), bools(&[2, 1], &[1, 0]));
    let wrong = Wrong::Element { operand: 2, found: "int64", expected: "float" };
    assert_eq!(refused("Where", &[c.clone(), float(&[], &[0.0]), int(&[], &[0])], &[]), wrong);
    assert_eq!(refused("Where", &[c, float(&[3], &[0.0; 3]), float(&[2], &[0.0; 2])], &[]), shapes(&[2, 3], &[2]));
}

#[test]
fn broadcasting() {
    let x = float(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let add = |a: &Value, b: &Value, dims: &[usize], y: &[f32]| {
        assert_eq!(plain("Add", &[a.clone(), b.clone()]), float(dims, y));
        assert_eq!(plain("Add", &[b.clone(), a.clone()]), float(dims, y));
    };
    add(&x, &x, &[2, 3], &[2.0, 4.0, 6.0, 8.0, 10.0, 12.0]);
    let by_row = [11.0, 22.0, 33.0, 14.0, 25.0, 36.0];
    add(&x, &float(&[3], &[10.0, 20.0, 30.0]), &[2, 3], &by_row);
    add(&x, &float(&[1, 3], &[10.0, 20.0, 30.0]), &[2, 3], &by_row);
    add(&x, &float(&[2, 1], &[10.0, 20.0]), &[2, 3], &[11.0, 12.0, 13.0, 24.0, 25.0, 26.0]);
    add(&x, &float(&[], &[10.0]), &[2, 3], &[11.0, 12.0, 13.0, 14.0, 15.0, 16.0]);
    add(&x, &float(&[1, 1, 1], &[10.0]), &[1, 2, 3], &[11.0, 12.0, 13.0, 14.0, 15.0, 16.0]);
    add(&float(&[2, 1], &[1.0, 2.0]), &float(&[1, 2], &[10.0, 20.0]), &[2, 2], &[11.0, 21.0, 12.0, 22.0]);
    // The middle axis is missing on one side, the outer ones on the other.
    let y = [11.0, 12.0, 21.0, 22.0, 13.0, 14.0, 23.0, 24.0];
    add(&float(&[2, 1, 2], &[1.0, 2.0, 3.0, 4.0]), &float(&[2, 1], &[10.0, 20.0]), &[2, 2, 2], &y);
    add(&float(&[0, 3], &[]), &float(&[3], &[0.0; 3]), &[0, 3], &[]);
    add(&float(&[0, 1], &[]), &float(&[1, 3], &[0.0; 3]), &[0, 3], &[]);
    assert_eq!(refused("Add", &[x.clone(), float(&[2], &[0.0; 2])], &[]), shapes(&[2, 3], &[2]));
    assert_eq!(refused("Add", &[x, float(&[0, 3], &[])], &[]), shapes(&[2, 3], &[0, 3]));
}
