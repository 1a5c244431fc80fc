//! Rules enter; the columns that may gate outputs leave, and the network that training starts from, gated or not.

use deepsade_net::{Matrix, Network};
use deepsade_spec::{Domain, NormalSpec, Schema};

use crate::outside::outside;
use crate::train::{Around, Gate, NetworkSettings, Scales, scaled_network};

/// The columns of the features with which the rules scale, where these can be a gate.
pub fn candidates(spec: &NormalSpec) -> impl Iterator<Item = usize> + '_ {
    spec.gate.iter().filter(|f| clear(&spec.schema.features[**f].domain)).filter_map(|f| column(&spec.schema, *f))
}

/// The column of a feature that is a number.
pub fn column(schema: &Schema, feature: usize) -> Option<usize> {
    schema.features[feature].domain.range().map(|_| schema.column_map().first(feature))
}

/// In float32 a product with a denormal gate may round up to the gate itself: a real gate must stay clear of 0.
pub fn clear(domain: &Domain) -> bool {
    match *domain {
        Domain::Real { lo, .. } => lo > 1e-20,
        Domain::Stepped { lo, step, .. } => lo > 0.0 || step > 1.0,
        Domain::Integer { .. } | Domain::Ordered { .. } => true,
        Domain::Category { .. } => false,
    }
}

/// The feature with which the rules scale and which can't be a gate only because its domain reaches 0.
pub fn too_near_zero(spec: &NormalSpec) -> Option<&str> {
    let reaches = |domain: &Domain| matches!(*domain, Domain::Real { lo, .. } if (0.0..=1e-20).contains(&lo));
    let feature = spec.gate.iter().map(|f| &spec.schema.features[*f]).find(|f| reaches(&f.domain))?;
    candidates(spec).next().is_none().then_some(feature.name.as_str())
}

/// The network that training starts from, scaled by ranges. A gate's own feature stays out of what it multiplies, or the product would be
/// quadratic in it.
pub fn network(spec: &NormalSpec, settings: &NetworkSettings, gate: Option<Gate>, seed: u64) -> Network {
    scaled(spec, &Scales::of_ranges(&spec.schema.column_ranges()), settings, gate, seed)
}

/// The same, scaled as the settings say by the rows that are to be learnt from.
pub fn network_for(spec: &NormalSpec, settings: &NetworkSettings, gate: Option<Gate>, seed: u64, rows: &Matrix) -> Network {
    scaled(spec, &Scales::new(&spec.schema, settings, rows), settings, gate, seed)
}

fn scaled(spec: &NormalSpec, scales: &Scales, settings: &NetworkSettings, gate: Option<Gate>, seed: u64) -> Network {
    let skip: Vec<usize> = skip_columns(spec).into_iter().filter(|c| gate.is_none_or(|g| g.column != *c)).collect();
    let outside = if settings.copies && spec.pairs.is_empty() { outside(spec) } else { Vec::new() };
    scaled_network(scales, &skip, Around { gate, outside: &outside }, spec.schema.task.outputs(), settings, seed)
}

/// The columns of the features that rules mention.
pub fn skip_columns(spec: &NormalSpec) -> Vec<usize> {
    let columns = spec.schema.columns();
    (0..columns.len()).filter(|k| spec.skip.contains(&columns[*k].feature)).collect()
}
