//! Rules and an [`OutputStep`] enter; the calls and constants of the tail leave, and the outputs of the graph.

use std::collections::BTreeSet;

use deepsade_net::onnx::piece::{Attribute, Call, TO_FLOAT};
use deepsade_net::{Behind, Piece, Port, TRUNK_OUTPUT};
use deepsade_spec::{ColumnKind, Domain, Formula, LARGEST_INTEGER, NormalSpec, OneHot, Schema};

use super::level::{Gates, Off, SumTensor, Truth};
use super::literal::ColumnSum;
use super::over::{CALM, Over};
use super::{Case, Number, OutputStep};
use crate::certificate::Outputs;
use crate::rejected::StepFault;

/// How all names of the tail begin.
pub const PREFIX: &str = "deepsade.step.";

/// How the columns of the input reach the graph.
#[derive(Debug, Clone, PartialEq)]
pub enum InputPorts {
    /// One float tensor, a row of columns each; of any further shape.
    Rows(Port),
    /// One tensor a feature.
    Features(Vec<Port>),
}

/// The tail of a graph.
#[derive(Debug, Clone)]
pub struct Tail {
    /// Calls and constants.
    pub piece: Piece,
    /// The graph's outputs: `y`, `in_domain`, `ok`.
    pub outputs: Vec<Port>,
}

pub(super) fn named(what: &str) -> String {
    format!("{PREFIX}{what}")
}

impl InputPorts {
    /// How a schema's columns stand among the inputs of a graph.
    pub fn of(ports: &[Port], schema: &Schema) -> Result<Self, StepFault> {
        let columns = schema.columns().len();
        let width = |port: &Port| port.dims.get(1..)?.iter().try_fold(1usize, |n, d| n.checked_mul((*d)?));
        if let [port] = ports
            && port.element == "float"
            && port.dims.len() >= 2
        {
            return match width(port) {
                Some(found) if found == columns => Ok(Self::Rows(port.clone())),
                found => Err(StepFault::Columns { input: port.name.clone(), found, schema: columns }),
            };
        }
        let of = |name: &str| ports.iter().find(|p| p.name == name).ok_or_else(|| StepFault::NoInput(name.into()));
        let ports = schema.features.iter().map(|f| of(&f.name).cloned()).collect::<Result<Vec<_>, _>>()?;
        for (port, feature) in ports.iter().zip(&schema.features) {
            let fits = match (&feature.domain, port.element.as_str()) {
                (Domain::Category { .. }, element) => element == "string",
                (Domain::Real { .. } | Domain::Stepped { .. }, element) => element == "float",
                // Whole numbers of a domain are exact in float32.
                (Domain::Integer { .. } | Domain::Ordered { .. }, element) => ["float", "int64", "int32"].contains(&element),
            };
            // Beyond 2^24 a whole number is cast to a neighbour, and the first beyond to 2^24 itself.
            if let Domain::Integer { lo, hi } = feature.domain
                && port.element != "float"
                && (lo <= -LARGEST_INTEGER || hi >= LARGEST_INTEGER)
            {
                return Err(StepFault::WideInput { input: port.name.clone(), element: port.element.clone() });
            }
            if !fits || port.dims.len() != 2 || port.dims[1] != Some(1) {
                return Err(StepFault::NoColumn { input: port.name.clone(), domain: Box::new(feature.domain.clone()) });
            }
        }
        Ok(Self::Features(ports))
    }

    /// The names that the tail reads.
    pub fn names(&self) -> Vec<&str> {
        match self {
            Self::Rows(port) => vec![&port.name],
            Self::Features(ports) => ports.iter().map(|p| p.name.as_str()).collect(),
        }
    }

    /// Calls that put the columns of the schema side by side; the tensor that holds them.
    pub fn columns(&self, schema: &Schema, prefix: &str, piece: &mut Piece) -> String {
        let x = format!("{prefix}x");
        match self {
            Self::Rows(port) if port.dims.len() == 2 => return port.name.clone(),
            Self::Rows(port) => piece.call_with("Flatten", &[&port.name], &x, &[("axis", 1)]),
            Self::Features(ports) => {
                let mut parts = Vec::new();
                for (k, (port, feature)) in ports.iter().zip(&schema.features).enumerate() {
                    let name = format!("{prefix}x{k}");
                    match &feature.domain {
                        Domain::Category { levels } => one_hot(&port.name, levels, schema.one_hot, &name, piece),
                        _ => piece.call_with("Cast", &[&port.name], &name, &[("to", TO_FLOAT)]),
                    }
                    parts.push(name);
                }
                let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
                piece.call_with("Concat", &parts, &x, &[("axis", 1)]);
            }
        }
        x
    }
}

/// A column of texts as columns of 0 and 1; all 0 for a text that is no level.
fn one_hot(text: &str, levels: &[String], encoding: OneHot, makes: &str, piece: &mut Piece) {
    let first = encoding.dropped();
    let (encoded, all) = (format!("{makes}_encoded"), format!("{makes}_all"));
    piece.calls.push(Call {
        op: "OneHotEncoder".into(),
        domain: "ai.onnx.ml".into(),
        reads: vec![text.into()],
        makes: encoded.clone(),
        attributes: vec![("cats_strings".into(), Attribute::Texts(levels.to_vec())), ("zeros".into(), Attribute::Int(1))],
    });
    // A column of texts becomes rows of one row of levels.
    piece.call_with("Flatten", &[&encoded], if first == 0 { makes } else { &all }, &[("axis", 1)]);
    if first > 0 {
        let others = format!("{makes}_others");
        piece.ints(&others, &[levels.len() - first], (first as i64..levels.len() as i64).collect());
        piece.call_with("Gather", &[&all, &others], makes, &[("axis", 1)]);
    }
}

/// What the outputs of a tail may be called: `y`, `in_domain` and `ok`, or the same behind [`PREFIX`] where a file has such names already.
pub const OUTPUTS: [&str; 3] = ["y", "in_domain", "ok"];

/// Names for the outputs of a tail that no other tensor has.
pub fn output_names(taken: impl Fn(&str) -> bool) -> [String; 3] {
    OUTPUTS.map(|name| if taken(name) { named(name) } else { name.to_string() })
}

/// The names that the outputs of a file have, if they may be those of a tail.
pub(crate) fn found_names(outputs: &[Port]) -> Option<[String; 3]> {
    let mut found = outputs.iter().map(|p| p.name.clone());
    let names = [found.next()?, found.next()?, found.next()?];
    let good = names.iter().zip(OUTPUTS).all(|(name, own)| *name == own || *name == named(own));
    // The scores of labels may follow.
    (good && found.next().is_none_or(|name| name == TRUNK_OUTPUT) && found.next().is_none()).then_some(names)
}

/// Calls that compute, for each row of the columns in tensor `x`, which of some conditions on the input certainly hold; the name of the
/// booleans, a line a condition and a column a row.
pub fn certain(schema: &Schema, conditions: &[Formula], x: &str, prefix: &str, piece: &mut Piece) -> Result<String, StepFault> {
    let (over, mut gates) = (Over::new(schema, None), Gates::default());
    let roots = conditions.iter().map(|f| gates.formula(f, &over)).collect::<Result<Vec<_>, _>>()?;
    // There is always something to count.
    gates.sums.above(0, 0.0);
    gates.small()?;
    let part = SumTensor { tensor: x.into(), columns: (0..over.columns.len()).collect(), lies: true };
    let counted = gates.write(&roots, &[part], 0, prefix, piece);
    Ok(gates.finish(&roots, &counted, &[], "certain", prefix, piece))
}

impl Tail {
    /// Writes the tail, with these names for its outputs. The candidate stands: a line an output, a column a row of the input.
    pub fn new(
        spec: &NormalSpec,
        step: &OutputStep,
        inputs: &InputPorts,
        [y, in_domain, ok]: [String; 3],
    ) -> Result<Self, StepFault> {
        let (outputs, columns) = (step.outputs.count(), spec.schema.columns().len());
        step.sound(spec, columns)?;
        let mut piece = Piece::default();
        let x = inputs.columns(&spec.schema, PREFIX, &mut piece);
        let c = judged(step, &mut piece);
        let over = Over::new(&spec.schema, Some(&step.outputs));
        let mut gates = Gates::default();
        let mut obeys = Vec::new();
        for rule in &spec.rules {
            obeys.push(gates.formula(&rule.claim, &over)?);
        }
        let conditions = spec.conditions();
        let asked = |(c, truth): &(usize, bool)| Formula::Atom(conditions[*c].asked(*truth));
        let mut whens = Vec::new();
        for case in &step.fallback[..step.fallback.len() - 1] {
            whens.push(gates.formula(&Formula::and(case.when.iter().map(asked)), &over)?);
        }
        let good = gates.all_of(obeys);
        // The input first: conditions are then computed as [`certain`] computes them for whoever makes candidates.
        let mut parts = Vec::new();
        let (inside, offs) = inside(&spec.schema, &x, outputs, 1, &mut gates, &mut parts, &mut piece);
        parts.push(SumTensor { tensor: c.clone(), columns: (0..outputs).collect(), lies: false });
        let roots: Vec<Truth> = [good, inside].into_iter().chain(whens).collect();
        let labels = if let Outputs::Labels(n) = step.outputs { n } else { 0 };
        gates.small()?;
        let counted = gates.write(&roots, &parts, labels, PREFIX, &mut piece);
        let truths = gates.finish(&roots, &counted, &offs, "root", PREFIX, &mut piece);
        let line = |k: usize, makes: &str, piece: &mut Piece| {
            let at = named(&format!("line{k}"));
            piece.ints(&at, &[], vec![k as i64]);
            piece.call_with("Gather", &[&truths, &at], makes, &[("axis", 0)]);
        };
        line(0, &ok, &mut piece);
        line(1, &in_domain, &mut piece);

        let mut fallback = String::new();
        for (k, case) in step.fallback.iter().enumerate().rev() {
            let map = affine(case, k, columns, &x, &mut piece);
            if fallback.is_empty() {
                fallback = map;
                continue;
            }
            let [when, chosen] = ["when", "chosen"].map(|what| named(&format!("{what}{k}")));
            line(2 + k, &when, &mut piece);
            piece.call("Where", &[&when, &map, &fallback], &chosen);
            fallback = chosen;
        }
        let given = named("given");
        piece.call("Where", &[&ok, &c, &fallback], &given);
        piece.call("Transpose", &[&given], &y);
        let ports =
            vec![Port::rows(&y, "float", Some(outputs)), Port::rows(&in_domain, "bool", None), Port::rows(&ok, "bool", None)];
        Ok(Self { piece, outputs: ports })
    }
}

/// What says of each row whether it is in the domain, behind a network that keeps the rules by its weights; its outputs pass through.
pub fn domain_flag(schema: &Schema) -> Behind {
    let (mut piece, mut gates, mut parts) = (Piece::default(), Gates::default(), Vec::new());
    let (inside, offs) = inside(schema, "x", 0, 0, &mut gates, &mut parts, &mut piece);
    let counted = gates.write(&[inside], &parts, 0, PREFIX, &mut piece);
    let truth = gates.finish(&[inside], &counted, &offs, "root", PREFIX, &mut piece);
    let ([y, in_domain, _], first) = (OUTPUTS, named("line0"));
    piece.ints(&first, &[], vec![0]);
    piece.call_with("Gather", &[&truth, &first], in_domain, &[("axis", 0)]);
    piece.call("Identity", &[TRUNK_OUTPUT], y);
    Behind { piece, outputs: vec![Port::rows(y, "float", Some(schema.task.outputs())), Port::rows(in_domain, "bool", None)] }
}

/// The candidate as it is judged, whatever it was: labels as 0 and 1; numbers in their ranges, on their grids and never tiny, 0 in place of
/// what is none.
/// A candidate of another width than the outputs, or of another rank, ends at the first product with it.
pub(super) fn judged(step: &OutputStep, piece: &mut Piece) -> String {
    let (c, count) = (named("c"), step.outputs.count());
    match &step.outputs {
        Outputs::Labels(_) => {
            let [half, present] = ["half", "present"].map(named);
            piece.floats(&half, &[], vec![0.5]);
            piece.call("Greater", &[&step.candidate, &half], &present);
            piece.call_with("Cast", &[&present], &c, &[("to", TO_FLOAT)]);
        }
        Outputs::Numbers(numbers) => {
            let gridded = numbers.iter().any(|n| n.grid.is_some());
            let [zero, tiny, size, seen, number, calm] = ["zero", "tiny", "size", "seen", "number", "calm"].map(named);
            let clipped = if gridded { &calm } else { &c };
            piece.floats(&zero, &[], vec![0.0]);
            piece.floats(&tiny, &[], vec![2f32.powi(CALM).next_down()]);
            piece.call("Abs", &[&step.candidate], &size);
            // Not a number is not above anything. What is infinite has an order, and is brought to an end of its range.
            piece.call("Greater", &[&size, &tiny], &seen);
            piece.call("Where", &[&seen, &step.candidate, &zero], &number);
            clip(&number, numbers, clipped, piece);
            if gridded {
                let [up, down, scaled, floor, on_grid, open] = ["up", "down", "scaled", "floored", "on_grid", "open"].map(named);
                let k = |n: &Number| n.grid.unwrap_or(0);
                piece.floats(&up, &[count, 1], numbers.iter().map(|n| 2f32.powi(k(n))).collect());
                piece.floats(&down, &[count, 1], numbers.iter().map(|n| 2f32.powi(-k(n))).collect());
                piece.call("Mul", &[&calm, &up], &scaled);
                piece.call("Floor", &[&scaled], &floor);
                let all = numbers.iter().all(|n| n.grid.is_some());
                piece.call("Mul", &[&floor, &down], if all { &c } else { &on_grid });
                if !all {
                    let half = named("half");
                    let free = named("free");
                    piece.floats(&half, &[], vec![0.5]);
                    piece.floats(&free, &[count, 1], numbers.iter().map(|n| f32::from(u8::from(n.grid.is_none()))).collect());
                    piece.call("Greater", &[&free, &half], &open);
                    piece.call("Where", &[&open, &calm, &on_grid], &c);
                }
            }
        }
    }
    c
}

/// Numbers brought into their ranges. As one call if all ranges are one.
fn clip(from: &str, numbers: &[Number], makes: &str, piece: &mut Piece) {
    let [lo, hi, least] = ["lowest", "highest", "most_low"].map(named);
    let ends = [numbers.iter().map(|n| n.lo).collect::<Vec<f32>>(), numbers.iter().map(|n| n.hi).collect()];
    if ends.iter().all(|data| data.iter().all(|v| *v == data[0])) {
        [&lo, &hi].into_iter().zip(ends).for_each(|(name, data)| piece.floats(name, &[], vec![data[0]]));
        return piece.call("Clip", &[from, &lo, &hi], makes);
    }
    [&lo, &hi].into_iter().zip(ends).for_each(|(name, data)| piece.floats(name, &[data.len(), 1], data));
    piece.call("Max", &[from, &lo], &least);
    piece.call("Min", &[&least, &hi], makes);
}

/// A case's outputs, a line each: its affine map of the input, or constants, which read none.
fn affine(case: &Case, k: usize, columns: usize, x: &str, piece: &mut Piece) -> String {
    let [matrix, bias, map] = ["weights", "bias", "map"].map(|what| named(&format!("{what}{k}")));
    let outputs = case.bias.len();
    piece.floats(&bias, &[outputs, 1], case.bias.clone());
    if case.weights.is_empty() {
        return bias;
    }
    let mut w = vec![0.0f32; outputs * columns];
    case.weights.iter().for_each(|(o, c, v)| w[o * columns + c] = *v);
    piece.floats(&matrix, &[outputs, columns], w);
    piece.call_with("Gemm", &[&matrix, x, &bias], &map, &[("transB", 1)]);
    map
}

/// A constant that is compared with numbers of which none is tiny: itself, or one that divides them alike.
fn clear(at: f32) -> f32 {
    let near = 2f32.powi(CALM);
    match at {
        at if at.abs() >= near => at,
        at if at < 0.0 => -near / 2.0,
        _ => 0.0,
    }
}

/// Above so many columns a range is looked at column by column, and not as one sum for each of its ends.
const WIDE: usize = 24;
/// Distances from a range count 2^125-fold: one that is not a denormal takes all of the half by which a count of what holds is above 0; so
/// does an input between two multiples of its step. Of steps, of at most 2^20, one beyond all numbers is outside anyway.
const AWAY: i32 = 125;

/// The input is in the domain, numbers below 2^-100 in size taken for 0 at its borders. Adds the parts that sums read of the input; what is
/// taken off its count (`root` of those that are counted), which is not a number, or not above 0, where an input is none or is beyond all
/// numbers.
pub(super) fn inside(
    schema: &Schema,
    x: &str,
    outputs: usize,
    root: usize,
    gates: &mut Gates,
    parts: &mut Vec<SumTensor>,
    piece: &mut Piece,
) -> (Truth, Vec<Off>) {
    let all = schema.columns();
    let (count, first) = (all.len(), outputs);
    let domain = |k: usize| &schema.features[all[k].feature].domain;
    let ends = schema.column_ranges();
    let grid = |k: usize| if let ColumnKind::Level(_) = all[k].kind { Some(0) } else { domain(k).grid() };
    let grids: Vec<Option<i32>> = (0..count).map(grid).collect();
    let mut truths = Vec::new();
    let mut group: Vec<Vec<(usize, f32)>> = vec![Vec::new(); schema.features.len()];
    for (k, column) in all.iter().enumerate() {
        if let ColumnKind::Level(_) = column.kind {
            group[column.feature].push((first + k, 1.0));
        }
    }
    for terms in group.into_iter().filter(|g| !g.is_empty()) {
        let mut sum = |constant: f32| gates.sums.put(ColumnSum { terms: terms.clone(), constant });
        truths.push(Truth::Sum(sum(-1.5), false));
        if schema.one_hot == OneHot::Full {
            truths.push(Truth::Sum(sum(-0.5), true));
        }
    }
    let wide = count > WIDE;
    let part = |tensor: &str, columns: Vec<usize>| SumTensor { tensor: tensor.into(), columns, lies: !wide };
    let off = |tensor: &str, factors: Vec<f32>| Off { part: part(tensor, (first..first + count).collect()), factors, root };
    // Many columns are put upright, to be compared with numbers of their own.
    let (upright, dims) = (named("upright"), if wide { [count, 1] } else { [1, count] });
    if wide {
        piece.call("Transpose", &[x], &upright);
    }
    let x = if wide { &upright } else { x };
    let mut offs = Vec::new();
    if grids.iter().any(Option::is_some) {
        let [per_step, steps, floor, ceiling, between] = ["per_step", "steps", "floor", "ceiling", "between"].map(named);
        let stepped = grids.iter().any(|k| k.is_some_and(|k| k != 0));
        if stepped {
            piece.floats(&per_step, &dims, grids.iter().map(|k| 2f32.powi(k.unwrap_or(0))).collect());
            piece.call("Mul", &[x, &per_step], &steps);
        }
        let counted = if stepped { &steps } else { x };
        // 1 between two multiples, by however little, and 0 on one: of a denormal the difference from the multiple below would be lost.
        piece.call("Floor", &[counted], &floor);
        piece.call("Ceil", &[counted], &ceiling);
        piece.call("Sub", &[&ceiling, &floor], &between);
        let factor = |k: &Option<i32>| if k.is_some() { -2f32.powi(AWAY) } else { 0.0 };
        offs.push(off(&between, grids.iter().map(factor).collect()));
    }
    if !wide {
        for (k, (lo, hi)) in ends.iter().enumerate() {
            truths.push(Truth::Sum(gates.sums.above(first + k, clear(lo.next_down())), true));
            truths.push(Truth::Sum(gates.sums.above(first + k, clear(*hi)), false));
        }
        parts.push(part(x, (first..first + count).collect()));
        return (gates.all_of(truths), offs);
    }
    // How far the columns are outside, all together.
    let [lo, hi, least, most, away, size] = ["lo", "hi", "least", "most", "off", "outside"].map(named);
    piece.floats(&lo, &dims, ends.iter().map(|(lo, _)| *lo).collect());
    piece.floats(&hi, &dims, ends.iter().map(|(_, hi)| *hi).collect());
    piece.call("Max", &[x, &lo], &least);
    piece.call("Min", &[&least, &hi], &most);
    piece.call("Sub", &[x, &most], &away);
    piece.call("Abs", &[&away], &size);
    offs.push(off(&size, vec![-2f32.powi(AWAY); count]));
    let used: BTreeSet<usize> = gates.sums.all.iter().flat_map(|s| s.terms.iter().map(|(c, _)| *c)).collect();
    let used: Vec<usize> = used.into_iter().filter(|c| (first..first + count).contains(c)).collect();
    if !used.is_empty() {
        let [columns, taken] = ["columns", "taken"].map(named);
        piece.ints(&columns, &[used.len()], used.iter().map(|c| (c - first) as i64).collect());
        piece.call_with("Gather", &[x, &columns], &taken, &[("axis", 0)]);
        parts.push(part(&taken, used));
    }
    (gates.all_of(truths), offs)
}
