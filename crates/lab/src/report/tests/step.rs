//! The output step in the page against the one in Rust, bit for bit.

use deepsade_engine::enforce::step::{Usual, attach};
use deepsade_net::{Activation, Matrix, Model, Network, Node, Op, Piece, Port};
use deepsade_output::Output;
use deepsade_output::graph::{Graph, Value as Tensor};
use deepsade_output::make::CANDIDATE;
use deepsade_spec::{Domain, Feature, NormalSpec, OneHot, RuleText, Schema, Task, compile};
use serde_json::json;

use super::{in_node, payload};

/// The bits of float32 numbers, so that nothing is lost on the way.
const BITS: &str = "const bits = (v) => [...new Uint32Array(Float32Array.from(v).buffer)];\n";

fn names(of: &[&str]) -> Vec<String> {
    of.iter().map(|name| (*name).into()).collect()
}

fn spec(task: Task, texts: &[&str]) -> NormalSpec {
    let feature = |name: &str, domain| Feature { name: name.into(), domain };
    let features = vec![
        feature("a", Domain::Real { lo: 0.0, hi: 10.0 }),
        feature("b", Domain::Integer { lo: -5, hi: 5 }),
        feature("k", Domain::Category { levels: names(&["p", "q", "r"]) }),
    ];
    let rules: Vec<RuleText> = texts.iter().map(|t| RuleText { name: (*t).into(), text: (*t).into() }).collect();
    compile(&rules, &Schema { features, task, one_hot: OneHot::Full }).unwrap()
}

/// A relu network, whose sums the page computes in the same order.
fn network(outputs: usize) -> Network {
    let weights = |rows: usize, cols: usize| Matrix {
        rows,
        cols,
        data: (0..rows * cols).map(|k| ((k * 7919 + rows * 104_729) % 1000) as f32 / 300.0 - 1.6).collect(),
    };
    let node = |op, from: usize| Node { op, from: vec![from] };
    Network {
        inputs: 5,
        nodes: vec![
            node(Op::Dense { w: weights(19, 5), b: vec![0.1; 19] }, 0),
            node(Op::Act(Activation::Relu), 1),
            node(Op::Dense { w: weights(outputs, 19), b: vec![-0.3; outputs] }, 2),
        ],
    }
}

/// Values of the features and the columns that they become; about a third are outside the domain.
fn rows() -> (Vec<[f64; 3]>, Matrix) {
    let value = |k: u32| {
        let a = [0.0, 3.5, 3.499_999_8, 10.0, -1.0, 1e30][(k % 6) as usize];
        let a = if k % 5 == 0 { a } else { f64::from(k * 37 % 101) / 9.7 };
        let b = if k % 11 == 0 { 0.5 } else { f64::from(k * 7 % 13) - 6.0 };
        [a, b, f64::from(k % 3)]
    };
    let rows: Vec<[f64; 3]> = (0..300).map(value).collect();
    let level = |row: &[f64; 3], l: f64| f32::from(u8::from(row[2] == l));
    let columns = |r: &[f64; 3]| [r[0] as f32, r[1] as f32, level(r, 0.0), level(r, 1.0), level(r, 2.0)];
    let x = Matrix { rows: rows.len(), cols: 5, data: rows.iter().flat_map(columns).collect() };
    (rows, x)
}

/// Compares outputs and flags; how often the fallback answered inside the domain.
fn compare(model: &Model, spec: &NormalSpec) -> usize {
    let (rows, x) = rows();
    let work = "
        const model = deepsade.load(data);
        const out = rows.map((row) => {
          const { y, ok } = deepsade.answer(model, deepsade.encode(data.features, data.dropFirst, row));
          const inside = data.features.every((f, k) => deepsade.inside(f, row[k]));
          return { y: bits(y), ok, inside, states: data.rules.map((rule) => deepsade.state(rule, data.features, row, y)) };
        });";
    let data = payload::payload(model, &spec.schema, Some(spec), &[]);
    let answers = in_node(&format!("{BITS}{work}"), &json!({"data": data, "rows": rows}));
    let (y, flags) = Output::of(model, spec).unwrap().outputs_and_flags(&x);
    let (mut inside, mut fell_back) = (0, 0);
    for (r, (answer, flags)) in answers.iter().zip(flags.unwrap()).enumerate() {
        let ours: Vec<u32> = y.row(r).iter().map(|v| v.to_bits()).collect();
        assert_eq!(answer["y"], json!(ours), "{:?}: {:?}", rows[r], y.row(r));
        assert_eq!((&answer["ok"], &answer["inside"]), (&json!(flags.ok), &json!(flags.in_domain)), "{:?}", rows[r]);
        if flags.in_domain {
            assert!(answer["states"].as_array().unwrap().iter().all(|s| s != "broken"), "{:?}: {answer}", rows[r]);
            inside += 1;
            fell_back += usize::from(!flags.ok);
        }
    }
    assert!(inside > 100 && inside < 250, "{inside}");
    fell_back
}

/// Every task with the step as it is made, and with one that passes the network's own outputs on, which the fallback then answers for.
#[test]
#[ignore = "needs node; scripts/test runs it where node is there"]
fn the_page_computes_what_the_output_step_computes() {
    let labels = || Task::Multilabel { labels: names(&["l0", "l1", "l2", "l3", "l4"]) };
    let classes = Task::Multiclass { target: "kind".into(), classes: names(&["red", "green", "blue"]) };
    let cases = [
        spec(
            Task::Regression { targets: names(&["u", "v"]) },
            &["u <= 2 * a + 1", "b > 2 and k != 'q' => u + v >= 3", "a < 3.5 => v <= 7"],
        ),
        spec(classes, &["a < 3.5 and k == 'p' => kind == 'green'", "b > 2 => kind != 'red'"]),
        spec(labels(), &["exactly(2, label[j] for j in 0..5)"]),
        spec(labels(), &["exactly(2, label[j] for j in 0..5)", "a + b >= 4 and k == 'r' => label[3]"]),
        spec(labels(), &["label[0] => label[1]", "label[1] => label[2]", "label[3] => label[2]"]),
    ];
    for spec in cases {
        let (mut model, _) = attach(&spec, &network(spec.schema.task.outputs()), &Usual::unknown(&spec)).unwrap();
        compare(&model, &spec);
        let behind = model.behind.as_mut().unwrap();
        let reads = behind.piece.calls.iter_mut().flat_map(|call| &mut call.reads);
        reads.filter(|name| *name == CANDIDATE).for_each(|name| *name = "scores".into());
        assert!(compare(&model, &spec) > 0, "{:?}", spec.schema.task);
    }
}

/// The network's own outputs are far above what the rules allow.
#[test]
fn the_latent_space_is_coloured_by_what_the_file_gives() {
    let spec = spec(Task::Regression { targets: names(&["u"]) }, &["u <= -100", "u >= -101"]);
    let (model, _) = attach(&spec, &network(1), &Usual::unknown(&spec)).unwrap();
    let folder = super::folder(&model);
    let data = folder.path().join("rows.csv");
    let line = |k: usize| format!("{},{},{}\n", k as f32 / 3.0, k % 5, ["p", "q", "r"][k % 3]);
    std::fs::write(&data, "a,b,k\n".to_string() + &(0..24).map(line).collect::<String>()).unwrap();
    let page = super::report(folder.path(), Some(&data)).unwrap().html;
    assert!(page.contains("u below -100.") || page.contains("u below -101."));
    assert!(page.contains("An output step stands behind the network"));
}

/// One operator on some constants, in the page and in Rust.
struct Call(&'static str, &'static [&'static str], &'static [(&'static str, i64)]);

/// Whether the page's answer may differ in the last places: its exponential is another one.
fn is_close(op: &str, ours: f32, theirs: f32) -> bool {
    let close = ["Exp", "Sigmoid", "Softmax"].contains(&op) && (ours - theirs).abs() <= 1e-6 * ours.abs();
    close || ours.to_bits() == theirs.to_bits() || ours.is_nan() && theirs.is_nan()
}

#[test]
#[ignore = "needs node; scripts/test runs it where node is there"]
fn the_page_knows_every_operator_of_a_step() {
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
    let mut calls = Vec::new();
    for op in ["Abs", "Neg", "Floor", "Ceil", "Relu", "Exp", "Sqrt", "Sigmoid", "IsNaN", "Identity"] {
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
        const out = outputStep.run(outputStep.load(data, base64), {}).map((t) => ({ ...t, data: t.type === 'float' ? bits(t.data) : t.data }));";
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
        p.calls[0].attributes.push(("alpha".into(), deepsade_net::onnx::piece::Attribute::Float(2.0)));
    };
    assert!(refused(&scaled).unwrap().contains("alpha"));
    // What no output needs is not looked at.
    let beside = |p: &mut Piece| {
        p.call("Erf", &["c"], "z");
        p.call("Neg", &["c"], "y");
    };
    assert_eq!(refused(&beside), None);
}
