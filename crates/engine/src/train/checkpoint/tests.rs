use super::*;

fn state() -> RunState {
    let paper =
        Some(PaperSteps { line_search: 3, optimal: 4, feasible: 5, infeasible: 6, unknown: 7, renewed: 8, restart: true });
    RunState {
        epoch: 2,
        steps: 17,
        parameters: vec![1.0, -2.5, f32::MIN_POSITIVE],
        first: vec![0.5; 3],
        second: vec![],
        best: vec![3.0; 3],
        average: vec![4.0; 3],
        enforced: Enforced { steps: 18, moved: 5, pulled_back: 1 },
        records: vec![
            EpochRecord {
                epoch: 1,
                train_loss: 0.5,
                validation_loss: None,
                best: true,
                seconds: 0.1,
                margin: None,
                moved: Some(0.5),
                paper: None,
            },
            EpochRecord {
                epoch: 2,
                train_loss: 0.25,
                validation_loss: Some(0.75),
                best: false,
                seconds: 0.2,
                margin: Some(1e-6),
                moved: None,
                paper,
            },
        ],
    }
}

const LIMITS: RunLimits = RunLimits { epochs: 5, batches: 9 };

fn read(bytes: &[u8]) -> Result<RunState, CheckpointError> {
    decode(bytes, &[7; 32], Path::new("run.ckpt"))
}

#[test]
fn what_was_written_is_read() {
    assert_eq!(read(&encode(&state(), &[7; 32])).unwrap(), state());
}

#[test]
fn every_cut_and_every_changed_byte_is_refused() {
    let bytes = encode(&state(), &[7; 32]);
    for end in 0..bytes.len() {
        assert!(read(&bytes[..end]).is_err(), "cut at {end}");
        let mut changed = bytes.clone();
        changed[end] ^= 1;
        assert!(read(&changed).is_err(), "changed at {end}");
    }
}

#[test]
fn refusals_say_what_is_wrong_and_what_to_do() {
    let bytes = encode(&state(), &[7; 32]);
    let mut newer = bytes.clone();
    newer[8] = 9;
    let other = encode(&state(), &[8; 32]);
    for (bytes, message) in [
        (&b"id,income\n1,2\n"[..], "run.ckpt is not a checkpoint: start anew with --force"),
        (&bytes[..60], "the checkpoint run.ckpt is damaged: start anew with --force"),
        (&newer, "the checkpoint run.ckpt has version 9, this program reads version 6: start anew with --force"),
        (&other, "the checkpoint run.ckpt is of a run with other settings, data or network: start anew with --force"),
    ] {
        assert_eq!(read(bytes).unwrap_err().to_string(), message);
    }
}

#[test]
fn a_list_longer_than_the_file_is_refused_without_allocating_it() {
    let mut bytes = encode(&state(), &[7; 32]);
    bytes.truncate(bytes.len() - 32);
    bytes[60..68].copy_from_slice(&u64::MAX.to_le_bytes());
    let sum = Sha256::digest(&bytes);
    bytes.extend(sum);
    assert!(matches!(read(&bytes), Err(CheckpointError::Damaged { .. })));
}

#[test]
fn a_failed_write_leaves_the_earlier_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run.ckpt");
    let settings = CheckpointSettings { resume: true, ..CheckpointSettings::new(&path, [7; 32]) };
    CheckpointFile::new(Some(&settings)).save(&state()).unwrap();
    // One fails before the first byte, one at the rename.
    std::fs::create_dir(directory.path().join("taken")).unwrap();
    for name in ["missing/run.ckpt", "taken"] {
        let blocked = CheckpointSettings::new(directory.path().join(name), [7; 32]);
        assert!(matches!(CheckpointFile::new(Some(&blocked)).save(&state()), Err(CheckpointError::Write { .. })));
    }
    assert_eq!(CheckpointFile::new(Some(&settings)).resume(state(), LIMITS).unwrap(), state());
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 2, "no temporary file is left");
}

#[test]
fn a_missing_file_and_another_size_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run.ckpt");
    let settings = CheckpointSettings { resume: true, ..CheckpointSettings::new(&path, [7; 32]) };
    let mut keeper = CheckpointFile::new(Some(&settings));
    assert!(matches!(keeper.resume(state(), LIMITS), Err(CheckpointError::Missing { .. })));
    keeper.save(&state()).unwrap();
    let larger = RunState { parameters: vec![0.0; 4], ..state() };
    assert!(matches!(keeper.resume(larger, LIMITS), Err(CheckpointError::OtherRun { .. })));
}

/// Whole files with a right sum, which no run has written.
#[test]
fn states_that_no_run_reaches_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run.ckpt");
    let settings = CheckpointSettings { resume: true, ..CheckpointSettings::new(&path, [7; 32]) };
    let mut keeper = CheckpointFile::new(Some(&settings));
    let [first, second] = [state().records[0], state().records[1]];
    for (forged, expected) in [
        (RunState { epoch: 6, ..state() }, Oddity::Epoch { epoch: 6, epochs: 5 }),
        (RunState { epoch: usize::MAX, ..state() }, Oddity::Epoch { epoch: usize::MAX, epochs: 5 }),
        (RunState { epoch: 3, ..state() }, Oddity::Records { epoch: 3 }),
        (RunState { epoch: 0, ..state() }, Oddity::Records { epoch: 0 }),
        (RunState { records: vec![second, first], ..state() }, Oddity::Records { epoch: 2 }),
        (RunState { steps: 19, ..state() }, Oddity::Steps { steps: 19, epoch: 2, batches: 9 }),
        (RunState { parameters: vec![f32::NAN; 3], ..state() }, Oddity::NotFinite),
        (RunState { best: vec![f32::INFINITY; 3], ..state() }, Oddity::NotFinite),
        (
            RunState { records: vec![first, EpochRecord { validation_loss: Some(f64::NAN), ..second }], ..state() },
            Oddity::NotFinite,
        ),
    ] {
        keeper.save(&forged).unwrap();
        match keeper.resume(state(), LIMITS) {
            Err(CheckpointError::Impossible { oddity, .. }) => assert_eq!(oddity, expected),
            other => panic!("{other:?}, expected {expected:?}"),
        }
    }
}
