//! The graph and the functions of a file enter; refused is one with an operator that writes into what it reads.
//!
//! What stands before a piece may be anything, as the piece reads only what it is handed. But a batch normalisation in training mode
//! overwrites its running mean and variance in place, and runtimes let equal constants of a whole graph share their memory, and views the
//! memory of the input: it would write into what the piece reads.

use super::super::error::ImportError;
use super::super::wire::{self, Field, FieldValue};
use super::number;

/// Graphs within graphs.
const DEEPEST: usize = 100;

/// Field numbers of a node, an attribute and a function.
const OUTPUT: u64 = 2;
const OPERATOR: u64 = 4;
const ATTRIBUTE: u64 = 5;
const NAME: u64 = 1;
const WHOLE: u64 = 3;
const SUBGRAPH: u64 = 6;
const SUBGRAPHS: u64 = 11;
const OF_FUNCTION: u64 = 21;
const FUNCTION_NODE: u64 = 7;

/// Looks at every node, wherever it stands.
pub(super) fn refuse(graph: &[Field], functions: &[&[u8]]) -> Result<(), ImportError> {
    nodes(graph, number::NODE, 0)?;
    functions.iter().try_for_each(|function| nodes(&wire::fields(function)?, FUNCTION_NODE, 0))
}

fn nodes(fields: &[Field], number: u64, depth: usize) -> Result<(), ImportError> {
    if depth > DEEPEST {
        return Err(ImportError::Wire("graphs within graphs without end"));
    }
    fields.iter().filter(|f| f.number == number).filter_map(Field::bytes).try_for_each(|bytes| node(bytes, depth))
}

fn node(bytes: &[u8], depth: usize) -> Result<(), ImportError> {
    let fields = wire::fields(bytes)?;
    let normalises = fields.iter().any(|f| f.number == OPERATOR && f.bytes() == Some(b"BatchNormalization"));
    let outputs = fields.iter().filter(|f| f.number == OUTPUT && f.bytes().is_some_and(|name| !name.is_empty())).count();
    let mut trains = outputs > 1;
    for attribute in fields.iter().filter(|f| f.number == ATTRIBUTE).filter_map(Field::bytes) {
        let parts = wire::fields(attribute)?;
        let mode = parts.iter().any(|f| f.number == NAME && f.bytes() == Some(b"training_mode"));
        let set = |f: &Field| f.number == WHOLE && f.value != FieldValue::Varint(0) || f.number == OF_FUNCTION;
        trains |= mode && parts.iter().any(set);
        for graph in parts.iter().filter(|f| f.number == SUBGRAPH || f.number == SUBGRAPHS).filter_map(Field::bytes) {
            nodes(&wire::fields(graph)?, number::NODE, depth + 1)?;
        }
    }
    if normalises && trains { Err(ImportError::Writes) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(parts: &[(u64, &[u8])]) -> Vec<u8> {
        let mut out = Vec::new();
        parts.iter().for_each(|(number, bytes)| wire::put(*number, bytes, &mut out));
        out
    }

    fn normalisation(mode: Option<u8>, outputs: usize) -> Vec<u8> {
        let mut node = put(&[(OPERATOR, b"BatchNormalization")]);
        (0..outputs).for_each(|k| wire::put(OUTPUT, &[b'a' + k as u8], &mut node));
        if let Some(mode) = mode {
            let mut attribute = put(&[(NAME, b"training_mode")]);
            attribute.extend([(WHOLE << 3) as u8, mode]);
            wire::put(ATTRIBUTE, &attribute, &mut node);
        }
        node
    }

    fn refused(node: &[u8]) -> bool {
        let graph = put(&[(number::NODE, node)]);
        let function = put(&[(FUNCTION_NODE, node)]);
        let inside = put(&[(OPERATOR, b"If"), (ATTRIBUTE, &put(&[(SUBGRAPH, &graph)]))]);
        let nested = put(&[(number::NODE, &inside)]);
        let alone = refuse(&wire::fields(&graph).unwrap(), &[]) == Err(ImportError::Writes);
        assert_eq!(alone, refuse(&[], &[&function]) == Err(ImportError::Writes));
        assert_eq!(alone, refuse(&wire::fields(&nested).unwrap(), &[]) == Err(ImportError::Writes));
        alone
    }

    #[test]
    fn only_a_batch_normalisation_in_training_mode_is_refused_wherever_it_stands() {
        assert!(refused(&normalisation(Some(1), 1)) && refused(&normalisation(None, 3)) && refused(&normalisation(Some(0), 5)));
        assert!(!refused(&normalisation(Some(0), 1)) && !refused(&normalisation(None, 1)));
        assert!(!refused(&put(&[(OPERATOR, b"Split"), (OUTPUT, b"a"), (OUTPUT, b"b")])));
    }
}
