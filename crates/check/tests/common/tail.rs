//! A runtime for tails that misbehaves as far as it may: sums in random orders, fused or not, denormals read and written as zero or not.

use std::collections::BTreeMap;

use deepsade_net::Piece;
use deepsade_net::onnx::piece::{Call, Numbers};

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
            "Gather" => {
                let (rows, width) = (reads[0].dims[0], reads[0].dims[1]);
                let data: Vec<f32> = (0..rows)
                    .flat_map(|r| reads[1].data.iter().map(move |c| (r, *c as usize)))
                    .map(|(r, c)| {
                        assert!(c < width, "{call:?}");
                        reads[0].data[r * width + c]
                    })
                    .collect();
                if reads[1].dims.is_empty() { Tensor { dims: vec![rows], data } } else { Tensor::rows(reads[1].data.len(), data) }
            }
            "MatMul" | "Gemm" => {
                let (rows, inner, cols) = (reads[0].dims[0], reads[0].dims[1], reads[1].dims[1]);
                assert_eq!(inner, reads[1].dims[0]);
                let mut data = Vec::new();
                for r in 0..rows {
                    for c in 0..cols {
                        let x = &reads[0].data[r * inner..(r + 1) * inner];
                        let w: Vec<f32> = (0..inner).map(|k| reads[1].data[k * cols + c]).collect();
                        let b = reads.get(2).map_or(0.0, |b| b.data[if b.dims.len() == 2 { r * cols + c } else { c }]);
                        data.push(self.dot(&w, x, b));
                    }
                }
                Tensor::rows(cols, data)
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
