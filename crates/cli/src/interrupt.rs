//! Ctrl-C as a flag: the first press ends the run in good order, the second at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Set once Ctrl-C was pressed.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Starts to listen.
    pub fn listen() -> Self {
        let flag = Self::default();
        let seen = flag.clone();
        // Without a handler Ctrl-C just ends the program, which loses at most the epochs since the last checkpoint.
        let _ = ctrlc::set_handler(move || {
            if seen.0.swap(true, Ordering::Relaxed) {
                std::process::exit(130);
            }
        });
        flag
    }

    /// Whether it was pressed.
    pub fn pressed(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
