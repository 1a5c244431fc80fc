//! A plan, its parameters and a batch enter; values go forward, gradients come backward. Nothing here allocates.

use deepsade_net::{Activation, Matrix};
use deepsade_solve::exp::{sigmoid, tanh};
use deepsade_solve::kernel::{self, DenseShape, vector};

use super::plan::{Flow, NodeWork, ParameterSpan, PlannedNode, ReadSlot};

/// Runs one step on the first `rows` rows of its buffers.
pub fn forward(
    step: &PlannedNode,
    layers: &[ParameterSpan],
    parameters: &[f32],
    values: &mut [Vec<f32>],
    widths: &[usize],
    rows: usize,
) {
    if let (NodeWork::Act(activation), true) = (&step.work, step.from[0].slot == step.to) {
        return activate(*activation, &mut values[step.to][..rows * widths[step.to]]);
    }
    let width = widths[step.to];
    let (before, after) = values.split_at_mut(step.to);
    let y = &mut after[0][..rows * width];
    let read = |source: &ReadSlot| (&before[source.slot][..rows * widths[source.slot]], widths[source.slot]);
    let (x, x_width) = read(&step.from[0]);
    match &step.work {
        NodeWork::Affine { scale, shift } => {
            for (y, x) in y.chunks_exact_mut(width.max(1)).zip(x.chunks_exact(width.max(1))) {
                for (((y, x), scale), shift) in y.iter_mut().zip(x).zip(scale).zip(shift) {
                    *y = x * scale + shift;
                }
            }
        }
        NodeWork::Dense { layer } => {
            let layer = layers[*layer];
            let shape = DenseShape { rows, inputs: layer.inputs, outputs: layer.outputs };
            kernel::dense(y, x, &parameters[layer.w()], &parameters[layer.b()], shape);
        }
        NodeWork::Act(activation) => {
            y.copy_from_slice(x);
            activate(*activation, y);
        }
        NodeWork::Select(columns) => {
            for (y, x) in y.chunks_exact_mut(width.max(1)).zip(x.chunks_exact(x_width.max(1))) {
                for (y, &column) in y.iter_mut().zip(columns) {
                    *y = x[column];
                }
            }
        }
        NodeWork::Concat => {
            let mut start = 0;
            for source in &step.from {
                let (x, part) = read(source);
                for (y, x) in y.chunks_exact_mut(width.max(1)).zip(x.chunks_exact(part.max(1))) {
                    y[start..start + part].copy_from_slice(x);
                }
                start += part;
            }
        }
        NodeWork::Given(op) => {
            let given = op.apply(&Matrix { rows, cols: x_width, data: x.to_vec() });
            y.copy_from_slice(&given.data);
        }
        NodeWork::Gate => {
            let (gate, _) = read(&step.from[1]);
            for ((y, x), g) in y.chunks_exact_mut(width.max(1)).zip(x.chunks_exact(width.max(1))).zip(gate) {
                for (y, x) in y.iter_mut().zip(x) {
                    *y = x * g;
                }
            }
        }
    }
}

/// The buffers that a backward step reads and writes.
pub struct Backward<'a> {
    /// The dense layers.
    pub layers: &'a [ParameterSpan],
    /// The parameters.
    pub parameters: &'a [f32],
    /// The gradient with respect to the parameters.
    pub gradient: &'a mut [f32],
    /// The values of the forward pass.
    pub values: &'a [Vec<f32>],
    /// The gradients with respect to the values.
    pub deltas: &'a mut [Vec<f32>],
    /// Width of each slot.
    pub widths: &'a [usize],
    /// Rows of the batch.
    pub rows: usize,
}

impl Backward<'_> {
    /// From the gradient of the step's result to that of its parameters and of what it read.
    pub fn step(&mut self, step: &PlannedNode) {
        let rows = self.rows;
        let widths = self.widths;
        let width = widths[step.to];
        let value = |slot: usize| &self.values[slot][..rows * widths[slot]];
        if let (NodeWork::Act(activation), true) = (&step.work, step.from[0].slot == step.to) {
            return fall(*activation, &mut self.deltas[step.to][..rows * width], value(step.to));
        }
        let (before, after) = self.deltas.split_at_mut(step.to);
        let dy = &after[0][..rows * width];
        let ReadSlot { slot, flow } = step.from[0];
        match &step.work {
            NodeWork::Dense { layer } => {
                let layer = self.layers[*layer];
                let shape = DenseShape { rows, inputs: layer.inputs, outputs: layer.outputs };
                let (dw, db) = self.gradient[layer.w().start..layer.b().end].split_at_mut(layer.w().len());
                kernel::dense_weights(dw, db, dy, value(slot), shape);
                if flow != Flow::Stop {
                    let dx = &mut before[slot][..rows * layer.inputs];
                    kernel::dense_input(dx, flow == Flow::Add, dy, &self.parameters[layer.w()], shape);
                }
            }
            NodeWork::Affine { scale, .. } if flow != Flow::Stop => {
                put(flow, &mut before[slot], dy.iter().zip(scale.iter().cycle()).map(|(d, s)| d * s));
            }
            NodeWork::Act(activation) if flow != Flow::Stop => {
                put(flow, &mut before[slot], dy.iter().zip(value(step.to)).map(|(d, &y)| d * slope(*activation, y)));
            }
            NodeWork::Select(columns) if flow != Flow::Stop => {
                let dx = &mut before[slot][..rows * widths[slot]];
                // Several columns may be copies of one, so theirs is a sum in either case.
                if flow == Flow::Write {
                    dx.fill(0.0);
                }
                for (dx, dy) in dx.chunks_exact_mut(widths[slot]).zip(dy.chunks_exact(width.max(1))) {
                    for (d, &column) in dy.iter().zip(columns) {
                        dx[column] += d;
                    }
                }
            }
            NodeWork::Concat => {
                let mut start = 0;
                for source in &step.from {
                    let part = widths[source.slot];
                    if source.flow != Flow::Stop {
                        let dx = before[source.slot][..rows * part].chunks_exact_mut(part.max(1));
                        for (dx, dy) in dx.zip(dy.chunks_exact(width.max(1))) {
                            put(source.flow, dx, dy[start..start + part].iter().copied());
                        }
                    }
                    start += part;
                }
            }
            NodeWork::Gate => {
                let ReadSlot { slot: gate_slot, flow: gate_flow } = step.from[1];
                let (x, gate) = (value(slot), value(gate_slot));
                let dy = dy.chunks_exact(width.max(1));
                if flow != Flow::Stop {
                    for ((dx, dy), g) in before[slot].chunks_exact_mut(width.max(1)).zip(dy.clone()).zip(gate) {
                        put(flow, dx, dy.iter().map(|d| d * g));
                    }
                }
                if gate_flow != Flow::Stop {
                    let sums = dy.zip(x.chunks_exact(width.max(1))).map(|(d, x)| d.iter().zip(x).map(|(d, x)| d * x).sum());
                    put(gate_flow, &mut before[gate_slot], sums);
                }
            }
            NodeWork::Affine { .. } | NodeWork::Act(_) | NodeWork::Select(_) | NodeWork::Given(_) => {}
        }
    }
}

fn put(flow: Flow, to: &mut [f32], gradients: impl Iterator<Item = f32>) {
    match flow {
        Flow::Stop => {}
        Flow::Write => to.iter_mut().zip(gradients).for_each(|(to, d)| *to = d),
        Flow::Add => to.iter_mut().zip(gradients).for_each(|(to, d)| *to += d),
    }
}

fn activate(activation: Activation, values: &mut [f32]) {
    vector(
        #[inline(always)]
        || match activation {
            // Written so that NaN stays NaN, and divergence is seen in the loss.
            Activation::Relu => values.iter_mut().for_each(|x| *x = if *x < 0.0 { 0.0 } else { *x }),
            Activation::Sigmoid => values.iter_mut().for_each(|x| *x = sigmoid(*x)),
            Activation::Tanh => values.iter_mut().for_each(|x| *x = tanh(*x)),
        },
    );
}

/// d times the activation's derivative, by its result y.
fn fall(activation: Activation, d: &mut [f32], y: &[f32]) {
    vector(
        #[inline(always)]
        || d.iter_mut().zip(y).for_each(|(d, &y)| *d *= slope(activation, y)),
    );
}

/// The activation's derivative, by its result y: [y > 0], y (1 - y), 1 - y^2.
#[inline(always)]
fn slope(activation: Activation, y: f32) -> f32 {
    match activation {
        Activation::Relu => {
            if y > 0.0 {
                1.0
            } else {
                0.0
            }
        }
        Activation::Sigmoid => y * (1.0 - y),
        Activation::Tanh => 1.0 - y * y,
    }
}
