//! What runtimes merge, spelled in many ways: none of it is read as exact, and neighbours that stay apart are.

use super::*;

/// What import reports of a graph on rows of `width` columns.
fn inexact(width: i64, graph: Vec<NodeProto>, constants: Vec<TensorProto>) -> Vec<String> {
    read(&file(&[0, width], graph, constants)).unwrap().inexact
}

/// The operators one after the other, each with its operands after the first; from x to y.
fn chain(ops: &[(&str, &[&str])]) -> Vec<NodeProto> {
    let name = |k: usize| {
        if k == 0 {
            "x".into()
        } else if k == ops.len() {
            "y".into()
        } else {
            format!("t{k}")
        }
    };
    let step = |(k, (op, operands)): (usize, &(&str, &[&str]))| {
        let (from, to) = (name(k), name(k + 1));
        let made = node(op, &[&[from.as_str()], *operands].concat(), &to);
        match *op {
            "Concat" => with_int(made, "axis", 1),
            "Cast" => with_int(made, "to", 1),
            _ => made,
        }
    };
    ops.iter().enumerate().map(step).collect()
}

/// Constants under the names that the chains below use.
fn constants() -> Vec<TensorProto> {
    vec![
        floats("s", &[], &[1e-30]),
        floats("s1", &[1], &[1e-30]),
        floats("s11", &[1, 1], &[1e-30]),
        floats("many", &[3], &[1e-30; 3]),
        floats("one", &[], &[1.0]),
        floats("ones", &[3], &[1.0; 3]),
        floats("zero", &[], &[0.0]),
        floats("zeros", &[3], &[0.0; 3]),
        floats("c", &[3], &[1.0, 2.0, 3.0]),
        floats("w", &[3, 3], &[1e10, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]),
        floats("i", &[3, 3], &[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]),
        floats("p", &[3, 3], &[0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0]),
        ints("same", &[0, -1]),
        ints("all", &[0]),
        ints("end", &[3]),
        ints("axis", &[1]),
    ]
}

#[test]
fn a_single_factor_beside_a_matmul_is_never_exact() {
    for matrix in ["w", "i", "p"] {
        for (op, scale) in [("Mul", "s"), ("Mul", "s1"), ("Mul", "s11"), ("Div", "s"), ("Div", "s11")] {
            for between in [
                &[][..],
                &[("Identity", &[][..])],
                &[("Dropout", &[]), ("Cast", &[])],
                &[("Add", &["zero"])],
                &[("Sub", &["zero"]), ("Add", &["zeros"])],
                &[("Mul", &["one"])],
                &[("Mul", &["ones"]), ("Div", &["one"])],
                &[("Reshape", &["same"])],
                &[("Clip", &[])],
                &[("Concat", &[])],
                &[("Slice", &["all", "end", "axis"])],
                &[("Concat", &["x"]), ("Slice", &["all", "end", "axis"])],
            ] {
                let (factor, product) = ([(op, &[scale][..])], [("MatMul", &[matrix][..])]);
                for graph in [[&factor, between, &product].concat(), [&product, between, &factor].concat()] {
                    let found = inexact(3, chain(&graph), constants());
                    assert!(found.iter().any(|note| note.contains(&format!("({op})"))), "{graph:?}: {found:?}");
                }
            }
        }
    }
    // The factor may come first, be a Constant node, or be read elsewhere too.
    let mut constant = node("Constant", &[], "k");
    constant.attribute.push(AttributeProto { name: "value_float".into(), f: Some(1e30), ..AttributeProto::default() });
    let graph = vec![
        constant,
        node("Mul", &["k", "x"], "t"),
        node("MatMul", &["t", "w"], "u"),
        with_int(node("Concat", &["t", "u"], "y"), "axis", 1),
    ];
    assert_eq!(inexact(3, graph, constants()).len(), 1);
    // On a single column a vector of one number is a single factor.
    let column = vec![node("MatMul", &["x", "m"], "t"), node("Mul", &["t", "s1"], "y")];
    assert_eq!(inexact(1, column, vec![floats("m", &[1, 1], &[2.0]), floats("s1", &[1], &[1e-30])]).len(), 1);
}

#[test]
fn factors_that_stay_where_they_are_stay_exact() {
    for graph in [
        &[("Mul", &["many"][..]), ("MatMul", &["w"][..])][..],
        &[("MatMul", &["w"]), ("Mul", &["many"])],
        &[("Mul", &["s"]), ("Add", &["c"]), ("MatMul", &["w"])],
        &[("MatMul", &["w"]), ("Add", &["c"]), ("Mul", &["s"])],
        &[("Mul", &["s"]), ("Relu", &[]), ("MatMul", &["w"])],
        &[("Mul", &["s"]), ("Gemm", &["w", "c"]), ("Mul", &["s"])],
        &[("Mul", &["one"]), ("MatMul", &["w"])],
        &[("MatMul", &["p"]), ("Add", &["c"])],
    ] {
        assert_eq!(inexact(3, chain(graph), constants()), Vec::<String>::new(), "{graph:?}");
    }
}

#[test]
fn a_sum_joins_the_product_through_what_runtimes_remove() {
    let w = Matrix { rows: 3, cols: 3, data: vec![1e10, 4.0, 7.0, 2.0, 5.0, 8.0, 3.0, 6.0, 9.0] };
    for between in [&[("Add", &["zero"][..])][..], &[("Sub", &["zeros"])], &[("Mul", &["one"]), ("Div", &["ones"])]] {
        let graph = [&[("MatMul", &["w"][..])], between, &[("Add", &["c"][..])]].concat();
        let expected = one(Op::Dense { w: w.clone(), b: vec![1.0, 2.0, 3.0] });
        assert_eq!(nodes(chain(&graph), constants()), expected, "{between:?}");
    }
    // Two readers that do the same become one, and then the sum joins: the file is not vouched for.
    let twice = vec![
        node("MatMul", &["x", "w"], "t"),
        node("Add", &["t", "c"], "a"),
        node("Mul", &["t", "ones"], "again"),
        node("Add", &["again", "c"], "b"),
        with_int(node("Concat", &["a", "b"], "y"), "axis", 1),
    ];
    assert_eq!(inexact(3, twice, constants()).len(), 2);
}

#[test]
fn any_alpha_but_a_sign_is_inexact() {
    for alpha in [2f32.powi(-100), 2f32.powi(100), 0.5, 2.0, 0.0, 1.000_000_1, f32::MIN_POSITIVE] {
        let gemm = with_float(node("Gemm", &["x", "w", "c"], "y"), "alpha", alpha);
        let constants = vec![floats("w", &[3, 1], &[2f32.powi(20); 3]), floats("c", &[1], &[1.0])];
        assert_eq!(inexact(3, vec![gemm], constants).len(), 1, "{alpha}");
    }
    for (beta, c, exact) in [(2.0, 3.0, true), (-0.25, 3.0, true), (3.0, 1.0, false), (2f32.powi(-100), 2f32.powi(-50), false)] {
        let gemm = with_float(node("Gemm", &["x", "w", "c"], "y"), "beta", beta);
        let constants = vec![floats("w", &[3, 1], &[1.0; 3]), floats("c", &[1], &[c])];
        assert_eq!(inexact(3, vec![gemm], constants).is_empty(), exact, "{beta} {c}");
    }
}

#[test]
fn a_gelu_made_of_single_columns_is_inexact() {
    // x (1 + tanh(x (1 + 0.0447 x x) 0.7979)) / 2, which onnxruntime replaces by a function with constants of its own.
    let half = [("half", 0.5), ("small", 0.0447), ("root", 0.7979), ("one", 1.0)];
    let constants: Vec<_> = half.iter().map(|(name, v)| floats(name, &[], &[*v])).collect();
    let gelu = |curve| {
        vec![
            node("Mul", &["x", "x"], "xx"),
            node("Mul", &["xx", "small"], "a"),
            node("Add", &["a", "one"], "b"),
            node("Mul", &["x", "root"], "c"),
            node("Mul", &["c", "b"], "d"),
            node(curve, &["d"], "e"),
            node("Add", &["e", "one"], "f"),
            node("Mul", &["x", "half"], "g"),
            node("Mul", &["g", "f"], "y"),
        ]
    };
    assert_eq!(inexact(1, gelu("Tanh"), constants.clone()).len(), 1);
    assert_eq!(inexact(1, gelu("Relu"), constants.clone()).len(), 0);
    // A gate that is another feature is none of it.
    let gated = vec![
        node("Mul", &["x", "root"], "c"),
        node("Tanh", &["c"], "t"),
        with_int(node("Gather", &["t", "first"], "u"), "axis", 1),
        with_int(node("Gather", &["x", "second"], "r"), "axis", 1),
        node("Mul", &["u", "r"], "y"),
    ];
    let constants = [constants, vec![ints("first", &[0]), ints("second", &[1])]].concat();
    assert_eq!(inexact(2, gated, constants).len(), 0);
}

#[test]
fn a_file_with_a_single_factor_is_not_one_of_ours() {
    // As files were once written: an Affine of equal scales as a Mul by one number, beside a Select.
    let width = 300;
    let network = crate::Network {
        inputs: width,
        nodes: vec![
            Node { op: Op::Affine { scale: vec![2f32.powi(70); width], shift: vec![0.0; width] }, from: vec![0] },
            Node { op: Op::Select(vec![0]), from: vec![1] },
        ],
    };
    let bytes = Model::new(network).to_bytes().unwrap();
    assert_eq!(Model::from_own_bytes(&bytes).unwrap().inexact, Vec::<String>::new());
    let mut old = ModelProto::decode(&bytes[..]).unwrap();
    let scale = &mut old.graph.as_mut().unwrap().initializer[0];
    assert_eq!(scale.dims, [width as i64], "a vector, though all its numbers are equal");
    scale.dims.clear();
    scale.raw_data.as_mut().unwrap().truncate(4);
    let old = old.encode_to_vec();
    assert_eq!(Model::from_own_bytes(&old), Err(E::NotOurs));
    assert_eq!(Model::from_bytes(&old).unwrap().inexact.len(), 1);
}

#[test]
fn our_files_hold_no_scale_behind_a_linear_node() {
    let node = |op, from: &[usize]| Node { op, from: from.to_vec() };
    let scale = |width| Op::Affine { scale: vec![2.0; width], shift: vec![1.0; width] };
    let dense = |width: usize| Op::Dense { w: Matrix::zeros(width, width), b: vec![0.0; width] };
    for width in [3, 257, 1024, 1025] {
        for before in [scale(width), dense(width), Op::Select((0..width).collect()), Op::Act(Activation::Relu)] {
            for copied in [false, true] {
                let linear = !matches!(before, Op::Act(_));
                let mut nodes = vec![node(before.clone(), &[0])];
                nodes.extend(copied.then(|| node(Op::Concat, &[1])));
                nodes.push(node(scale(width), &[nodes.len()]));
                let last = nodes.len() - 1;
                let network = crate::Network { inputs: width, nodes };
                let bytes = Model::new(network.clone()).to_bytes().unwrap();
                match Model::from_own_bytes(&bytes) {
                    Ok(model) => assert_eq!(model.network, network),
                    Err(refused) => {
                        assert!(linear && width > 1024, "{refused}");
                        assert_eq!(refused, E::Foldable { node: last, width });
                        continue;
                    }
                }
                let file = ModelProto::decode(&bytes[..]).unwrap();
                let products = file.graph.unwrap().node.iter().filter(|n| n.op_type == "Mul").count();
                let at_the_input_or_a_relu = width > 256 && !matches!(before, Op::Dense { .. } | Op::Select(_));
                assert_eq!(products, usize::from(at_the_input_or_a_relu), "{width} {}", before.name());
            }
        }
    }
}
