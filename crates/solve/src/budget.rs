//! Work that searches may do.

use std::cell::Cell;

/// Work that may be spent, in terms of atoms looked at; shared by searches that answer one question.
#[derive(Debug)]
pub struct Budget(Cell<usize>);

impl Budget {
    /// So many terms.
    pub fn new(terms: usize) -> Self {
        Self(Cell::new(terms))
    }

    /// What is left of it.
    pub fn left(&self) -> usize {
        self.0.get()
    }

    /// Takes from it; false once it is used up.
    pub fn spend(&self, terms: usize) -> bool {
        self.0.set(self.0.get().saturating_sub(terms));
        self.0.get() > 0
    }
}
