//! Rules and the shape of a network enter; leaves whether some last layer keeps the rules for every input, or why none does.

use deepsade_spec::{ColumnKind, NormalSpec};

use crate::fit::skip_columns;
use crate::guard::{Guard, GuardError, How};
use crate::signs::beside_gate;
use crate::train::column_ranges;
use crate::train::{Gate, NetworkSettings, initial_network};
use crate::units::Units;

/// Whether the rules can be enforced through the weights: with a plain last layer, or gated by a feature with which they scale.
pub fn through_weights(spec: &NormalSpec, network: &NetworkSettings, how: How) -> Result<(), GuardError> {
    let columns = spec.schema.columns();
    let outputs = spec.schema.task.outputs();
    let with = |gate: Option<Gate>| {
        let skip: Vec<usize> = skip_columns(spec).into_iter().filter(|c| gate.is_none_or(|g| g.column != *c)).collect();
        let network = initial_network(&column_ranges(&spec.schema), &skip, gate, outputs, network, 0);
        let guarded = gate.and_then(|g| beside_gate(spec, columns[g.column].feature));
        Guard::new(guarded.as_ref().unwrap_or(spec), &network, &Units::raw(outputs), how).map(|_| ())
    };
    let gates = spec.gate.iter().filter_map(|f| columns.iter().position(|c| c.feature == *f && c.kind == ColumnKind::Number));
    let gated = |column: usize| with(Some(Gate { column, scale: 1.0 })).is_ok();
    with(None).or_else(|error| if gates.into_iter().any(gated) { Ok(()) } else { Err(error) })
}
