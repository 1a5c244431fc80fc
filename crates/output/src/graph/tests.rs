//! Operators against closed forms, by group; here names, refusals, limits, and the way through a file.

use std::collections::BTreeMap;

use deepsade_net::onnx::piece::{Attribute, Call};
use deepsade_net::{Activation, Carried, Matrix, Model, Network, Node, Op, Piece, Port, TRUNK_OUTPUT};

use super::{Array, Graph, GraphError, Value, Wrong};

mod arrange;
mod elementwise;
mod random;
mod sums;

const NAN: f32 = f32::NAN;
const INF: f32 = f32::INFINITY;

fn float(dims: &[usize], data: &[f32]) -> Value {
    Value::Float(Array { dims: dims.to_vec(), data: data.to_vec() })
}

fn int(dims: &[usize], data: &[i64]) -> Value {
    Value::Int(Array { dims: dims.to_vec(), data: data.to_vec() })
}

fn bools(dims: &[usize], data: &[u8]) -> Value {
    Value::Bool(Array { dims: dims.to_vec(), data: data.iter().map(|b| *b == 1).collect() })
}

fn texts(dims: &[usize], data: &[&str]) -> Value {
    Value::Text(Array { dims: dims.to_vec(), data: data.iter().map(|t| (*t).into()).collect() })
}

fn call(op: &str, reads: &[String], attributes: &[(&str, Attribute)]) -> Call {
    let attributes = attributes.iter().map(|(name, value)| ((*name).into(), value.clone())).collect();
    Call { op: op.into(), domain: String::new(), reads: reads.to_vec(), makes: "y".into(), attributes }
}

/// One operator on values that are all given.
fn apply(op: &str, operands: &[Value], attributes: &[(&str, Attribute)]) -> Result<Value, GraphError> {
    let names: Vec<String> = (0..operands.len()).map(|k| format!("x{k}")).collect();
    run_call(call(op, &names, attributes), operands)
}

/// One call that reads given values by the names x0, x1, ...
fn run_call(call: Call, operands: &[Value]) -> Result<Value, GraphError> {
    let names: Vec<String> = (0..operands.len()).map(|k| format!("x{k}")).collect();
    let given: Vec<&str> = names.iter().map(String::as_str).collect();
    let graph = Graph::new(&Piece { calls: vec![call], tensors: Vec::new() }, &given)?;
    graph.run(operands.to_vec(), &["y"]).map(|mut values| values.remove(0))
}

fn plain(op: &str, operands: &[Value]) -> Value {
    apply(op, operands, &[]).unwrap()
}

fn with(op: &str, operands: &[Value], attributes: &[(&str, Attribute)]) -> Value {
    apply(op, operands, attributes).unwrap()
}

fn refused(op: &str, operands: &[Value], attributes: &[(&str, Attribute)]) -> Wrong {
    match apply(op, operands, attributes) {
        Err(GraphError::Call { makes, op: named, why }) if makes == "y" && named == op => why,
        other => panic!("{op} gave {other:?}"),
    }
}

fn shapes(a: &[usize], b: &[usize]) -> Wrong {
    Wrong::Shapes { a: a.to_vec(), b: b.to_vec() }
}

#[test]
fn every_wanted_tensor_comes_in_the_order_asked_for_even_twice_or_given_or_constant() {
    let mut piece = Piece::default();
    piece.floats("one", &[], vec![1.0]);
    piece.call("Add", &["x", "one"], "more");
    piece.call("Mul", &["more", "more"], "square");
    let graph = Graph::new(&piece, &["x"]).unwrap();
    let x = float(&[2], &[1.0, 2.0]);
    let wanted = graph.run(vec![x.clone()], &["square", "x", "one", "more", "square"]).unwrap();
    let square = float(&[2], &[4.0, 9.0]);
    assert_eq!(wanted, [square.clone(), x, float(&[], &[1.0]), float(&[2], &[2.0, 3.0]), square]);
}

#[test]
fn calls_that_nothing_wanted_needs_do_not_run() {
    let mut piece = Piece::default();
    piece.call("Add", &["x", "z"], "does_not_fit");
    piece.call("Neg", &["x"], "y");
    let graph = Graph::new(&piece, &["x", "z"]).unwrap();
    let given = vec![float(&[2], &[1.0, 2.0]), float(&[3], &[0.0; 3])];
    assert_eq!(graph.run(given.clone(), &["y"]).unwrap(), [float(&[2], &[-1.0, -2.0])]);
    assert!(matches!(graph.run(given, &["does_not_fit"]), Err(GraphError::Call { .. })));
}

#[test]
fn refuses_what_it_does_not_know_and_names_the_call() {
    let refuse = |call: Call| match Graph::new(&Piece { calls: vec![call], tensors: Vec::new() }, &["x0", "x1"]) {
        Err(GraphError::Call { why, .. }) => why,
        other => panic!("{other:?}"),
    };
    let names = |n: usize| (0..n).map(|k| format!("x{k}")).collect::<Vec<_>>();
    assert_eq!(refuse(call("Erf", &names(1), &[])), Wrong::Operator { domain: String::new() });
    let foreign = Call { domain: "com.example".into(), ..call("Add", &names(2), &[]) };
    assert_eq!(refuse(foreign), Wrong::Operator { domain: "com.example".into() });
    assert_eq!(refuse(call("Neg", &["z".into()], &[])), Wrong::Missing { name: "z".into() });
    assert_eq!(refuse(call("Neg", &["y".into()], &[])), Wrong::Missing { name: "y".into() });
    assert_eq!(refuse(call("Add", &names(1), &[])), Wrong::Operands { found: 1, least: 2, most: 2 });
    assert_eq!(refuse(call("Add", &["x0".into(), String::new()], &[])), Wrong::Absent { operand: 1 });
    assert_eq!(refuse(call("Max", &["x0".into(), String::new()], &[])), Wrong::Absent { operand: 1 });
    let one = Attribute::Int(1);
    assert_eq!(refuse(call("Neg", &names(1), &[("axis", one.clone())])), Wrong::UnknownAttribute { name: "axis".into() });
    let twice = [("axis", one.clone()), ("axis", one.clone())];
    assert_eq!(refuse(call("Softmax", &names(1), &twice)), Wrong::UnknownAttribute { name: "axis".into() });
    let text = Attribute::Texts(Vec::new());
    assert!(matches!(refuse(call("Softmax", &names(1), &[("axis", text)])), Wrong::Attribute { name: "axis", .. }));
    assert!(matches!(refuse(call("Concat", &names(1), &[])), Wrong::Attribute { name: "axis", .. }));
    assert!(matches!(refuse(call("Cast", &names(1), &[("to", Attribute::Int(8))])), Wrong::Attribute { name: "to", .. }));
    let last = [("select_last_index", one)];
    assert!(matches!(refuse(call("ArgMax", &names(1), &last)), Wrong::Attribute { name: "select_last_index", .. }));
    let message = Graph::new(&Piece { calls: vec![call("Erf", &names(1), &[])], tensors: Vec::new() }, &["x0"]).unwrap_err();
    assert_eq!(message.to_string(), "the call that makes 'y' (Erf): the operator is not known (domain '')");
}

#[test]
fn names_and_sizes_must_be_what_they_claim() {
    let twice = |name: &str| GraphError::Twice { name: name.into() };
    let mut piece = Piece::default();
    piece.call("Neg", &["x"], "y");
    assert_eq!(Graph::new(&piece, &["x", "x"]).unwrap_err(), twice("x"));
    assert_eq!(Graph::new(&piece, &["x", "y"]).unwrap_err(), twice("y"));
    let graph = Graph::new(&piece, &["x"]).unwrap();
    assert_eq!(graph.run(Vec::new(), &["y"]).unwrap_err(), GraphError::Given { found: 0, expected: 1 });
    assert_eq!(graph.run(vec![float(&[], &[1.0])], &["z"]).unwrap_err(), GraphError::Unknown { name: "z".into() });
    for dims in [vec![2, 2], vec![usize::MAX, 2], vec![0, usize::MAX]] {
        let ragged = graph.run(vec![float(&dims, &[1.0])], &["y"]).unwrap_err();
        assert_eq!(ragged, GraphError::Size { name: "x".into(), dims, found: 1 });
    }
    let huge = graph.run(vec![float(&[0, usize::MAX], &[])], &["y"]).unwrap_err();
    assert!(matches!(huge, GraphError::Size { found: 0, .. }));
    piece.floats("w", &[3], vec![0.0; 2]);
    assert_eq!(Graph::new(&piece, &["x"]).unwrap_err(), GraphError::Size { name: "w".into(), dims: vec![3], found: 2 });
}

#[test]
fn a_result_that_is_too_large_to_be_meant_is_refused_before_it_is_made() {
    let n = 5000;
    let (row, column) = (float(&[1, n], &vec![0.0; n]), float(&[n, 1], &vec![0.0; n]));
    let large = Wrong::TooLarge { dims: vec![n, n], most: 1 << 24 };
    assert_eq!(refused("Add", &[row.clone(), column.clone()], &[]), large);
    assert_eq!(refused("MatMul", &[column, row], &[]), large);
    let text = texts(&[1], &[&"a".repeat(10_000)]);
    let many = int(&[n], &vec![0; n]);
    assert_eq!(refused("Gather", &[text, many], &[]), Wrong::TooLong { most: 1 << 24 });
    let none = float(&[0, 1 << 20], &[]);
    assert!(matches!(refused("Gather", &[none, int(&[17], &[0; 17])], &[("axis", Attribute::Int(0))]), Wrong::TooLarge { .. }));
}

#[test]
fn rows_of_a_network_enter_and_leave() {
    let rows = Matrix { rows: 2, cols: 3, data: vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0] };
    assert_eq!(Matrix::try_from(Value::from(rows.clone())).unwrap(), rows);
    let refused = Matrix::try_from(int(&[1, 1], &[1])).unwrap_err();
    assert_eq!(refused, GraphError::NotRows { element: "int64", dims: vec![1, 1] });
    assert!(Matrix::try_from(float(&[2], &[1.0, 2.0])).is_err());
}

#[test]
fn a_piece_read_back_from_a_file_computes_the_same() {
    let node = Node { op: Op::Act(Activation::Relu), from: vec![0] };
    let trunk = Model::new(Network { inputs: 2, nodes: vec![node] }).to_trunk_bytes().unwrap();
    let mut piece = Piece::default();
    let axes = [("axes", Attribute::Ints(vec![1])), ("keepdims", Attribute::Int(0))];
    piece.calls.push(Call { makes: "step_max".into(), ..call("ReduceMax", &[TRUNK_OUTPUT.into()], &axes) });
    piece.floats("step_two", &[], vec![2.0]);
    piece.call("Mul", &["step_max", "step_two"], "step_double");
    let file = Carried::read(&trunk).unwrap().with(&piece, &[Port::rows("step_double", "float", None)], &BTreeMap::new());
    let read = Carried::read(&file).unwrap().piece(&["step_"]).unwrap();
    assert_eq!(read, piece);
    let graph = Graph::new(&read, &[TRUNK_OUTPUT]).unwrap();
    let scores = float(&[2, 2], &[1.0, 3.0, 5.0, 4.0]);
    assert_eq!(graph.run(vec![scores], &["step_double"]).unwrap(), [float(&[2], &[6.0, 10.0])]);
}
