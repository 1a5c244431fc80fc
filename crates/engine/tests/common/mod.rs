//! What several test files of training need.

use std::cell::Cell;

use deepsade_engine::train::Observer;

/// Lets this many batches pass, then stops.
pub struct StopAfter(Cell<usize>);

impl StopAfter {
    pub fn batches(batches: usize) -> Self {
        Self(Cell::new(batches))
    }
}

impl Observer for StopAfter {
    fn stop(&self) -> bool {
        let left = self.0.get();
        self.0.set(left.saturating_sub(1));
        left == 0
    }
}
