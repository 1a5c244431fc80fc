//! A trained network and its decoder enter; the model that chooses valid outputs leaves, with its certificate and the checker's word.

use deepsade_check::Tree;
use deepsade_net::{Model, Network, Node, Op};
use deepsade_output::decode::Decoder;
use deepsade_spec::NormalSpec;
use deepsade_spec::sets::{DECODE_KEY, Place, SETS_KEY};

use crate::artifact::{self, ArtifactError};
use crate::proof::{Proof, prove};

/// Writes the choice behind the scores: as a table in the graph where the valid sets are few and the same for every input, else
/// as metadata for the library.
pub fn attach(spec: &NormalSpec, network: &Network, decoder: &Decoder) -> Result<(Model, Proof), ArtifactError> {
    let mut network = network.clone();
    let place = match decoder.table() {
        Some(table) => {
            let scores = network.nodes.len();
            let b = vec![0.0; table.rows];
            network.nodes.push(Node { op: Op::Dense { w: table.clone(), b }, from: vec![scores] });
            network.nodes.push(Node { op: Op::Choose(table), from: vec![scores + 1] });
            Place::InGraph
        }
        None => Place::Library,
    };
    let mut model = artifact::model(spec, network)?;
    model.metadata.insert(DECODE_KEY.into(), place.name().into());
    if place == Place::Library {
        model.metadata.insert(SETS_KEY.into(), decoder.sets().to_json());
    }
    let proof = prove(spec, &model.to_bytes()?, std::iter::repeat(Tree::Decode));
    Ok((model, proof))
}
