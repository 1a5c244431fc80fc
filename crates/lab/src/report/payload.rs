//! A model with its rules enters, what the page's own evaluator needs leaves, as JSON: weights as base64 of float32, rules in
//! normal form with exact fractions.

use deepsade_data::{Column, Table, TableValue};
use deepsade_net::onnx::piece::{Attribute, Call, Numbers, Tensor};
use deepsade_net::{Activation, Model, Op, Piece, Port, Window};
use deepsade_spec::{Domain, Formula, Linear, NormalSpec, OneHot, Rational, Schema, Var};
use serde_json::{Value, json};

/// The `model` element of the page.
pub(crate) fn payload(model: &Model, schema: &Schema, spec: Option<&NormalSpec>, examples: &[Vec<Value>]) -> Value {
    let ruled = |f: usize| spec.is_some_and(|s| s.skip.contains(&f));
    let rules = spec.map(|s| s.rules.as_slice()).unwrap_or_default();
    json!({
        "task": schema.task,
        "dropFirst": schema.one_hot == OneHot::DropFirst,
        "features": (0..schema.features.len()).map(|f| feature(schema, f, ruled(f))).collect::<Vec<_>>(),
        "nodes": model.network.nodes.iter().map(|n| node(&n.op, &n.from)).collect::<Vec<_>>(),
        "rules": rules.iter().map(|r| json!({"name": r.name, "claim": formula(&r.claim)})).collect::<Vec<_>>(),
        "step": model.behind.as_ref().map(|b| step(&b.piece, &b.outputs)),
        "examples": examples,
    })
}

/// The output step: its calls and constants, and what its outputs are called.
pub(super) fn step(piece: &Piece, outputs: &[Port]) -> Value {
    let constant = |t: &Tensor| match &t.data {
        Numbers::Float(data) => json!({"name": t.name, "dims": t.dims, "floats": base64(data)}),
        Numbers::Int(data) => json!({"name": t.name, "dims": t.dims, "ints": data}),
    };
    let call = |c: &Call| {
        // Others than whole numbers are named without a value: the page refuses them.
        let whole = |attribute: &Attribute| match attribute {
            Attribute::Int(i) => json!(i),
            Attribute::Ints(list) => json!(list),
            _ => Value::Null,
        };
        let ints: serde_json::Map<String, Value> =
            c.attributes.iter().map(|(name, attribute)| (name.clone(), whole(attribute))).collect();
        json!({"op": c.op, "reads": c.reads, "makes": c.makes, "ints": ints})
    };
    json!({
        "calls": piece.calls.iter().map(call).collect::<Vec<_>>(),
        "tensors": piece.tensors.iter().map(constant).collect::<Vec<_>>(),
        "outputs": outputs.iter().map(|p| &p.name).collect::<Vec<_>>(),
    })
}

/// Domain, where to start, and whether a rule mentions it.
fn feature(schema: &Schema, f: usize, ruled: bool) -> Value {
    let feature = &schema.features[f];
    match &feature.domain {
        Domain::Real { lo, hi } => {
            // A middle with few digits, if it is still inside.
            let middle = f64::midpoint(f64::from(*lo), f64::from(*hi));
            let short: f64 = format!("{middle:.3e}").parse().unwrap_or(middle);
            let inside = f64::from(*lo) <= short && short <= f64::from(*hi);
            json!({"name": feature.name, "kind": "real", "lo": lo, "hi": hi, "ruled": ruled, "start": if inside { short } else { middle }})
        }
        Domain::Integer { lo, hi } => {
            let middle = i32::midpoint(*lo, *hi);
            json!({"name": feature.name, "kind": "integer", "lo": lo, "hi": hi, "ruled": ruled, "start": middle})
        }
        Domain::Ordered { levels } => {
            let last = levels.len().saturating_sub(1);
            json!({"name": feature.name, "kind": "integer", "lo": 0, "hi": last, "ruled": ruled, "start": last / 2})
        }
        Domain::Stepped { lo, hi, step } => {
            let middle = f32::midpoint(lo / step, hi / step).floor() * step;
            json!({"name": feature.name, "kind": "stepped", "lo": lo, "hi": hi, "step": step, "ruled": ruled, "start": middle})
        }
        Domain::Category { levels } => {
            json!({"name": feature.name, "kind": "category", "levels": levels, "ruled": ruled, "start": 0})
        }
    }
}

fn node(op: &Op, from: &[usize]) -> Value {
    match op {
        Op::Affine { scale, shift } => json!({"op": "affine", "from": from, "scale": base64(scale), "shift": base64(shift)}),
        Op::Dense { w, b } => json!({"op": "dense", "from": from, "w": base64(&w.data), "b": base64(b)}),
        Op::Act(f) => {
            let of = match f {
                Activation::Relu => "relu",
                Activation::Sigmoid => "sigmoid",
                Activation::Tanh => "tanh",
            };
            json!({"op": "activation", "from": from, "of": of})
        }
        Op::Select(columns) => json!({"op": "select", "from": from, "columns": columns}),
        Op::Concat => json!({"op": "concat", "from": from}),
        Op::Gate => json!({"op": "gate", "from": from}),
        Op::Conv(conv) => {
            let w = &conv.window;
            json!({"op": "conv", "from": from, "w": base64(&conv.w), "b": base64(&conv.b), "groups": conv.groups, "window": window(w)})
        }
        Op::MaxPool(w) => json!({"op": "maxpool", "from": from, "window": window(w)}),
        Op::Choose(table) => json!({"op": "choose", "from": from, "w": base64(&table.data), "cols": table.cols}),
    }
}

fn window(w: &Window) -> Value {
    json!({"input": w.input, "size": w.size, "stride": w.stride, "dilation": w.dilation, "pads": w.pads})
}

fn formula(f: &Formula) -> Value {
    match f {
        Formula::True => json!(true),
        Formula::False => json!(false),
        Formula::Atom(a) => {
            json!({"terms": terms(&a.linear), "constant": fraction(&a.linear.constant), "strict": a.strict})
        }
        Formula::And(parts) => json!({"and": parts.iter().map(formula).collect::<Vec<_>>()}),
        Formula::Or(parts) => json!({"or": parts.iter().map(formula).collect::<Vec<_>>()}),
        Formula::Threshold(t) => {
            let count: Vec<Value> = t.terms.iter().map(|(weight, part)| json!([fraction(weight), formula(part)])).collect();
            json!({"count": count, "bound": fraction(&t.bound), "strict": t.strict})
        }
    }
}

/// Kind, index, second index, coefficient.
fn terms(linear: &Linear) -> Vec<Value> {
    let term = |(var, c): (&Var, &Rational)| match var {
        Var::Output(j) => json!(["y", j, 0, fraction(c)]),
        Var::Feature(f) => json!(["x", f, 0, fraction(c)]),
        Var::Level(f, l) => json!(["level", f, l, fraction(c)]),
    };
    linear.terms.iter().map(term).collect()
}

fn fraction(value: &Rational) -> String {
    format!("{}/{}", value.numerator(), value.denominator())
}

/// Little-endian float32 values in base64.
fn base64(values: &[f32]) -> String {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().fold(0u32, |sum, b| sum << 8 | u32::from(*b)) << (8 * (3 - chunk.len()));
        for k in 0..4 {
            let sign = SIGNS[(group >> (18 - 6 * k) & 63) as usize];
            out.push(if k <= chunk.len() { char::from(sign) } else { '=' });
        }
    }
    out
}

/// Complete rows of a table as the explorer holds them: numbers, and the index of a level.
pub(crate) fn examples(table: &Table, schema: &Schema, most: usize) -> Vec<Vec<Value>> {
    let columns: Vec<Option<&Column>> = schema.features.iter().map(|f| table.column(&f.name)).collect();
    let row = |r: usize| -> Option<Vec<Value>> {
        let value = |(f, column): (usize, Option<&Column>)| match (&schema.features[f].domain, column?.value(r)) {
            (Domain::Category { levels } | Domain::Ordered { levels }, TableValue::Text(text)) => {
                levels.iter().position(|l| l == text).map(|l| json!(l))
            }
            (Domain::Category { levels }, TableValue::Number(v)) => {
                levels.iter().position(|l| l.parse::<f64>().is_ok_and(|l| l == v)).map(|l| json!(l))
            }
            (_, TableValue::Number(v)) => Some(json!(v)),
            _ => None,
        };
        columns.iter().copied().enumerate().map(value).collect()
    };
    (0..table.rows()).filter_map(row).take(most).collect()
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn base64_of_known_bytes() {
        // 1.0 is 00 00 80 3f.
        assert_eq!(base64(&[1.0]), "AACAPw==");
        assert_eq!(base64(&[1.0, 1.0, 1.0]), "AACAPwAAgD8AAIA/");
        assert_eq!(base64(&[]), "");
    }
}
