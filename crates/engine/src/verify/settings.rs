//! How long a search may take and in what arithmetic it is about; why it ended without an answer, by these limits.

use std::time::{Duration, Instant};

use deepsade_check::Arithmetic;
use deepsade_solve::parallel::cores;

use super::branch::LeftOpen;
use super::outcome::Undecided;

/// How long and in what arithmetic.
#[derive(Debug, Clone)]
pub struct VerifySettings {
    /// Seconds for everything; `None`: until decided. Default 60 s.
    pub timeout: Option<Duration>,
    /// The arithmetic of the network. Default float32.
    pub arithmetic: Arithmetic,
    /// Threads. Default: all cores.
    pub threads: usize,
    /// Decides where attacks start. Default 0.
    pub seed: u64,
    /// Open regions that may wait at once, which bounds memory. Default 100 000.
    pub most_open: usize,
    /// Regions that may be bounded for each rule: a limit of work that, unlike time, is the same on every machine. Default: none.
    pub most_regions: usize,
}

/// How long rules are looked at where nothing else is said.
pub const SECONDS: f64 = 60.0;

impl Default for VerifySettings {
    fn default() -> Self {
        Self {
            timeout: Some(Duration::from_secs_f64(SECONDS)),
            arithmetic: Arithmetic::Float32,
            threads: cores(),
            seed: 0,
            most_open: 100_000,
            most_regions: usize::MAX,
        }
    }
}

impl VerifySettings {
    /// For so many seconds, on so many threads or all cores; `None` unless the seconds are a positive number.
    pub fn new(seconds: f64, threads: Option<usize>) -> Option<Self> {
        let default = Self::default();
        let threads = threads.unwrap_or(default.threads).max(1);
        (seconds > 0.0 && seconds.is_finite()).then(|| Self { timeout: Self::patience(seconds), threads, ..default })
    }

    /// A timeout of so many seconds; `None`, which is no limit, for more than clocks can count.
    pub fn patience(seconds: f64) -> Option<Duration> {
        Duration::try_from_secs_f64(seconds).ok().filter(|d| Instant::now().checked_add(*d).is_some())
    }

    pub(super) fn undecided(&self, why: &LeftOpen) -> Undecided {
        match why {
            LeftOpen::Halted(halt) => Undecided::from(*halt),
            LeftOpen::Margin => self.margin(),
            LeftOpen::TooManyOpen => Undecided::TooManyOpen,
            LeftOpen::TooManyRegions => Undecided::TooManyRegions,
        }
    }

    fn margin(&self) -> Undecided {
        if self.arithmetic == Arithmetic::Real { Undecided::ExactMargin } else { Undecided::Margin }
    }
}
