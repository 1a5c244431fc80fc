//! How much a data file may hold before it is refused: a compressed file of a few kilobytes can unpack to more than any machine has.
//!
//! One set for the whole program: the command line's `--max-...` lift them, whatever command reads.

use std::sync::RwLock;

/// What is read at most; more is an error that names the option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Columns of a file. Default 100 000.
    pub columns: usize,
    /// Values that are kept: rows times columns used. Default 500 million (4 GB).
    pub values: u64,
    /// Bytes of one row of a CSV file, the header included. Default 64 MiB.
    pub row_bytes: u64,
    /// Bytes of a CSV file once it is unpacked. Default 64 GiB.
    pub bytes: u64,
}

impl Limits {
    const DEFAULT: Self = Self { columns: 100_000, values: 500_000_000, row_bytes: 64 << 20, bytes: 64 << 30 };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

static LIMITS: RwLock<Limits> = RwLock::new(Limits::DEFAULT);

/// The limits that hold now.
pub fn limits() -> Limits {
    *LIMITS.read().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Sets the limits of all readings to come.
pub fn set_limits(limits: Limits) {
    *LIMITS.write().unwrap_or_else(std::sync::PoisonError::into_inner) = limits;
}
