//! Rules about numbers and the range of each output enter; leaves a piece of a graph that moves a network's outputs to outputs near them
//! that obey the rules.
//!
//! ```text
//! scores -> within ranges -> each alternative: closed form, or steps and a ray from the anchor -> on grids -> the nearest one
//! ```

mod alternative;
mod closed;
mod direction;
mod dual;
mod equality;
mod line;
mod plan;
mod ray;
mod solve;
mod writer;

#[cfg(test)]
mod tests;

use deepsade_check::step::{Number, Outputs};
use deepsade_spec::{Formula, NormalSpec};

use self::alternative::alternatives;
use self::direction::Ground;
use self::plan::Plan;
use self::writer::Writer;
use super::{Made, MakeError, Source};

/// An affine map of the input's columns that obeys all rules, with room to spare where there is some.
#[derive(Debug, Clone, PartialEq)]
pub struct Anchor {
    /// Weights: output, column, number.
    pub weights: Vec<(usize, usize, f32)>,
    /// One number an output.
    pub bias: Vec<f32>,
}

/// Makes candidates near the network's outputs.
pub fn make(spec: &NormalSpec, source: &Source<'_>, ranges: &[Number], anchor: Option<&Anchor>) -> Result<Made, MakeError> {
    let (outputs, columns) = (spec.schema.task.outputs(), spec.schema.columns().len());
    if ranges.len() != outputs {
        return Err(MakeError::Ranges { found: ranges.len(), outputs });
    }
    let fits = |a: &Anchor| a.bias.len() == outputs && a.weights.iter().all(|(o, c, _)| *o < outputs && *c < columns);
    if !anchor.is_none_or(fits) {
        return Err(MakeError::Anchor { outputs, columns });
    }
    let ground = Ground::new(spec, ranges);
    let ways = alternatives(spec, ranges)?;
    let mut conditions: Vec<Formula> = Vec::new();
    for unless in ways.iter().flat_map(|w| w.faces.iter().map(|f| &f.unless).chain(&w.demands)) {
        if !conditions.contains(unless) {
            conditions.push(unless.clone());
        }
    }
    let mut w = Writer::new(&ground, source, conditions)?;
    let (faces, equalities) = equality::apart(&ways[0].faces, &ground);
    let plan = Plan::new(ground.directions(&faces)?, &equalities, &ground);
    let (lower, upper) = plan.fixed_ends(&w);
    let p = clean(&mut w, source.scores, lower, upper);
    let steps = if plan.lines.is_empty() { 24 } else { 6 };
    plan.solve(&mut w, &p, true, anchor, steps);
    let best = !plan.has_steps();
    let how =
        if best { "the nearest outputs, in closed form".into() } else { format!("{steps} steps towards the nearest outputs") };
    Ok(Made { piece: w.draft.finish(), outputs: Outputs::Numbers(ranges.to_vec()), best, how })
}

/// Numbers within fixed ends; what is not a number becomes the lower one. What a maximum of a number and none is differs from runtime to
/// runtime; a comparison with it fails in all.
fn clean(w: &mut Writer, scores: &str, lower: Vec<f32>, upper: Vec<f32>) -> String {
    let (lower, upper) = (w.draft.row(lower), w.draft.row(upper));
    let above = w.draft.call("Greater", &[scores, &lower]);
    let p = w.draft.call("Where", &[&above, scores, &lower]);
    w.draft.call("Min", &[&p, &upper])
}
