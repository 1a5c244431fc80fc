//! Rules and a network enter; the problem of its last layer leaves as an SMT-LIB script that anyone can check.

use deepsade_net::Network;
use deepsade_solve::maxsmt::smtlib::{self, Labels, Quantifiers};
use deepsade_spec::{ColumnKind, Domain, NormalSpec, Schema};
use thiserror::Error;

use crate::bounds::HiddenBounds;
use crate::guard::{Guard, GuardError, Tightness};
use crate::left_out::pairs_in_words;
use crate::skips::last_layer;
use crate::units::Units;
use crate::verify::{VerifyError, fits};

/// Why the problem can't be written down.
#[derive(Debug, Error)]
pub enum LastLayerError {
    /// The network reads or predicts something else than the rules speak of.
    #[error("{0}: is it of another rule file?")]
    Shape(#[from] VerifyError),
    /// The model does not end in a dense layer, perhaps with a gate.
    #[error("the model's last layer is not a dense layer whose inputs are known (perhaps with a gate): nothing to write down")]
    NoLastLayer,
    /// No rule is about one input.
    #[error("{0}, and K' speaks of one: there is no other rule to write down")]
    OnlyPairs(String),
    /// The rules can't be kept.
    #[error(transparent)]
    Guard(#[from] GuardError),
}

/// K' of the last layer of `network`, in raw units: with `fixed` for the weights that it has, else for any.
pub fn smtlib(
    spec: &NormalSpec,
    network: &Network,
    fixed: bool,
    tightness: Tightness,
    quantifiers: Quantifiers,
) -> Result<String, LastLayerError> {
    let pairs = pairs_in_words(spec);
    if let Some(pairs) = pairs.clone().filter(|_| spec.rules.is_empty()) {
        return Err(LastLayerError::OnlyPairs(pairs));
    }
    let schema = &spec.schema;
    fits(spec, network)?;
    if last_layer(network).is_none() {
        return Err(LastLayerError::NoLastLayer);
    }
    let mut guard = Guard::new(spec, network, &Units::raw(schema.task.outputs()), tightness)?;
    let parameters: Vec<f32> = network.parameters().collect();
    guard.translate(&parameters);
    let safe = guard.safe();
    let last: Vec<f64> = parameters[parameters.len() - safe.len()..].iter().map(|w| f64::from(*w)).collect();
    // Wide enough for a last layer that is known to do.
    let most = safe.iter().fold(1.0f64, |most, w| most.max(2.0 * f64::from(w.abs())));
    let (lo, hi) = if fixed { (last.clone(), last) } else { (vec![-most; safe.len()], vec![most; safe.len()]) };
    let question = if fixed {
        "Does the last layer of the model satisfy K'?\n; sat: it does, so the rules hold for every input; unsat: not with this margin on \
         this box, and a finer proof may still exist."
            .into()
    } else {
        format!(
            "Is there a last layer that satisfies K', with weights and biases from -{most} to {most}?\n; sat: there is, and get-value \
             shows one; unsat: none in that range."
        )
    };
    let mut text = format!(
        "; The problem of the last layer, y = W v + b: {question}\n; K' asks for the rules on the whole box of v, what the last layer \
         reads, with a margin for float32.\n; w_J_K: weight from input K to output J; b_J: bias of output J{}.\n",
        match quantifiers {
            Quantifiers::Keep => "; v_K: what the last layer reads; g: the gate's factor",
            Quantifiers::Eliminate => "; t_C_H_F_K: at least |coefficient of input K| in form F of choice H of case C",
        }
    );
    text += &pairs.map(|pairs| format!("; Not said here: {pairs}.\n")).unwrap_or_default();
    let problem = guard.problem(lo, hi);
    text += &smtlib::preamble(&problem, quantifiers, &labels(schema, network));
    let names: Vec<String> = (0..problem.unknowns()).map(|k| smtlib::unknown(&problem, k)).collect();
    text += &format!("(check-sat)\n(get-value ({}))\n(exit)\n", names.join(" "));
    Ok(text)
}

fn labels(schema: &Schema, network: &Network) -> Labels {
    let columns = schema.columns();
    let name = |c: usize| {
        let feature = &schema.features[columns[c].feature];
        match (columns[c].kind, &feature.domain) {
            (ColumnKind::Level(l), Domain::Category { levels }) => format!("({} == '{}')", feature.name, levels[l]),
            _ => feature.name.clone(),
        }
    };
    let origins = HiddenBounds::new(network, schema, &[]).origins();
    let inputs = origins.iter().enumerate().map(|(k, origin)| match origin {
        Some(o) => format!("{} * {} + {}", name(o.column), o.scale, o.shift),
        None => format!("hidden unit {k}"),
    });
    Labels { outputs: (0..schema.task.outputs()).map(|j| schema.task.output_name(j)).collect(), inputs: inputs.collect() }
}
