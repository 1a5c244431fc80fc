//! Operators of other domains, functions, and attributes out of place: what two runtimes could read differently is refused.

use super::*;

fn value(v: f32) -> AttributeProto {
    AttributeProto { name: "value_float".into(), f: Some(v), ..AttributeProto::default() }
}

fn constant(domain: &str) -> NodeProto {
    NodeProto { domain: domain.into(), attribute: vec![value(2.0)], ..node("Constant", &[], "c") }
}

#[test]
fn an_operator_of_another_domain_is_never_the_standard_one() {
    for domain in ["com.example", "ai.onnx.ml", "com.microsoft", "ai.onnx.training", " ", "AI.ONNX", "ai.onnx."] {
        let graph = vec![constant(domain), node("Mul", &["x", "c"], "y")];
        let message = refusal(graph, vec![]);
        assert!(message.contains("(Constant)") && message.contains(&format!("'{domain}'")), "{message}");
        for op in ["Relu", "Identity", "Softmax", "Dropout"] {
            let elsewhere = NodeProto { domain: domain.into(), ..node(op, &["x"], "y") };
            assert!(refusal(vec![elsewhere], vec![]).contains(&format!("'{domain}'")), "{op}");
        }
    }
    for op in ["Scaler", "ZipMap"] {
        assert!(refusal(vec![node(op, &["x"], "y")], vec![]).contains(&format!("({op})")), "{op} is no operator of the standard");
    }
    for domain in ["", "ai.onnx"] {
        let graph = vec![constant(domain), NodeProto { domain: domain.into(), ..node("Mul", &["x", "c"], "y") }];
        assert_eq!(nodes(graph, vec![]), one(affine([2.0; 3], [0.0; 3])));
    }
}

#[test]
fn a_constant_has_one_value_and_one_name() {
    let two = NodeProto {
        attribute: vec![value(2.0), AttributeProto { name: "value_int".into(), i: Some(3), ..value(0.0) }],
        ..constant("")
    };
    assert!(refusal(vec![two, node("Mul", &["x", "c"], "y")], vec![]).contains("(Constant)"));
    let none = NodeProto { attribute: vec![], ..constant("") };
    assert!(refusal(vec![none, node("Mul", &["x", "c"], "y")], vec![]).contains("(Constant)"));
    let mixed = NodeProto { attribute: vec![AttributeProto { i: Some(3), ..value(2.0) }], ..constant("") };
    assert!(refusal(vec![mixed, node("Mul", &["x", "c"], "y")], vec![]).contains("value_float"));
    let mut fed = file(&[0, 3], vec![constant(""), node("Mul", &["x", "c"], "y")], vec![]);
    fed.graph.as_mut().unwrap().input.push(info("c", element::FLOAT, &[1, 1]));
    assert!(matches!(read(&fed), Err(E::Inputs { .. })), "a Constant is no default of an input");
}

#[test]
fn functions_overloads_and_training_graphs_are_refused() {
    let mut file = file(&[0, 3], vec![node("Relu", &["x"], "y")], vec![]);
    file.functions = vec![FunctionProto { name: "Mine".into(), domain: "com.example".into() }];
    assert!(read(&file).is_ok(), "nothing that is read calls it");
    let graph = file.graph.as_mut().unwrap();
    graph.node[0] = NodeProto { domain: "com.example".into(), ..node("Mine", &["x"], "y") };
    assert!(read(&file).unwrap_err().to_string().contains("com.example"));
    file.graph.as_mut().unwrap().node[0] = NodeProto { overload: "v2".into(), ..node("Relu", &["x"], "y") };
    assert!(read(&file).unwrap_err().to_string().contains("several functions"));
    file.graph.as_mut().unwrap().node[0] = node("Relu", &["x"], "y");
    file.training_info = vec![vec![]];
    assert_eq!(read(&file), Err(E::Training));
}

#[test]
fn attributes_and_operands_are_those_of_the_opset() {
    let at = |opset, graph: Vec<NodeProto>| {
        let mut file = file(&[0, 3], graph, vec![ints("k", &[1])]);
        file.opset_import[0].version = opset;
        read(&file)
    };
    let clip = || with_float(node("Clip", &["x"], "y"), "min", 0.0);
    assert_eq!(at(10, vec![clip()]).unwrap().network.nodes, one(Op::Act(Activation::Relu)));
    assert!(at(11, vec![clip()]).unwrap_err().to_string().contains("'min'"), "an operand since opset 11");
    let slice = || {
        let list = |name: &str, i| AttributeProto { name: name.into(), ints: vec![i], ..AttributeProto::default() };
        NodeProto { attribute: vec![list("starts", 1), list("ends", 2), list("axes", 1)], ..node("Slice", &["x"], "y") }
    };
    assert_eq!(at(9, vec![slice()]).unwrap().network.nodes, one(Op::Select(vec![1])));
    assert!(at(10, vec![slice()]).is_err());
    assert!(at(13, vec![with_int(node("Relu", &["x"], "y"), "axis", 1)]).unwrap_err().to_string().contains("'axis'"));
    assert!(at(13, vec![node("Relu", &["x", "k"], "y")]).unwrap_err().to_string().contains("2 operands"));
    let mut named = with_int(node("Flatten", &["x"], "y"), "axis", 1);
    named.attribute[0].refers_to = "outer".into();
    assert!(at(13, vec![named.clone()]).unwrap_err().to_string().contains("'axis'"));
    named.attribute[0] = AttributeProto { kind: Some(1), refers_to: String::new(), ..named.attribute[0].clone() };
    assert!(at(13, vec![named]).is_err(), "stated as a float, stored as an integer");
}
