//! Damaged and malicious files are refused: no panic, no allocation out of proportion, no endless loop.

mod common;

use std::fs;
use std::path::Path;

use deepsade_net::{ImportError, Model};
use proptest::prelude::*;

/// A protobuf field that holds bytes (a string, or a message).
fn field(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag << 3 | 2];
    bytes.extend(varint(content.len() as u64));
    bytes.extend(content);
    bytes
}

/// A protobuf field that holds an integer.
fn number(tag: u8, value: u64) -> Vec<u8> {
    [vec![tag << 3], varint(value)].concat()
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = vec![];
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

fn node(op: &str, inputs: &[&str], output: &str) -> Vec<u8> {
    let mut content: Vec<u8> = inputs.iter().flat_map(|i| field(1, i.as_bytes())).collect();
    content.extend([field(2, output.as_bytes()), field(4, op.as_bytes())].concat());
    if op == "Concat" {
        content.extend(field(5, &[field(1, b"axis"), number(3, 1)].concat()));
    }
    field(1, &content)
}

fn tensor(name: &str, dims: &[u64], data: &[u8]) -> Vec<u8> {
    let mut content: Vec<u8> = dims.iter().flat_map(|&d| number(1, d)).collect();
    content.extend([number(2, 1), field(8, name.as_bytes()), field(9, data)].concat());
    field(5, &content)
}

fn value_info(tag: u8, name: &str, width: u64) -> Vec<u8> {
    let dims = [field(1, &field(2, b"N")), field(1, &number(1, width))].concat();
    let tensor_type = field(1, &[number(1, 1), field(2, &dims)].concat());
    field(tag, &[field(1, name.as_bytes()), field(2, &tensor_type)].concat())
}

fn model(width: u64, parts: &[Vec<u8>]) -> Vec<u8> {
    let graph = [parts.concat(), value_info(11, "x", width), value_info(12, "y", 1)].concat();
    [number(1, 8), field(7, &graph), field(8, &number(2, 13))].concat()
}

fn refused(width: u64, parts: &[Vec<u8>]) -> ImportError {
    Model::from_bytes(&model(width, parts)).expect_err("must be refused")
}

fn ours() -> Vec<u8> {
    let mut model = Model::new(common::use_case(11, &[3, 5, 4, 2], &[0, 2], Some(1)));
    model.metadata.insert("deepsade.schema".into(), "{}".into());
    model.to_bytes().unwrap()
}

#[test]
fn the_writer_above_writes_files_that_are_read() {
    assert!(Model::from_bytes(&model(2, &[node("Relu", &["x"], "y")])).is_ok());
}

#[test]
fn a_file_cut_off_anywhere_never_panics_nor_gives_another_network() {
    let bytes = ours();
    let whole = Model::from_bytes(&bytes).unwrap();
    let mut accepted = 0;
    for cut in 0..bytes.len() {
        // A cut between the last fields can leave a smaller file that is valid: then the network must be the same.
        if let Ok(model) = Model::from_bytes(&bytes[..cut]) {
            assert_eq!(model.network, whole.network, "cut at {cut}");
            accepted += 1;
        }
    }
    assert!(accepted <= 2, "{accepted} cut files were accepted");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn flipped_bytes_never_panic(flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut bytes = ours();
        for (at, with) in flips {
            let at = at.index(bytes.len());
            bytes[at] ^= with;
        }
        if let Ok(model) = Model::from_bytes(&bytes) {
            prop_assert_eq!(model.network.validate(), Ok(()));
        }
    }

    #[test]
    fn noise_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = Model::from_bytes(&bytes);
    }
}

#[test]
fn every_byte_of_every_fixture_may_be_damaged() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    for path in fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).filter(|p| p.extension().is_some_and(|e| e == "onnx")) {
        let mut bytes = fs::read(&path).unwrap();
        for at in 0..bytes.len() {
            for damage in [0x01, 0x80, 0xff] {
                bytes[at] ^= damage;
                if let Ok(model) = Model::from_bytes(&bytes) {
                    assert_eq!(model.network.validate(), Ok(()), "{}, byte {at}", path.display());
                }
                bytes[at] ^= damage;
            }
        }
    }
}

#[test]
fn an_empty_file_has_no_graph() {
    assert!(matches!(Model::from_bytes(&[]), Err(ImportError::NoGraph)));
}

#[test]
fn claimed_dimensions_are_checked_before_anything_is_allocated() {
    let four = 1f32.to_le_bytes();
    for dims in [&[1 << 40][..], &[1 << 32, 1 << 32], &[u64::MAX], &[3, 3], &[1 << 20, 1 << 20], &[0]] {
        let error = refused(3, &[tensor("c", dims, &four), node("Add", &["x", "c"], "y")]);
        assert!(matches!(&error, ImportError::TensorSize { name, .. } if name == "c"), "{dims:?}: {error}");
    }
    let error = refused(3, &[tensor("c", &[1], &four[..3]), node("Add", &["x", "c"], "y")]);
    assert!(matches!(error, ImportError::TensorSize { .. }));
}

#[test]
fn a_huge_input_needs_a_huge_file() {
    for width in [1 << 40, u64::MAX >> 1] {
        let scaled = [tensor("c", &[1], &2f32.to_le_bytes()), node("Mul", &["x", "c"], "y")];
        assert!(matches!(refused(width, &scaled), ImportError::TooLarge { .. }));
    }
}

#[test]
fn doubling_widths_and_repeated_constants_run_into_the_limit() {
    let mut doubling = vec![node("Concat", &["x", "x"], "t0")];
    doubling.extend((0..100).map(|k| node("Concat", &[&format!("t{k}"), &format!("t{k}")], &format!("t{}", k + 1))));
    doubling.push(node("Relu", &["t100"], "y"));
    assert!(matches!(refused(3, &doubling), ImportError::TooLarge { .. }));

    let mut repeated = vec![tensor("c", &[1], &2f32.to_le_bytes()), node("Mul", &["x", "c"], "t0")];
    repeated.extend((0..1000).map(|k| node("Mul", &[&format!("t{k}"), "c"], &format!("t{}", k + 1))));
    repeated.push(node("Relu", &["t1000"], "y"));
    assert!(matches!(refused(1_000_000, &repeated), ImportError::TooLarge { .. }));
}

#[test]
fn a_cycle_reads_what_is_not_yet_computed() {
    let cycle = [node("Relu", &["b"], "a"), node("Tanh", &["a"], "b"), node("Concat", &["a", "x"], "y")];
    assert!(matches!(refused(3, &cycle), ImportError::Undefined { tensor, .. } if tensor == "b"));
    assert!(matches!(refused(3, &[node("Relu", &["y"], "y")]), ImportError::Undefined { .. }));
}

#[test]
fn names_are_defined_once() {
    let one = 1f32.to_le_bytes();
    for parts in [
        vec![node("Relu", &["x"], "y"), node("Tanh", &["x"], "y")],
        vec![node("Relu", &["x"], "x"), node("Relu", &["x"], "y")],
        vec![tensor("c", &[1], &one), tensor("c", &[1], &one), node("Add", &["x", "c"], "y")],
        vec![tensor("y", &[1], &one), node("Add", &["x", "y"], "y")],
    ] {
        assert!(matches!(refused(3, &parts), ImportError::DuplicateName { .. }));
    }
}

#[test]
fn missing_tensors_and_outputs_are_named() {
    assert!(matches!(refused(3, &[node("Add", &["x", "c"], "y")]), ImportError::Undefined { tensor, .. } if tensor == "c"));
    assert!(matches!(refused(3, &[node("Relu", &["x"], "z")]), ImportError::Output { .. }));
    let constant = [tensor("c", &[1], &1f32.to_le_bytes()), node("Identity", &["c"], "y")];
    assert!(matches!(refused(3, &constant), ImportError::Output { .. }));
}

#[test]
fn deeply_nested_groups_do_not_overflow_the_stack() {
    // Tag 15, wire type 3: the start of a group, a hundred thousand times.
    assert!(matches!(Model::from_bytes(&vec![0x7b; 100_000]), Err(ImportError::Damaged(_))));
    // Attributes may hold graphs (field 6), which hold nodes, and so on: never descended into.
    let mut nested = node("Relu", &["x"], "y");
    for _ in 0..2000 {
        nested = field(1, &field(5, &field(6, &nested)));
    }
    assert!(Model::from_bytes(&model(3, &[nested])).is_err());
}

#[test]
fn infinite_constants_are_refused() {
    let constant = [tensor("c", &[1], &f32::INFINITY.to_le_bytes()), node("Add", &["x", "c"], "y")];
    assert!(matches!(refused(3, &constant), ImportError::NotFinite { .. }));
}

#[test]
fn a_small_file_does_not_become_a_huge_one_to_be_compared() {
    // Each factor of 256 columns would be written as a matrix of 256 KB: 8 GB in all.
    let mut factors = vec![tensor("c", &[1], &2f32.to_le_bytes()), node("Mul", &["x", "c"], "t0")];
    factors.extend((0..30_000).map(|k| node("Mul", &[&format!("t{k}"), "c"], &format!("t{}", k + 1))));
    factors.push(node("Relu", &["t30000"], "y"));
    let file = model(256, &factors);
    assert!(Model::from_bytes(&file).is_ok());
    assert_eq!(Model::from_own_bytes(&file), Err(ImportError::NotOurs));
}
