//! Operators that move numbers without changing them -> Concat, Select, or nothing at all.

use super::builder::{Rows, Value};
use super::node::Reader;
use crate::Op;
use crate::onnx::error::ImportError;
use crate::onnx::proto::element;
use crate::onnx::tensor;

impl<'a> Reader<'_, 'a> {
    pub(super) fn cast(&mut self) -> Result<Value<'a>, ImportError> {
        let to = i32::try_from(self.int("to", 0)?).unwrap_or(0);
        match self.operand(0)? {
            Value::Constant(t) if t.data_type != element::FLOAT => self
                .usage(format!("it converts the constant '{}' of {}", t.name, element::name(t.data_type)), "only float is read"),
            value if to == element::FLOAT => Ok(value),
            _ => {
                let found = format!("it converts to {}", element::name(to));
                self.usage(found, "everything is computed in float; import the file up to the tensor that it reads")
            }
        }
    }

    /// Does nothing in inference. From opset 12 on a third operand may switch training on.
    pub(super) fn dropout(&mut self) -> Result<Rows, ImportError> {
        let training = self.constant(2)?.map(tensor::integers).transpose()?;
        if training.is_some_and(|t| t.iter().any(|&t| t != 0)) {
            return self.usage("it is in training mode", "export the model in inference mode");
        }
        self.rows(0)
    }

    pub(super) fn concat(&mut self) -> Result<Rows, ImportError> {
        let axis = self.int("axis", i64::MIN)?;
        if axis != 1 && axis != -1 {
            return self.usage(format!("its axis is {axis}"), "only columns (axis 1) can be joined");
        }
        let (mut from, mut width) = (vec![], 0usize);
        for k in 0..self.node.input.len() {
            let (rows, columns) = self.vector(k)?;
            from.push(rows.index);
            width = width.saturating_add(columns);
        }
        if from.is_empty() {
            return self.usage("it joins nothing", "it needs an operand");
        }
        let place = self.place();
        self.builder.push(&place, Op::Concat, from, vec![width])
    }

    /// The first of the largest columns, without a dimension of its own: what Gather reads to choose a row of a table.
    pub(super) fn arg_max(&mut self) -> Result<Rows, ImportError> {
        let (axis, keep, last) = (self.int("axis", 0)?, self.int("keepdims", 1)?, self.int("select_last_index", 0)?);
        if (axis != 1 && axis != -1) || keep != 0 || last != 0 {
            return self.usage(
                format!("its axis is {axis}, keepdims {keep}, select_last_index {last}"),
                "to choose a row of a table axis 1, keepdims 0 and the first index are needed",
            );
        }
        self.vector(0).map(|(rows, _)| rows)
    }

    /// A constant table and the index of its row -> Choose.
    fn choose(&mut self, totals: &Rows) -> Result<Rows, ImportError> {
        let axis = self.int("axis", 0)?;
        let (table, name) = self.matrix(0)?;
        if axis != 0 || table.rows != totals.width() || table.cols == 0 {
            let found =
                format!("it takes rows of '{name}', {} x {}, axis {axis}, by {} columns", table.rows, table.cols, totals.width());
            return self.usage(found, "an ArgMax over as many columns as the table has rows must choose the row (axis 0)");
        }
        let place = self.place();
        let shape = vec![table.cols];
        self.builder.push(&place, Op::Choose(table), vec![totals.index], shape)
    }

    pub(super) fn gather(&mut self) -> Result<Rows, ImportError> {
        if let Ok(Value::Largest(totals)) = self.operand(1) {
            return self.choose(&totals);
        }
        let (x, width) = self.vector(0)?;
        let axis = self.int("axis", 0)?;
        let Some(indices) = self.constant(1)? else { return self.usage("it has no indices", "they must be constant") };
        if (axis != 1 && axis != -1) || tensor::dims(indices)?.len() != 1 {
            return self.usage(format!("its axis is {axis}"), "only a list of columns (axis 1) can be taken");
        }
        let place = self.place();
        self.builder.charge(&place, tensor::dims(indices)?[0])?;
        let column = |i: i64| from_end(i, width).filter(|&c| c < width as i64 && c >= 0).map(|c| c as usize);
        match tensor::integers(indices)?.into_iter().map(column).collect::<Option<Vec<_>>>() {
            Some(columns) if !columns.is_empty() => self.select(&x, columns),
            _ => self.usage(format!("its indices do not all lie in rows of width {width}"), "they must"),
        }
    }

    pub(super) fn slice(&mut self) -> Result<Rows, ImportError> {
        let (x, width) = self.vector(0)?;
        let in_operands = self.opset >= 10;
        let list = |k: usize, attribute: &str| self.integers(if in_operands { k } else { usize::MAX }, attribute);
        let starts = list(1, "starts")?.unwrap_or_default();
        let ends = list(2, "ends")?.unwrap_or_default();
        let axes = list(3, "axes")?.unwrap_or_else(|| (0..starts.len() as i64).collect());
        let steps = list(4, "steps")?.unwrap_or_else(|| vec![1; starts.len()]);
        let Some(Cut { start, end, step }) = column_cut(&starts, &ends, &axes, &steps) else {
            return self.usage(
                format!("it slices axes {axes:?} from {starts:?} to {ends:?} by {steps:?}"),
                "it may take constant columns (axis 1) of all rows",
            );
        };
        let place = self.place();
        self.builder.charge(&place, width)?;
        let columns = sliced(start, end, step, width);
        if columns.is_empty() {
            return self.usage("no column is left", "a slice must keep some");
        }
        self.select(&x, columns)
    }

    fn select(&mut self, x: &Rows, columns: Vec<usize>) -> Result<Rows, ImportError> {
        let place = self.place();
        let shape = vec![columns.len()];
        self.builder.push(&place, Op::Select(columns), vec![x.index], shape)
    }

    pub(super) fn flatten(&mut self) -> Result<Rows, ImportError> {
        let x = self.rows(0)?;
        let axis = self.int("axis", 1)?;
        if from_end(axis, x.shape.len() + 1) != Some(1) {
            return self.usage(format!("its axis is {axis}"), "the batch must stay the first dimension (axis 1)");
        }
        let width = x.width();
        Ok(Rows { shape: vec![width], ..x })
    }

    /// Allowed where the batch stays in front: then the numbers of a row keep their order.
    pub(super) fn reshape(&mut self) -> Result<Rows, ImportError> {
        let x = self.rows(0)?;
        let target = self.integers(1, "shape")?.unwrap_or_default();
        let fits =
            if self.int("allowzero", 0)? != 0 && target.contains(&0) { None } else { reshaped(&target, &x, self.builder.batch) };
        match fits {
            Some(shape) => Ok(Rows { shape, ..x }),
            None => self.usage(
                format!("it gives rows of shape {:?} the shape {target:?}", x.shape),
                "the batch must stay the first dimension; import the file up to the tensor that it reads",
            ),
        }
    }
}

/// An index that may count from the end.
fn from_end(i: i64, n: usize) -> Option<i64> {
    if i < 0 { i.checked_add(n as i64) } else { Some(i) }
}

struct Cut {
    start: i64,
    end: i64,
    step: i64,
}

/// What a Slice does to the columns. It may name the batch too, as Keras does, if it keeps all rows.
fn column_cut(starts: &[i64], ends: &[i64], axes: &[i64], steps: &[i64]) -> Option<Cut> {
    if [ends.len(), axes.len(), steps.len()] != [starts.len(); 3] {
        return None;
    }
    let mut cut = None;
    for (((&start, &end), axis), &step) in starts.iter().zip(ends).zip(axes).zip(steps) {
        match axis {
            1 | -1 if cut.is_none() && step != 0 => cut = Some(Cut { start, end, step }),
            0 if start == 0 && end >= i64::from(i32::MAX) && step == 1 => {}
            _ => return None,
        }
    }
    cut
}

/// The columns that ONNX's Slice keeps: ends beyond the row are cut off.
fn sliced(start: i64, end: i64, step: i64, width: usize) -> Vec<usize> {
    let n = width as i64;
    let (low, high) = if step > 0 { (0, n) } else { (-1, n - 1) };
    let start = from_end(start, width).unwrap_or(i64::MIN).clamp(low.max(0), high);
    let end = from_end(end, width).unwrap_or(i64::MIN).clamp(low, high);
    std::iter::successors(Some(start), |c| c.checked_add(step))
        .take_while(|&c| if step > 0 { c < end } else { c > end })
        .map(|c| c as usize)
        .collect()
}

/// The shape of one row after a Reshape: 0 copies a dimension, -1 stands for what is left. `None` where the batch would move.
fn reshaped(target: &[i64], x: &Rows, batch: Option<usize>) -> Option<Vec<usize>> {
    let (&first, rest) = target.split_first()?;
    let mut row = Vec::with_capacity(rest.len());
    let mut open = None;
    for (k, &d) in rest.iter().enumerate() {
        row.push(match d {
            0 => *x.shape.get(k)?,
            -1 if open.is_none() => {
                open = Some(k);
                1
            }
            d => usize::try_from(d).ok()?,
        });
    }
    let known = row.iter().try_fold(1usize, |n, &d| n.checked_mul(d)).filter(|n| *n > 0)?;
    match (first, open) {
        (-1, None) | (0, _) => {}
        (b, _) if batch.is_some() && usize::try_from(b).ok() == batch => {}
        _ => return None,
    }
    if let Some(k) = open {
        row[k] = x.width() / known;
    }
    let whole = row.iter().try_fold(1usize, |n, &d| n.checked_mul(d))?;
    (whole == x.width() && !row.is_empty()).then_some(row)
}
