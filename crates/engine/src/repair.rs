//! A network that breaks its rules enters; the same network with another last layer leaves, for which they hold, with the proof.
//!
//! Everything before the last dense layer stays, bit for bit. Features that the rules mention and the last layer does not read
//! get there by new skip connections, with weight zero at first. Then the guard that training uses moves the last layer to the
//! nearest one for which the rules hold on the whole domain: nearest in what the predictions on the rows change, of the data or, without
//! data, drawn from the domain. Several ways of bounding the hidden layers are tried, once with all weights of the last layer free
//! and once with those of the features and the bias alone, and the best is kept: by score where there are labels, else by change.
//! Bounds are looser than the truth, so what they ask for is more than is needed: the last layer then goes as far back as the search
//! of `verify` can prove (`shrink`).

mod safest;
mod shrink;
pub mod words;

use std::time::{Duration, Instant};

use deepsade_data::{CheckedData, Dataset, RowStatus, Table, deciding_score, encode_inputs, metrics, thinned};
use deepsade_net::{Matrix, Model, Network, Node, Op};
use deepsade_solve::sample::InputSampler;
use deepsade_spec::{NormalSpec, Region};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use safest::Safest;
use shrink::Shrink;
use thiserror::Error;

use crate::artifact::ArtifactError;
use crate::enforce::weights::CertifyError;
use crate::fit::{FitError, Rows, rows_of};
use crate::guard::{GuardError, Tightness};
use crate::proof::{Certified, Refused};
use crate::skips::{last_layer, straight, with_skips};
use crate::train::PlanError;
use crate::vacuous::binding;
use crate::verify::{Outcome, VerifyError, VerifySettings, fits, verify};

/// Rows from which distances between last layers are measured.
const MOST_ROWS: usize = 4096;
/// Rows drawn from the domain where there are no data.
const SAMPLED: usize = 1000;
/// How long.
#[derive(Debug, Clone, Copy)]
pub struct RepairSettings {
    /// Time to see whether there is anything to repair. Default 10 s.
    pub look: Duration,
    /// Time to bring the last layer back towards what it was; none, and the first one that is safe is kept. Default 20 s.
    pub back: Duration,
}

/// How long a last layer is brought back towards what it was where nothing else is said.
pub const SECONDS: f64 = 20.0;

impl Default for RepairSettings {
    fn default() -> Self {
        Self { look: Duration::from_secs(10), back: Duration::from_secs_f64(SECONDS) }
    }
}

/// A repaired model.
#[derive(Debug)]
pub struct Repaired {
    /// The ONNX file with its certificate.
    pub certified: Certified,
    /// Its network.
    pub network: Network,
    /// How the hidden layers were bounded.
    pub tightness: Tightness,
    /// Features that now reach the last layer.
    pub skipped: Vec<String>,
    /// Whether only weights of features and the bias were moved.
    pub features_only: bool,
    /// By how much outputs on the rows change: root mean square.
    pub change: f64,
    /// By how much they did before the last layer was brought back towards what it was; `None` if it could not be.
    pub before_shrinking: Option<f64>,
}

/// Why a network can't be repaired so.
#[derive(Debug, Error)]
pub enum RepairError {
    /// Its last layer is of another kind.
    #[error("the network does not end in a dense layer (nor in one times a feature): there is no last layer to solve for")]
    NoLastLayer,
    /// Something behind its last layer keeps rules already.
    #[error(
        "the model ends in an output step, which keeps the rules whatever the network before it gives: there is nothing to repair (`deepsade \
         verify` says whether it keeps these)"
    )]
    HasStep,
    /// What no last layer mends.
    #[error(
        "rule '{0}' compares two inputs, and a new last layer does not make hidden units rise or fall together: `deepsade train` trains a \
         network that keeps it"
    )]
    TwoInputs(String),
    /// It can't be taken apart.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// It does not fit the rules.
    #[error(transparent)]
    Verify(#[from] VerifyError),
    /// No last layer does it.
    #[error(transparent)]
    Infeasible(GuardError),
    /// It was told to end before one was found.
    #[error("it was stopped before a last layer was proved to keep the rules; nothing was changed")]
    Stopped,
    /// The checker accepts none of those that were found.
    #[error("last layers were found, but the checker does not accept them: {0}")]
    Rejected(Box<Refused>),
    /// The model can't be written down.
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
}

impl From<GuardError> for RepairError {
    fn from(error: GuardError) -> Self {
        if error == GuardError::Stopped { Self::Stopped } else { Self::Infeasible(error) }
    }
}

impl From<CertifyError> for RepairError {
    fn from(error: CertifyError) -> Self {
        match error {
            CertifyError::Plan(error) => error.into(),
            CertifyError::Guard(error) => error.into(),
            CertifyError::Artifact(error) => error.into(),
        }
    }
}

/// What became of a network.
#[derive(Debug)]
pub enum Mended {
    /// Its rules hold already.
    Already(Box<Certified>),
    /// It was changed.
    Repaired(Box<Repaired>),
}

impl Mended {
    /// The ONNX file for which the rules hold, with its certificate.
    pub fn certified(&self) -> &Certified {
        match self {
            Self::Already(found) => found,
            Self::Repaired(found) => &found.certified,
        }
    }

    /// The same deciding at the probability at which the model before it does.
    #[must_use]
    pub fn at_cutoff_of(self, spec: &NormalSpec, before: &Model) -> Self {
        match self {
            Self::Already(found) => Self::Already(Box::new(found.at_cutoff_of(spec, before))),
            Self::Repaired(mut found) => {
                found.certified = found.certified.at_cutoff_of(spec, before);
                Self::Repaired(found)
            }
        }
    }
}

/// The network of a model that ends in it.
pub fn network_of(model: &Model) -> Result<&Network, RepairError> {
    if model.has_step() { Err(RepairError::HasStep) } else { Ok(&model.network) }
}

/// Rows on which outputs should change little.
#[derive(Debug)]
pub enum KnownRows {
    /// None: inputs of the domain are drawn.
    Nothing,
    /// Inputs, of which no labels are known.
    Inputs(Matrix),
    /// Rows with labels, of which those that obey the rules count.
    Labelled(Box<Rows>),
}

impl KnownRows {
    /// The rows of a table that lie in the domain, with labels where it has all targets, and how many others it has.
    pub fn within(spec: &NormalSpec, mut table: Table) -> Result<(Self, usize), FitError> {
        let inputs = encode_inputs(&table, &spec.schema)?;
        let inside: Vec<bool> = inputs.status.iter().map(|s| *s == RowStatus::Inside).collect();
        table.keep_rows(&inside);
        let outside = inside.len() - table.rows();
        let labelled = spec.schema.task.target_columns().iter().all(|t| table.column(t).is_some());
        let rows = if labelled && table.rows() > 0 {
            Self::Labelled(Box::new(rows_of(spec, &table, &CheckedData::default(), 0)?))
        } else {
            Self::Inputs(encode_inputs(&table, &spec.schema)?.x)
        };
        Ok((rows, outside))
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Nothing => true,
            Self::Inputs(x) => x.rows == 0,
            Self::Labelled(rows) => rows.all.rows() == 0,
        }
    }

    /// Those with labels.
    pub fn labelled(&self) -> Option<&Rows> {
        if let Self::Labelled(rows) = self { Some(rows) } else { None }
    }
}

/// Repairs a network unless its rules are found to hold already. Once `interrupted` says so the best that is proved by then is
/// taken, if there is any.
pub fn mend(
    spec: &NormalSpec,
    network: &Network,
    known: &KnownRows,
    settings: &RepairSettings,
    interrupted: &(dyn Fn() -> bool + Sync),
) -> Result<Mended, RepairError> {
    let weighed_on = match known {
        KnownRows::Nothing => None,
        KnownRows::Inputs(x) => Some(unlabelled(spec, x.clone())),
        KnownRows::Labelled(r) => Some(r.all.select(&(0..r.all.rows()).filter(|k| !r.breaking[*k]).collect::<Vec<_>>())),
    };
    let rows = match (known, &weighed_on) {
        (KnownRows::Labelled(_), Some(rows)) => Weighing::Labelled(rows),
        (_, Some(rows)) => Weighing::Inputs(rows),
        (_, None) => Weighing::Nothing,
    };
    let look = VerifySettings { timeout: Some(settings.look), ..VerifySettings::default() };
    if let Outcome::Proved(proof) = verify(spec, network, &look, interrupted)?.0 {
        return Ok(Mended::Already(proof));
    }
    if interrupted() {
        return Err(RepairError::Stopped);
    }
    Ok(Mended::Repaired(Box::new(weighed(spec, network, rows, settings, interrupted)?)))
}

/// On which rows outputs should change little.
#[derive(Clone, Copy)]
enum Weighing<'a> {
    /// On those of the domain.
    Nothing,
    Inputs(&'a Dataset),
    Labelled(&'a Dataset),
}

/// Repairs a network. `rows` are the data's, of which those that obey the rules count; without them the domain is sampled.
///
/// ```
/// use deepsade_engine::repair::repair;
/// use deepsade_engine::verify::{Outcome, VerifySettings, verify};
/// use deepsade_net::{Matrix, Network, Node, Op};
/// use deepsade_spec::{Domain, Feature, OneHot, RuleText, Schema, Task, compile};
///
/// // rent = income / 2 + 5 for incomes from 0 to 100; the rule is broken below 10.
/// let w = Matrix { rows: 1, cols: 1, data: vec![0.5] };
/// let network = Network { inputs: 1, nodes: vec![Node { op: Op::Dense { w, b: vec![5.0] }, from: vec![0] }] };
/// let features = vec![Feature { name: "income".into(), domain: Domain::Real { lo: 0.0, hi: 100.0 } }];
/// let schema = Schema { features, task: Task::regression(vec!["rent".into()]), one_hot: OneHot::Full, filled: vec![] };
/// let spec = compile(&[RuleText { name: "afford".into(), text: "rent <= income".into() }], &schema).unwrap();
/// let decide = |network: &Network| verify(&spec, network, &VerifySettings::default(), &|| false).unwrap().0;
/// let Outcome::Refuted(example) = decide(&network) else { panic!("5 > 0") };
/// assert!(example.y[0] > example.x[0]);
/// let repaired = repair(&spec, &network, None)?;
/// assert!(matches!(decide(&repaired.network), Outcome::Proved(_)));
/// # Ok::<(), deepsade_engine::repair::RepairError>(())
/// ```
pub fn repair(spec: &NormalSpec, network: &Network, rows: Option<&Dataset>) -> Result<Repaired, RepairError> {
    weighed(spec, network, rows.map_or(Weighing::Nothing, Weighing::Labelled), &RepairSettings::default(), &|| false)
}

/// The same with a layer of weights in the place of factors at the end, which is what a file's last layer with a diagonal of weights is
/// read as.
fn ending_dense(network: &Network) -> Network {
    let mut network = network.clone();
    if let Some(Node { op, .. }) = network.nodes.last_mut()
        && let Op::Affine { scale, shift } = op
    {
        let mut w = Matrix::zeros(scale.len(), scale.len());
        scale.iter().enumerate().for_each(|(j, s)| w.row_mut(j)[j] = *s);
        *op = Op::Dense { w, b: std::mem::take(shift) };
    }
    network
}

fn weighed(
    spec: &NormalSpec,
    network: &Network,
    rows: Weighing,
    settings: &RepairSettings,
    interrupted: &(dyn Fn() -> bool + Sync),
) -> Result<Repaired, RepairError> {
    fits(spec, network)?;
    if let Some(rule) = binding(spec).pairs.first() {
        return Err(RepairError::TwoInputs(rule.name.clone()));
    }
    Region::domain(&spec.schema).map_err(VerifyError::Domain)?;
    if matches!(network.nodes.last().map(|n| &n.op), Some(Op::Choose(_))) {
        return Err(VerifyError::Choice.into());
    }
    let (network, skipped) = with_skips(spec, &ending_dense(network)).ok_or(RepairError::NoLastLayer)?;
    let sampled;
    let (rows, labelled) = match rows {
        Weighing::Labelled(rows) if rows.x.rows > 0 => (rows, true),
        Weighing::Inputs(rows) if rows.x.rows > 0 => (rows, false),
        _ => {
            sampled = sample(spec);
            (&sampled, false)
        }
    };
    let (cost, found) =
        Safest { spec, network: &network, rows, labelled, time: settings.look + settings.back, interrupted }.find()?;
    let found = Repaired { skipped, ..found };
    // Labels have the last word.
    let worse = |nearer: &Network| labelled && loss(spec, rows, nearer) > cost;
    let nearer = shrunk(spec, &network, &found, &rows.x, settings.back, &worse, interrupted)?;
    Ok(nearer.unwrap_or(found))
}

/// The same repair with less change, if there is one that can be proved.
fn shrunk(
    spec: &NormalSpec,
    network: &Network,
    found: &Repaired,
    rows: &Matrix,
    time: Duration,
    worse: &dyn Fn(&Network) -> bool,
    interrupted: &(dyn Fn() -> bool + Sync),
) -> Result<Option<Repaired>, RepairError> {
    let at = last_layer(network).ok_or(RepairError::NoLastLayer)?;
    let few = rows.select(&thinned(rows.rows, MOST_ROWS).collect::<Vec<_>>());
    let features: Vec<bool> = straight(network, network.nodes[at].from[0]).iter().map(Option::is_some).collect();
    // Where features alone did best, what changes the hidden weights, too, may be nearer and yet score worse.
    let ways = if found.features_only { vec![vec![true; features.len()], features] } else { vec![vec![true; features.len()]] };
    let started = Instant::now();
    let mut nearest: Option<(f64, bool, Network, Box<Certified>)> = None;
    for (k, free) in ways.iter().enumerate() {
        // What halves the change already is near enough.
        if nearest.as_ref().is_some_and(|n| n.0 < found.change / 2.0) {
            break;
        }
        let time = time.saturating_sub(started.elapsed()) / (ways.len() - k) as u32;
        let shrink = Shrink { spec, network, at, rows: &few, free, time, worse, interrupted };
        let Some((nearer, proof)) = shrink.run(&found.network) else { continue };
        let change = change(network, &nearer, rows);
        if change < nearest.as_ref().map_or(found.change, |n| n.0) {
            nearest = Some((change, k > 0, nearer, proof));
        }
    }
    let Some((change, features_only, nearer, certified)) = nearest else { return Ok(None) };
    Ok(Some(Repaired {
        certified: *certified,
        network: nearer,
        tightness: found.tightness,
        skipped: found.skipped.clone(),
        features_only,
        change,
        before_shrinking: Some(found.change),
    }))
}

fn change(before: &Network, after: &Network, x: &Matrix) -> f64 {
    let (before, after) = (before.forward(x), after.forward(x));
    distance(&before.data, &after.data) / (before.data.len() as f64).sqrt()
}

/// What the labels say about a network: the smaller the better.
fn loss(spec: &NormalSpec, rows: &Dataset, network: &Network) -> f64 {
    let scores = metrics(spec, rows, &network.forward(&rows.x), &vec![false; rows.x.rows]);
    let deciding = deciding_score(&spec.schema.task);
    let own = scores.get(deciding.name).map_or(0.0, |v| if deciding.more { -v } else { *v });
    // Label sets are seldom right as a whole: what they have in common counts, too.
    own - scores.get("jaccard").unwrap_or(&0.0)
}

/// Rows of the domain, drawn evenly.
fn sample(spec: &NormalSpec) -> Dataset {
    let (sampler, mut rng) = (InputSampler::new(&spec.schema), ChaCha8Rng::seed_from_u64(0));
    let mut x = Matrix::zeros(SAMPLED, spec.schema.columns().len());
    (0..SAMPLED).for_each(|r| x.row_mut(r).copy_from_slice(&sampler.row(&mut rng)));
    unlabelled(spec, x)
}

fn unlabelled(spec: &NormalSpec, x: Matrix) -> Dataset {
    Dataset { y: Matrix::zeros(x.rows, spec.schema.task.outputs()), weight: vec![1.0; x.rows], x }
}

fn distance(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2)).sum::<f64>().sqrt()
}
