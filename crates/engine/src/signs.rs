//! Rules between two inputs and a network enter; the sign of each weight leaves that makes the rules hold.
//!
//! Every unit has a trend in every feature that such rules move: it never falls, never rises, stays, or does as it likes. A weight is
//! bound by the trends at its two ends. Units that rise stand beside units that fall: with weights of opposite signs behind them, relu
//! bends a function upwards in the one and downwards in the other (Runje and Shankaranarayana 2023), so the network is not
//! convex. Some units read nothing of the moved features and feed all others freely.

use std::ops::Range;

use deepsade_net::{Activation, Matrix, Network, Op};
use deepsade_spec::{Atom, Formula, Linear, Moves, NormalRule, NormalSpec, Trend, Var};

/// Of four units one is free of the moved features, if there are others to read.
const FREE: usize = 4;
/// Rows by which the first weights are scaled.
const ROWS: usize = 512;
/// The smallest spread that units are scaled by.
const LEAST: f32 = 1e-3;

/// The ends between which each parameter stays: 0, or infinite.
#[derive(Debug, Clone, PartialEq)]
pub struct Signs {
    lo: Vec<f32>,
    hi: Vec<f32>,
}

/// How a value moves with each of the moved features.
type FeatureTrends = Vec<Trend>;

/// What the rules ask of the outputs.
struct AskedTrends {
    /// The moved features.
    features: Vec<usize>,
    /// For each output and moved feature.
    outputs: Vec<FeatureTrends>,
}

/// A weight between two units.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Weight {
    Any,
    NotNegative,
    NotPositive,
    Zero,
}

impl AskedTrends {
    /// `None` if no rule asks for a trend. A gate's feature asks of what it multiplies what it asks of the product.
    fn new(spec: &NormalSpec) -> Option<Self> {
        let parts = || spec.pairs.iter().flat_map(|rule| &rule.parts).filter(|part| !matches!(part.moves, Moves::By(_)));
        let mut features: Vec<usize> = parts().flat_map(|part| part.features.iter().copied()).collect();
        features.sort_unstable();
        features.dedup();
        if features.is_empty() {
            return None;
        }
        let mut outputs = vec![vec![Trend::Unknown; features.len()]; spec.schema.task.outputs()];
        for part in parts() {
            for (output, asked) in part.demands() {
                for k in (0..features.len()).filter(|k| part.features.contains(&features[*k])) {
                    let trend = &mut outputs[output][k];
                    *trend = match *trend {
                        Trend::Unknown => asked,
                        same if same == asked => same,
                        _ => Trend::Constant,
                    };
                }
            }
        }
        Some(Self { features, outputs })
    }

    /// The kinds of units of a hidden layer: for each different row of outputs one that goes its way and one that goes the other.
    fn kinds(&self) -> Vec<FeatureTrends> {
        let mut kinds: Vec<FeatureTrends> = Vec::new();
        for row in &self.outputs {
            for sign in [1.0, -1.0] {
                let kind: FeatureTrends = row.iter().map(|t| t.times(sign)).collect();
                if !kinds.contains(&kind) {
                    kinds.push(kind);
                }
            }
        }
        kinds
    }

    /// The trend of each unit of a hidden layer, kinds in turns.
    fn units(&self, width: usize, others: bool) -> Vec<FeatureTrends> {
        let kinds = self.kinds();
        let free = vec![Trend::Constant; self.features.len()];
        let mut turn = 0;
        (0..width)
            .map(|u| {
                if others && u % FREE == FREE - 1 {
                    return free.clone();
                }
                turn += 1;
                kinds[(turn - 1) % kinds.len()].clone()
            })
            .collect()
    }
}

/// The rules that a last layer keeps whose outputs a feature multiplies: what rises with that feature is never negative, or the product of
/// two numbers that rise may fall. `None` if an output must fall or stay as the feature rises, which no such product does.
///
/// Nor may anything be said of how much outputs change: a product does that with either factor.
pub fn beside_gate(spec: &NormalSpec, feature: usize) -> Option<NormalSpec> {
    if spec.pairs.iter().flat_map(|rule| &rule.parts).any(|part| matches!(part.moves, Moves::By(_))) {
        return None;
    }
    let mut guarded = spec.clone();
    let Some(asked) = AskedTrends::new(spec) else { return Some(guarded) };
    let Some(k) = asked.features.iter().position(|f| *f == feature) else { return Some(guarded) };
    for (j, trends) in asked.outputs.iter().enumerate() {
        match trends[k] {
            Trend::Unknown => {}
            Trend::Up => guarded.rules.push(NormalRule {
                name: format!("{} is never negative", spec.schema.task.output_name(j)),
                text: String::new(),
                claim: Formula::Atom(Atom { linear: Linear::var(Var::Output(j)), strict: false }),
                reads_scores: false,
            }),
            Trend::Down | Trend::Constant => return None,
        }
    }
    Some(guarded)
}

fn weight(from: &FeatureTrends, to: &FeatureTrends) -> Weight {
    from.iter().zip(to).fold(Weight::Any, |so_far, ends| {
        let here = match ends {
            (Trend::Constant, _) | (_, Trend::Unknown) => Weight::Any,
            (Trend::Unknown, _) | (_, Trend::Constant) => Weight::Zero,
            (a, b) if a == b => Weight::NotNegative,
            _ => Weight::NotPositive,
        };
        so_far.and(here)
    })
}

impl Weight {
    /// What is both.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Any, w) | (w, Self::Any) => w,
            (a, b) if a == b => a,
            _ => Self::Zero,
        }
    }
}

impl Signs {
    /// The signs of all parameters of a network that the rules ask for: layer by layer, weights row by row, then the bias. `None` if
    /// they ask for none.
    pub fn new(spec: &NormalSpec, network: &Network) -> Option<Self> {
        Self::with(spec, network, |asked, w, _, others| asked.units(w.rows, others))
    }

    /// The same for a network whose weights may have such signs already in another order of its units: then each unit goes the way that its
    /// weights go.
    pub fn kept_by(spec: &NormalSpec, network: &Network) -> Option<Self> {
        let in_turns = Self::new(spec, network)?;
        let parameters: Vec<f32> = network.parameters().collect();
        if in_turns.hold_for(&parameters) {
            return Some(in_turns);
        }
        Self::with(spec, network, |asked, w, x, _| {
            let both = |a: Trend, b: Trend| match (a, b) {
                (Trend::Constant, t) | (t, Trend::Constant) => t,
                (a, b) if a == b => a,
                _ => Trend::Unknown,
            };
            let of_unit =
                |u: usize, k: usize| w.row(u).iter().zip(x).fold(Trend::Constant, |t, (w, from)| both(t, from[k].times(*w)));
            (0..w.rows).map(|u| (0..asked.features.len()).map(|k| of_unit(u, k)).collect()).collect()
        })
    }

    fn with(
        spec: &NormalSpec,
        network: &Network,
        units: impl Fn(&AskedTrends, &Matrix, &[FeatureTrends], bool) -> Vec<FeatureTrends>,
    ) -> Option<Self> {
        let asked = AskedTrends::new(spec)?;
        let columns = spec.schema.columns();
        let input = |column: &deepsade_spec::InputColumn| -> FeatureTrends {
            let trend = |f: &usize| match spec.schema.features[*f].domain.range() {
                _ if *f != column.feature => Trend::Constant,
                Some(_) => Trend::Up,
                None => Trend::Unknown,
            };
            asked.features.iter().map(trend).collect()
        };
        let mut values: Vec<Vec<FeatureTrends>> = vec![columns.iter().map(input).collect()];
        let others = values[0].iter().any(|t| t.iter().all(|t| *t == Trend::Constant));
        let last = network.last_dense();
        let mut signs = Self { lo: Vec::new(), hi: Vec::new() };
        for (k, node) in network.nodes.iter().enumerate() {
            let x = &values[node.from[0]];
            let value = match &node.op {
                Op::Dense { w, b } => {
                    let units = if Some(k) == last { asked.outputs.clone() } else { units(&asked, w, x, others) };
                    for to in &units {
                        x.iter().for_each(|from| signs.push(weight(from, to)));
                    }
                    b.iter().for_each(|_| signs.push(Weight::Any));
                    units
                }
                Op::Affine { scale, .. } => x.iter().zip(scale).map(|(t, s)| t.iter().map(|t| t.times(*s)).collect()).collect(),
                Op::Act(Activation::Relu) | Op::Gate | Op::Choose(_) => x.clone(),
                Op::Act(_) => {
                    let behind = |t: &Trend| if *t == Trend::Constant { *t } else { Trend::Unknown };
                    x.iter().map(|t| t.iter().map(behind).collect()).collect()
                }
                // Their weights are given, so nothing can be asked of them.
                Op::Conv(_) | Op::MaxPool(_) => {
                    vec![vec![Trend::Unknown; asked.features.len()]; network.width(k + 1).unwrap_or_default()]
                }
                Op::Select(list) => list.iter().map(|c| x[*c].clone()).collect(),
                Op::Concat => node.from.iter().flat_map(|v| values[*v].iter().cloned()).collect(),
            };
            values.push(value);
        }
        Some(signs)
    }

    fn push(&mut self, weight: Weight) {
        let any = f32::INFINITY;
        let (lo, hi) = match weight {
            Weight::Any => (-any, any),
            Weight::NotNegative => (0.0, any),
            Weight::NotPositive => (-any, 0.0),
            Weight::Zero => (0.0, 0.0),
        };
        self.lo.push(lo);
        self.hi.push(hi);
    }

    /// Those of some of the parameters.
    #[must_use]
    pub fn of(&self, range: Range<usize>) -> Self {
        Self { lo: self.lo[range.clone()].to_vec(), hi: self.hi[range].to_vec() }
    }

    /// How many parameters there are.
    pub fn len(&self) -> usize {
        self.lo.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.lo.is_empty()
    }

    /// The ends of a parameter.
    pub fn ends(&self, k: usize) -> (f32, f32) {
        (self.lo[k], self.hi[k])
    }

    /// Brings each of these parameters, which begin with the one at `from`, to its nearest end if it is beyond. What is not a number
    /// stays so.
    pub fn hold(&self, from: usize, parameters: &mut [f32]) {
        let ends = self.lo[from..].iter().zip(&self.hi[from..]);
        parameters.iter_mut().zip(ends).for_each(|(w, (lo, hi))| {
            *w = if *w < *lo { *lo } else { *w };
            *w = if *w > *hi { *hi } else { *w };
        });
    }

    /// Whether all parameters are between their ends.
    pub fn hold_for(&self, parameters: &[f32]) -> bool {
        parameters.iter().zip(self.lo.iter().zip(&self.hi)).all(|(w, (lo, hi))| lo <= w && w <= hi)
    }

    /// A first network with these signs: weights are turned to their sign, and hidden units brought to mean 0 and spread 1 over some
    /// rows, for weights of one sign add up.
    pub fn start(&self, network: &mut Network, x: &Matrix) {
        let rows = x.rows.min(ROWS);
        let x = Matrix { rows, cols: x.cols, data: x.data[..rows * x.cols].to_vec() };
        let last = network.last_dense();
        let mut at = 0;
        for k in 0..network.nodes.len() {
            let Op::Dense { w, b } = &mut network.nodes[k].op else { continue };
            for (i, weight) in w.data.iter_mut().enumerate() {
                let (lo, hi) = self.ends(at + i);
                *weight = if lo == 0.0 {
                    weight.abs().min(hi)
                } else if hi == 0.0 {
                    -weight.abs()
                } else {
                    *weight
                };
            }
            at += w.data.len() + b.len();
            if Some(k) == last || rows == 0 {
                continue;
            }
            let before = Network { inputs: network.inputs, nodes: network.nodes[..=k].to_vec() };
            let v = before.forward(&x);
            let Op::Dense { w, b } = &mut network.nodes[k].op else { continue };
            for (u, b) in b.iter_mut().enumerate() {
                let of = |r: usize| f64::from(v.row(r)[u]);
                let mean = (0..rows).map(of).sum::<f64>() / rows as f64;
                let spread = ((0..rows).map(|r| (of(r) - mean).powi(2)).sum::<f64>() / rows as f64).sqrt() as f32;
                let scale = 1.0 / spread.max(LEAST);
                w.row_mut(u).iter_mut().for_each(|w| *w *= scale);
                *b = (*b - mean as f32) * scale;
            }
        }
    }
}
