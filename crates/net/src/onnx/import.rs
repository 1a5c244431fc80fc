//! ONNX bytes -> a model, or why not. Only the nodes that the output depends on are read, in the file's order.

mod arithmetic;
mod builder;
mod convolution;
mod fusion;
mod layout;
mod linear;
mod names;
mod node;
mod signature;

use std::collections::BTreeMap;

use prost::Message;

use super::Model;
use super::carried::Carried;
use super::error::ImportError;
use super::proto::{GraphProto, ModelProto, is_standard};
use builder::Builder;
use names::Names;
use node::NodeReader;

const OLDEST_OPSET: i64 = 7;
const NEWEST_OPSET: i64 = 28;
/// The domain of scikit-learn's operators.
pub(super) const LEARNING: &str = "ai.onnx.ml";

pub(super) fn import(bytes: &[u8], output: Option<&str>) -> Result<Model, ImportError> {
    let file = ModelProto::decode(bytes)?;
    let graph = file.graph.as_ref().ok_or(ImportError::NoGraph)?;
    let opset = opset(&file)?;
    let metadata = metadata(&file)?;
    // A runtime may prefer the file's own Gemm to the standard one; then we would certify what is not computed. Functions of other
    // domains matter only where a node that is read calls one, and is refused.
    if let Some(own) = file.functions.iter().find(|f| is_standard(&f.domain) || f.domain == LEARNING) {
        return Err(ImportError::Function { name: own.name.clone() });
    }
    if !file.training_info.is_empty() {
        return Err(ImportError::Training);
    }
    if !graph.sparse_initializer.is_empty() {
        return Err(ImportError::Sparse);
    }
    // Since IR version 4 an initializer among the inputs is only a default; before, all had to be listed there.
    let overridable = |name: &str| file.ir_version >= 4 && graph.input.iter().any(|i| i.name == name);
    if let Some(tensor) = graph.initializer.iter().find(|t| overridable(&t.name)) {
        return Err(ImportError::Overridable { name: tensor.name.clone() });
    }
    let (model, read) = read_graph(graph, opset, output, metadata, bytes.len())?;
    model.network.validate()?;
    let file = Carried::of_format(bytes, 0)?;
    let own = file.labels_of(&read)?;
    Ok(Model { classes: [file.class_lists()?, own.classes].concat(), labels: own.unread, picked: own.picked, ..model })
}

fn read_graph(
    graph: &GraphProto,
    opset: i64,
    output: Option<&str>,
    metadata: BTreeMap<String, String>,
    file_size: usize,
) -> Result<(Model, String), ImportError> {
    let constants = names::constants(graph, opset)?;
    let names = Names::index(graph, &constants, output)?;
    let mut builder = Builder::start(&names, &constants, file_size)?;
    for node in names.live_nodes() {
        let value = NodeReader { node, opset, builder: &mut builder }.read()?;
        // Second outputs (the mask of a Dropout) exist in training only: whoever reads one finds it undefined.
        if let Some(name) = node.output.first() {
            builder.define(name, value);
        }
    }
    Ok((builder.finish(metadata)?, names.output.into()))
}

pub(super) fn opset(file: &ModelProto) -> Result<i64, ImportError> {
    let mut versions = file.opset_import.iter().filter(|o| is_standard(&o.domain)).map(|o| o.version);
    let found = versions.next().unwrap_or(0);
    // Two versions would leave it to each reader which one holds.
    if versions.any(|v| v != found) {
        return Err(ImportError::Opsets);
    }
    if (OLDEST_OPSET..=NEWEST_OPSET).contains(&found) {
        Ok(found)
    } else {
        Err(ImportError::Opset { found, oldest: OLDEST_OPSET, newest: NEWEST_OPSET })
    }
}

pub(super) fn metadata(file: &ModelProto) -> Result<BTreeMap<String, String>, ImportError> {
    let mut metadata = BTreeMap::new();
    for entry in &file.metadata_props {
        if metadata.insert(entry.key.clone(), entry.value.clone()).is_some() {
            return Err(ImportError::DuplicateMetadata { key: entry.key.clone() });
        }
    }
    Ok(metadata)
}

#[cfg(test)]
mod tests;
