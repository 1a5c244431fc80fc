//! A network and regions of inputs enter; for each region a box around every value before the last layer leaves.
//!
//! Boxes are kept as middle m and radius r: of `W x + b` the middle is `W m + b` and the radius `|W| r`. Radii are inflated by
//! the any-order float32 error of DESIGN section 3, twice over to cover this computation's own rounding. They steer the search;
//! the checker computes its own.

//!
//! Each operator has a file that answers the same questions: its interval, and for linear bounds how coefficients go back through
//! it (`back`) and a point goes forward along the lines that were chosen (`along`).

mod activation;
mod affine;
mod concat;
mod conv;
mod dense;
mod gate;
mod input;
mod max_pool;
mod relation;
mod select;

use deepsade_net::{Network, Op};
use deepsade_spec::{Region, Schema};

use input::Masked;
pub use relation::RelationScratch;

/// Half a unit in the last place of float32.
const UNIT: f32 = deepsade_net::ball::UNIT as f32;

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
pub struct HiddenBounds {
    network: Network,
    /// Where each dense node's weights start in the flat parameters; they are followed by the bias.
    starts: Vec<usize>,
    /// For each value, whether it depends on a parameter.
    moving: Vec<bool>,
    /// The value that the last dense layer reads.
    last_input: usize,
    regions: Vec<RegionBoxes>,
    /// The boxes of the whole domain, if hidden units are bounded over it in every region.
    whole: Option<Box<HiddenBounds>>,
}

#[derive(Debug, Clone)]
struct RegionBoxes {
    values: Vec<Boxed>,
    /// The allowed columns of each category in the input (`None` for the level without a column).
    groups: Vec<Vec<Option<usize>>>,
    /// For dense nodes that read one-hot columns: the boxes with those columns at zero, and each group's allowed columns
    /// (`None` for the level without a column).
    masked: Vec<Option<Masked>>,
    /// For linear bounds: how far float32 may be from the exact values.
    errors: Vec<Vec<f32>>,
    /// What dense layers read, laid out for them: for those that read a value that does not move, and for the others in turn.
    fixed: Vec<Option<dense::LaneLayout>>,
    lanes: dense::LaneLayout,
}

impl HiddenBounds {
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
        let mut bounds = Self { network: network.clone(), starts, moving, last_input, regions: Vec::new(), whole: None };
        for region in regions {
            let values = widths.iter().map(|w| Boxed::new(*w)).collect();
            let masked = vec![None; network.nodes.len()];
            let mut boxes = RegionBoxes {
                values,
                groups: Vec::new(),
                masked,
                errors: Vec::new(),
                fixed: vec![None; network.nodes.len()],
                lanes: dense::LaneLayout::default(),
            };
            input::interval(&mut boxes.values[0], schema, region);
            for k in 0..network.nodes.len() {
                if !bounds.moving[k + 1] {
                    bounds.forward(k, &mut boxes, &[]);
                }
            }
            for (k, node) in network.nodes.iter().enumerate() {
                if matches!(node.op, Op::Dense { .. }) && !bounds.moving[node.from[0]] {
                    let mut lanes = dense::LaneLayout::default();
                    boxes.masked[k] = input::mask(&boxes.values[node.from[0]], &bounds.origins_of(node.from[0]), schema, region);
                    lanes.fill(boxes.masked[k].as_ref().map_or(&boxes.values[node.from[0]], |masked| &masked.value));
                    boxes.fixed[k] = Some(lanes);
                }
            }
            boxes.groups = input::groups(schema, region);
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
        if let Some(whole) = &mut self.whole {
            whole.update(parameters);
            let hidden = whole.origins().iter().map(Option::is_none).collect::<Vec<_>>();
            let from = whole.last_input(0);
            for boxes in &mut self.regions {
                let value = &mut boxes.values[self.last_input];
                for k in (0..hidden.len()).filter(|k| hidden[*k]) {
                    (value.m[k], value.r[k]) = (from.m[k], from.r[k]);
                }
            }
        }
    }

    /// From now on hidden units are bounded over `whole`, in every region; what comes straight from the input stays the region's.
    pub fn widen(&mut self, schema: &Schema, whole: &Region) {
        self.whole = Some(Box::new(Self::new(&self.network, schema, std::slice::from_ref(whole))));
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
        origins_of(&self.network, value)
    }

    fn forward(&self, k: usize, boxes: &mut RegionBoxes, parameters: &[f32]) {
        let node = &self.network.nodes[k];
        let mut out = std::mem::take(&mut boxes.values[k + 1]);
        let x = &boxes.values[node.from[0]];
        match &node.op {
            Op::Affine { scale, shift } => affine::interval(&mut out, x, scale, shift),
            Op::Dense { w, b } => {
                let (weights, bias) = self.dense(k, w.cols, b.len(), parameters);
                let masked = boxes.masked[k].as_ref();
                let lanes = boxes.fixed[k].as_ref().unwrap_or_else(|| {
                    boxes.lanes.fill(x);
                    &boxes.lanes
                });
                dense::interval(&mut out, lanes, weights, bias);
                if let Some(masked) = masked {
                    dense::one_hot(&mut out, &masked.groups, weights, w.cols);
                }
            }
            Op::Act(f) => activation::interval(&mut out, x, *f),
            Op::Select(columns) => select::interval(&mut out, x, columns),
            Op::Concat => concat::interval(&mut out, node.from.iter().map(|v| &boxes.values[*v])),
            Op::Gate => gate::interval(&mut out, x, &boxes.values[node.from[1]]),
            Op::Conv(op) => conv::interval(&mut out, x, op),
            Op::MaxPool(window) => max_pool::interval(&mut out, x, window),
            // A choice has no guard.
            Op::Choose(_) => {}
        }
        boxes.values[k + 1] = out;
    }

    /// Weights and bias of dense node k.
    fn dense<'p>(&self, k: usize, inputs: usize, outputs: usize, parameters: &'p [f32]) -> (&'p [f32], &'p [f32]) {
        parameters[self.starts[k]..][..(inputs + 1) * outputs].split_at(inputs * outputs)
    }
}

/// For each column of a network's value, its input column if it comes straight from there.
pub fn origins_of(network: &Network, value: usize) -> Vec<Option<Origin>> {
    let Some(k) = value.checked_sub(1) else {
        return (0..network.inputs).map(|column| Some(Origin { column, scale: 1.0, shift: 0.0 })).collect();
    };
    let node = &network.nodes[k];
    match &node.op {
        Op::Affine { scale, shift } => {
            let before = origins_of(network, node.from[0]);
            let then = |((o, s), t): ((Option<Origin>, &f32), &f32)| {
                let (s, t) = (f64::from(*s), f64::from(*t));
                // A scale of 0 leaves nothing of the input.
                o.map(|o| Origin { column: o.column, scale: o.scale * s, shift: o.shift * s + t }).filter(|o| o.scale.is_normal())
            };
            before.into_iter().zip(scale).zip(shift).map(then).collect()
        }
        Op::Select(columns) => {
            let before = origins_of(network, node.from[0]);
            columns.iter().map(|c| before[*c]).collect()
        }
        Op::Concat => node.from.iter().flat_map(|v| origins_of(network, *v)).collect(),
        Op::Dense { .. } | Op::Act(_) | Op::Gate | Op::Choose(_) | Op::Conv(_) | Op::MaxPool(_) => {
            vec![None; network.width(value).unwrap_or(0)]
        }
    }
}
