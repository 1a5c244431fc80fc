//! Microseconds of one training step (forward, loss, backward, SGD update): sizes enter, JSON lines leave.
//!
//! `cargo bench -p deepsade-engine --bench step` prints min and median of repeated blocks for every size. With `--serve` each
//! line of standard input that names a size is answered by one block: `benches/pytorch_step.py` runs it so, in turn with `PyTorch`.

use std::io::{BufRead, Write};
use std::time::Instant;

use deepsade_engine::objective::Loss;
use deepsade_engine::train::{NetworkSettings, Optimiser, OptimiserName, PreparedRows, Stepper, TrainSettings, initial_network};
use deepsade_net::Matrix;

const CASES: [(&[usize], usize); 8] = [
    (&[13, 50, 30, 10, 2], 5),
    (&[13, 50, 50, 14, 5], 5),
    (&[36, 25, 25, 10, 16], 10),
    (&[3136, 50, 50, 10, 10], 10),
    (&[13, 50, 30, 10, 2], 256),
    (&[13, 50, 50, 14, 5], 256),
    (&[36, 25, 25, 10, 16], 256),
    (&[3136, 50, 50, 10, 10], 256),
];
const BLOCKS: usize = 15;
const BLOCK_SECONDS: f64 = 0.02;

struct Case {
    name: String,
    batch: usize,
    stepper: Stepper,
    optimiser: Optimiser,
    steps: usize,
}

impl Case {
    fn new(sizes: &[usize], batch: usize) -> Self {
        let (inputs, outputs) = (sizes[0], sizes[sizes.len() - 1]);
        let hidden = NetworkSettings { hidden: sizes[1..sizes.len() - 1].to_vec(), ..NetworkSettings::default() };
        let network = initial_network(&vec![(0.0, 1.0); inputs], &[], None, outputs, &hidden, 1);
        let mut stepper = Stepper::new(&network, batch).expect("the benchmark's networks can be trained");
        let x = (0..batch * inputs).map(|i| (i * 7919 % 1013) as f32 / 1013.0).collect();
        let mut y = Matrix::zeros(batch, outputs);
        (0..batch).for_each(|r| y.row_mut(r)[r % outputs] = 1.0);
        let data: PreparedRows = stepper.prepare(&Matrix { rows: batch, cols: inputs, data: x }, &y, &vec![1.0; batch]);
        // The other side starts from a batch in place, too.
        stepper.load(&data, 0..batch);
        let settings = TrainSettings { optimiser: OptimiserName::Sgd, learning_rate: 0.01, ..TrainSettings::default() };
        let optimiser = Optimiser::new(&settings, stepper.parameters().len());
        let name = format!("{}@{batch}", sizes.iter().map(ToString::to_string).collect::<Vec<_>>().join("-"));
        let mut case = Self { name, batch, stepper, optimiser, steps: 10 };
        let warm = case.block();
        case.steps = ((BLOCK_SECONDS * 1e6 / warm) as usize).max(1);
        case
    }

    fn step(&mut self) -> f64 {
        let sum = self.stepper.gradient(Loss::SoftmaxCrossEntropy);
        self.optimiser.begin();
        let all = 0..self.stepper.parameters().len();
        self.stepper.apply(&mut self.optimiser, all);
        sum.loss
    }

    /// Mean microseconds of a step over one block.
    fn block(&mut self) -> f64 {
        let started = Instant::now();
        let loss: f64 = (0..self.steps).map(|_| self.step()).sum();
        let seconds = started.elapsed().as_secs_f64();
        assert!(loss.is_finite(), "the benchmark's training does not diverge");
        seconds * 1e6 / self.steps as f64
    }
}

fn main() {
    let mut cases: Vec<Case> = CASES.iter().map(|&(sizes, batch)| Case::new(sizes, batch)).collect();
    if std::env::args().any(|argument| argument == "--serve") {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if let Some(case) = cases.iter_mut().find(|case| case.name == line.trim()) {
                let us = case.block();
                println!("{{\"case\": \"{}\", \"us\": {us:.3}}}", case.name);
                let _ = std::io::stdout().flush();
            }
        }
        return;
    }
    for case in &mut cases {
        let mut times: Vec<f64> = (0..BLOCKS).map(|_| case.block()).collect();
        times.sort_by(f64::total_cmp);
        let (name, batch) = (&case.name, case.batch);
        println!(
            "{{\"case\": \"{name}\", \"batch\": {batch}, \"min_us\": {:.3}, \"median_us\": {:.3}}}",
            times[0],
            times[BLOCKS / 2]
        );
    }
}
