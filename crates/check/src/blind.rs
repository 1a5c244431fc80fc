//! What a file does not read of its input, and rules, enter; which rules between two inputs follow leaves.
//!
//! 1. Nothing in the file reads the columns of some features: constants stand in their place, in front of everything ([`Blind::split`]).
//!    For two inputs that are equal but for these features every node computes from the same bits, so all outputs are the same. A rule
//!    between two such inputs holds if equal outputs obey it.
//! 2. The constants are values of the features' domains, so what is read in place of an input of the domain is one, too. Of that the
//!    rest of the check proves every other rule; none of them reads a feature that is not the input's own.

use deepsade_net::Blind;
use deepsade_spec::{ColumnKind, InputColumn, NormalSpec, Pair, PairRule, Var};

use crate::idle::equal_outputs_obey;
use crate::pair::{PairProvedBy, ProvedPair};
use crate::rejected::{Misfit, Why};

/// The features that a file does not read, in ascending order.
pub(crate) fn unread(blind: Option<&Blind>, spec: &NormalSpec) -> Result<Vec<usize>, Misfit> {
    let Some(Blind { values }) = blind else { return Ok(Vec::new()) };
    let given = spec.schema.given().len();
    let columns: Vec<InputColumn> = spec.schema.columns().into_iter().filter(|c| c.feature < given).collect();
    if columns.len() != values.len() {
        return Err(Misfit::BlindColumns);
    }
    let mut features = Vec::new();
    for (f, feature) in spec.schema.given().iter().enumerate() {
        let own: Vec<(ColumnKind, Option<f32>)> =
            columns.iter().zip(values).filter(|(c, _)| c.feature == f).map(|(c, v)| (c.kind, *v)).collect();
        if own.iter().all(|(_, v)| v.is_none()) {
            continue;
        }
        let levels = feature.domain.levels().map_or(0, <[String]>::len);
        let is = |level: usize| {
            own.iter().all(|(kind, v)| {
                *kind == ColumnKind::Level(level) && *v == Some(1.0) || *kind != ColumnKind::Level(level) && *v == Some(0.0)
            })
        };
        let holds = match own[..] {
            [(ColumnKind::Number, Some(v))] => feature.domain.holds(v),
            _ => (0..levels).any(is),
        };
        if !holds {
            return Err(Misfit::BlindValue(feature.name.clone()));
        }
        features.push(f);
    }
    // Nor is it told whether such a feature has no value.
    let indicators =
        spec.schema.indicated().enumerate().filter(|(_, name)| spec.schema.feature(name).is_some_and(|f| features.contains(&f)));
    let indicators: Vec<usize> = indicators.map(|(k, _)| given + k).collect();
    features.extend(indicators);
    for rule in &spec.rules {
        let reads = |var: &Var| matches!(var, Var::Feature(f) | Var::Level(f, _) if features.contains(f));
        if rule.claim.variables().iter().any(reads) {
            return Err(Misfit::BlindRule(rule.name.clone()));
        }
    }
    Ok(features)
}

/// Judges a rule of which all that may differ is not read, but for parts that nothing can break.
pub(crate) fn same(rule: &PairRule, unread: &[usize], idle: &dyn Fn(&Pair) -> bool) -> Result<ProvedPair, Why> {
    for part in rule.parts.iter().filter(|part| !idle(part)) {
        if !part.features.iter().all(|f| unread.contains(f)) {
            return Err(Misfit::BlindPair.into());
        }
        if !equal_outputs_obey(part) {
            return Err(Misfit::BlindPair.into());
        }
    }
    Ok(ProvedPair { name: rule.name.clone(), by: PairProvedBy::Unread, regions: 0, tolerance: 0.0 })
}

#[cfg(test)]
mod tests;
