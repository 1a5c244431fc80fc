//! Rules and an [`OutputStep`] enter; the calls and constants of the tail leave, and the outputs of the graph.

use deepsade_net::onnx::piece::{Attribute, Call, TO_FLOAT};
use deepsade_net::{Piece, Port, TRUNK_OUTPUT};
use deepsade_spec::{ColumnKind, Domain, Formula, NormalSpec, OneHot, Schema};

use super::level::{Gates, Truth};
use super::literal::{Sum, at_most, below};
use super::over::{CALM, Outputs, Over, exact};
use super::{Case, OutputStep};

/// How all names of the tail begin.
pub const PREFIX: &str = "deepsade.step.";

/// How the columns of the input reach the graph.
#[derive(Debug, Clone, PartialEq)]
pub enum Inputs {
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

fn named(what: &str) -> String {
    format!("{PREFIX}{what}")
}

impl Inputs {
    /// How a schema's columns stand among the inputs of a graph.
    pub fn of(ports: &[Port], schema: &Schema) -> Result<Self, String> {
        let columns = schema.columns().len();
        let width = |port: &Port| port.dims.get(1..)?.iter().try_fold(1usize, |n, d| n.checked_mul((*d)?));
        if let [port] = ports
            && port.element == "float"
            && port.dims.len() >= 2
        {
            return match width(port) {
                Some(found) if found == columns => Ok(Self::Rows(port.clone())),
                found => Err(format!(
                    "the input '{}' has {} columns, the schema {columns}",
                    port.name,
                    found.map_or("an unknown number of".into(), |n| n.to_string())
                )),
            };
        }
        let of = |name: &str| ports.iter().find(|p| p.name == name).ok_or(format!("the graph has no input '{name}'"));
        let ports = schema.features.iter().map(|f| of(&f.name).cloned()).collect::<Result<Vec<_>, _>>()?;
        for (port, feature) in ports.iter().zip(&schema.features) {
            let fits = match (&feature.domain, port.element.as_str()) {
                (Domain::Category { .. }, element) => element == "string",
                (Domain::Real { .. }, element) => element == "float",
                // Whole numbers of a domain are exact in float32.
                (Domain::Integer { .. }, element) => ["float", "int64", "int32"].contains(&element),
            };
            if !fits || port.dims.len() != 2 || port.dims[1] != Some(1) {
                return Err(format!("the input '{}' is no column of {}", port.name, feature.domain.in_words()));
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
    let first = usize::from(encoding == OneHot::DropFirst);
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
/// booleans, a column a condition.
pub fn certain(schema: &Schema, conditions: &[Formula], x: &str, prefix: &str, piece: &mut Piece) -> Result<String, String> {
    let (over, mut gates) = (Over::new(schema, None), Gates::default());
    let roots = conditions.iter().map(|f| gates.formula(f, &over)).collect::<Result<Vec<_>, _>>()?;
    // There is always something to compute with.
    gates.bases.threshold(0, 0.0);
    Ok(gates.write(&roots, x, over.columns.len(), prefix, piece))
}

impl Tail {
    /// Writes the tail, with these names for its outputs.
    pub fn new(spec: &NormalSpec, step: &OutputStep, inputs: &Inputs, [y, in_domain, ok]: [String; 3]) -> Result<Self, String> {
        step.sound(spec, spec.schema.columns().len())?;
        let mut piece = Piece::default();
        let x = inputs.columns(&spec.schema, PREFIX, &mut piece);
        let c = judged(step, &mut piece);
        let over = Over::new(&spec.schema, Some(&step.outputs));
        let width = over.columns.len();
        let z = named("z");
        let fraction = spec.schema.features.iter().any(|f| !matches!(f.domain, Domain::Real { .. }));
        if fraction {
            let [floor, fraction] = ["floor", "fraction"].map(named);
            piece.call("Floor", &[&x], &floor);
            piece.call("Sub", &[&x, &floor], &fraction);
            piece.call_with("Concat", &[&c, &x, &fraction], &z, &[("axis", 1)]);
        } else {
            piece.call_with("Concat", &[&c, &x], &z, &[("axis", 1)]);
        }

        let mut gates = Gates::default();
        let mut obeys = Vec::new();
        for rule in &spec.rules {
            obeys.push(gates.formula(&rule.claim, &over)?);
        }
        let mut roots = vec![gates.all(obeys), inside(&spec.schema, step.outputs.count(), &mut gates)];
        let conditions = spec.conditions();
        for case in &step.fallback[..step.fallback.len() - 1] {
            let asked = |(c, truth): &(usize, bool)| {
                Formula::Atom(if *truth { conditions[*c].clone() } else { conditions[*c].opposite() })
            };
            let when = Formula::and(case.when.iter().map(asked));
            roots.push(gates.formula(&when, &over)?);
        }
        let all = if fraction { 2 * width - step.outputs.count() } else { width };
        let truths = gates.write(&roots, &z, all, PREFIX, &mut piece);
        let column = |k: i64, name: &str, dims: &[usize], piece: &mut Piece| {
            let index = format!("{PREFIX}take{}{k}", dims.len());
            piece.ints(&index, dims, vec![k]);
            piece.call_with("Gather", &[&truths, &index], name, &[("axis", 1)]);
        };

        let columns = spec.schema.columns().len();
        let mut fallback = String::new();
        for (k, case) in step.fallback.iter().enumerate().rev() {
            let map = affine(case, k, columns, &x, &mut piece);
            if fallback.is_empty() {
                fallback = map;
                continue;
            }
            let [when, chosen] = [named(&format!("when{k}")), named(&format!("chosen{k}"))];
            column(k as i64 + 2, &when, &[1], &mut piece);
            piece.call("Where", &[&when, &map, &fallback], &chosen);
            fallback = chosen;
        }
        let good = named("good");
        column(0, &good, &[1], &mut piece);
        piece.call("Where", &[&good, &c, &fallback], &y);
        column(1, &in_domain, &[], &mut piece);
        column(0, &ok, &[], &mut piece);
        let outputs = vec![
            Port::rows(&y, "float", Some(step.outputs.count())),
            Port::rows(&in_domain, "bool", None),
            Port::rows(&ok, "bool", None),
        ];
        Ok(Self { piece, outputs })
    }
}

/// The candidate as it is judged, whatever it was: as many columns as there are outputs, labels as 0 and 1, numbers in their ranges, on
/// their grids and never tiny.
fn judged(step: &OutputStep, piece: &mut Piece) -> String {
    let [own, columns, c] = ["candidate", "outputs", "c"].map(named);
    let count = step.outputs.count();
    // A candidate of another width, or of another rank, ends here: no column is taken for another.
    piece.ints(&columns, &[count], (0..count as i64).collect());
    piece.call_with("Gather", &[&step.candidate, &columns], &own, &[("axis", 1)]);
    match &step.outputs {
        Outputs::Labels(_) => {
            let [half, present] = ["half", "present"].map(named);
            piece.floats(&half, &[1], vec![0.5]);
            piece.call("Greater", &[&own, &half], &present);
            piece.call_with("Cast", &[&present], &c, &[("to", TO_FLOAT)]);
        }
        Outputs::Numbers(numbers) => {
            // Not a number exceeds nothing: it becomes the lower end.
            let [lo, hi, least, high, low, top, cut] = ["lo", "hi", "least", "high", "low", "top", "cut"].map(named);
            piece.floats(&lo, &[1, count], numbers.iter().map(|n| n.lo).collect());
            piece.floats(&hi, &[1, count], numbers.iter().map(|n| n.hi).collect());
            piece.floats(&least, &[1, count], numbers.iter().map(|n| clear(below(&exact(n.lo)))).collect());
            piece.call("Greater", &[&own, &hi], &high);
            piece.call("Where", &[&high, &hi, &own], &top);
            piece.call("Greater", &[&top, &least], &low);
            piece.call("Where", &[&low, &top, &lo], &cut);
            let [zero, tiny, size, small, calm] = ["zero", "tiny", "size", "small", "calm"].map(named);
            let gridded = numbers.iter().any(|n| n.grid.is_some());
            piece.floats(&zero, &[1], vec![0.0]);
            piece.floats(&tiny, &[1], vec![2f32.powi(CALM)]);
            piece.call("Abs", &[&cut], &size);
            piece.call("Less", &[&size, &tiny], &small);
            piece.call("Where", &[&small, &zero, &cut], if gridded { &calm } else { &c });
            if gridded {
                let [up, down, scaled, floor, on_grid, open] = ["up", "down", "scaled", "floored", "on_grid", "open"].map(named);
                let k = |n: &super::Number| n.grid.unwrap_or(0);
                piece.floats(&up, &[1, count], numbers.iter().map(|n| 2f32.powi(k(n))).collect());
                piece.floats(&down, &[1, count], numbers.iter().map(|n| 2f32.powi(-k(n))).collect());
                piece.call("Mul", &[&calm, &up], &scaled);
                piece.call("Floor", &[&scaled], &floor);
                let all = numbers.iter().all(|n| n.grid.is_some());
                piece.call("Mul", &[&floor, &down], if all { &c } else { &on_grid });
                if !all {
                    let half = named("half");
                    let free = named("free");
                    piece.floats(&half, &[1], vec![0.5]);
                    piece.floats(&free, &[1, count], numbers.iter().map(|n| f32::from(u8::from(n.grid.is_none()))).collect());
                    piece.call("Greater", &[&free, &half], &open);
                    piece.call("Where", &[&open, &calm, &on_grid], &c);
                }
            }
        }
    }
    c
}

/// A case's outputs: constants as they are, else its affine map.
fn affine(case: &Case, k: usize, columns: usize, x: &str, piece: &mut Piece) -> String {
    let [matrix, bias, map] = ["weights", "bias", "map"].map(|what| named(&format!("{what}{k}")));
    let outputs = case.bias.len();
    if case.weights.is_empty() {
        piece.floats(&bias, &[1, outputs], case.bias.clone());
        return bias;
    }
    let mut w = vec![0.0f32; columns * outputs];
    case.weights.iter().for_each(|(o, c, v)| w[c * outputs + o] = *v);
    piece.floats(&matrix, &[columns, outputs], w);
    piece.floats(&bias, &[outputs], case.bias.clone());
    piece.call("Gemm", &[x, &matrix, &bias], &map);
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

/// The input is in the domain, numbers below 2^-100 in size taken for 0 at its borders.
fn inside(schema: &Schema, outputs: usize, gates: &mut Gates) -> Truth {
    let all = schema.columns();
    let mut parts = Vec::new();
    let mut group: Vec<Vec<(usize, f32)>> = vec![Vec::new(); schema.features.len()];
    for (k, column) in all.iter().enumerate() {
        let (z, fraction) = (outputs + k, outputs + all.len() + k);
        let (lo, hi) = match (&schema.features[column.feature].domain, column.kind) {
            (domain, ColumnKind::Number) => domain.range().unwrap_or_default(),
            _ => (0.0, 1.0),
        };
        parts.push(Truth::Base(gates.bases.threshold(z, clear(below(&exact(lo)))), true));
        parts.push(Truth::Base(gates.bases.threshold(z, clear(at_most(&exact(hi)))), false));
        if !matches!(schema.features[column.feature].domain, Domain::Real { .. }) {
            parts.push(Truth::Base(gates.bases.threshold(fraction, 0.0), false));
        }
        if let ColumnKind::Level(_) = column.kind {
            group[column.feature].push((z, 1.0));
        }
    }
    for terms in group.into_iter().filter(|g| !g.is_empty()) {
        let mut sum = |above: f32| gates.bases.put(Sum { terms: terms.clone(), constant: 0.0, above });
        parts.push(Truth::Base(sum(1.5), false));
        if schema.one_hot == OneHot::Full {
            parts.push(Truth::Base(sum(0.5), true));
        }
    }
    gates.all(parts)
}
