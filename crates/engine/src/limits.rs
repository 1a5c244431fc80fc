//! How much of a rule is looked at one by one, by whoever looks: training and verification refuse the same rules.

/// Cells of one rule.
pub const MAX_CELLS: usize = 20_000;
/// Atoms of all of them together.
pub const MAX_ATOMS: usize = 400_000;
