//! A folder enters; the right to write into it leaves, held until it is dropped or the program ends, however it ends.

use std::fs::{File, TryLockError};
use std::path::Path;

use thiserror::Error;

use crate::unfinished;

/// The right to write into a folder: one holder at a time.
///
/// ```
/// let dir = tempfile::tempdir()?;
/// let held = deepsade_engine::folder_lock::Hold::of(dir.path())?;
/// assert!(deepsade_engine::folder_lock::Hold::of(dir.path()).is_err());
/// drop(held);
/// assert!(deepsade_engine::folder_lock::Hold::of(dir.path()).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Hold(#[expect(dead_code, reason = "the lock is held as long as the file is open")] Option<File>);

/// Another program, or another thread of this one, holds the folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("another run writes into this folder; wait for it, or name another folder")]
pub struct Busy;

impl Hold {
    /// Takes the folder, without what a killed run was writing there, or says that it is taken. Where a file system has no locks, there are none.
    pub fn of(dir: &Path) -> Result<Self, Busy> {
        // The folder itself is locked, not a file in it: nothing is left behind, and nothing can be replaced by a rename.
        let Ok(folder) = File::open(dir) else { return Ok(Self(None)) };
        match folder.try_lock() {
            Ok(()) => {
                // What can't be ended is told by who reads or writes there.
                let _ = unfinished::settle(dir);
                unfinished::clear(dir);
                Ok(Self(Some(folder)))
            }
            Err(TryLockError::WouldBlock) => Err(Busy),
            Err(TryLockError::Error(_)) => Ok(Self(None)),
        }
    }
}
