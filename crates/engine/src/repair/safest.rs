//! A network whose last layer may be moved enters; of the last layers that the guard finds, bounding the hidden layers in several ways, the
//! best leaves, with its proof.

use std::time::{Duration, Instant};

use deepsade_check::Bounds;
use deepsade_data::{Dataset, thinned};
use deepsade_net::Network;
use deepsade_spec::NormalSpec;

use super::{MOST_ROWS, RepairError, Repaired, change, loss};
use crate::enforce::weights::{ladder, margins};
use crate::guard::{Guard, GuardError, Metric, Tightness};
use crate::proof::{ProofWatch, WATCH};
use crate::train::{LastLayer, Stepper};
use crate::units::Units;

/// Ways to bound the hidden layers, in the order in which they are tried.
const WAYS: [Tightness; 5] = [
    Tightness { bounds: Bounds::Interval, regions: 1 },
    Tightness { bounds: Bounds::Relational, regions: 1 },
    Tightness { bounds: Bounds::Interval, regions: 16 },
    Tightness { bounds: Bounds::Relational, regions: 16 },
    Tightness { bounds: Bounds::Interval, regions: 64 },
];

/// A network and what its last layers are judged by.
#[derive(Clone, Copy)]
pub(super) struct Safest<'a> {
    pub spec: &'a NormalSpec,
    pub network: &'a Network,
    /// Rows on which the outputs should change little.
    pub rows: &'a Dataset,
    /// Whether they have labels, which then decide.
    pub labelled: bool,
    /// Rules with thousands of alternatives take long to bound in each way: after this time one that is safe is enough.
    pub time: Duration,
    pub interrupted: &'a (dyn Fn() -> bool + Sync),
}

impl Safest<'_> {
    /// The best last layer and what it costs, or why there is none.
    pub fn find(&self) -> Result<(f64, Repaired), RepairError> {
        let mut best: Option<(f64, Repaired)> = None;
        let mut failure = None;
        let started = Instant::now();
        let stopped = |enough: bool| (self.interrupted)() || enough && started.elapsed() > self.time;
        let units = Units::raw(self.spec.schema.task.outputs());
        'ways: for tightness in WAYS {
            let enough = best.is_some();
            let guard = match Guard::until(self.spec, self.network, &units, tightness, &|| stopped(enough)) {
                Ok(guard) => guard,
                Err(GuardError::Stopped) => break,
                // So many there are however they are bounded.
                Err(error @ GuardError::TooManyCells { .. }) => return Err(error.into()),
                Err(error) => {
                    failure = Some(error.into());
                    continue;
                }
            };
            for features_only in [true, false] {
                let enough = best.is_some();
                match self.attempt(&guard, tightness, features_only, &|| stopped(enough)) {
                    Ok(found) => {
                        let cost = if self.labelled { loss(self.spec, self.rows, &found.network) } else { found.change };
                        if best.as_ref().is_none_or(|(b, _)| cost < *b) {
                            best = Some((cost, found));
                        }
                    }
                    Err(RepairError::Stopped) => break 'ways,
                    Err(error @ (RepairError::Infeasible(_) | RepairError::Rejected(_))) => failure = Some(error),
                    Err(error) => return Err(error),
                }
            }
        }
        let why = failure.filter(|_| !(self.interrupted)()).unwrap_or(RepairError::Stopped);
        best.ok_or(why)
    }

    /// The last layer that is nearest by one way to bound the hidden layers.
    fn attempt(
        &self,
        guard: &Guard,
        tightness: Tightness,
        features_only: bool,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Repaired, RepairError> {
        let Self { spec, network, rows, .. } = *self;
        let capacity = rows.x.rows.clamp(1, MOST_ROWS);
        let mut stepper = Stepper::new(network, capacity)?;
        let prepared = stepper.prepare(&rows.x, &rows.y, &rows.weight);
        let chosen: Vec<usize> = thinned(rows.x.rows, capacity).collect();
        let mut weigh = |guard: &mut Guard, stepper: &mut Stepper| {
            stepper.load(&prepared, chosen.iter().copied());
            stepper.forward();
            let straight = guard.straight_columns();
            let LastLayer { z, inputs, .. } = stepper.last_layer();
            let metric = if features_only { Metric::straight(z, inputs, &straight) } else { Metric::new(z, inputs, &straight) };
            guard.begin_epoch(Some(metric));
        };
        let watch = ProofWatch { stop, ..WATCH };
        let (model, proof) = ladder(spec.into(), stepper, &guard.safe(), margins(guard), &mut weigh, watch)?;
        let certified = proof.map_err(RepairError::Rejected)?;
        let change = change(network, &model.network, &rows.x);
        let network = model.network;
        Ok(Repaired { certified, network, tightness, skipped: Vec::new(), features_only, change, before_shrinking: None })
    }
}
