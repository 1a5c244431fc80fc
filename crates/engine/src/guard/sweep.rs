//! A last layer enters; one whose cells were emptied one after the other leaves, each at its nearest place by plain distance.

use super::cell::{Cell, CellScratch, LayerWeights, Margin};
use super::solve::SWEEPS;
use super::{Guard, multiplier};
use crate::bounds::HiddenBounds;

impl Guard {
    /// Empties one cell after the other with the multipliers that it has. Clauses that share no label do not meet: each is brought to its
    /// nearest place, by plain distance, in one sweep. Returns whether all are empty, and how often one was not.
    pub(super) fn one_by_one(&mut self, parameters: &mut [f32]) -> (bool, usize) {
        let mut layer = Self::layer(parameters, self.inputs, self.outputs);
        let mut moves = 0;
        for _ in 0..SWEEPS {
            let before = moves;
            for &k in &self.distinct {
                let cell = &self.cells[k];
                let v = self.bounds.last_input(cell.region);
                cell.read(&layer, v, &mut self.scratch);
                let slack = cell.slack(v, self.margin, &self.scratch);
                if slack.excess > 0.0 || slack.excess.is_nan() {
                    moves += 1;
                    cell.project(slack, &mut layer, v, &mut self.scratch);
                }
            }
            if moves == before {
                return (true, moves);
            }
        }
        (false, moves)
    }

    /// Empties one cell after the other, over boxes; returns how many were not empty.
    pub(super) fn sweep(&mut self, parameters: &mut [f32]) -> usize {
        let mut layer = Self::layer(parameters, self.inputs, self.outputs);
        let mut moves = 0;
        self.distinct = (0..self.cells.len()).collect();
        for cell in &mut self.cells {
            moves += usize::from(!empty_cell(cell, &self.bounds, self.margin, &mut layer, &mut self.scratch));
        }
        moves
    }
}

/// Empties a cell; true if it was empty, with its own multipliers or better ones.
pub(super) fn empty_cell(
    cell: &mut Cell,
    bounds: &HiddenBounds,
    margin: Margin,
    layer: &mut LayerWeights,
    scratch: &mut CellScratch,
) -> bool {
    let v = bounds.last_input(cell.region);
    cell.read(layer, v, scratch);
    let mut slack = cell.slack(v, margin, scratch);
    if slack.excess > 0.0 && cell.has_choice() {
        slack = multiplier::improve(cell, layer, v, margin, 0.0, scratch);
    }
    if slack.excess <= 0.0 {
        return true;
    }
    cell.project(slack, layer, v, scratch);
    false
}
