//! Rules and the shape of a network enter; leaves whether some last layer keeps the rules for every input, or why none does.

use deepsade_spec::NormalSpec;

use crate::gate;
use crate::guard::{Guard, GuardError, Tightness};
use crate::signs::beside_gate;
use crate::train::{Gate, NetworkSettings};
use crate::units::Units;
use crate::vacuous::binding;

/// Whether the rules can be enforced through the weights: with a plain last layer, or gated by a feature with which they scale.
pub fn through_weights(spec: &NormalSpec, network: &NetworkSettings, tightness: Tightness) -> Result<(), GuardError> {
    let spec = &binding(spec);
    let with = |gate: Option<Gate>| {
        let network = gate::network(spec, network, gate, 0);
        let guarded = gate.and_then(|g| beside_gate(spec, spec.schema.columns()[g.column].feature));
        Guard::new(guarded.as_ref().unwrap_or(spec), &network, &Units::raw(spec.schema.task.outputs()), tightness).map(|_| ())
    };
    let gated = |column: usize| with(Some(Gate { column, scale: 1.0 })).is_ok();
    with(None).or_else(|error| if gate::candidates(spec).any(gated) { Ok(()) } else { Err(error) })
}
