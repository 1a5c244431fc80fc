//! Work that searches may do.

use std::cell::Cell;

/// Work that may be spent, in terms of atoms looked at; shared by searches that answer one question.
pub struct Budget<'s> {
    left: Cell<usize>,
    stop: &'s dyn Fn() -> bool,
}

impl Budget<'static> {
    /// So many terms.
    pub fn new(terms: usize) -> Self {
        Self::until(terms, &|| false)
    }
}

impl<'s> Budget<'s> {
    /// So many, or none any more once `stop` says so.
    pub fn until(terms: usize, stop: &'s dyn Fn() -> bool) -> Self {
        Self { left: Cell::new(terms), stop }
    }

    /// What is left of it.
    pub fn left(&self) -> usize {
        self.left.get()
    }

    /// Takes from it; false once it is used up.
    pub fn spend(&self, terms: usize) -> bool {
        let left = if (self.stop)() { 0 } else { self.left.get().saturating_sub(terms) };
        self.left.set(left);
        left > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_ends_by_what_is_spent_or_when_told_to() {
        let few = Budget::new(3);
        assert!(few.spend(2) && !few.spend(1) && !few.spend(0));
        let told = Cell::new(false);
        let stop = || told.get();
        let many = Budget::until(100, &stop);
        assert!(many.spend(1) && many.left() == 99);
        told.set(true);
        assert!(!many.spend(0) && many.left() == 0);
    }
}
