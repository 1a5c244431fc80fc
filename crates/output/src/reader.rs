//! A model and input rows enter; its outputs leave as its file says they are read: straight from the graph, or decoded.

use std::borrow::Cow;

use deepsade_net::{Matrix, Model, Network};
use deepsade_spec::NormalSpec;
use deepsade_spec::sets::{DECODE_KEY, NEAREST_KEY, Place, SETS_KEY};

use crate::decode::{DecodeError, Decoder, Scratch};
use crate::judge::Judge;
use crate::nearest::Allowed;

/// How a model's outputs are read.
#[derive(Debug, Clone)]
pub struct Output<'a> {
    model: Cow<'a, Model>,
    spec: Cow<'a, NormalSpec>,
    place: Option<Place>,
    /// What the library decodes with.
    decoder: Option<Decoder>,
    /// Whether the library moves outputs to the nearest ones that obey the rules.
    nearest: bool,
}

/// What the valid sets make of one row of scores.
#[derive(Debug, Clone, PartialEq)]
pub struct Probabilities {
    /// Of each label, given that the set is valid.
    pub labels: Vec<f64>,
    /// Of the set that is predicted, given that it is valid.
    pub set: f64,
}

impl<'a> Output<'a> {
    /// Reads a model's metadata; `spec` are the rules that it carries.
    pub fn of(model: &'a Model, spec: &'a NormalSpec) -> Result<Self, DecodeError> {
        Self::new(Cow::Borrowed(model), Cow::Borrowed(spec))
    }

    /// The same, kept together with the model.
    pub fn owned(model: Model, spec: NormalSpec) -> Result<Output<'static>, DecodeError> {
        Output::new(Cow::Owned(model), Cow::Owned(spec))
    }

    fn new(model: Cow<'a, Model>, spec: Cow<'a, NormalSpec>) -> Result<Self, DecodeError> {
        let wrong = |what: String| DecodeError::Metadata(what);
        let (place, decoder) = match model.metadata.get(DECODE_KEY).map(String::as_str) {
            None => (None, None),
            Some("in-graph") if model.network.scores().is_some() => (Some(Place::InGraph), None),
            Some("in-graph") => return Err(wrong("the graph does not end in a choice, but its metadata say so".into())),
            Some("library") => {
                let text = model.metadata.get(SETS_KEY).ok_or_else(|| wrong(format!("'{SETS_KEY}' is missing")))?;
                (Some(Place::Library), Some(Decoder::from_sets(text, &spec)?))
            }
            Some(other) => return Err(wrong(format!("'{DECODE_KEY}' is '{other}'; this version knows in-graph and library"))),
        };
        let (place, nearest) = match model.metadata.get(NEAREST_KEY).map(String::as_str) {
            None => (place, false),
            Some("in-graph") => (Some(Place::InGraph), false),
            Some("library") => (Some(Place::Library), true),
            Some(other) => return Err(wrong(format!("'{NEAREST_KEY}' is '{other}'; this version knows in-graph and library"))),
        };
        Ok(Self { model, spec, place, decoder, nearest })
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The rules that it carries.
    pub fn spec(&self) -> &NormalSpec {
        &self.spec
    }

    /// Where outputs are chosen; `None` if they are the network's own.
    pub fn place(&self) -> Option<Place> {
        self.place
    }

    /// The outputs. A row without valid ones, which only inputs outside the domain can be, is not a number throughout.
    pub fn outputs(&self, x: &Matrix) -> Matrix {
        let mut y = self.model.network.forward(x);
        if self.nearest {
            let allowed = Allowed::new(&self.spec);
            for r in 0..x.rows {
                let moved = allowed.decode(x.row(r), y.row(r)).unwrap_or_else(|_| vec![f32::NAN; y.cols]);
                y.row_mut(r).copy_from_slice(&moved);
            }
            return y;
        }
        let Some(decoder) = &self.decoder else { return y };
        let (judge, mut scratch) = (Judge::new(&self.spec), Scratch::default());
        let mut set = vec![0.0; decoder.labels()];
        for r in 0..x.rows {
            if !decoder.best(y.row(r), &decoder.met(&judge, x.row(r)), &mut scratch, &mut set) {
                set.fill(f32::NAN);
            }
            y.row_mut(r).copy_from_slice(&set);
        }
        y
    }

    /// The raw scores behind the outputs.
    pub fn scores(&self, x: &Matrix) -> Matrix {
        match self.model.network.scores().filter(|_| self.place == Some(Place::InGraph)) {
            Some(value) => {
                let Network { inputs, nodes } = &self.model.network;
                Network { inputs: *inputs, nodes: nodes[..value].to_vec() }.forward(x)
            }
            None => self.model.network.forward(x),
        }
    }

    /// The probabilities behind each row of outputs; `None` for a row without a valid set. An error if they can't be had.
    pub fn probabilities(&self, x: &Matrix, y: &Matrix, budget: usize) -> Result<Vec<Option<Probabilities>>, DecodeError> {
        let decoder = match &self.decoder {
            Some(decoder) if decoder.nodes().is_some() => decoder.clone(),
            _ => Decoder::new(&self.spec, budget)?,
        };
        if decoder.nodes().is_none() {
            return Err(DecodeError::NoProbabilities { budget });
        }
        let (scores, judge, mut scratch) = (self.scores(x), Judge::new(&self.spec), Scratch::default());
        let mut labels = vec![0.0; decoder.labels()];
        let row = |r: usize| {
            if y.row(r).iter().any(|y| y.is_nan()) {
                return None;
            }
            let (s, met) = (scores.row(r), decoder.met(&judge, x.row(r)));
            let log_valid = decoder.log_valid(s, &met, &mut scratch, &mut labels)?;
            let set = (crate::decode::paths::log_set(s, y.row(r)) - log_valid).exp();
            (log_valid > f64::NEG_INFINITY).then(|| Probabilities { labels: labels.clone(), set })
        };
        Ok((0..x.rows).map(row).collect())
    }
}
