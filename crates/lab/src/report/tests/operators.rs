//! The operators of an output step, one by one: in the page and in Rust, bit for bit.

use deepsade_net::onnx::piece::Attribute;
use deepsade_net::{Piece, Port};
use deepsade_output::graph::{Graph, Value as Tensor};
use serde_json::json;

use super::{BITS, in_node, payload};

/// One operator on some constants, in the page and in Rust.
struct Call(&'static str, &'static [&'static str], &'static [(&'static str, i64)]);

/// Whether the page's answer may differ in the last places: its exponential is another one.
fn is_close(op: &str, ours: f32, theirs: f32) -> bool {
    let close = ["Exp", "Sigmoid", "Softmax"].contains(&op) && (ours - theirs).abs() <= 1e-6 * ours.abs();
    close || ours.to_bits() == theirs.to_bits() || ours.is_nan() && theirs.is_nan()
}

fn constants() -> Piece {
    let mut piece = Piece::default();
    let wild = [0.0, -0.0, 1.5, -2.5, 3e38, -3e38, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1e-45, 0.1, -7.0];
    let turned: Vec<f32> = wild.iter().rev().copied().collect();
    piece.floats("wild", &[3, 4], wild.to_vec());
    piece.floats("dliw", &[3, 4], turned.clone());
    piece.floats("column", &[3, 1], vec![0.0, f32::NAN, 2.0]);
    piece.floats("row", &[4], vec![0.3, -0.0, 1e20, 3.0]);
    piece.floats("one", &[1], vec![0.7]);
    piece.floats("alone", &[], vec![-0.4]);
    piece.floats("box", &[2, 3, 2], (0..12).map(|k| ((k * 7) % 12) as f32 / 3.0 - 1.3).collect());
    piece.floats("calm", &[3, 4], (0..12).map(|k| ((k * 5) % 12) as f32 / 7.0 - 0.6).collect());
    piece.floats("tall", &[4, 3], (0..12).map(|k| ((k * 11) % 12) as f32 / 3.1 - 1.9).collect());
    piece.ints("first", &[], vec![-1]);
    piece.ints("some", &[3], vec![2, 0, -1]);
    piece.ints("grid", &[2, 2], vec![0, 1, 1, 0]);
    piece.ints("whole", &[3, 4], (0..12).map(|k| (k * 5) % 12 - 6).collect());
    piece.ints("parts", &[4], vec![3, -2, 1, 7]);
    piece.ints("shape", &[3], vec![2, -1, 3]);
    piece.ints("kept", &[2], vec![0, -1]);
    piece.ints("axis", &[1], vec![1]);
    piece.ints("along", &[3, 2], vec![0, 3, 1, -1, 2, 2]);
    piece
}

fn calls() -> Vec<Call> {
    let mut calls = Vec::new();
    for op in ["Abs", "Neg", "Floor", "Ceil", "Relu", "Exp", "Sqrt", "Sigmoid", "IsNaN", "Identity", "Transpose"] {
        calls.push(Call(op, &["wild"], &[]));
    }
    for op in ["Add", "Sub", "Mul", "Div", "Max", "Min", "Greater", "Less", "GreaterOrEqual", "LessOrEqual", "Equal"] {
        for pair in [
            &["wild", "dliw"],
            &["wild", "column"],
            &["row", "dliw"],
            &["column", "row"],
            &["alone", "wild"],
            &["whole", "parts"],
        ] {
            calls.push(Call(op, pair, &[]));
        }
    }
    calls.extend([
        Call("Max", &["wild", "row", "one"], &[]),
        Call("Min", &["wild", "column", "alone"], &[]),
        Call("Clip", &["wild", "alone", "one"], &[]),
        Call("Clip", &["wild", "", "alone"], &[]),
        Call("Abs", &["whole"], &[]),
        Call("Cast", &["wild"], &[("to", 9)]),
        Call("Cast", &["calm"], &[("to", 7)]),
        Call("Cast", &["whole"], &[("to", 1)]),
        Call("Cast", &["whole"], &[("to", 9)]),
        Call("Concat", &["wild", "column", "calm"], &[("axis", 1)]),
        Call("Concat", &["wild", "calm"], &[("axis", -2)]),
        Call("Concat", &["box", "box"], &[("axis", 1)]),
        Call("Flatten", &["box"], &[]),
        Call("Flatten", &["box"], &[("axis", 3)]),
        Call("Reshape", &["box", "shape"], &[]),
        Call("Reshape", &["wild", "kept"], &[]),
        Call("Gather", &["box", "first"], &[("axis", 1)]),
        Call("Gather", &["box", "some"], &[("axis", 1)]),
        Call("Gather", &["wild", "some"], &[]),
        Call("Gather", &["wild", "grid"], &[("axis", 0)]),
        Call("GatherElements", &["wild", "along"], &[("axis", 1)]),
        Call("GatherElements", &["tall", "along"], &[]),
        Call("MatMul", &["calm", "tall"], &[]),
        Call("Gemm", &["calm", "tall", "one"], &[]),
        Call("Gemm", &["calm", "wild"], &[("transB", 1)]),
        Call("Gemm", &["calm", "dliw", "row"], &[("transA", 1)]),
        Call("Gemm", &["tall", "calm"], &[("transA", 1), ("transB", 1)]),
        Call("ArgMax", &["wild"], &[]),
        Call("ArgMax", &["dliw"], &[("axis", 1), ("keepdims", 0)]),
        Call("ArgMax", &["box"], &[("axis", 1)]),
        Call("ArgMax", &["whole"], &[("axis", -1)]),
        Call("Softmax", &["calm"], &[]),
        Call("Softmax", &["box"], &[("axis", 1)]),
    ]);
    for op in ["ReduceSum", "ReduceMax", "ReduceMin"] {
        for reads in [&["box", "axis"][..], &["calm"], &["wild", "axis"], &["whole", "axis"]] {
            calls.push(Call(op, reads, &[("keepdims", 1)]));
            calls.push(Call(op, reads, &[("keepdims", 0)]));
        }
    }
    calls
}

#[test]
#[ignore = "needs node; scripts/test runs it where node is there"]
fn the_page_knows_every_operator_of_a_step() {
    let (mut piece, calls) = (constants(), calls());
    calls.iter().enumerate().for_each(|(k, Call(op, reads, ints))| piece.call_with(op, reads, &format!("made{k}"), ints));
    // What reads booleans.
    piece.call("Greater", &["wild", "column"], "above");
    piece.call("Less", &["row", "one"], "below");
    let on_truths = [
        ("Not", vec!["above"]),
        ("And", vec!["above", "below"]),
        ("Or", vec!["above", "below"]),
        ("Equal", vec!["above", "below"]),
        ("Where", vec!["above", "wild", "one"]),
        ("Where", vec!["below", "column", "calm"]),
        ("Where", vec!["above", "whole", "parts"]),
    ];
    let from = calls.len();
    on_truths.iter().enumerate().for_each(|(k, (op, reads))| piece.call(op, reads, &format!("made{}", from + k)));
    piece.call_with("Cast", &["above"], "number", &[("to", 1)]);
    let ops: Vec<&str> = calls.iter().map(|c| c.0).chain(on_truths.iter().map(|(op, _)| *op)).chain(["Cast"]).collect();
    let wanted: Vec<String> = (0..ops.len() - 1).map(|k| format!("made{k}")).chain(["number".into()]).collect();

    let work = "
        const base64 = (text) => new Float32Array(Uint8Array.from(Buffer.from(text, 'base64')).buffer);
        const numbers = (t) => ({ ...t, data: t.type === 'float' ? bits(t.data) : t.data });
        const out = outputStep.run(outputStep.load(data, base64), {}).map(numbers);";
    let ports: Vec<Port> = wanted.iter().map(|name| Port::rows(name, "float", None)).collect();
    let theirs = in_node(&format!("{BITS}{work}"), &json!({"data": payload::step(&piece, &ports), "rows": []}));
    let graph = Graph::new(&piece, &[]).unwrap();
    let ours = graph.run(vec![], &wanted.iter().map(String::as_str).collect::<Vec<_>>()).unwrap();
    for ((op, name), (ours, theirs)) in ops.iter().zip(&wanted).zip(ours.iter().zip(&theirs)) {
        let call = piece.calls.iter().find(|c| c.makes == *name).unwrap();
        assert_eq!(theirs["dims"], json!(ours.dims()), "{call:?}");
        match ours {
            Tensor::Float(a) => {
                let bits = theirs["data"].as_array().unwrap().iter().map(|b| f32::from_bits(b.as_u64().unwrap() as u32));
                let bits: Vec<f32> = bits.collect();
                assert_eq!(theirs["type"], "float", "{call:?}");
                assert!(a.data.iter().zip(&bits).all(|(a, b)| is_close(op, *a, *b)), "{call:?}: {:?} {bits:?}", a.data);
            }
            Tensor::Int(a) => assert_eq!((&theirs["type"], &theirs["data"]), (&json!("int"), &json!(a.data)), "{call:?}"),
            Tensor::Bool(a) => assert_eq!((&theirs["type"], &theirs["data"]), (&json!("bool"), &json!(a.data)), "{call:?}"),
            Tensor::Text(_) => unreachable!("there are no texts"),
        }
    }
}

#[test]
#[ignore = "needs node; scripts/test runs it where node is there"]
fn what_the_page_does_not_know_it_refuses() {
    let refused = |write: &dyn Fn(&mut Piece)| {
        let mut piece = Piece::default();
        piece.floats("c", &[1, 1], vec![2.0]);
        write(&mut piece);
        let work = "let out; try { outputStep.load(data, () => [2]); out = []; } catch (why) { out = [why.message]; }";
        let said = in_node(work, &json!({"data": payload::step(&piece, &[Port::rows("y", "float", None)]), "rows": []}));
        said.first().map(|v| v.as_str().unwrap().to_string())
    };
    assert_eq!(refused(&|p| p.call("Gemm", &["c", "c"], "y")), None);
    assert!(refused(&|p| p.call("Erf", &["c"], "y")).unwrap().contains("Erf"));
    assert!(refused(&|p| p.call("constructor", &["c"], "y")).is_some());
    let scaled = |p: &mut Piece| {
        p.call("Gemm", &["c", "c"], "y");
        p.calls[0].attributes.push(("alpha".into(), Attribute::Float(2.0)));
    };
    assert!(refused(&scaled).unwrap().contains("alpha"));
    // What no output needs is not looked at.
    let beside = |p: &mut Piece| {
        p.call("Erf", &["c"], "z");
        p.call("Neg", &["c"], "y");
    };
    assert_eq!(refused(&beside), None);
}
