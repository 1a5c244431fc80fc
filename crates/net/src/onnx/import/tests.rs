//! Single operators, written by hand: what each becomes, and how each misuse is refused.

use prost::Message;

use crate::onnx::error::ImportError as E;
use crate::onnx::proto::{
    AttributeProto, Dimension, DimensionProto, FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto,
    TensorShapeProto, TensorTypeProto, TypeProto, ValueInfoProto, element,
};
use crate::{Activation, Matrix, Model, Node, Op};

mod domains;
mod fusion;

fn node(op: &str, input: &[&str], output: &str) -> NodeProto {
    let text = |s: &&str| (*s).to_string();
    NodeProto {
        op_type: op.into(),
        input: input.iter().map(text).collect(),
        output: vec![output.into()],
        name: format!("node_{output}"),
        ..NodeProto::default()
    }
}

fn with_int(mut node: NodeProto, name: &str, i: i64) -> NodeProto {
    node.attribute.push(AttributeProto { name: name.into(), i: Some(i), ..AttributeProto::default() });
    node
}

fn with_float(mut node: NodeProto, name: &str, f: f32) -> NodeProto {
    node.attribute.push(AttributeProto { name: name.into(), f: Some(f), ..AttributeProto::default() });
    node
}

fn floats(name: &str, dims: &[i64], data: &[f32]) -> TensorProto {
    let (dims, float_data) = (dims.to_vec(), data.to_vec());
    TensorProto { name: name.into(), dims, data_type: element::FLOAT, float_data, ..TensorProto::default() }
}

fn ints(name: &str, data: &[i64]) -> TensorProto {
    let (dims, int64_data) = (vec![data.len() as i64], data.to_vec());
    TensorProto { name: name.into(), dims, data_type: element::INT64, int64_data, ..TensorProto::default() }
}

fn info(name: &str, elem_type: i32, dims: &[i64]) -> ValueInfoProto {
    let dim = dims.iter().map(|&d| DimensionProto { value: (d > 0).then_some(Dimension::Value(d)) }).collect();
    let tensor_type = Some(TensorTypeProto { elem_type, shape: Some(TensorShapeProto { dim }) });
    ValueInfoProto { name: name.into(), r#type: Some(TypeProto { tensor_type }) }
}

/// A file with the input x of these dimensions (0: unknown) and the output y.
fn file(dims: &[i64], node: Vec<NodeProto>, initializer: Vec<TensorProto>) -> ModelProto {
    let graph = GraphProto {
        node,
        initializer,
        input: vec![info("x", element::FLOAT, dims)],
        output: vec![info("y", element::FLOAT, &[0, 0])],
        ..GraphProto::default()
    };
    let opset_import = vec![OperatorSetIdProto { domain: String::new(), version: 13 }];
    ModelProto { ir_version: 8, graph: Some(graph), opset_import, ..ModelProto::default() }
}

fn read(file: &ModelProto) -> Result<Model, E> {
    Model::from_bytes(&file.encode_to_vec())
}

/// What a graph on rows of three columns becomes.
fn nodes(graph: Vec<NodeProto>, constants: Vec<TensorProto>) -> Vec<Node> {
    let model = read(&file(&[0, 3], graph, constants)).unwrap();
    assert_eq!(model.inexact, Vec::<String>::new());
    model.network.nodes
}

fn refusal(graph: Vec<NodeProto>, constants: Vec<TensorProto>) -> String {
    read(&file(&[0, 3], graph, constants)).expect_err("must be refused").to_string()
}

fn one(op: Op) -> Vec<Node> {
    vec![Node { op, from: vec![0] }]
}

fn affine(scale: [f32; 3], shift: [f32; 3]) -> Op {
    Op::Affine { scale: scale.to_vec(), shift: shift.to_vec() }
}

#[test]
fn arithmetic_with_constants_is_affine() {
    let vector = || vec![floats("c", &[3], &[2.0, -4.0, 0.5])];
    assert_eq!(nodes(vec![node("Add", &["x", "c"], "y")], vector()), one(affine([1.0; 3], [2.0, -4.0, 0.5])));
    assert_eq!(nodes(vec![node("Add", &["c", "x"], "y")], vector()), one(affine([1.0; 3], [2.0, -4.0, 0.5])));
    assert_eq!(nodes(vec![node("Sub", &["x", "c"], "y")], vector()), one(affine([1.0; 3], [-2.0, 4.0, -0.5])));
    assert_eq!(nodes(vec![node("Sub", &["c", "x"], "y")], vector()), one(affine([-1.0; 3], [2.0, -4.0, 0.5])));
    assert_eq!(nodes(vec![node("Mul", &["c", "x"], "y")], vector()), one(affine([2.0, -4.0, 0.5], [0.0; 3])));
    assert_eq!(nodes(vec![node("Div", &["x", "c"], "y")], vector()), one(affine([0.5, -0.25, 2.0], [0.0; 3])));
}

#[test]
fn constants_broadcast_to_one_row() {
    for dims in [&[][..], &[1], &[1, 1]] {
        let product = nodes(vec![node("Mul", &["x", "c"], "y")], vec![floats("c", dims, &[2.0])]);
        assert_eq!(product, one(affine([2.0; 3], [0.0; 3])), "{dims:?}");
    }
    let row = nodes(vec![node("Mul", &["x", "c"], "y")], vec![floats("c", &[1, 3], &[1.0, 2.0, 3.0])]);
    assert_eq!(row, one(affine([1.0, 2.0, 3.0], [0.0; 3])));
    for dims in [&[2][..], &[3, 1], &[1, 1, 3]] {
        let count = dims.iter().product::<i64>() as usize;
        let message = refusal(vec![node("Add", &["x", "c"], "y")], vec![floats("c", dims, &vec![1.0; count])]);
        assert!(message.contains("node 'node_y' (Add)") && message.contains("broadcast"), "{message}");
    }
}

#[test]
fn broadcasting_inside_an_image_follows_numpy() {
    // Rows of shape [2, 1, 2] with one constant a channel, then flattened.
    let graph = vec![node("Mul", &["x", "c"], "t"), node("Flatten", &["t"], "y")];
    let model = read(&file(&[0, 2, 1, 2], graph, vec![floats("c", &[1, 2, 1, 1], &[3.0, 5.0])])).unwrap();
    assert_eq!(model.network.inputs, 4);
    assert_eq!(model.network.nodes, one(Op::Affine { scale: vec![3.0, 3.0, 5.0, 5.0], shift: vec![0.0; 4] }));
}

#[test]
fn an_add_joins_the_product_before_it_only_where_nothing_else_reads_that() {
    let w = || floats("w", &[3, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let dense =
        |b: [f32; 2]| Op::Dense { w: Matrix { rows: 2, cols: 3, data: vec![1.0, 3.0, 5.0, 2.0, 4.0, 6.0] }, b: b.to_vec() };
    let c = || floats("c", &[2], &[7.0, 8.0]);
    let joined = nodes(vec![node("MatMul", &["x", "w"], "t"), node("Add", &["c", "t"], "y")], vec![w(), c()]);
    assert_eq!(joined, one(dense([7.0, 8.0])));
    // t is also read by the Concat, here through another name.
    let graph = vec![
        node("MatMul", &["x", "w"], "t"),
        node("Identity", &["t"], "same"),
        node("Add", &["same", "c"], "u"),
        with_int(node("Concat", &["t", "u"], "y"), "axis", -1),
    ];
    // A runtime in which the two readers become one would join them after all: the network is read, and the file not vouched for.
    let model = read(&file(&[0, 3], graph, vec![w(), c()])).unwrap();
    assert!(model.inexact[0].starts_with("node 'node_u' (Add)"), "{:?}", model.inexact);
    let apart = model.network.nodes;
    assert_eq!(apart[0].op, dense([0.0; 2]));
    assert_eq!(apart[1].op, Op::Affine { scale: vec![1.0; 2], shift: vec![7.0, 8.0] });
    assert_eq!(apart[2], Node { op: Op::Concat, from: vec![1, 2] });
    let scaled = nodes(
        vec![node("Mul", &["x", "s"], "t"), node("Sub", &["t", "d"], "y")],
        vec![floats("s", &[], &[2.0]), floats("d", &[3], &[1.0, 2.0, 3.0])],
    );
    assert_eq!(scaled, one(affine([2.0; 3], [-1.0, -2.0, -3.0])));
}

#[test]
fn gemm_takes_either_layout_and_exact_factors() {
    let (b, c) = (|| floats("b", &[3, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), || floats("c", &[1, 2], &[1.0, 3.0]));
    let w = Matrix { rows: 2, cols: 3, data: vec![1.0, 3.0, 5.0, 2.0, 4.0, 6.0] };
    let plain = nodes(vec![node("Gemm", &["x", "b", "c"], "y")], vec![b(), c()]);
    assert_eq!(plain, one(Op::Dense { w: w.clone(), b: vec![1.0, 3.0] }));
    let transposed = with_int(node("Gemm", &["x", "w"], "y"), "transB", 1);
    assert_eq!(nodes(vec![transposed], vec![floats("w", &[2, 3], &w.data)]), one(Op::Dense { w, b: vec![0.0; 2] }));
    let negative = with_float(with_float(node("Gemm", &["x", "b", "c"], "y"), "alpha", -1.0), "beta", 2.0);
    let minus = Matrix { rows: 2, cols: 3, data: vec![-1.0, -3.0, -5.0, -2.0, -4.0, -6.0] };
    assert_eq!(nodes(vec![negative], vec![b(), c()]), one(Op::Dense { w: minus, b: vec![2.0, 6.0] }));
    // Without constants to add there is nothing that beta multiplies.
    assert_eq!(nodes(vec![with_float(node("Gemm", &["x", "b"], "y"), "beta", 3.0)], vec![b()]).len(), 1);
    assert!(refusal(vec![with_int(node("Gemm", &["x", "b"], "y"), "transA", 1)], vec![b()]).contains("transA"));
    assert!(refusal(vec![node("Gemm", &["x", "b"], "y")], vec![floats("b", &[2, 2], &[1.0; 4])]).contains("width 3"));
}

#[test]
fn factors_that_let_weights_vanish_are_refused() {
    let tiny = |alpha| with_float(node("Gemm", &["x", "b"], "y"), "alpha", alpha);
    let b = || vec![floats("b", &[3, 1], &[0.0, 2f32.powi(-100), 1.0])];
    assert!(refusal(vec![tiny(2f32.powi(-60))], b()).contains("alpha"));
    assert!([2f32.powi(-20), 0.0].map(|alpha| read(&file(&[0, 3], vec![tiny(alpha)], b())).is_ok()).iter().all(|ok| *ok));
}

#[test]
fn what_is_folded_is_reported() {
    let thirds = with_float(node("Gemm", &["x", "b"], "y"), "alpha", 3.0);
    let graphs = [
        (thirds, vec![floats("b", &[3, 1], &[0.1; 3])]),
        (node("Div", &["x", "c"], "y"), vec![floats("c", &[1], &[3.0])]),
        (node("BatchNormalization", &["x", "s", "b", "m", "v"], "y"), {
            let vector = |name, v: f32| floats(name, &[3], &[v; 3]);
            vec![vector("s", 6.0), vector("b", 1.0), vector("m", 5.0), vector("v", 4.0)]
        }),
    ];
    for (graph, constants) in graphs {
        let op = graph.op_type.clone();
        let model = read(&file(&[0, 3], vec![graph], constants)).unwrap();
        assert!(model.inexact[0].starts_with(&format!("node 'node_y' ({op})")), "{:?}", model.inexact);
        if op == "BatchNormalization" {
            // 6 / sqrt(4 + 1e-5) is 2.999996..., and 1 - 5 * 2.999996 is -13.99998.
            let Op::Affine { scale, shift } = &model.network.nodes[0].op else { panic!("not affine") };
            assert!((scale[0] - 2.999_996_2).abs() < 1e-6 && (shift[0] + 13.999_981).abs() < 1e-5);
        }
    }
}

#[test]
fn columns_are_selected() {
    let select = |columns: &[usize]| one(Op::Select(columns.to_vec()));
    let gather = with_int(node("Gather", &["x", "i"], "y"), "axis", 1);
    assert_eq!(nodes(vec![gather.clone()], vec![ints("i", &[2, -3, 2])]), select(&[2, 0, 2]));
    assert!(refusal(vec![gather], vec![ints("i", &[3])]).contains("width 3"));
    assert!(refusal(vec![node("Gather", &["x", "i"], "y")], vec![ints("i", &[0])]).contains("axis is 0"));
    let slice = |start, end, step| {
        let lists = [("s", start), ("e", end), ("a", 1), ("p", step)];
        nodes(vec![node("Slice", &["x", "s", "e", "a", "p"], "y")], lists.iter().map(|(n, v)| ints(n, &[*v])).collect())
    };
    assert_eq!(slice(1, i64::MAX, 1), select(&[1, 2]));
    assert_eq!(slice(-100, -1, 1), select(&[0, 1]));
    assert_eq!(slice(-1, i64::MIN, -1), select(&[2, 1, 0]));
    assert_eq!(slice(0, 3, 2), select(&[0, 2]));
    assert_eq!(slice(0, 3, i64::MAX), select(&[0]));
    let matrix = floats("m", &[3, 2], &[0.0, 1.0, 0.0, 0.0, 1.0, 0.0]);
    assert_eq!(nodes(vec![node("MatMul", &["x", "m"], "y")], vec![matrix]), select(&[2, 0]));
}

#[test]
fn what_only_moves_or_renames_disappears() {
    let graph = vec![
        with_int(node("Cast", &["x"], "a"), "to", 1),
        node("Dropout", &["a"], "b"),
        node("Reshape", &["b", "shape"], "c"),
        node("Flatten", &["c"], "d"),
        node("Clip", &["d", "", "max"], "e"),
        node("Clip", &["e", "zero"], "y"),
    ];
    let constants = vec![ints("shape", &[0, 1, -1]), floats("max", &[], &[f32::MAX]), floats("zero", &[], &[0.0])];
    assert_eq!(nodes(graph, constants), one(Op::Act(Activation::Relu)));
    for shape in [&[-1, 1][..], &[3, -1], &[-1, -1], &[-1], &[0, 2], &[-1, i64::MAX, 3], &[]] {
        let message = refusal(vec![node("Reshape", &["x", "s"], "y")], vec![ints("s", shape)]);
        assert!(message.contains("(Reshape)") && message.contains("first dimension"), "{shape:?}: {message}");
    }
    let training = TensorProto { data_type: element::BOOL, raw_data: Some(vec![1]), ..floats("t", &[], &[]) };
    assert!(refusal(vec![node("Dropout", &["x", "", "t"], "y")], vec![training]).contains("training"));
    let six = refusal(vec![node("Clip", &["x", "a", "b"], "y")], vec![floats("a", &[], &[0.0]), floats("b", &[], &[6.0])]);
    assert!(six.contains("[0, 6]"), "{six}");
    assert!(refusal(vec![with_int(node("Cast", &["x"], "y"), "to", 7)], vec![]).contains("int64"));
    let halves = TensorProto { data_type: 10, raw_data: Some(vec![0; 12]), ..floats("w", &[3, 2], &[]) };
    assert!(refusal(vec![node("MatMul", &["x", "w"], "y")], vec![halves]).contains("holds float16"));
}

/// What makes a constant is told apart from it: rows of a batch may then be rounded in different orders.
#[test]
fn a_constant_that_a_node_makes_is_noted() {
    let w = || vec![floats("w", &[3, 2], &[1.0; 6])];
    let plain = read(&file(&[0, 3], vec![node("MatMul", &["x", "w"], "y")], w())).unwrap();
    assert!(plain.made.is_empty() && plain.differs(true, true).is_empty());
    let made = vec![node("Identity", &["w"], "v"), node("MatMul", &["x", "v"], "y")];
    let made = read(&file(&[0, 3], made, w())).unwrap();
    assert!(
        made.differs(false, false).is_empty() && made.differs(true, false)[0].contains("makes a constant"),
        "{:?}",
        made.made
    );
    let copied = vec![node("Identity", &["x"], "v"), node("MatMul", &["v", "w"], "y")];
    assert!(read(&file(&[0, 3], copied, w())).unwrap().made.is_empty());
}

#[test]
fn a_gate_may_stand_on_either_side() {
    let one_column = || floats("m", &[3, 1], &[0.0, 1.0, 0.0]);
    let gate = |input: &[&str]| nodes(vec![node("MatMul", &["x", "m"], "g"), node("Mul", input, "y")], vec![one_column()]);
    assert_eq!(gate(&["x", "g"])[1], Node { op: Op::Gate, from: vec![0, 1] });
    assert_eq!(gate(&["g", "x"]), gate(&["x", "g"]));
    assert!(refusal(vec![node("Mul", &["x", "x"], "y")], vec![]).contains("single column"));
}

#[test]
fn a_sum_of_two_values_is_one_dense_over_both() {
    let both = |data: Vec<f32>, from: [usize; 2]| {
        let w = Matrix { rows: 3, cols: data.len() / 3, data };
        vec![Node { op: Op::Concat, from: from.to_vec() }, Node { op: Op::Dense { w, b: vec![0.0; 3] }, from: vec![1] }]
    };
    let ones = |sign: f32| {
        (0..3).flat_map(move |r| (0..6).map(move |c| if c == r { 1.0 } else { f32::from(u8::from(c == r + 3)) * sign }))
    };
    assert_eq!(nodes(vec![node("Add", &["x", "x"], "y")], vec![]), both(ones(1.0).collect(), [0, 0]));
    assert_eq!(nodes(vec![node("Sub", &["x", "x"], "y")], vec![]), both(ones(-1.0).collect(), [0, 0]));
    // A product that only the sum reads stands in it, whichever side it is on and wherever in the file.
    let w = || vec![floats("w", &[3, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0])];
    let joined = |first: bool| {
        (0..3).flat_map(move |r| {
            let column = (0..3).map(move |c| (3 * c + r + 1) as f32);
            let one = (0..3).map(move |c| f32::from(u8::from(c == r)));
            if first { column.chain(one).collect::<Vec<_>>() } else { one.chain(column).collect() }
        })
    };
    let product = || node("MatMul", &["x", "w"], "p");
    assert_eq!(nodes(vec![product(), node("Add", &["p", "x"], "y")], w()), both(joined(true).collect(), [0, 0]));
    assert_eq!(nodes(vec![product(), node("Add", &["x", "p"], "y")], w()), both(joined(false).collect(), [0, 0]));
    let later = nodes(vec![product(), node("Relu", &["x"], "r"), node("Add", &["p", "r"], "y")], w());
    let from: Vec<_> = later.iter().map(|n| n.from.clone()).collect();
    assert_eq!(from, [vec![0], vec![0, 1], vec![2]], "the product is gone, and what came after it moved up");
    // Read by something else as well, it may still be joined by a runtime: not exact.
    let shared = vec![product(), node("Relu", &["p"], "r"), node("Add", &["p", "r"], "y")];
    assert!(!read(&file(&[0, 3], shared, w())).unwrap().inexact.is_empty());
    // Twice the same product.
    let twice = read(&file(&[0, 3], vec![product(), node("Add", &["p", "p"], "y")], w())).unwrap();
    let y = twice.network.forward(&Matrix { rows: 1, cols: 3, data: vec![1.0, 0.0, -1.0] });
    assert_eq!((y.data, twice.inexact.len()), (vec![-12.0; 3], 1));
}

#[test]
fn one_row_without_a_batch_is_read_along_its_columns() {
    let graph = |axis: i64| vec![with_int(node("Concat", &["x", "x"], "t"), "axis", axis), node("Relu", &["t"], "y")];
    for axis in [0, -1] {
        assert_eq!(read(&file(&[3], graph(axis), vec![])).unwrap().network.outputs(), 6);
    }
    assert!(read(&file(&[3], graph(1), vec![])).is_err());
    let gemm = vec![node("Gemm", &["x", "w"], "y")];
    let message = read(&file(&[3], gemm, vec![floats("w", &[3, 1], &[1.0; 3])])).expect_err("no matrix").to_string();
    assert!(message.contains("without a batch"), "{message}");
    assert!(read(&file(&[0], graph(0), vec![])).is_err(), "its width must be known");
}

#[test]
fn refusals_name_the_node_and_say_what_to_do() {
    assert!(refusal(vec![node("Conv", &["x"], "y")], vec![]).contains("node 'node_y' (Conv)"));
    assert!(refusal(vec![node("Softmax", &["x"], "y")], vec![]).contains("up to the tensor 'x'"));
    assert!(refusal(vec![node("LeakyRelu", &["x"], "y")], vec![]).contains("Relu, Sigmoid and Tanh"));
    let column = vec![with_int(node("Gather", &["x", "k"], "t"), "axis", 1), node("Add", &["x", "t"], "y")];
    assert!(refusal(column, vec![ints("k", &[0])]).contains("rows of shape [3] and [1]"));
    assert!(refusal(vec![node("Div", &["c", "x"], "y")], vec![floats("c", &[], &[1.0])]).contains("divisor"));
    assert!(refusal(vec![node("Div", &["x", "c"], "y")], vec![floats("c", &[], &[0.0])]).contains("infinite"));
    assert!(refusal(vec![node("Relu", &[], "y")], vec![]).contains("it has 0 operands"));
    let foreign = NodeProto { domain: "com.microsoft".into(), ..node("FusedGemm", &["x"], "y") };
    assert!(refusal(vec![foreign], vec![]).contains("com.microsoft"));
    let double = TensorProto { data_type: 11, double_data: vec![1.0], ..floats("c", &[], &[]) };
    assert!(refusal(vec![node("Add", &["x", "c"], "y")], vec![double]).contains("double"));
    let outside = TensorProto { data_location: 1, ..floats("c", &[3], &[]) };
    assert!(refusal(vec![node("Add", &["x", "c"], "y")], vec![outside]).contains("another file"));
    assert!(refusal(vec![with_int(node("Concat", &["x", "x"], "y"), "axis", 0)], vec![]).contains("axis is 0"));
}

#[test]
fn the_file_as_a_whole_must_make_sense() {
    let good = || file(&[0, 3], vec![node("Relu", &["x"], "y")], vec![]);
    assert!(read(&good()).is_ok());
    let change = |edit: fn(&mut ModelProto)| {
        let mut file = good();
        edit(&mut file);
        read(&file).unwrap_err()
    };
    let graph = |file: &mut ModelProto| file.graph.take().unwrap();
    assert!(matches!(change(|f| f.opset_import[0].version = 6), E::Opset { found: 6, .. }));
    assert!(matches!(change(|f| f.opset_import.clear()), E::Opset { found: 0, .. }));
    assert!(matches!(change(|f| f.graph = None), E::NoGraph));
    let mut two = good();
    let mut g = graph(&mut two);
    g.input.push(info("x2", element::FLOAT, &[0, 2]));
    assert!(matches!(read(&ModelProto { graph: Some(g.clone()), ..two.clone() }), Err(E::Inputs { names }) if names.len() == 2));
    g.input.clear();
    assert!(matches!(read(&ModelProto { graph: Some(g.clone()), ..two.clone() }), Err(E::Inputs { names }) if names.is_empty()));
    for (kind, dims) in [(11, &[0, 3][..]), (1, &[0]), (1, &[0, 0]), (1, &[])] {
        g.input = vec![info("x", kind, dims)];
        assert!(matches!(read(&ModelProto { graph: Some(g.clone()), ..two.clone() }), Err(E::InputType { .. })), "{dims:?}");
    }
    g.input = vec![info("x", 1, &[0, 3])];
    g.sparse_initializer = vec![vec![]];
    assert!(matches!(read(&ModelProto { graph: Some(g.clone()), ..two.clone() }), Err(E::Sparse)));
    g.sparse_initializer.clear();
    g.output.push(info("z", 1, &[0, 3]));
    g.node.push(node("Tanh", &["x"], "z"));
    let both = ModelProto { graph: Some(g), ..two };
    assert!(matches!(read(&both), Err(E::Output { names, .. }) if names == ["y", "z"]));
    let tanh = Model::from_bytes_until(&both.encode_to_vec(), "z").unwrap();
    assert_eq!(tanh.network.nodes, one(Op::Act(Activation::Tanh)));
    assert!(matches!(Model::from_bytes_until(&both.encode_to_vec(), "nope"), Err(E::Output { .. })));
}

#[test]
fn what_two_readers_could_read_differently_is_refused() {
    let twice = with_int(with_int(node("Flatten", &["x"], "y"), "axis", 1), "axis", 0);
    assert!(refusal(vec![twice], vec![]).contains("given twice"));
    assert!(refusal(vec![with_float(node("Flatten", &["x"], "y"), "axis", 1.0)], vec![]).contains("not an integer"));
    let both = TensorProto { raw_data: Some(2f32.to_le_bytes().to_vec()), ..floats("c", &[1], &[1.0]) };
    assert!(refusal(vec![node("Add", &["x", "c"], "y")], vec![both]).contains("'c'"));
    let mut own = file(&[0, 3], vec![node("Relu", &["x"], "y")], vec![]);
    for domain in ["", "ai.onnx", "ai.onnx.ml"] {
        own.functions = vec![FunctionProto { name: "Relu".into(), domain: domain.into() }];
        assert!(matches!(read(&own), Err(E::Function { name }) if name == "Relu"), "{domain}");
    }
    let mut versions = file(&[0, 3], vec![node("Relu", &["x"], "y")], vec![]);
    versions.opset_import.push(OperatorSetIdProto { domain: "ai.onnx".into(), version: 14 });
    assert!(matches!(read(&versions), Err(E::Opsets)));
}

/// Before IR version 4 every stored tensor was listed among the inputs; since then that lets whoever runs the file replace it.
#[test]
fn a_stored_tensor_that_can_be_replaced_is_refused() {
    let mut listed = file(&[0, 3], vec![node("Mul", &["x", "s"], "y")], vec![floats("s", &[3], &[1.0, 2.0, 3.0])]);
    listed.graph.as_mut().unwrap().input.push(info("s", element::FLOAT, &[3]));
    assert!(matches!(read(&listed), Err(E::Overridable { name }) if name == "s"));
    listed.ir_version = 3;
    assert!(read(&listed).is_ok());
}

#[test]
fn a_zero_that_the_writer_left_out_is_a_zero() {
    let mut flatten = node("Flatten", &["x"], "y");
    flatten.attribute.push(AttributeProto { name: "axis".into(), kind: Some(2), ..AttributeProto::default() });
    assert!(refusal(vec![flatten], vec![]).contains("axis is 0"));
}

#[test]
fn only_our_own_bytes_are_ours() {
    let foreign = file(&[0, 3], vec![node("Relu", &["x"], "y")], vec![]).encode_to_vec();
    let model = Model::from_bytes(&foreign).unwrap();
    assert_eq!(Model::from_own_bytes(&foreign), Err(E::NotOurs));
    let mut ours = model.to_bytes().unwrap();
    assert_eq!(Model::from_own_bytes(&ours), Ok(model));
    // An unknown field at the end changes no network, but the file is no longer the one that was written.
    ours.extend([0xf8, 0x07, 0x01]);
    assert_eq!(Model::from_own_bytes(&ours), Err(E::NotOurs));
}

#[test]
fn nodes_that_the_output_does_not_need_are_not_read() {
    let graph = vec![node("Relu", &["x"], "y"), node("Loop", &["y"], "elsewhere")];
    assert_eq!(nodes(graph, vec![]), one(Op::Act(Activation::Relu)));
}
