//! Other shapes, other orders, several values in one, and elements that indices point at.

use super::*;

fn axis(i: i64) -> [(&'static str, Attribute); 1] {
    [("axis", Attribute::Int(i))]
}

/// 0, 1, 2, ... in a shape.
fn count(dims: &[usize]) -> Value {
    float(dims, &(0..dims.iter().product()).map(|i: usize| i as f32).collect::<Vec<_>>())
}

#[test]
fn concat_on_either_axis() {
    let [a, b] = [count(&[2, 2]), float(&[2, 1], &[8.0, 9.0])];
    assert_eq!(with("Concat", &[a.clone(), b.clone()], &axis(1)), float(&[2, 3], &[0.0, 1.0, 8.0, 2.0, 3.0, 9.0]));
    assert_eq!(with("Concat", &[b.clone(), a.clone()], &axis(-1)), float(&[2, 3], &[8.0, 0.0, 1.0, 9.0, 2.0, 3.0]));
    assert_eq!(with("Concat", &[a.clone(), a.clone()], &axis(0)), float(&[4, 2], &[0.0, 1.0, 2.0, 3.0, 0.0, 1.0, 2.0, 3.0]));
    assert_eq!(with("Concat", &[texts(&[1], &["a"]), texts(&[0], &[]), texts(&[1], &["b"])], &axis(0)), texts(&[2], &["a", "b"]));
    assert_eq!(with("Concat", &[bools(&[1], &[1])], &axis(0)), bools(&[1], &[1]));
    assert_eq!(refused("Concat", &[a.clone(), b.clone()], &axis(0)), shapes(&[2, 2], &[2, 1]));
    assert_eq!(refused("Concat", &[a.clone(), float(&[2], &[0.0; 2])], &axis(0)), shapes(&[2, 2], &[2]));
    assert_eq!(refused("Concat", &[a.clone(), b], &axis(2)), Wrong::Axis { axis: 2, rank: 2 });
    let wrong = Wrong::Element { operand: 1, found: "int64", expected: "float" };
    assert_eq!(refused("Concat", &[a, int(&[2, 1], &[0, 0])], &axis(1)), wrong);
}

#[test]
fn flatten_and_reshape() {
    let x = count(&[2, 3, 2]);
    assert_eq!(plain("Flatten", std::slice::from_ref(&x)), count(&[2, 6]));
    for (at, dims) in [(0, [1, 12]), (2, [6, 2]), (3, [12, 1]), (-1, [6, 2])] {
        assert_eq!(with("Flatten", std::slice::from_ref(&x), &axis(at)), count(&dims), "{at}");
    }
    assert_eq!(refused("Flatten", std::slice::from_ref(&x), &axis(4)), Wrong::Axis { axis: 4, rank: 3 });
    let to = |shape: &[i64]| [x.clone(), int(&[shape.len()], shape)];
    for (shape, dims) in [(&[-1, 4][..], &[3, 4][..]), (&[0, -1], &[2, 6]), (&[12], &[12]), (&[0, 0, 2, 1], &[2, 3, 2, 1])] {
        assert_eq!(plain("Reshape", &to(shape)), count(dims), "{shape:?}");
    }
    for shape in [&[5, -1][..], &[-1, -1], &[7], &[-2, 6], &[1, 1, 1, 0], &[i64::MIN]] {
        assert_eq!(refused("Reshape", &to(shape), &[]), Wrong::Reshape { from: vec![2, 3, 2], to: shape.to_vec() });
    }
    assert!(matches!(refused("Reshape", &to(&[i64::MAX, i64::MAX]), &[]), Wrong::TooLarge { .. }));
    assert_eq!(plain("Reshape", &[float(&[1], &[2.0]), int(&[0], &[])]), float(&[], &[2.0]));
    let zero = [("allowzero", Attribute::Int(1))];
    assert_eq!(with("Reshape", &[float(&[0, 3], &[]), int(&[2], &[5, 0])], &zero), float(&[5, 0], &[]));
}

#[test]
fn squeeze_and_unsqueeze() {
    let x = count(&[1, 3, 1]);
    let axes = |a: &[i64]| int(&[a.len()], a);
    assert_eq!(plain("Squeeze", std::slice::from_ref(&x)), count(&[3]));
    assert_eq!(plain("Squeeze", &[x.clone(), axes(&[-1])]), count(&[1, 3]));
    assert!(matches!(refused("Squeeze", &[x.clone(), axes(&[1])], &[]), Wrong::Shape { .. }));
    assert_eq!(refused("Squeeze", &[x.clone(), axes(&[0, -3])], &[]), Wrong::Axis { axis: -3, rank: 3 });
    assert_eq!(plain("Unsqueeze", &[count(&[3, 2]), axes(&[1])]), count(&[3, 1, 2]));
    assert_eq!(plain("Unsqueeze", &[count(&[3]), axes(&[0, -1])]), x);
    assert_eq!(refused("Unsqueeze", &[count(&[3]), axes(&[2])], &[]), Wrong::Axis { axis: 2, rank: 2 });
    assert_eq!(refused("Unsqueeze", &[x, axes(&[i64::MIN])], &[]), Wrong::Axis { axis: i64::MIN, rank: 4 });
}

#[test]
fn transpose_of_a_matrix() {
    let (x, turned) = (count(&[2, 3]), float(&[3, 2], &[0.0, 3.0, 1.0, 4.0, 2.0, 5.0]));
    let perm = |p: &[i64]| [("perm", Attribute::Ints(p.to_vec()))];
    assert_eq!(plain("Transpose", std::slice::from_ref(&x)), turned);
    assert_eq!(with("Transpose", std::slice::from_ref(&x), &perm(&[1, 0])), turned);
    assert_eq!(with("Transpose", std::slice::from_ref(&x), &perm(&[0, 1])), x);
    assert!(matches!(refused("Transpose", &[x], &perm(&[0, 0])), Wrong::Attribute { name: "perm", .. }));
    assert!(matches!(refused("Transpose", &[count(&[2])], &[]), Wrong::Shape { .. }));
}

#[test]
fn gather_across_an_axis() {
    let x = count(&[2, 3]);
    let take = |indices: Value, at: i64| with("Gather", &[x.clone(), indices], &axis(at));
    assert_eq!(take(int(&[2], &[2, -3]), 1), float(&[2, 2], &[2.0, 0.0, 5.0, 3.0]));
    assert_eq!(take(int(&[], &[1]), 1), float(&[2], &[1.0, 4.0]));
    assert_eq!(take(int(&[3], &[1, 0, -1]), 0), float(&[3, 3], &[3.0, 4.0, 5.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0]));
    assert_eq!(take(int(&[], &[-1]), 0), float(&[3], &[3.0, 4.0, 5.0]));
    assert_eq!(take(int(&[0], &[]), 1), float(&[2, 0], &[]));
    assert_eq!(plain("Gather", &[texts(&[2], &["a", "b"]), int(&[1, 2], &[1, 1])]), texts(&[1, 2], &["b", "b"]));
    for i in [3, -4, i64::MAX, i64::MIN] {
        assert_eq!(refused("Gather", &[x.clone(), int(&[1], &[i])], &axis(1)), Wrong::Index { index: i, len: 3 });
    }
    assert_eq!(refused("Gather", &[x.clone(), int(&[], &[0])], &axis(-3)), Wrong::Axis { axis: -3, rank: 2 });
    let wrong = Wrong::Element { operand: 1, found: "float", expected: "int64" };
    assert_eq!(refused("Gather", &[x, float(&[], &[0.0])], &[]), wrong);
}

#[test]
fn gather_of_single_elements() {
    let x = count(&[3, 3]);
    let take = |indices: Value, at: i64| with("GatherElements", &[x.clone(), indices], &axis(at));
    // y[i][j] = x[i][index[i][j]] on axis 1, x[index[i][j]][j] on axis 0: the examples of the standard.
    assert_eq!(take(int(&[3, 2], &[0, 0, 1, 0, -1, 1]), 1), float(&[3, 2], &[0.0, 0.0, 4.0, 3.0, 8.0, 7.0]));
    assert_eq!(take(int(&[2, 3], &[1, 2, 0, 2, 0, 0]), 0), float(&[2, 3], &[3.0, 7.0, 2.0, 6.0, 1.0, 2.0]));
    // Fewer rows of indices than there are rows, and more indices in a row than there are columns.
    assert_eq!(take(int(&[1, 4], &[2, 1, 0, 2]), 1), float(&[1, 4], &[2.0, 1.0, 0.0, 2.0]));
    let cube = with("GatherElements", &[count(&[2, 2, 2]), int(&[2, 1, 2], &[1, 0, 0, 1])], &axis(1));
    assert_eq!(cube, float(&[2, 1, 2], &[2.0, 1.0, 4.0, 7.0]));
    assert_eq!(refused("GatherElements", &[x.clone(), int(&[1, 1], &[3])], &axis(1)), Wrong::Index { index: 3, len: 3 });
    assert_eq!(refused("GatherElements", &[x.clone(), int(&[4, 1], &[0; 4])], &axis(1)), shapes(&[3, 3], &[4, 1]));
    assert_eq!(refused("GatherElements", &[x, int(&[1], &[0])], &axis(1)), shapes(&[3, 3], &[1]));
}
