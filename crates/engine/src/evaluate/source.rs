//! A data file enters; what is said of it leaves: its name, its hash, its rows.

use std::io::Read;
use std::path::Path;

use sha2::{Digest, Sha256};

/// Where rows came from.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct DataSource {
    /// The file's name, without its folder.
    pub file: String,
    /// SHA-256 of its bytes as they are stored.
    pub sha256: String,
    /// Rows that were used.
    pub rows: usize,
}

impl DataSource {
    /// Reads the file once more; nothing where there is none.
    pub fn of(path: &Path, rows: usize) -> Option<Self> {
        let file = path.file_name()?.to_string_lossy().into_owned();
        let (mut stored, mut hash) = (std::fs::File::open(path).ok()?, Sha256::new());
        let mut buffer = vec![0; 1 << 16];
        loop {
            match stored.read(&mut buffer).ok()? {
                0 => break,
                n => hash.update(&buffer[..n]),
            }
        }
        let sha256 = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Some(Self { file, sha256, rows })
    }
}
