//! The name of a data file enters, or `-`; a file that can be read twice leaves: standard input is kept in one.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anyhow::bail;
use deepsade_data::{DataError, limits};

use crate::render::While;

/// What standard input and output are called.
pub const STANDARD: &str = "-";

/// Where rows are read from.
pub enum RowsFrom {
    File(PathBuf),
    /// What came from standard input, until it is dropped.
    Kept(tempfile::TempPath),
}

impl RowsFrom {
    /// The file, or standard input kept in one whose name says what it is: packed rows and parquet are known by their first bytes.
    pub fn at(path: &Path) -> anyhow::Result<Self> {
        if path != Path::new(STANDARD) {
            return Ok(Self::File(path.into()));
        }
        let what = || "can't keep standard input".to_string();
        let (mut input, mut first) = (std::io::stdin().lock(), Vec::new());
        input.by_ref().take(4).read_to_end(&mut first).while_doing(|| "can't read standard input".into())?;
        let suffix = match &first[..] {
            [0x1f, 0x8b, ..] => ".csv.gz",
            b"PAR1" => ".parquet",
            _ => ".csv",
        };
        let mut file = tempfile::Builder::new().prefix("deepsade-").suffix(suffix).tempfile().while_doing(what)?;
        let most = limits().bytes;
        file.write_all(&first).while_doing(what)?;
        let rest = std::io::copy(&mut input.take(most.saturating_add(1)), &mut file).while_doing(what)?;
        if rest > most {
            bail!("standard input: more than {most} bytes; --max-bytes allows more");
        }
        file.flush().while_doing(what)?;
        Ok(Self::Kept(file.into_temp_path()))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        match self {
            Self::File(path) => path,
            Self::Kept(path) => path,
        }
    }

    /// Errors speak of standard input, not of where it is kept.
    pub fn named<T>(&self, read: Result<T, DataError>) -> anyhow::Result<T> {
        match (self, read) {
            (_, Ok(rows)) => Ok(rows),
            (Self::File(_), Err(error)) => Err(error.into()),
            (Self::Kept(path), Err(error)) => {
                let text = error.to_string().replace(&path.display().to_string(), "standard input");
                Err(anyhow::anyhow!(text))
            }
        }
    }
}
