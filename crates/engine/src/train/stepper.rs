//! A network and batches of rows enter; the loss, its gradient and the moved parameters leave, without allocation.

use std::ops::Range;

use deepsade_net::{Matrix, Network};

use super::pass::{Backward, forward};
use super::plan::{LayerPlan, NodeWork, Rescaling};
use super::{Optimiser, PlanError};
use crate::objective::{Loss, LossSum, Objective, ScoredRows};
use crate::signs::Signs;

/// A network laid out for training: all parameters in one buffer, one buffer a value for batches up to a fixed size.
#[derive(Debug, Clone)]
pub struct Stepper {
    network: Network,
    plan: LayerPlan,
    parameters: Vec<f32>,
    gradient: Vec<f32>,
    values: Vec<Vec<f32>>,
    deltas: Vec<Vec<f32>>,
    truth: Vec<f32>,
    side: Vec<f32>,
    weight: Vec<f32>,
    capacity: usize,
    /// The signs that parameters must have.
    signs: Option<Signs>,
    /// Rows of the batch that is loaded.
    rows: usize,
}

/// Rows with everything computed that no parameter changes, such as the scaling of the inputs.
#[derive(Debug, Clone)]
pub struct PreparedRows {
    /// One matrix for each value that the trained steps start from.
    tables: Vec<Matrix>,
    truth: Matrix,
    /// What a [`RuleLoss`](crate::objective::RuleLoss) has to know about each row's input.
    side: Matrix,
    weight: Vec<f32>,
}

impl PreparedRows {
    /// The same rows with these numbers about their inputs, for an [`Objective`] to read.
    ///
    /// # Panics
    /// If there is not one row a row.
    #[must_use]
    pub fn with_side(self, side: Matrix) -> Self {
        assert!(side.rows == self.rows(), "side data of each row");
        Self { side, ..self }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.weight.len()
    }
}

/// The last dense layer, `y = W z + b`, for the batch that is loaded.
#[derive(Debug, Clone, Copy)]
pub struct LastLayer<'a> {
    /// W, one row an output.
    pub w: &'a [f32],
    /// b, one value an output.
    pub b: &'a [f32],
    /// What it reads: one row z a row of the batch.
    pub z: &'a [f32],
    /// Width of z.
    pub inputs: usize,
    /// Width of y.
    pub outputs: usize,
}

/// What the last dense layer reads for the batch that is loaded, and what the network should say.
#[derive(Debug, Clone, Copy)]
pub struct Latent<'a> {
    /// One row z a row of the batch.
    pub z: &'a [f32],
    /// One row of targets a row of the batch.
    pub truth: &'a [f32],
    /// The weight of each row.
    pub weight: &'a [f32],
    /// What the outputs of each row are multiplied by, if a gate follows.
    pub gate: Option<&'a [f32]>,
    /// Width of z.
    pub inputs: usize,
    /// Width of the targets.
    pub outputs: usize,
}

impl Stepper {
    /// Lays out `network` for batches of up to `capacity` rows.
    pub fn new(network: &Network, capacity: usize) -> Result<Self, PlanError> {
        let plan = LayerPlan::new(network)?;
        let buffer = |&width: &usize| vec![0.0; capacity * width];
        let parameters: Vec<f32> = network.parameters().collect();
        Ok(Self {
            network: network.clone(),
            gradient: vec![0.0; parameters.len()],
            parameters,
            values: plan.widths.iter().map(buffer).collect(),
            deltas: plan.widths.iter().map(buffer).collect(),
            truth: vec![0.0; capacity * plan.widths[plan.output]],
            side: Vec::new(),
            weight: vec![0.0; capacity],
            capacity,
            signs: None,
            rows: 0,
            plan,
        })
    }

    /// Computes once for all rows what no parameter changes.
    ///
    /// # Panics
    /// If the rows are not as wide as the network's input and output, or x, y and weight differ in length.
    pub fn prepare(&mut self, x: &Matrix, y: &Matrix, weight: &[f32]) -> PreparedRows {
        assert!(x.cols == self.plan.widths[0] && y.cols == self.outputs(), "rows as wide as the network");
        assert!(x.rows == y.rows && x.rows == weight.len(), "x, y and weight have the same rows");
        let width = |slot: usize| self.plan.widths[slot];
        let mut tables: Vec<_> = self.plan.tables.iter().map(|&slot| Matrix::zeros(x.rows, width(slot))).collect();
        for start in (0..x.rows).step_by(self.capacity.max(1)) {
            let rows = self.capacity.min(x.rows - start);
            self.values[0][..rows * x.cols].copy_from_slice(&x.data[start * x.cols..(start + rows) * x.cols]);
            for step in &self.plan.prelude {
                forward(step, &self.plan.layers, &self.parameters, &mut self.values, &self.plan.widths, rows);
            }
            for (table, &slot) in tables.iter_mut().zip(&self.plan.tables) {
                let cols = table.cols;
                table.data[start * cols..(start + rows) * cols].copy_from_slice(&self.values[slot][..rows * cols]);
            }
        }
        PreparedRows { tables, truth: y.clone(), side: Matrix { rows: x.rows, ..Matrix::default() }, weight: weight.to_vec() }
    }

    /// Makes these rows the batch.
    ///
    /// # Panics
    /// If they are more than the capacity, or not all in `data`.
    pub fn load(&mut self, data: &PreparedRows, rows: impl ExactSizeIterator<Item = usize>) {
        self.rows = rows.len();
        assert!(self.rows <= self.capacity, "a batch fits the buffers");
        let width = data.truth.cols;
        self.side.clear();
        for (r, row) in rows.enumerate() {
            for (table, &slot) in data.tables.iter().zip(&self.plan.tables) {
                self.values[slot][r * table.cols..(r + 1) * table.cols].copy_from_slice(table.row(row));
            }
            self.truth[r * width..(r + 1) * width].copy_from_slice(data.truth.row(row));
            self.side.extend_from_slice(data.side.row(row));
            self.weight[r] = data.weight[row];
        }
    }

    /// The gradient of the loss of the batch; returns that loss.
    pub fn gradient(&mut self, mut loss: Loss) -> LossSum {
        self.gradient_of(&mut loss)
    }

    /// The gradient of any objective on the batch; returns its value.
    pub fn gradient_of(&mut self, objective: &mut dyn Objective) -> LossSum {
        let sum = self.loss(objective);
        let mut backward = Backward {
            layers: &self.plan.layers,
            parameters: &self.parameters,
            gradient: &mut self.gradient,
            values: &self.values,
            deltas: &mut self.deltas,
            widths: &self.plan.widths,
            rows: self.rows,
        };
        for step in self.plan.steps.iter().rev() {
            backward.step(step);
        }
        sum
    }

    /// Forward, to the loss and its gradient with respect to the outputs.
    fn loss(&mut self, objective: &mut dyn Objective) -> LossSum {
        self.forward();
        let (output, width) = (self.plan.output, self.outputs());
        let size = self.rows * width;
        let (scores, delta) = (&self.values[output][..size], &mut self.deltas[output][..size]);
        let (truth, weight) = (&self.truth[..size], &self.weight[..self.rows]);
        objective.gradient(ScoredRows { scores, truth, side: &self.side, weight, width }, delta)
    }

    /// The outputs for the batch, row by row.
    pub fn forward(&mut self) -> &[f32] {
        for step in &self.plan.steps {
            forward(step, &self.plan.layers, &self.parameters, &mut self.values, &self.plan.widths, self.rows);
        }
        &self.values[self.plan.output][..self.rows * self.outputs()]
    }

    /// The loss of all rows of `data`.
    pub fn evaluate(&mut self, mut loss: Loss, data: &PreparedRows) -> LossSum {
        self.evaluate_of(&mut loss, data)
    }

    /// Any objective on all rows of `data`.
    pub fn evaluate_of(&mut self, objective: &mut dyn Objective, data: &PreparedRows) -> LossSum {
        let mut sum = LossSum::default();
        for start in (0..data.rows()).step_by(self.capacity.max(1)) {
            self.load(data, start..data.rows().min(start + self.capacity));
            sum += self.loss(objective);
        }
        sum
    }

    /// Moves the parameters of `range` against their gradient, as far as their signs allow.
    pub fn apply(&mut self, optimiser: &mut Optimiser, range: Range<usize>) {
        optimiser.apply(range.clone(), &mut self.parameters, &self.gradient);
        if let Some(signs) = &self.signs {
            signs.hold(range.start, &mut self.parameters[range]);
        }
    }

    /// From now on parameters have these signs.
    pub fn keep_signs(&mut self, signs: Signs) {
        signs.hold(0, &mut self.parameters);
        self.signs = Some(signs);
    }

    /// All parameters: layer by layer, weights row by row, then the bias.
    pub fn parameters(&self) -> &[f32] {
        &self.parameters
    }

    /// All parameters, to be written.
    pub fn parameters_mut(&mut self) -> &mut [f32] {
        &mut self.parameters
    }

    /// The gradient of all parameters, laid out like them.
    pub fn parameter_gradient(&self) -> &[f32] {
        &self.gradient
    }

    /// The last dense layer.
    pub fn last_layer(&self) -> LastLayer<'_> {
        let last = self.plan.last();
        let z = self.plan.steps.iter().rev().find(|step| matches!(step.work, NodeWork::Dense { .. }));
        LastLayer {
            w: &self.parameters[last.w()],
            b: &self.parameters[last.b()],
            z: z.map_or(&[], |step| &self.values[step.from[0].slot][..self.rows * last.inputs]),
            inputs: last.inputs,
            outputs: last.outputs,
        }
    }

    /// The batch as the last dense layer sees it.
    pub fn latent(&self) -> Latent<'_> {
        let LastLayer { z, inputs, .. } = self.last_layer();
        let outputs = self.outputs();
        let gate = self.plan.steps.last().filter(|step| matches!(step.work, NodeWork::Gate));
        Latent {
            z,
            truth: &self.truth[..self.rows * outputs],
            weight: &self.weight[..self.rows],
            gate: gate.map(|step| &self.values[step.from[1].slot][..self.rows]),
            inputs,
            outputs,
        }
    }

    /// W and b of the last dense layer, to be written.
    pub fn last_layer_mut(&mut self) -> (&mut [f32], &mut [f32]) {
        let last = self.plan.last();
        self.parameters[last.w().start..last.b().end].split_at_mut(last.w().len())
    }

    /// Where the last dense layer's parameters are: at the end.
    pub fn last_range(&self) -> Range<usize> {
        self.plan.last().w().start..self.parameters.len()
    }

    /// Where all other layers' parameters are.
    pub fn hidden_range(&self) -> Range<usize> {
        0..self.plan.last().w().start
    }

    /// Width of the network's output.
    pub fn outputs(&self) -> usize {
        self.plan.widths[self.plan.output]
    }

    /// How the outputs' units can be moved into the last dense layer.
    pub(super) fn units(&self) -> Rescaling {
        self.plan.units
    }

    /// The network with its present parameters.
    pub fn network(&self) -> Network {
        let mut network = self.network.clone();
        network.parameters_mut().zip(&self.parameters).for_each(|(w, now)| *w = *now);
        network
    }
}

#[cfg(test)]
mod tests;
