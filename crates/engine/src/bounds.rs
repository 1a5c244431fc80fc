//! A network and regions of inputs enter; for each region a box around every value before the last layer leaves.
//!
//! Boxes are kept as middle m and radius r: of `W x + b` the middle is `W m + b` and the radius `|W| r`. Radii are inflated by
//! the any-order float32 error of DESIGN section 3, twice over to cover this computation's own rounding. They steer the search;
//! the checker computes its own.

mod relation;

use deepsade_net::{Activation, Network, Op};
use deepsade_spec::Region;
use deepsade_spec::{ColumnKind, OneHot, Schema};

use crate::train::vector;

pub use relation::Relation;

/// Half a unit in the last place of float32.
const UNIT: f32 = 1.0 / 16_777_216.0;
/// Accuracy that is assumed of sigmoid and tanh, as in the checker.
const ACTIVATION_ERROR: f32 = 1.0 / 1_048_576.0;

/// Middle and radius of each column of a value.
#[derive(Debug, Clone, Default)]
pub struct Boxed {
    /// Middles.
    pub m: Vec<f32>,
    /// Radii.
    pub r: Vec<f32>,
}

impl Boxed {
    fn new(width: usize) -> Self {
        Self { m: vec![0.0; width], r: vec![0.0; width] }
    }
}

/// Where a column of a value comes straight from the input: `value = x[column] * scale + shift`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Origin {
    /// The input column.
    pub column: usize,
    /// Its factor.
    pub scale: f64,
    /// Its offset.
    pub shift: f64,
}

/// Boxes of every value up to the one that the last dense layer reads.
#[derive(Debug, Clone)]
pub struct Bounds {
    network: Network,
    /// Where each dense node's weights start in the flat parameters; they are followed by the bias.
    starts: Vec<usize>,
    /// For each value, whether it depends on a parameter.
    moving: Vec<bool>,
    /// The value that the last dense layer reads.
    last_input: usize,
    regions: Vec<RegionBoxes>,
}

#[derive(Debug, Clone)]
struct RegionBoxes {
    values: Vec<Boxed>,
    /// The allowed columns of each category in the input (`None` for the level without a column).
    groups: Vec<Vec<Option<usize>>>,
    /// For dense nodes that read one-hot columns: the boxes with those columns at zero, and each group's allowed columns
    /// (`None` for the level without a column).
    masked: Vec<Option<Masked>>,
    /// Scratch: inflated radii.
    inflated: Vec<f32>,
}

#[derive(Debug, Clone)]
struct Masked {
    value: Boxed,
    groups: Vec<Vec<Option<usize>>>,
}

impl Bounds {
    /// Lays the boxes out; `regions` must not be empty sets.
    pub fn new(network: &Network, schema: &Schema, regions: &[Region]) -> Self {
        let widths = network.widths();
        let mut starts = vec![0; network.nodes.len()];
        let mut next = 0;
        let mut moving = vec![false];
        let mut last_input = 0;
        for (k, node) in network.nodes.iter().enumerate() {
            if let Op::Dense { w, b } = &node.op {
                starts[k] = next;
                next += w.data.len() + b.len();
                last_input = node.from[0];
            }
            moving.push(matches!(node.op, Op::Dense { .. }) || node.from.iter().any(|v| moving[*v]));
        }
        let mut bounds = Self { network: network.clone(), starts, moving, last_input, regions: Vec::new() };
        for region in regions {
            let values = widths.iter().map(|w| Boxed::new(*w)).collect();
            let masked = vec![None; network.nodes.len()];
            let mut boxes = RegionBoxes { values, groups: Vec::new(), masked, inflated: Vec::new() };
            fill_input(&mut boxes.values[0], schema, region);
            for k in 0..network.nodes.len() {
                if !bounds.moving[k + 1] {
                    bounds.forward(k, &mut boxes, &[]);
                }
            }
            for (k, node) in network.nodes.iter().enumerate() {
                if matches!(node.op, Op::Dense { .. }) && !bounds.moving[node.from[0]] {
                    boxes.masked[k] = bounds.mask(node.from[0], &boxes, schema, region);
                }
            }
            boxes.groups = bounds.mask(0, &boxes, schema, region).map(|m| m.groups).unwrap_or_default();
            bounds.regions.push(boxes);
        }
        bounds.update(&vec![0.0; next]);
        bounds.forget_hidden();
        bounds
    }

    /// Puts what the last layer reads of the hidden units at zero: nothing is known of them before the first update.
    fn forget_hidden(&mut self) {
        for (k, origin) in self.origins().iter().enumerate() {
            if origin.is_none() {
                for boxes in &mut self.regions {
                    let value = &mut boxes.values[self.last_input];
                    (value.m[k], value.r[k]) = (0.0, 0.0);
                }
            }
        }
    }

    /// Recomputes the boxes for these parameters.
    pub fn update(&mut self, parameters: &[f32]) {
        let mut regions = std::mem::take(&mut self.regions);
        for boxes in &mut regions {
            for k in 0..self.last_input {
                if self.moving[k + 1] {
                    self.forward(k, boxes, parameters);
                }
            }
        }
        self.regions = regions;
    }

    /// The box of a value before the last dense layer.
    pub fn value(&self, region: usize, value: usize) -> &Boxed {
        &self.regions[region].values[value]
    }

    /// The box of what the last dense layer reads.
    pub fn last_input(&self, region: usize) -> &Boxed {
        &self.regions[region].values[self.last_input]
    }

    /// For each column that the last dense layer reads, its input column if it comes straight from there.
    pub fn origins(&self) -> Vec<Option<Origin>> {
        self.origins_of(self.last_input)
    }

    /// For each column of a value, its input column if it comes straight from there.
    pub fn origins_of(&self, value: usize) -> Vec<Option<Origin>> {
        let Some(k) = value.checked_sub(1) else {
            return (0..self.network.inputs).map(|column| Some(Origin { column, scale: 1.0, shift: 0.0 })).collect();
        };
        let node = &self.network.nodes[k];
        match &node.op {
            Op::Affine { scale, shift } => {
                let before = self.origins_of(node.from[0]);
                let then = |((o, s), t): ((Option<Origin>, &f32), &f32)| {
                    let (s, t) = (f64::from(*s), f64::from(*t));
                    o.map(|o| Origin { column: o.column, scale: o.scale * s, shift: o.shift * s + t })
                };
                before.into_iter().zip(scale).zip(shift).map(then).collect()
            }
            Op::Select(columns) => {
                let before = self.origins_of(node.from[0]);
                columns.iter().map(|c| before[*c]).collect()
            }
            Op::Concat => node.from.iter().flat_map(|v| self.origins_of(*v)).collect(),
            Op::Dense { .. } | Op::Act(_) | Op::Gate | Op::Choose(_) => {
                vec![None; self.regions.first().map_or(0, |r| r.values[value].m.len())]
            }
        }
    }

    fn mask(&self, value: usize, boxes: &RegionBoxes, schema: &Schema, region: &Region) -> Option<Masked> {
        let origins = self.origins_of(value);
        let columns = schema.columns();
        let mut masked = Masked { value: boxes.values[value].clone(), groups: Vec::new() };
        for f in 0..schema.features.len() {
            let Some(allowed) = region.levels(f) else { continue };
            let place = |l: usize| {
                let column = columns.iter().position(|c| c.feature == f && c.kind == ColumnKind::Level(l));
                column.map(|column| {
                    origins.iter().position(|o| o.is_some_and(|o| o.column == column && o.scale == 1.0 && o.shift == 0.0))
                })
            };
            let places: Vec<Option<Option<usize>>> = (0..allowed.len()).map(place).collect();
            // A level has no column only if the first is dropped; any other absence means this value is not the whole group.
            let dropped = schema.one_hot == OneHot::DropFirst;
            let some = places.iter().flatten().flatten().next().is_some();
            let whole =
                some && places.iter().enumerate().all(|(l, p)| matches!(p, Some(Some(_))) || (p.is_none() && dropped && l == 0));
            if !whole {
                continue;
            }
            for at in places.iter().flatten().flatten() {
                masked.value.m[*at] = 0.0;
                masked.value.r[*at] = 0.0;
            }
            let group = places.iter().zip(allowed).filter(|(_, a)| **a).map(|(p, _)| p.flatten()).collect();
            masked.groups.push(group);
        }
        (!masked.groups.is_empty()).then_some(masked)
    }

    fn forward(&self, k: usize, boxes: &mut RegionBoxes, parameters: &[f32]) {
        let node = &self.network.nodes[k];
        let mut out = std::mem::take(&mut boxes.values[k + 1]);
        match &node.op {
            Op::Affine { scale, shift } => {
                let x = &boxes.values[node.from[0]];
                for c in 0..scale.len() {
                    let (m, s, t) = (f64::from(x.m[c]), f64::from(scale[c]), f64::from(shift[c]));
                    let size = (m.abs() + f64::from(x.r[c])) * s.abs() + t.abs();
                    out.m[c] = (m * s + t) as f32;
                    out.r[c] = (f64::from(x.r[c]) * s.abs() * (1.0 + 1e-6) + size * 8.0 * f64::from(UNIT)) as f32;
                }
            }
            Op::Dense { w, b } => {
                let (inputs, outputs) = (w.cols, b.len());
                let weights = &parameters[self.starts[k]..self.starts[k] + inputs * outputs];
                let bias = &parameters[self.starts[k] + inputs * outputs..][..outputs];
                let masked = boxes.masked[k].as_ref();
                let x = masked.map_or(&boxes.values[node.from[0]], |masked| &masked.value);
                dense(&mut out, x, weights, bias, &mut boxes.inflated);
                if let Some(masked) = masked {
                    one_hot(&mut out, &masked.groups, weights, inputs);
                }
            }
            Op::Act(activation) => activate(&mut out, &boxes.values[node.from[0]], *activation),
            Op::Select(columns) => {
                let x = &boxes.values[node.from[0]];
                for (c, from) in columns.iter().enumerate() {
                    (out.m[c], out.r[c]) = (x.m[*from], x.r[*from]);
                }
            }
            Op::Concat => {
                let mut at = 0;
                for v in &node.from {
                    let x = &boxes.values[*v];
                    out.m[at..at + x.m.len()].copy_from_slice(&x.m);
                    out.r[at..at + x.r.len()].copy_from_slice(&x.r);
                    at += x.m.len();
                }
            }
            // Only after the last dense layer, where the guard treats it; a choice has no guard.
            Op::Gate | Op::Choose(_) => {}
        }
        boxes.values[k + 1] = out;
    }
}

fn fill_input(x: &mut Boxed, schema: &Schema, region: &Region) {
    for (c, column) in schema.columns().iter().enumerate() {
        let (lo, hi) = match column.kind {
            ColumnKind::Number => region.range(column.feature).unwrap_or((0.0, 1.0)),
            ColumnKind::Level(l) => {
                let allowed = region.levels(column.feature).unwrap_or(&[]);
                let others = allowed.iter().enumerate().any(|(k, a)| k != l && *a);
                (f64::from(u8::from(!others)), f64::from(u8::from(allowed.get(l).copied().unwrap_or(true))))
            }
        };
        x.m[c] = f64::midpoint(lo, hi) as f32;
        // Wide enough to reach both ends from the rounded middle.
        let radius = (hi - f64::from(x.m[c])).max(f64::from(x.m[c]) - lo);
        x.r[c] = (radius as f32).next_up() * f32::from(radius > 0.0);
    }
}

/// `W m + b` and `|W| r`, the radius inflated by the error of n + 1 terms in any order.
fn dense(out: &mut Boxed, x: &Boxed, w: &[f32], b: &[f32], inflated: &mut Vec<f32>) {
    let n = x.m.len();
    let kappa = 2.0 * (n as f32 + 3.0) * UNIT;
    inflated.clear();
    inflated.extend(x.m.iter().zip(&x.r).map(|(m, r)| r + kappa * (m.abs() + r)));
    vector(
        #[inline(always)]
        || {
            for (i, row) in w.chunks_exact(n.max(1)).enumerate() {
                let (middle, radius) =
                    if n < 256 { dot_and_abs::<8>(row, &x.m, inflated) } else { dot_and_abs::<32>(row, &x.m, inflated) };
                out.m[i] = middle + b[i];
                out.r[i] = radius + kappa * b[i].abs() + f32::MIN_POSITIVE;
            }
        },
    );
    if n == 0 {
        out.m.copy_from_slice(b);
    }
}

/// `sum w m` and `sum |w| r` in several lanes: long rows keep more of them busy.
#[inline(always)]
#[allow(clippy::inline_always, reason = "compiled with the caller's vector instructions")]
fn dot_and_abs<const LANES: usize>(w: &[f32], m: &[f32], r: &[f32]) -> (f32, f32) {
    let (mut sums, mut sizes) = ([0.0f32; LANES], [0.0f32; LANES]);
    let (w8, m8, r8) = (w.chunks_exact(LANES), m.chunks_exact(LANES), r.chunks_exact(LANES));
    let tail: (f32, f32) = w8
        .remainder()
        .iter()
        .zip(m8.remainder().iter().zip(r8.remainder()))
        .fold((0.0, 0.0), |(s, t), (w, (m, r))| (s + w * m, t + w.abs() * r));
    for ((w, m), r) in w8.zip(m8).zip(r8) {
        for l in 0..LANES {
            sums[l] += w[l] * m[l];
            sizes[l] += w[l].abs() * r[l];
        }
    }
    (sums.iter().sum::<f32>() + tail.0, sizes.iter().sum::<f32>() + tail.1)
}

/// A category has exactly one level: its share lies between the smallest and the largest weight of an allowed one.
fn one_hot(out: &mut Boxed, groups: &[Vec<Option<usize>>], w: &[f32], inputs: usize) {
    for (i, row) in w.chunks_exact(inputs.max(1)).enumerate() {
        for group in groups {
            let weight = |at: &Option<usize>| at.map_or(0.0, |c| row[c]);
            let (lo, hi) =
                group.iter().map(weight).fold((f32::INFINITY, f32::NEG_INFINITY), |(lo, hi), v| (lo.min(v), hi.max(v)));
            out.m[i] += f32::midpoint(lo, hi);
            out.r[i] += (hi - lo) * 0.5 * (1.0 + 8.0 * UNIT) + 8.0 * UNIT * lo.abs().max(hi.abs());
        }
    }
}

fn activate(out: &mut Boxed, x: &Boxed, activation: Activation) {
    let squash = |f: fn(f32) -> f32, out: &mut Boxed| {
        for i in 0..x.m.len() {
            let (lo, hi) = (f(x.m[i] - x.r[i]), f(x.m[i] + x.r[i]));
            out.m[i] = f32::midpoint(lo, hi);
            out.r[i] = (hi - lo) * 0.5 + 4.0 * ACTIVATION_ERROR;
        }
    };
    match activation {
        Activation::Relu => vector(
            #[inline(always)]
            || {
                for i in 0..x.m.len() {
                    let (lo, hi) = ((x.m[i] - x.r[i]).max(0.0), (x.m[i] + x.r[i]).max(0.0));
                    out.m[i] = (lo + hi) * 0.5;
                    out.r[i] = (hi - lo) * 0.5 + 4.0 * UNIT * hi;
                }
            },
        ),
        Activation::Sigmoid => squash(|v| 1.0 / (1.0 + (-v).exp()), out),
        Activation::Tanh => squash(f32::tanh, out),
    }
}
