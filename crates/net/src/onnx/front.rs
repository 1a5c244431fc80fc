//! A file enters; leaves the same with another graph, in which something stands in front of what read the input.

use prost::Message;

use super::carried::number;
use super::error::ImportError;
use super::proto::TensorProto;
use super::wire::{self, Field};

/// The number of a node's inputs.
const READ: u64 = 1;

/// The fields of a file's graph.
pub(super) fn graph(bytes: &[u8]) -> Result<Vec<Field<'_>>, ImportError> {
    let graphs: Vec<_> = wire::fields(bytes)?.into_iter().filter(|f| f.number == number::GRAPH).collect();
    let [graph] = &graphs[..] else { return Err(ImportError::NoGraph) };
    wire::fields(graph.bytes().ok_or(ImportError::NoGraph)?)
}

/// A file with another graph.
pub(super) fn rewritten(
    bytes: &[u8],
    write: impl FnOnce(&[Field<'_>], &mut Vec<u8>) -> Result<(), ImportError>,
) -> Result<Vec<u8>, ImportError> {
    let mut new = Vec::with_capacity(bytes.len());
    write(&graph(bytes)?, &mut new)?;
    let mut file = Vec::with_capacity(bytes.len());
    for field in wire::fields(bytes)? {
        match field.number {
            number::GRAPH => wire::put(number::GRAPH, &new, &mut file),
            _ => file.extend_from_slice(field.raw),
        }
    }
    Ok(file)
}

/// A node that reads one tensor in place of another, and is the same in everything else.
pub(super) fn reading(node: Option<&[u8]>, from: &str, to: &str) -> Result<Vec<u8>, ImportError> {
    let mut new = Vec::new();
    for field in wire::fields(node.unwrap_or_default())? {
        match field.number {
            READ if field.bytes() == Some(from.as_bytes()) => wire::put(READ, to.as_bytes(), &mut new),
            _ => new.extend_from_slice(field.raw),
        }
    }
    Ok(new)
}

/// A stored tensor.
pub(super) fn stored(tensor: Option<&[u8]>) -> Result<TensorProto, ImportError> {
    Ok(TensorProto::decode(tensor.unwrap_or_default())?)
}
