//! A file of any tool and what is asked of it enter; leaves how its inputs are the features, and rows of float32 numbers of its outputs.

use deepsade_check::step::InputPorts;
use deepsade_net::Port;
use deepsade_net::onnx::carried::Carried;
use deepsade_net::onnx::piece::{Piece, TO_FLOAT};
use deepsade_output::make;
use deepsade_spec::{Domain, NormalSpec, Schema, Task};

use super::ShieldError;
use crate::draft::spelled::key;

/// What to read of a model.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    /// The tensor with its numbers; `None`: the one output that can be meant.
    pub output: Option<String>,
    /// From where on a label is present or, for two classes and one column, the second class is meant: 0 for logits, 1/2 for
    /// probabilities.
    pub threshold: Option<f32>,
    /// Whether scores of classes are probabilities; `None`: what the file lets one think.
    pub probabilities: Option<bool>,
}

const WHOLE: [&str; 2] = ["int64", "int32"];

/// How the features stand among the inputs of a graph.
pub(super) fn inputs(ports: &[Port], schema: &Schema) -> Result<InputPorts, ShieldError> {
    let port = |name: &str| ports.iter().find(|p| p.name == name && WHOLE.contains(&p.element.as_str()));
    let real = |domain: &Domain| matches!(domain, Domain::Real { .. } | Domain::Stepped { .. });
    if let Some((feature, port)) = schema.features.iter().filter(|f| real(&f.domain)).find_map(|f| Some((f, port(&f.name)?))) {
        let (input, element, key) = (feature.name.clone(), port.element.clone(), key(&feature.name));
        return Err(ShieldError::WholeInput { input, element, key });
    }
    if let [port] = ports
        && port.element != "float"
        && schema.features.iter().all(|f| f.name != port.name)
    {
        return Err(ShieldError::NoFloatInput(shown(port)));
    }
    InputPorts::of(ports, schema).map_err(ShieldError::Inputs)
}

/// An output with its type and shape.
fn shown(port: &Port) -> String {
    let dim = |(k, d): (usize, &Option<usize>)| d.map_or(if k == 0 { "N".into() } else { "?".into() }, |d: usize| d.to_string());
    let dims: Vec<String> = port.dims.iter().enumerate().map(dim).collect();
    if port.element == "undefined" {
        return format!("'{}' (no tensor)", port.name);
    }
    format!("'{}' ({} [{}])", port.name, port.element, dims.join(", "))
}

fn wrong(carried: &Carried, problem: String) -> ShieldError {
    ShieldError::Output { problem, outputs: carried.outputs.iter().map(shown).collect::<Vec<_>>().join(", ") }
}

/// Labels of the file's own that are made in a way that is not read.
pub(super) fn unread(carried: &Carried, label: &str) -> ShieldError {
    wrong(
        carried,
        format!(
            "its output '{label}' holds labels or numbers of its own, and how these come from the scores is not read: the columns of the \
             tensor that holds the scores are read as the rules have them, in their order"
        ),
    )
}

/// The tensor, or what it was before its rows were regrouped, where that has the columns that it has not.
fn ungrouped(port: &Port, carried: &Carried, spec: &NormalSpec) -> Result<Port, ShieldError> {
    let count = Some(spec.schema.task.outputs());
    let binary = matches!(spec.schema.task, Task::Binary { .. });
    if let Some(before) = carried.before_reshape(&port.name)?.filter(|_| !binary && carried.width_of(&port.name) != Ok(count))
        && carried.width_of(&before)? == count
    {
        return Ok(Port { name: before, element: port.element.clone(), dims: vec![None, count] });
    }
    Ok(port.clone())
}

impl Reading {
    /// The tensor to read: the one that is named, or the one output of numbers. A map of probabilities is read before it becomes one.
    pub(super) fn find(&self, carried: &Carried, spec: &NormalSpec) -> Result<Port, ShieldError> {
        let wrong = |problem: String| wrong(carried, problem);
        let number = |p: &&Port| ["float", "double"].contains(&p.element.as_str());
        if let Some(name) = &self.output {
            let known = carried.outputs.iter().find(|p| p.name == *name).cloned();
            return match known {
                Some(port) if number(&&port) => Ok(port),
                None if carried.names()?.contains(name) => {
                    let dims = carried.width_of(name)?.map(|width| vec![None, Some(width)]).unwrap_or_default();
                    Ok(Port { name: name.clone(), element: "float".into(), dims })
                }
                Some(port) => Err(wrong(format!("{} holds no numbers to choose by", shown(&port)))),
                None => Err(wrong(format!("there is no tensor '{name}'"))),
            };
        }
        let numbers: Vec<&Port> = carried.outputs.iter().filter(number).collect();
        let maps = carried.unmapped()?;
        match (&numbers[..], &maps[..]) {
            ([port], _) => ungrouped(port, carried, spec),
            ([], [name]) => Ok(Port { name: name.clone(), element: "float".into(), dims: vec![None, None] }),
            ([], _) => Err(wrong(format!("no output holds the numbers of a {}", spec.schema.task.kind()))),
            _ => Err(wrong("several outputs hold numbers".into())),
        }
    }

    /// Calls that make rows of float32 of the tensor; their name.
    pub(super) fn as_rows(
        &self,
        port: &Port,
        carried: &Carried,
        spec: &NormalSpec,
        piece: &mut Piece,
    ) -> Result<String, ShieldError> {
        let count = spec.schema.task.outputs();
        let mut name = port.name.clone();
        if port.element == "double" {
            let cast = format!("{}float", make::PREFIX);
            piece.call_with("Cast", &[&name], &cast, &[("to", TO_FLOAT)]);
            name = cast;
        }
        // Converters state one column for several targets: what the operators make counts.
        let (stated, made) = (port.dims.get(1).copied().flatten(), carried.width_of(&port.name)?);
        let width = made.filter(|_| port.dims.len() == 2).or(stated);
        let wrong = |problem: String| wrong(carried, problem);
        let binary = matches!(spec.schema.task, Task::Binary { .. });
        let each = |dims: &[Option<usize>]| dims.iter().try_fold(1usize, |n, d| n.checked_mul((*d)?));
        let numbers = if port.dims.len() > 2 { each(&port.dims[1..]) } else { width };
        if let Some(found) = numbers.filter(|n| binary && *n != 1 && self.threshold.is_some()) {
            return Err(wrong(format!(
                "'{}' has {found} numbers a row, one for each class, and --threshold is for one: leave it out",
                port.name
            )));
        }
        if binary && (self.threshold.is_some() || width == Some(1) || port.dims.len() == 1) {
            let Some(threshold) = self.threshold else { return Err(ShieldError::Threshold { output: port.name.clone() }) };
            let [shape, rows, cut, up, down, both] =
                ["shape", "rows", "cut", "second", "first", "both"].map(|w| format!("{}{w}", make::PREFIX));
            piece.ints(&shape, &[2], vec![-1, 1]);
            piece.call("Reshape", &[&name, &shape], &rows);
            piece.floats(&cut, &[1], vec![threshold]);
            piece.call("Sub", &[&rows, &cut], &up);
            piece.call("Sub", &[&cut, &rows], &down);
            piece.call_with("Concat", &[&down, &up], &both, &[("axis", 1)]);
            return Ok(both);
        }
        if let Some(width) = width.filter(|w| *w != count) {
            let columns = if width == 1 { "column" } else { "columns" };
            let mut problem = format!("'{}' has {width} {columns}, but the rules speak of {count} outputs", port.name);
            if made.is_none() && width == 1 {
                problem += " (if the file states its width wrongly, take that off: graph.output[..].type.tensor_type.shape.dim[1].Clear())";
            }
            return Err(wrong(problem));
        }
        if port.dims.len() > 2 && each(&port.dims[1..]) != Some(count) {
            return Err(wrong(format!("'{}' does not have one row of {count} numbers for each row of the input", port.name)));
        }
        if port.dims.len() != 2 {
            let [shape, rows] = ["shape", "rows"].map(|w| format!("{}{w}", make::PREFIX));
            piece.ints(&shape, &[2], vec![-1, count as i64]);
            piece.call("Reshape", &[&name, &shape], &rows);
            name = rows;
        }
        if let (Task::Multilabel { .. }, Some(threshold)) = (&spec.schema.task, self.threshold) {
            let [cut, above] = ["cut", "above"].map(|w| format!("{}{w}", make::PREFIX));
            piece.floats(&cut, &[1], vec![threshold]);
            piece.call("Sub", &[&name, &cut], &above);
            name = above;
        }
        Ok(name)
    }
}
