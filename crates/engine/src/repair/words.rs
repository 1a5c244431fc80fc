//! What a repair came to enters, with scores; it leaves as JSON.

use deepsade_data::{Metrics, metrics};
use deepsade_net::Network;
use deepsade_spec::NormalSpec;
use serde_json::{Value, json};

use super::Mended;
use crate::fit::Rows;
use crate::summary::numbers;

/// The scores of a network on rows with labels.
pub fn score(spec: &NormalSpec, network: &Network, rows: &Rows) -> Metrics {
    metrics(spec, &rows.all, &network.forward(&rows.all.x), &rows.breaking)
}

/// The scores before and after, on rows with labels; the network was `before`.
pub fn scores(spec: &NormalSpec, before: &Network, mended: &Mended, rows: &Rows) -> (Metrics, Metrics) {
    let old = score(spec, before, rows);
    let new = match mended {
        Mended::Already(_) => old.clone(),
        Mended::Repaired(found) => score(spec, &found.network, rows),
    };
    (old, new)
}

/// The answer as JSON; the fields are a contract.
pub fn as_json(mended: &Mended, scores: Option<&(Metrics, Metrics)>, seconds: f64) -> Value {
    let (before, after) = (scores.map(|s| numbers(&s.0)), scores.map(|s| numbers(&s.1)));
    match mended {
        Mended::Already(_) => {
            json!({"repaired": false, "certified": true, "before": before, "after": after, "seconds": seconds})
        }
        Mended::Repaired(found) => json!({
            "repaired": true, "certified": true, "seconds": seconds, "change": found.change, "skips_added": found.skipped,
            "bounds": found.tightness.bounds.name(), "regions": found.tightness.regions, "features_only": found.features_only,
            "before_shrinking": found.before_shrinking, "before": before, "after": after,
        }),
    }
}
