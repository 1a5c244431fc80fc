//! A runtime for tails that misbehaves as far as it may: sums in random orders, fused or not, denormals read and written as zero or not.

use std::collections::BTreeMap;

use deepsade_check::step::InputPorts;
use deepsade_net::onnx::piece::{Attribute, Call, Numbers};
use deepsade_net::{Piece, Port};
use deepsade_spec::Schema;

use super::Rng;

/// A tensor: booleans are 0 and 1, whole numbers are numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor {
    pub dims: Vec<usize>,
    pub data: Vec<f32>,
}

impl Tensor {
    pub fn rows(width: usize, data: Vec<f32>) -> Self {
        Self { dims: vec![data.len() / width, width], data }
    }

    /// The outputs of one row, a line each.
    pub fn standing(data: Vec<f32>) -> Self {
        Self::rows(1, data)
    }

    fn line(&self, k: usize) -> &[f32] {
        &self.data[k * self.dims[1]..(k + 1) * self.dims[1]]
    }

    fn turned(&self) -> Self {
        let data = (0..self.dims[1]).flat_map(|c| (0..self.dims[0]).map(move |r| self.line(r)[c])).collect();
        Self::rows(self.dims[0], data)
    }
}

/// How this evaluation misbehaves.
pub struct Tails<'r> {
    pub rng: &'r mut Rng,
    pub flush: bool,
}

impl Tails<'_> {
    fn read(&self, v: f32) -> f32 {
        if self.flush && v.is_subnormal() { 0.0 } else { v }
    }

    /// Runs the calls; what every name stands for.
    pub fn run(&mut self, piece: &Piece, given: &[(&str, Tensor)]) -> BTreeMap<String, Tensor> {
        let mut known: BTreeMap<String, Tensor> = given.iter().map(|(name, t)| ((*name).to_string(), t.clone())).collect();
        for t in &piece.tensors {
            let data = match &t.data {
                Numbers::Float(data) => data.clone(),
                Numbers::Int(data) => data.iter().map(|v| *v as f32).collect(),
            };
            known.insert(t.name.clone(), Tensor { dims: t.dims.clone(), data });
        }
        for call in &piece.calls {
            let reads: Vec<Tensor> = call.reads.iter().map(|name| known[name].clone()).collect();
            let made = self.call(call, &reads);
            assert!(known.insert(call.makes.clone(), made).is_none(), "{} is made twice", call.makes);
        }
        known
    }

    fn call(&mut self, call: &Call, reads: &[Tensor]) -> Tensor {
        let one =
            |f: &dyn Fn(f32) -> f32| Tensor { dims: reads[0].dims.clone(), data: reads[0].data.iter().map(|v| f(*v)).collect() };
        let truth = |b: bool| if b { 1.0 } else { 0.0 };
        match call.op.as_str() {
            "Abs" => one(&|v| self.read(v).abs()),
            "Floor" => one(&|v| self.read(v).floor()),
            "Ceil" => one(&|v| self.read(v).ceil()),
            "Add" => self.pairs(reads, |a, b| a + b),
            "Cast" | "Identity" => one(&|v| v),
            "Flatten" => Tensor::rows(reads[0].data.len() / reads[0].dims[0], reads[0].data.clone()),
            "Reshape" => Tensor { dims: vec![reads[0].data.len()], data: reads[0].data.clone() },
            "And" => self.pairs(reads, |a, b| truth(a > 0.5 && b > 0.5)),
            "Max" => self.pairs(reads, |a, b| if b > a { b } else { a }),
            "Min" => self.pairs(reads, |a, b| if b < a { b } else { a }),
            // Of what is no number a runtime makes what it likes.
            "Clip" => {
                let (lo, hi, odd) = (reads[1].data[0], reads[2].data[0], self.rng.below(2) == 0);
                one(&|v| if v.is_nan() && odd { lo } else { self.read(v).clamp(lo, hi) })
            }
            "Less" => self.pairs(reads, |a, b| truth(a < b)),
            "Greater" => self.pairs(reads, |a, b| truth(a > b)),
            "Equal" => self.pairs(reads, |a, b| truth(a == b)),
            "Sub" => self.pairs(reads, |a, b| a - b),
            "Mul" => self.pairs(reads, |a, b| a * b),
            "Where" => {
                let dims = shape(&[&reads[0], &reads[1], &reads[2]]);
                let at = |t: &Tensor, k: usize| t.data[place(&dims, k, t)];
                let data =
                    (0..dims.iter().product()).map(|k| at(&reads[if at(&reads[0], k) > 0.5 { 1 } else { 2 }], k)).collect();
                Tensor { dims, data }
            }
            "Concat" => {
                let rows = reads[0].dims[0];
                assert!(reads.iter().all(|t| t.dims.len() == 2 && t.dims[0] == rows), "{reads:?}");
                let data =
                    (0..rows).flat_map(|r| reads.iter().flat_map(move |t| t.data[r * t.dims[1]..(r + 1) * t.dims[1]].to_vec()));
                Tensor::rows(reads.iter().map(|t| t.dims[1]).sum(), data.collect())
            }
            // Along the first axis whole lines are taken, along the second columns of all of them.
            "Gather" => {
                let of = if flag(call, "axis") == 0 { reads[0].clone() } else { reads[0].turned() };
                let taken = reads[1].data.iter().flat_map(|k| of.line(*k as usize).to_vec()).collect();
                let taken = Tensor::rows(of.dims[1], taken);
                match reads[1].dims.is_empty() {
                    true => Tensor { dims: vec![of.dims[1]], data: taken.data },
                    false if flag(call, "axis") == 0 => taken,
                    false => taken.turned(),
                }
            }
            "Transpose" => reads[0].turned(),
            "Gemm" => {
                let (a, b) = (&reads[0], if flag(call, "transB") == 0 { reads[1].turned() } else { reads[1].clone() });
                assert_eq!(a.dims[1], b.dims[1], "{call:?}");
                let mut data = Vec::new();
                for r in 0..a.dims[0] {
                    for c in 0..b.dims[0] {
                        let plus = reads[2].data[place(&[a.dims[0], b.dims[0]], r * b.dims[0] + c, &reads[2])];
                        data.push(self.dot(a.line(r), b.line(c), plus));
                    }
                }
                Tensor::rows(b.dims[0], data)
            }
            other => panic!("a tail has no {other}"),
        }
    }

    fn dot(&mut self, w: &[f32], x: &[f32], b: f32) -> f32 {
        let mut order: Vec<usize> = (0..w.len()).collect();
        self.rng.shuffle(&mut order);
        let start = self.rng.below(2) == 0;
        let mut sum = if start { self.read(b) } else { 0.0 };
        for k in order {
            let (w, x) = (self.read(w[k]), self.read(x[k]));
            sum = if self.rng.below(2) == 0 { w.mul_add(x, sum) } else { sum + self.read(w * x) };
            sum = self.read(sum);
        }
        if start { sum } else { self.read(sum + self.read(b)) }
    }

    fn pairs(&self, reads: &[Tensor], f: impl Fn(f32, f32) -> f32) -> Tensor {
        let dims = shape(&[&reads[0], &reads[1]]);
        let at = |t: &Tensor, k: usize| self.read(t.data[place(&dims, k, t)]);
        let data = (0..dims.iter().product()).map(|k| self.read(f(at(&reads[0], k), at(&reads[1], k)))).collect();
        Tensor { dims, data }
    }
}

fn flag(call: &Call, name: &str) -> i64 {
    let found = call.attributes.iter().find(|(own, _)| own == name);
    if let Some((_, Attribute::Int(v))) = found { *v } else { 0 }
}

fn shape(of: &[&Tensor]) -> Vec<usize> {
    let rank = of.iter().map(|t| t.dims.len()).max().unwrap();
    let dim = |k: usize| of.iter().filter_map(|t| (k + t.dims.len()).checked_sub(rank).map(|k| t.dims[k])).max().unwrap();
    (0..rank).map(dim).collect()
}

fn place(dims: &[usize], mut k: usize, t: &Tensor) -> usize {
    let (mut at, mut stride) = (0, 1);
    for d in (0..dims.len()).rev() {
        let (own, own_dim) = (k % dims[d], (d + t.dims.len()).checked_sub(dims.len()).map_or(1, |d| t.dims[d]));
        k /= dims[d];
        assert!(own_dim == 1 || own_dim == dims[d], "{dims:?} {:?}", t.dims);
        at += if own_dim == 1 { 0 } else { own * stride };
        stride *= own_dim;
    }
    at
}

pub fn rows_of(schema: &Schema) -> InputPorts {
    InputPorts::Rows(Port::rows("in", "float", Some(schema.columns().len())))
}

/// Numbers that matter for rules: small whole ones, borders, their neighbours, what is not a number, what is tiny or huge.
pub fn number(rng: &mut Rng, near: &[f32]) -> f32 {
    let base = match rng.below(8) {
        0 => [0.0, 1.0, -1.0, 5.0, 0.1, 0.5][rng.below(6)],
        1 => [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e30, -1e30, 1e-45, -1e-45, 1e-39, -2e-38][rng.below(9)],
        2 | 3 => near[rng.below(near.len())],
        _ => (rng.unit() * 12.0 - 4.0) as f32,
    };
    match rng.below(6) {
        0 => base.next_up(),
        1 => base.next_down(),
        _ => base,
    }
}
