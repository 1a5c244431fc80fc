//! Progress on standard error: a bar in a terminal, plain lines elsewhere, nothing if quiet.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use deepsade_data::Progress;
use deepsade_engine::train::EpochRecord;
use indicatif::{ProgressBar, ProgressStyle};

/// Plain lines come no faster than this.
const LINE_EVERY: Duration = Duration::from_secs(2);

/// Shows how far a long read is; silent for short ones.
pub struct ReadBar {
    quiet: bool,
    started: Instant,
    shown: Instant,
    bar: Option<ProgressBar>,
}

impl ReadBar {
    /// Starts the clock.
    pub fn new(quiet: bool) -> Self {
        Self { quiet, started: Instant::now(), shown: Instant::now(), bar: None }
    }

    /// Takes a report from the reader.
    pub fn update(&mut self, progress: Progress) {
        if self.quiet || self.started.elapsed() < Duration::from_millis(500) {
            return;
        }
        if std::io::stderr().is_terminal() {
            let bar = self.bar.get_or_insert_with(|| {
                let style =
                    ProgressStyle::with_template("reading {wide_bar} {bytes}/{total_bytes} {eta}").expect("a valid template");
                ProgressBar::new(progress.total).with_style(style)
            });
            bar.set_position(progress.bytes);
            if progress.bytes >= progress.total {
                bar.finish_and_clear();
            }
        } else if self.shown.elapsed() > LINE_EVERY {
            self.shown = Instant::now();
            eprintln!("reading: {} %", 100 * progress.bytes / progress.total.max(1));
        }
    }
}

/// Shows epochs with loss and time left.
pub struct EpochBar {
    quiet: bool,
    epochs: usize,
    started: Instant,
    shown: Option<Instant>,
    first: Option<usize>,
    phase: String,
    bar: Option<ProgressBar>,
}

impl EpochBar {
    /// A bar over so many epochs.
    pub fn new(quiet: bool, epochs: usize) -> Self {
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let style = ProgressStyle::with_template("epoch {pos}/{len} {wide_bar} {msg}, {eta} left").expect("a valid template");
            ProgressBar::new(epochs as u64).with_style(style)
        });
        Self { quiet, epochs, started: Instant::now(), shown: None, first: None, phase: String::new(), bar }
    }

    /// One of several trainings begins.
    pub fn phase(&mut self, name: &str) {
        self.phase = format!("{name}: ");
        (self.started, self.first) = (Instant::now(), None);
    }

    /// An epoch has ended.
    pub fn epoch(&mut self, record: &EpochRecord) {
        let first = *self.first.get_or_insert(record.epoch);
        let phase = &self.phase;
        let loss = match record.validation_loss {
            Some(v) => format!("{phase}loss {:.4}, validation {v:.4}", record.train_loss),
            None => format!("{phase}loss {:.4}", record.train_loss),
        };
        if let Some(bar) = &self.bar {
            bar.set_position(record.epoch as u64);
            bar.set_message(loss);
        } else if !self.quiet && (self.shown.is_none_or(|t| t.elapsed() > LINE_EVERY) || record.epoch == self.epochs) {
            self.shown = Some(Instant::now());
            let done = (record.epoch - first + 1) as f64;
            let left = self.started.elapsed().as_secs_f64() / done * (self.epochs - record.epoch) as f64;
            eprintln!("epoch {}/{}: {loss}, {left:.0} s left", record.epoch, self.epochs);
        }
    }

    /// Clears the bar.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Shows how many rows of many are done; may be told so from several threads.
pub struct RowBar {
    quiet: bool,
    rows: usize,
    bar: Option<ProgressBar>,
    shown: std::sync::Mutex<Instant>,
}

impl RowBar {
    /// A bar over so many rows.
    pub fn new(quiet: bool, rows: usize) -> Self {
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let style = ProgressStyle::with_template("row {pos}/{len} {wide_bar} {eta} left").expect("a valid template");
            ProgressBar::new(rows as u64).with_style(style)
        });
        Self { quiet, rows, bar, shown: std::sync::Mutex::new(Instant::now()) }
    }

    /// So many rows are done.
    pub fn done(&self, rows: usize) {
        if let Some(bar) = &self.bar {
            bar.set_position(rows as u64);
        } else if !self.quiet
            && let Ok(mut shown) = self.shown.try_lock()
            && shown.elapsed() > LINE_EVERY
        {
            *shown = Instant::now();
            eprintln!("row {rows}/{}", self.rows);
        }
    }

    /// Clears the bar.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Shows how many runs of an experiment are done, and the time left by what runs of their kind should cost.
pub struct RunBar {
    quiet: bool,
    runs: usize,
    done: usize,
    cost: f64,
    spent: f64,
    started: Instant,
    shown: Instant,
    bar: Option<ProgressBar>,
}

impl RunBar {
    /// A bar over `left` runs of `runs`, which cost so much.
    pub fn new(quiet: bool, left: usize, runs: usize, cost: f64) -> Self {
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let style = ProgressStyle::with_template("run {pos}/{len} {wide_bar} {msg}").expect("a valid template");
            ProgressBar::new(runs as u64).with_style(style).with_position((runs - left) as u64)
        });
        let now = Instant::now();
        Self { quiet, runs, done: runs - left, cost, spent: 0.0, started: now, shown: now, bar }
    }

    /// A run of this name and cost has ended.
    pub fn done(&mut self, name: &str, cost: f64) {
        self.done += 1;
        self.spent += cost;
        let left = self.started.elapsed().as_secs_f64() * (self.cost - self.spent).max(0.0) / self.spent.max(1e-9);
        let left = if left < 90.0 { format!("{left:.0} s left") } else { format!("{:.0} min left", left / 60.0) };
        if let Some(bar) = &self.bar {
            bar.set_position(self.done as u64);
            bar.set_message(format!("{name}, {left}"));
        } else if !self.quiet && (self.shown.elapsed() > LINE_EVERY || self.done == self.runs) {
            self.shown = Instant::now();
            eprintln!("run {}/{}: {name}, {left}", self.done, self.runs);
        }
    }

    /// Clears the bar.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
