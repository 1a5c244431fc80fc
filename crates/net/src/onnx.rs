//! A network with its metadata <-> the bytes of an ONNX file.

pub mod blind;
pub mod carried;
mod error;
mod export;
pub mod filling;
mod front;
mod import;
pub mod piece;
mod proto;
mod tensor;
mod wire;

use std::borrow::Cow;
use std::collections::BTreeMap;

use self::blind::Blind;
use self::carried::{Carried, Port};
use self::filling::Filling;
use self::piece::Piece;
use crate::{Matrix, Network, NetworkError};
pub use error::{ImportError, NodePlace};

/// What the output of a network that something stands behind is called.
pub const TRUNK_OUTPUT: &str = export::SCORES;

/// What an ONNX file holds: the network, and a map of strings that travels with it.
///
/// ```
/// use deepsade_net::{Activation, Matrix, Model, Network, Node, Op};
///
/// let w = Matrix { rows: 2, cols: 3, data: vec![0.5, -1.0, 2.0, 1.0, 0.0, 0.25] };
/// let nodes = vec![
///     Node { op: Op::Dense { w, b: vec![0.0, 1.0] }, from: vec![0] },
///     Node { op: Op::Act(Activation::Relu), from: vec![1] },
/// ];
/// let model = Model::new(Network { inputs: 3, nodes });
/// let bytes = model.to_bytes()?;
/// assert_eq!(Model::from_bytes(&bytes)?, model);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// The network.
    pub network: Network,
    /// `metadata_props` of the file.
    pub metadata: BTreeMap<String, String>,
    /// Where import did not keep the file's operators one to one: `node 'name' (Op): reason`. Rounding in float32 may differ there
    /// between the file and this network; the network written by [`Model::to_bytes`] has no such places. Never written to a file.
    pub inexact: Vec<String>,
    /// Where the file makes a constant by a node, or adds up by an operator whose order depends on the place in the batch, in the same form.
    /// Runtimes may round rows of one batch in different orders there: each order is charged, but two inputs may not be computed in the same. Never written to a file.
    pub made: Vec<String>,
    /// Where a constant of the file became the float32 number next to it, in the same form. In float32 that is charged; in exact arithmetic
    /// the file computes something else. Never written to a file.
    pub rounded: Vec<String>,
    /// Lists of classes that operators of the file name: what its columns are called by whoever made it. Never written to a file.
    pub classes: Vec<Vec<String>>,
    /// Outputs of the file that hold labels made in a way that is not read. Never written to a file.
    pub labels: Vec<String>,
    /// Outputs of the file that name its largest score. Never written to a file.
    pub picked: Vec<String>,
    /// What stands behind the network, which then only makes the numbers that this reads.
    pub behind: Option<Behind>,
    /// What fills in gaps in front of the network, whose input is then the filled one.
    pub filling: Option<Filling>,
    /// The columns of the file's input that nothing in it reads; what fills in gaps stands behind.
    pub blind: Option<Blind>,
}

/// A piece behind a network, and the outputs of the whole.
#[derive(Debug, Clone, PartialEq)]
pub struct Behind {
    /// Its calls read the network's input `x` and its output, [`TRUNK_OUTPUT`].
    pub piece: Piece,
    /// What the file gives.
    pub outputs: Vec<Port>,
}

impl Behind {
    /// Whether it is an output step, which says of each row whether its candidate was good; a flag for the domain changes no output.
    pub fn is_step(&self) -> bool {
        self.outputs.len() >= 3
    }
}

/// What the names of the pieces that are put behind networks begin with.
pub const BEHIND: &str = "deepsade.";

impl Model {
    /// A network without metadata.
    pub fn new(network: Network) -> Self {
        Self {
            network,
            metadata: BTreeMap::new(),
            inexact: Vec::new(),
            made: Vec::new(),
            rounded: Vec::new(),
            classes: Vec::new(),
            labels: Vec::new(),
            picked: Vec::new(),
            behind: None,
            filling: None,
            blind: None,
        }
    }

    /// Where what holds of this network need not hold of the file: of one input, and of two that are compared; in float32, or in exact
    /// arithmetic.
    pub fn differs(&self, two_inputs: bool, exact: bool) -> Vec<String> {
        let made = if two_inputs { &self.made[..] } else { &[] };
        let rounded = if exact { &self.rounded[..] } else { &[] };
        self.inexact.iter().chain(made).chain(rounded).cloned().collect()
    }

    /// Inputs as the network reads them: of columns that the file does not read, and of indicators of their gaps, what stands in their place.
    pub fn as_read<'x>(&self, x: &'x Matrix) -> Cow<'x, Matrix> {
        let Some(Blind { values }) = &self.blind else { return Cow::Borrowed(x) };
        let mut x = x.clone();
        let told = self.filling.iter().flat_map(|f| f.flags.iter().enumerate().map(|(k, column)| (f.values.len() + k, *column)));
        let told = told.filter_map(|(flag, column)| values.get(column).copied().flatten().map(|_| (flag, 0.0)));
        let hidden = values.iter().enumerate().filter_map(|(k, v)| v.map(|v| (k, v))).chain(told);
        let hidden: Vec<(usize, f32)> = hidden.filter(|(k, _)| *k < x.cols).collect();
        (0..x.rows).for_each(|r| hidden.iter().for_each(|(k, v)| x.row_mut(r)[*k] = *v));
        Cow::Owned(x)
    }

    /// Whether an output step stands behind the network.
    pub fn has_step(&self) -> bool {
        self.behind.as_ref().is_some_and(Behind::is_step)
    }

    /// The ONNX file; equal models give equal bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>, NetworkError> {
        let mut file = self.to_filled_bytes()?;
        if let Some(filling) = &self.filling {
            let (columns, inputs) = (filling.width(), self.network.inputs);
            file = filling.before(&file).map_err(|_| NetworkError::Filling { columns, inputs })?;
        }
        match &self.blind {
            Some(blind) => blind.before(&file).map_err(|e| NetworkError::Blind(e.to_string())),
            None => Ok(file),
        }
    }

    /// The file without what fills in gaps: its input has none.
    fn to_filled_bytes(&self) -> Result<Vec<u8>, NetworkError> {
        let Some(Behind { piece, outputs }) = &self.behind else { return export::export(self, export::OUTPUT) };
        let trunk = self.to_trunk_bytes()?;
        let carried = Carried::read(&trunk).expect("what was written is read");
        Ok(carried.with(piece, outputs, &BTreeMap::new()))
    }

    /// The ONNX file of a network that something is to be put behind: its output is called [`TRUNK_OUTPUT`].
    pub fn to_trunk_bytes(&self) -> Result<Vec<u8>, NetworkError> {
        export::export(self, TRUNK_OUTPUT)
    }

    /// Reads an ONNX file whose graph has one output that is a float tensor, or a network of ours with a piece behind it.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ImportError> {
        Self::behind_front(bytes, Self::from_filled_bytes)
    }

    /// What stands in front of the network is taken off, and the rest read.
    fn behind_front(bytes: &[u8], read: impl Fn(&[u8]) -> Result<Self, ImportError>) -> Result<Self, ImportError> {
        let (blind, bytes) =
            Blind::split(bytes)?.map_or((None, Cow::Borrowed(bytes)), |(blind, inner)| (Some(blind), inner.into()));
        let (filling, bytes) = Filling::split(&bytes)?.map_or((None, bytes), |(filling, inner)| (Some(filling), inner.into()));
        Ok(Self { filling, blind, ..read(&bytes)? })
    }

    fn from_filled_bytes(bytes: &[u8]) -> Result<Self, ImportError> {
        let has_piece =
            |carried: &Carried| carried.outputs.len() >= 2 && carried.piece(&[BEHIND]).is_ok_and(|p| !p.calls.is_empty());
        match Carried::read(bytes).ok().filter(has_piece) {
            None => import::import(bytes, None),
            Some(carried) => {
                let behind = Behind { piece: carried.piece(&[BEHIND])?, outputs: carried.outputs };
                Ok(Self { behind: Some(behind), ..import::import(bytes, Some(TRUNK_OUTPUT))? })
            }
        }
    }

    /// Reads a file that must be, byte for byte, what [`Model::to_bytes`] writes.
    ///
    /// For whoever certifies a file: no other reader can then see more in it, or something else, than this one did, and there is nothing in
    /// it that runtimes are known to fold.
    pub fn from_own_bytes(bytes: &[u8]) -> Result<Self, ImportError> {
        let model = Self::from_bytes(bytes)?;
        // Before it is written: a small file of another kind may stand for a huge one.
        if export::numbers(&model.network) > bytes.len() / size_of::<f32>() || model.to_bytes()? != bytes {
            return Err(ImportError::NotOurs);
        }
        match export::foldable(&model.network) {
            Some((node, width)) => Err(ImportError::Foldable { node, width }),
            None => Ok(model),
        }
    }

    /// Reads an ONNX file up to the tensor called `output`, which may lie inside the graph: the scores before a Softmax, say.
    pub fn from_bytes_until(bytes: &[u8], output: &str) -> Result<Self, ImportError> {
        Self::behind_front(bytes, |bytes| import::import(bytes, Some(output)))
    }
}
