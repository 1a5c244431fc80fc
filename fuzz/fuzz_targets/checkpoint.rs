//! A checkpoint that somebody altered, its sum made right again: a run that goes on from it is refused or ends.
//!
//! The bytes are patches (place, length, content) of a real file, so that they fit whatever its format is.
#![no_main]

use std::path::PathBuf;
use std::sync::LazyLock;

use deepsade_data::Dataset;
use deepsade_engine::objective::Loss;
use deepsade_engine::train::{
    CheckpointSettings, NetworkSettings, Observer, Run, Silent, Start, TrainSettings, initial_network, train,
};
use deepsade_net::Matrix;
use libfuzzer_sys::fuzz_target;
use sha2::{Digest, Sha256};

const EPOCHS: usize = 3;
const SUM: usize = 32;

struct Setup {
    data: Dataset,
    path: PathBuf,
    file: Vec<u8>,
}

static SETUP: LazyLock<Setup> = LazyLock::new(|| {
    let column = |data: Vec<f32>| Matrix { rows: data.len(), cols: 1, data };
    let data = Dataset { x: column(vec![0.0, 1.0, 2.0, 3.0]), y: column(vec![1.0, 3.0, 5.0, 7.0]), weight: vec![1.0; 4] };
    let path = std::env::temp_dir().join(format!("deepsade-fuzz-{}.bin", std::process::id()));
    let mut setup = Setup { data, path, file: Vec::new() };
    let mut run = run(&setup, EPOCHS);
    run.checkpoint.as_mut().expect("it is asked for").every = std::time::Duration::ZERO;
    train(&run, &mut Silent).expect("a run of nothing special");
    setup.file = std::fs::read(&setup.path).expect("the run was saved");
    setup
});

fn run(setup: &Setup, epochs: usize) -> Run<'_> {
    static NONE: LazyLock<Dataset> = LazyLock::new(Dataset::default);
    let shape = NetworkSettings { hidden: vec![2], ..NetworkSettings::default() };
    let mut run = Run {
        network: initial_network(&[(0.0, 3.0)], &[], None, 1, &shape, 1),
        start: Start::Fresh,
        loss: Loss::MeanSquares,
        train: &setup.data,
        validation: &NONE,
        settings: TrainSettings { batch: 4, epochs, ..TrainSettings::default() },
        seed: 1,
        rules: None,
        favoured: None,
        step: None,
        checkpoint: None,
    };
    run.checkpoint = Some(CheckpointSettings::new(&setup.path, run.fingerprint()));
    run
}

/// Counts epochs: no file may make a run longer than it was asked to be.
struct Short(usize);

impl Observer for Short {
    fn epoch(&mut self, _: &deepsade_engine::train::EpochRecord) {
        self.0 += 1;
        assert!(self.0 <= EPOCHS, "more epochs than there are");
    }
}

fuzz_target!(|bytes: &[u8]| {
    let setup = &*SETUP;
    let mut content = setup.file[..setup.file.len() - SUM].to_vec();
    let mut rest = bytes;
    while let [low, high, length, more @ ..] = rest {
        let (patch, after) = more.split_at(usize::from(*length % 16).min(more.len()));
        let start = usize::from(u16::from_le_bytes([*low, *high])) % (content.len() + 1);
        match length / 16 {
            // Cut off, put in, or put over.
            15 => content.truncate(start),
            14 => drop(content.splice(start..start, patch.iter().copied())),
            _ => content.iter_mut().skip(start).zip(patch).for_each(|(old, new)| *old = *new),
        }
        rest = after;
    }
    let sum = Sha256::digest(&content);
    content.extend(sum);
    std::fs::write(&setup.path, &content).expect("a temporary file can be written");
    let mut run = run(setup, EPOCHS);
    run.checkpoint.as_mut().expect("it is asked for").resume = true;
    if let Err(error) = train(&run, &mut Short(0)) {
        let _ = error.to_string();
    }
});
