//! Any bytes as an ONNX file: an error, or a network that computes, lies in its own bounds, and comes back from its own file.
#![no_main]

use deepsade_net::{Matrix, Model};
use libfuzzer_sys::fuzz_target;

/// Numbers that one forward pass may hold.
const LARGEST: usize = 1 << 16;

fuzz_target!(|bytes: &[u8]| {
    let _ = Model::from_bytes_until(bytes, "y");
    let model = match Model::from_bytes(bytes) {
        Ok(model) => model,
        Err(error) => return drop(error.to_string()),
    };
    model.network.validate().expect("what is read is a network");
    let widths = model.network.widths();
    if widths.iter().sum::<usize>() > LARGEST {
        return;
    }
    for x in [0.0, 1.0, -0.5] {
        let row = vec![x; model.network.inputs];
        let y = model.network.forward(&Matrix { rows: 1, cols: row.len(), data: row.clone() });
        for (y, ball) in y.data.iter().zip(model.network.enclose(&row)) {
            assert!(!y.is_finite() || ball.contains(*y), "{y} is not in {ball:?}");
        }
    }
    // What another tool wrote and rounding made different is not written as ours, but it can be.
    if let Ok(own) = model.to_bytes() {
        let again = Model::from_own_bytes(&own).expect("what is written is read");
        assert_eq!(format!("{:?}", again.network), format!("{:?}", model.network), "it comes back");
    }
});
