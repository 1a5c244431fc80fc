//! A directory -> for each of a few deterministic random networks: name.onnx, inputs (name.x), our outputs (name.y), and the balls
//! that any float32 evaluation must stay in (name.centre, name.radius). All numbers are raw little-endian float64.
//!
//! `cargo run -p deepsade-net --example export_random -- DIRECTORY`; `tests/python/test_onnx.py` runs it.

#[path = "../tests/common/mod.rs"]
mod common;

use std::path::Path;
use std::{env, fs, io};

use common::Random;
use deepsade_net::{Activation, Model, Network, Node, Op};

const ROWS: usize = 4000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = env::args().nth(1).ok_or("usage: export_random DIRECTORY")?;
    let folder = Path::new(&folder);
    fs::create_dir_all(folder)?;
    for (name, network, size) in networks() {
        let model = Model { metadata: [("deepsade.test".into(), name.into())].into(), ..Model::new(network) };
        fs::write(folder.join(name).with_extension("onnx"), model.to_bytes()?)?;
        let x = common::rows(1, ROWS, model.network.inputs, size);
        write(&folder.join(name).with_extension("x"), x.data.iter().map(|&v| f64::from(v)))?;
        write(&folder.join(name).with_extension("y"), model.network.forward(&x).data.iter().map(|&v| f64::from(v)))?;
        let balls: Vec<_> = (0..x.rows).flat_map(|r| model.network.enclose(x.row(r))).collect();
        write(&folder.join(name).with_extension("centre"), balls.iter().map(|b| b.centre))?;
        write(&folder.join(name).with_extension("radius"), balls.iter().map(|b| b.radius))?;
    }
    Ok(())
}

/// Name, network, and the size of the box that its inputs come from.
fn networks() -> Vec<(&'static str, Network, f32)> {
    vec![
        ("plain", without_scaling(common::use_case(1, &[13, 50, 30, 10, 2], &[], None)), 10.0),
        ("skip", without_scaling(common::use_case(2, &[4, 12, 8, 3], &[0, 2], None)), 10.0),
        ("scaled_skip", common::use_case(3, &[13, 50, 30, 10, 2], &[0, 5], None), 100.0),
        ("gated", common::use_case(4, &[5, 20, 10, 5], &[1, 2], Some(0)), 50.0),
        ("wide", wide(), 255.0),
        ("shared", shared(), 5.0),
        ("single", Network { inputs: 3, nodes: vec![] }, 5.0),
        ("far", far(), 5.0),
        ("column", column(), 5.0),
        ("pictures", common::pictures(8), 3.0),
    ]
}

/// The first node of a use case is its scaling; without it every value moves down by one.
fn without_scaling(mut net: Network) -> Network {
    net.nodes.remove(0);
    net.nodes.iter_mut().flat_map(|n| &mut n.from).for_each(|v| *v = v.saturating_sub(1));
    net
}

/// Pixels scaled by one number: wide enough that the scaling is not written as a matrix.
fn wide() -> Network {
    let r = &mut Random(5);
    let inputs = 400;
    let pixels = Op::Affine { scale: vec![1.0 / 255.0; inputs], shift: vec![-0.5; inputs] };
    let nodes = [pixels, r.dense(10, inputs), Op::Act(Activation::Relu), r.dense(3, 10)];
    Network { inputs, nodes: nodes.into_iter().enumerate().map(|(k, op)| Node { op, from: vec![k] }).collect() }
}

/// A linear value that is read both shifted and as it is, on all three activations, then scaled by 1 and by others.
fn shared() -> Network {
    let r = &mut Random(6);
    let node = |op, from: &[usize]| Node { op, from: from.to_vec() };
    let nodes = vec![
        node(r.dense(4, 3), &[0]),
        node(Op::Affine { scale: vec![1.0; 4], shift: r.reals(4, 1.0) }, &[1]),
        node(Op::Concat, &[1, 2, 0]),
        node(Op::Act(Activation::Sigmoid), &[3]),
        node(Op::Act(Activation::Tanh), &[2]),
        node(Op::Concat, &[4, 5, 5]),
        node(Op::Affine { scale: r.reals(19, 2.0), shift: vec![0.0; 19] }, &[6]),
        node(Op::Act(Activation::Relu), &[7]),
        node(Op::Select(vec![18, 3, 3, 0]), &[8]),
        node(Op::Affine { scale: vec![1.0; 4], shift: vec![0.0; 4] }, &[9]),
    ];
    Network { inputs: 3, nodes }
}

/// Equal factors on either side of a Select: no value is out of range, but the factors together are.
fn far() -> Network {
    let inputs = 300;
    let scale = |power: i32| Op::Affine { scale: vec![2f32.powi(power); inputs], shift: vec![0.0; inputs] };
    let reversed = Op::Select((0..inputs).rev().collect());
    let up = [scale(-60), scale(70), reversed.clone(), scale(70), scale(-80)];
    let down = [scale(60), scale(-80), reversed, scale(-80), scale(100)];
    let nodes = up.into_iter().chain(down);
    Network { inputs, nodes: nodes.enumerate().map(|(k, op)| Node { op, from: vec![k] }).collect() }
}

/// Functions of one column times that column: runtimes have names for them (`x sigmoid(x)` is `SiLU`).
fn column() -> Network {
    let node = |op, from: &[usize]| Node { op, from: from.to_vec() };
    let act = |f| Op::Act(f);
    let nodes = vec![
        node(Op::Affine { scale: vec![1.7], shift: vec![0.0] }, &[0]),
        node(act(Activation::Sigmoid), &[1]),
        node(Op::Gate, &[0, 2]),
        node(act(Activation::Sigmoid), &[3]),
        node(Op::Gate, &[4, 3]),
        node(act(Activation::Tanh), &[5]),
        node(Op::Gate, &[0, 6]),
        node(Op::Concat, &[3, 5, 7]),
    ];
    Network { inputs: 1, nodes }
}

fn write(path: &Path, numbers: impl Iterator<Item = f64>) -> io::Result<()> {
    fs::write(path, numbers.flat_map(f64::to_le_bytes).collect::<Vec<u8>>())
}
