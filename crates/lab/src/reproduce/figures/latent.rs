//! Models and test rows enter; their hidden layers leave, laid out in the plane.

use deepsade_data::{Dataset, thinned};
use deepsade_net::{Matrix, Model, Op};
use deepsade_output::Judge;
use deepsade_output::predict::predicted_class;
use deepsade_spec::NormalSpec;

use crate::figure::{Panel, Scene, latent_space};
use crate::latent::{MOST_ROWS, last_hidden, panel};
use crate::layers::before_choice;

/// The last hidden layers of two models, by whether the rules ask something of a row.
pub(super) fn under_rules(spec: &NormalSpec, x: &Matrix, models: &[(&str, &Model)]) -> Scene {
    let x = rows(x);
    let judge = Judge::new(spec);
    let group: Vec<usize> = (0..x.rows).map(|r| usize::from(judge.applies(x.row(r)))).collect();
    let panels: Vec<Panel> = models.iter().map(|(name, model)| panel(name, &last_hidden(&model.network, &x))).collect();
    latent_space(&panels, &["no rule applies".into(), "a rule applies".into()], &group)
}

/// The last hidden layer of a classifier, by what it predicts.
pub(super) fn predictions(spec: &NormalSpec, x: &Matrix, name: &str, model: &Model) -> Scene {
    let x = rows(x);
    let y = model.network.forward(&x);
    let group: Vec<usize> = (0..y.rows).map(|r| predicted_class(y.row(r))).collect();
    let classes = spec.schema.task.classes().map(<[String]>::to_vec).unwrap_or_default();
    latent_space(&[panel(name, &last_hidden(&model.network, &x))], &classes, &group)
}

/// What every layer of two models reads, by the first label that is present.
pub(super) fn every_layer(test: &Dataset, models: &[(&str, &Model)]) -> Scene {
    let some = test.select(&thinned(test.x.rows, MOST_ROWS).collect::<Vec<_>>());
    let first = |r: usize| some.y.row(r).iter().position(|v| *v > 0.5).unwrap_or(3).min(3);
    let group: Vec<usize> = (0..some.x.rows).map(first).collect();
    let mut panels = Vec::new();
    for (name, model) in models {
        let network = before_choice(&model.network);
        let values = network.values(&some.x);
        let mut layer = 0;
        for node in network.nodes.iter().filter(|n| matches!(n.op, Op::Dense { .. })) {
            layer += 1;
            panels.push(panel(&format!("{name}, input of layer {layer}"), &values[node.from[0]]));
        }
    }
    latent_space(&panels, &["0", "1", "2", "3 or more"].map(|n| format!("first label {n}")), &group)
}

fn rows(x: &Matrix) -> Matrix {
    x.select(&thinned(x.rows, MOST_ROWS).collect::<Vec<_>>())
}
