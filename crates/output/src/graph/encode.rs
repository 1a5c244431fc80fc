//! Texts enter; the numbers that stand for them leave.

use std::collections::HashMap;

use super::attributes::Attributes;
use super::error::Wrong;
use super::op::Operands;
use super::value::{Array, Value};

/// A number for each known text, and one for the others.
#[derive(Debug, Clone)]
pub(super) struct Encode {
    numbers: HashMap<String, f32>,
    other: f32,
}

impl Encode {
    pub(super) fn read(attributes: &mut Attributes) -> Result<Self, Wrong> {
        let (keys, values) = (attributes.texts("keys_strings")?, attributes.floats("values_floats")?);
        // The standard says -0.0.
        let other = attributes.float("default_float", -0.0)?;
        if keys.len() != values.len() {
            return Err(Wrong::Attribute { name: "values_floats", expected: "as many as there are keys" });
        }
        let numbers: HashMap<String, f32> = keys.iter().cloned().zip(values.iter().copied()).collect();
        // Runtimes take either of two values for one key.
        if numbers.len() != keys.len() {
            return Err(Wrong::Attribute { name: "keys_strings", expected: "different texts" });
        }
        Ok(Self { numbers, other })
    }

    pub(super) fn run(&self, operands: &Operands) -> Result<Value, Wrong> {
        let x = operands.of::<String>(0)?;
        let data = x.data.iter().map(|text| *self.numbers.get(text).unwrap_or(&self.other)).collect();
        Ok(Value::Float(Array { dims: x.dims.clone(), data }))
    }
}
