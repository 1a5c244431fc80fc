//! Products of matrices, what elements on an axis have in common, and texts as numbers.

use super::*;

fn ints(name: &'static str, i: &[i64]) -> (&'static str, Attribute) {
    (name, Attribute::Ints(i.to_vec()))
}

fn flag(name: &'static str, i: i64) -> (&'static str, Attribute) {
    (name, Attribute::Int(i))
}

#[test]
fn products_of_small_matrices() {
    let (a, b) = (float(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), float(&[3, 2], &[1.0, 0.0, 0.0, 1.0, 1.0, 1.0]));
    let y = [4.0, 5.0, 10.0, 11.0];
    assert_eq!(plain("MatMul", &[a.clone(), b.clone()]), float(&[2, 2], &y));
    assert_eq!(plain("Gemm", &[a.clone(), b.clone()]), float(&[2, 2], &y));
    let turned = [plain("Transpose", std::slice::from_ref(&a)), plain("Transpose", std::slice::from_ref(&b))];
    assert_eq!(with("Gemm", &turned, &[flag("transA", 1), flag("transB", 1)]), float(&[2, 2], &y));
    let factors = [("alpha", Attribute::Float(2.0)), ("beta", Attribute::Float(-1.0))];
    let gemm = |c: Value| with("Gemm", &[a.clone(), b.clone(), c], &factors);
    assert_eq!(gemm(float(&[2], &[1.0, 2.0])), float(&[2, 2], &[7.0, 8.0, 19.0, 20.0]));
    assert_eq!(gemm(float(&[2, 1], &[1.0, 2.0])), float(&[2, 2], &[7.0, 9.0, 18.0, 20.0]));
    assert_eq!(gemm(float(&[], &[1.0])), float(&[2, 2], &[7.0, 9.0, 19.0, 21.0]));
    assert_eq!(plain("MatMul", &[float(&[2, 0], &[]), float(&[0, 1], &[])]), float(&[2, 1], &[0.0, 0.0]));
    assert_eq!(plain("MatMul", &[float(&[0, 3], &[]), b.clone()]), float(&[0, 2], &[]));
    assert_eq!(refused("MatMul", &[a.clone(), a.clone()], &[]), shapes(&[2, 3], &[2, 3]));
    assert_eq!(refused("Gemm", &[a.clone(), b.clone(), float(&[3], &[0.0; 3])], &[]), shapes(&[2, 2], &[3]));
    assert_eq!(refused("Gemm", &[a.clone(), b, float(&[1, 1, 1], &[0.0])], &[]), shapes(&[2, 2], &[1, 1, 1]));
    assert!(matches!(refused("MatMul", &[a, float(&[3], &[0.0; 3])], &[]), Wrong::Shape { .. }));
}

#[test]
fn reductions_over_some_or_all_axes() {
    let x = float(&[2, 3], &[3.0, 1.0, 2.0, -4.0, -6.0, -5.0]);
    let reduce = |op: &str, attributes: &[(&str, Attribute)]| with(op, std::slice::from_ref(&x), attributes);
    assert_eq!(reduce("ReduceSum", &[ints("axes", &[1])]), float(&[2, 1], &[6.0, -15.0]));
    assert_eq!(reduce("ReduceMax", &[ints("axes", &[-1]), flag("keepdims", 0)]), float(&[2], &[3.0, -4.0]));
    assert_eq!(reduce("ReduceMin", &[ints("axes", &[0])]), float(&[1, 3], &[-4.0, -6.0, -5.0]));
    assert_eq!(reduce("ReduceSum", &[]), float(&[1, 1], &[-9.0]));
    assert_eq!(reduce("ReduceMax", &[ints("axes", &[1, 0]), flag("keepdims", 0)]), float(&[], &[3.0]));
    assert_eq!(reduce("ReduceMin", &[flag("noop_with_empty_axes", 1)]), x);
    assert_eq!(plain("ReduceSum", &[x.clone(), int(&[1], &[0])]), float(&[1, 3], &[-1.0, -5.0, -3.0]));
    assert_eq!(plain("ReduceSum", &[x.clone(), int(&[0], &[])]), float(&[1, 1], &[-9.0]));
    assert_eq!(plain("ReduceMax", &[int(&[2, 2], &[1, 7, 3, 4]), int(&[1], &[1])]), int(&[2, 1], &[7, 4]));
    // The middle axis of three: the sum over j of 4i + 2j + k is 8i + 2 + 2k.
    let cube = float(&[2, 2, 2], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    assert_eq!(with("ReduceSum", &[cube], &[ints("axes", &[1]), flag("keepdims", 0)]), float(&[2, 2], &[2.0, 4.0, 10.0, 12.0]));
    assert_eq!(with("ReduceSum", &[float(&[2, 0], &[])], &[ints("axes", &[1])]), float(&[2, 1], &[0.0, 0.0]));
    assert_eq!(with("ReduceMax", &[float(&[1, 0], &[])], &[ints("axes", &[1])]), float(&[1, 1], &[-INF]));
    let Value::Float(kept) = with("ReduceMax", &[float(&[1, 3], &[1.0, NAN, 2.0])], &[]) else { panic!() };
    assert!(kept.data[0].is_nan());
    assert_eq!(refused("ReduceSum", std::slice::from_ref(&x), &[ints("axes", &[2])]), Wrong::Axis { axis: 2, rank: 2 });
    let twice = refused("ReduceSum", &[x.clone(), int(&[1], &[0])], &[ints("axes", &[0])]);
    assert!(matches!(twice, Wrong::Attribute { name: "axes", .. }));
    assert!(matches!(refused("ReduceMin", &[bools(&[1], &[1])], &[]), Wrong::Element { .. }));
}

#[test]
fn argmax_takes_the_first_of_equals_and_nan_never_wins() {
    let x = float(&[5, 3], &[1.0, 3.0, 3.0, NAN, 1.0, 2.0, 2.0, NAN, 1.0, NAN, NAN, NAN, NAN, -INF, NAN]);
    let over = |at: i64, keep: i64| with("ArgMax", std::slice::from_ref(&x), &[flag("axis", at), flag("keepdims", keep)]);
    assert_eq!(over(1, 0), int(&[5], &[1, 2, 0, 0, 1]));
    assert_eq!(over(-1, 1), int(&[5, 1], &[1, 2, 0, 0, 1]));
    assert_eq!(over(0, 0), int(&[3], &[2, 0, 0]));
    assert_eq!(plain("ArgMax", &[int(&[3], &[1, 5, 5])]), int(&[1], &[1]));
    assert!(matches!(refused("ArgMax", &[float(&[2, 0], &[])], &[flag("axis", 1)]), Wrong::Shape { .. }));
    assert_eq!(refused("ArgMax", &[float(&[], &[1.0])], &[]), Wrong::Axis { axis: 0, rank: 0 });
}

#[test]
fn softmax_of_logarithms_are_shares() {
    let ln = |x: &[f32]| x.iter().map(|x| x.ln()).collect::<Vec<_>>();
    let close = |found: Value, expected: &[f32]| {
        let Value::Float(found) = found else { panic!("{found:?}") };
        assert!(found.data.iter().zip(expected).all(|(f, e)| (f - e).abs() < 1e-6), "{:?}", found.data);
    };
    let x = float(&[2, 2], &ln(&[1.0, 3.0, 4.0, 1.0]));
    close(plain("Softmax", std::slice::from_ref(&x)), &[0.25, 0.75, 0.8, 0.2]);
    close(with("Softmax", &[x], &[flag("axis", 0)]), &[0.2, 0.75, 0.8, 0.25]);
    close(plain("Softmax", &[float(&[1, 3], &[1000.0, 1000.0, -1000.0])]), &[0.5, 0.5, 0.0]);
}

#[test]
fn texts_become_numbers() {
    let keys = |k: &[&str]| ("keys_strings", Attribute::Texts(k.iter().map(|k| (*k).into()).collect()));
    let values = ("values_floats", Attribute::Floats(vec![1.0, 2.0]));
    let other = ("default_float", Attribute::Float(-1.0));
    let encode = |attributes: &[(&str, Attribute)], x: Value| {
        run_call(Call { domain: "ai.onnx.ml".into(), ..call("LabelEncoder", &["x0".into()], attributes) }, &[x])
    };
    let x = texts(&[2, 2], &["b", "a", "", "A"]);
    let numbers = encode(&[keys(&["a", "b"]), values.clone(), other], x.clone()).unwrap();
    assert_eq!(numbers, float(&[2, 2], &[2.0, 1.0, -1.0, -1.0]));
    assert!(encode(&[keys(&["a", "b"]), values.clone()], x.clone()).is_ok());
    assert!(encode(&[keys(&["a", "b"]), values.clone()], float(&[1], &[1.0])).is_err());
    for unfit in [&["a"][..], &["a", "a"]] {
        assert!(encode(&[keys(unfit), values.clone()], x.clone()).is_err());
    }
    assert!(encode(&[keys(&["a", "b"])], x).is_err());
}

#[test]
fn products_with_zeros_left_out_are_the_same_bits() {
    let (n, k, m) = (9, 40, 17);
    let odd = |i: usize| if i % 11 == 3 { -f32::from((i % 7) as u8) / 3.0 } else { 0.0 };
    let a: Vec<f32> = (0..n * k).map(odd).collect();
    let b: Vec<f32> = (0..k * m).map(|i| ((i * 37 % 101) as f32 - 50.0) * [1e-42, 1.0, 3e37][i % 3]).collect();
    // A last row without zeros makes the same matrix a full one.
    let full: Vec<f32> = a.iter().copied().chain(vec![1.0; n * k]).collect();
    let bits =
        |y: &Value| if let Value::Float(y) = y { y.data.iter().map(|v| v.to_bits()).collect::<Vec<_>>() } else { Vec::new() };
    let right = float(&[k, m], &b);
    let sparse = bits(&plain("MatMul", &[float(&[n, k], &a), right.clone()]));
    assert_eq!(sparse, bits(&plain("MatMul", &[float(&[2 * n, k], &full), right.clone()]))[..n * m]);
    let turned: Vec<f32> = (0..m).flat_map(|c| (0..k).map(move |r| (r, c))).map(|(r, c)| b[r * m + c]).collect();
    let by_columns = [("transB", Attribute::Int(1))];
    assert_eq!(sparse, bits(&with("Gemm", &[float(&[n, k], &a), float(&[m, k], &turned)], &by_columns)));
    // 0 times what is infinite or no number is no number.
    for wild in [INF, NAN] {
        let mut b = b.clone();
        b[0] = wild;
        let Value::Float(y) = plain("MatMul", &[float(&[n, k], &vec![0.0; n * k]), float(&[k, m], &b)]) else { panic!() };
        assert!(y.data[0].is_nan());
    }
}
