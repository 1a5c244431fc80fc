//! Files written by `PyTorch`, scikit-learn and Keras give the outputs that onnxruntime gave, within the error of float32.
//!
//! `tests/python/make_fixtures.py` wrote the files.

use std::fs;
use std::path::{Path, PathBuf};

use deepsade_net::{ImportError, Matrix, Model, Op};
use serde_json::Value;

/// Relative to the size of the result: where import had to fold parameters, the file's own rounding is not the network's.
const FOLDED: f64 = 2e-6;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn read(name: &str) -> Vec<u8> {
    fs::read(folder().join(name).with_extension("onnx")).unwrap()
}

fn matrix(rows: &Value) -> Matrix {
    let rows = rows.as_array().unwrap();
    let data: Vec<f32> = rows.iter().flat_map(|r| r.as_array().unwrap()).map(|v| v.as_f64().unwrap() as f32).collect();
    Matrix { rows: rows.len(), cols: data.len() / rows.len(), data }
}

fn agrees(name: &str) {
    let case: Value = serde_json::from_slice(&fs::read(folder().join(name).with_extension("json")).unwrap()).unwrap();
    let model = match case["output"].as_str() {
        Some(output) => Model::from_bytes_until(&read(name), output),
        None => Model::from_bytes(&read(name)),
    }
    .unwrap_or_else(|e| panic!("{name}: {e}"));
    assert_eq!(model.inexact.len() as u64, case["inexact"].as_u64().unwrap(), "{name}: {:?}", model.inexact);
    let (x, expected) = (matrix(&case["x"]), matrix(&case["y"]));
    assert_eq!((model.network.inputs, model.network.outputs()), (x.cols, expected.cols), "{name}");
    let ours = model.network.forward(&x);
    for r in 0..x.rows {
        for (c, ball) in model.network.enclose(x.row(r)).into_iter().enumerate() {
            let slack = if model.inexact.is_empty() { 0.0 } else { FOLDED * (1.0 + ball.centre.abs()) };
            let theirs = (f64::from(expected.row(r)[c]) - ball.centre).abs();
            assert!(theirs <= ball.radius + slack, "{name}, row {r}, column {c}: off by {theirs}, allowed {}", ball.radius);
            assert!(ball.contains(ours.row(r)[c]), "{name}, row {r}, column {c}: our own pass leaves its ball");
        }
    }
    // What was imported can be exported, and is then ours.
    let again = Model::from_bytes(&model.to_bytes().unwrap()).unwrap();
    assert_eq!(again.network, model.network, "{name}");
}

#[test]
fn every_fixture_agrees_with_onnxruntime() {
    let mut names: Vec<String> = fs::read_dir(folder())
        .unwrap()
        .map(|f| f.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "onnx"))
        .map(|p| p.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    assert!(names.len() >= 25, "fixtures are missing: {names:?}");
    for name in &names {
        agrees(name);
    }
}

fn kinds(name: &str) -> Vec<&'static str> {
    Model::from_bytes(&read(name)).unwrap().network.nodes.iter().map(|n| n.op.name()).collect()
}

#[test]
fn frameworks_give_the_layers_one_expects() {
    let mlp = ["dense", "activation", "dense", "activation", "dense", "activation"];
    assert_eq!(kinds("torch_legacy_mlp"), mlp);
    assert_eq!(kinds("torch_dynamo_mlp"), mlp);
    assert_eq!(kinds("keras_tf2onnx_mlp"), mlp);
    assert_eq!(kinds("sklearn_regressor"), mlp[..5]);
    let skip = ["dense", "activation", "select", "concat", "dense", "select", "gate"];
    assert_eq!(kinds("torch_legacy_skip_gate"), skip);
    assert_eq!(kinds("torch_dynamo_skip_gate"), skip);
    assert_eq!(kinds("torch_legacy_columns"), ["select", "dense", "activation"]);
    assert_eq!(kinds("keras_tf2onnx_rescaled"), ["affine", "dense"]);
    assert_eq!(kinds("torch_legacy_image"), ["dense", "activation", "dense"]);
}

#[test]
fn a_softmax_is_refused_with_the_tensor_to_stop_at() {
    for name in ["sklearn_classes", "sklearn_classes_zipmap", "keras_tf2onnx_softmax"] {
        let case: Value = serde_json::from_slice(&fs::read(folder().join(name).with_extension("json")).unwrap()).unwrap();
        let error = Model::from_bytes(&read(name)).unwrap_err();
        assert!(matches!(&error, ImportError::Operator { place, .. } if place.op == "Softmax"), "{error}");
        assert!(error.to_string().contains(case["output"].as_str().unwrap()), "{error}");
    }
}

#[test]
fn a_reshape_that_mixes_rows_is_refused() {
    let error = Model::from_bytes(&read("sklearn_two_outputs")).unwrap_err();
    assert!(matches!(&error, ImportError::Usage { place, .. } if place.op == "Reshape"), "{error}");
}

#[test]
fn probabilities_of_two_classes_are_read_in_full() {
    let model = Model::from_bytes(&read("sklearn_binary")).unwrap();
    let flipped = Op::Affine { scale: vec![-1.0], shift: vec![1.0] };
    assert!(model.network.nodes.iter().any(|n| n.op == flipped), "1 - p is kept exactly");
    assert_eq!(model.network.outputs(), 2);
}
