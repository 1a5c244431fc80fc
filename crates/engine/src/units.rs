//! Outputs in the units of training and in raw ones.

/// Units of the outputs: `raw = shift + scale * output`, one pair an output.
#[derive(Debug, Clone, PartialEq)]
pub struct Units {
    /// Offsets.
    pub shift: Vec<f64>,
    /// Factors.
    pub scale: Vec<f64>,
}

impl Units {
    /// Outputs in raw units.
    pub fn raw(outputs: usize) -> Self {
        Self { shift: vec![0.0; outputs], scale: vec![1.0; outputs] }
    }
}
