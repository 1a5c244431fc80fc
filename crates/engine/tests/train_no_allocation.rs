//! A training step allocates nothing. Alone in its binary, since the allocator is the whole program's.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use deepsade_engine::objective::Loss;
use deepsade_engine::train::{NetworkSettings, Optimiser, OptimiserName, Stepper, TrainSettings, initial_network};
use deepsade_net::Matrix;

thread_local! {
    // A count a thread: the test harness allocates on its own.
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // Where a thread ends its counter may be gone already; nothing is counted there.
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn the_counter_counts() {
    let before = ALLOCATIONS.get();
    drop(std::hint::black_box(vec![0u8; 100]));
    assert_eq!(ALLOCATIONS.get(), before + 1);
}

#[test]
fn steps_do_not_allocate() {
    for (inputs, batch) in [(13, 5), (36, 64), (3136, 256)] {
        let settings = NetworkSettings { hidden: vec![50, 30], ..NetworkSettings::default() };
        let network = initial_network(&vec![(0.0, 1.0); inputs], &[0, 3], None, 4, &settings, 1);
        let mut stepper = Stepper::new(&network, batch).unwrap();
        let x = Matrix { rows: 300, cols: inputs, data: (0..300 * inputs).map(|i| (i % 97) as f32 / 97.0).collect() };
        let y = Matrix { rows: 300, cols: 4, data: (0..1200).map(|i| f32::from(u8::from(i % 4 == 1))).collect() };
        let data = stepper.prepare(&x, &y, &vec![1.0; 300]);
        for optimiser in [OptimiserName::Sgd, OptimiserName::Adam] {
            let settings = TrainSettings { optimiser, ..TrainSettings::default() };
            let mut optimiser = Optimiser::new(&settings, stepper.parameters().len());
            for loss in [Loss::MeanSquares, Loss::SoftmaxCrossEntropy, Loss::SigmoidCrossEntropy] {
                let mut step = |first: usize| {
                    stepper.load(&data, (0..batch).map(|row| (first + row) % 300));
                    stepper.gradient(loss);
                    optimiser.begin();
                    stepper.apply(&mut optimiser, stepper.last_range());
                    stepper.apply(&mut optimiser, stepper.hidden_range());
                };
                // The first product on a thread makes faer's own packing buffer.
                step(0);
                let before = ALLOCATIONS.get();
                (1..20).for_each(&mut step);
                assert_eq!(ALLOCATIONS.get(), before, "{inputs} inputs, batch {batch}, {loss:?}");
            }
            let before = ALLOCATIONS.get();
            stepper.evaluate(Loss::MeanSquares, &data);
            assert_eq!(ALLOCATIONS.get(), before, "evaluation");
        }
    }
}
