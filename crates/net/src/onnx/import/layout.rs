//! Operators that move numbers without changing them -> Concat, Select, or nothing at all.

use super::builder::{Imported, TensorView};
use super::names::BatchDimension;
use super::node::NodeReader;
use crate::Op;
use crate::onnx::error::ImportError;
use crate::onnx::proto::element;
use crate::onnx::tensor;

impl<'a> NodeReader<'_, 'a> {
    pub(super) fn cast(&mut self) -> Result<Imported<'a>, ImportError> {
        let to = i32::try_from(self.int("to", 0)?).unwrap_or(0);
        match self.operand(0)? {
            // What it makes is known already.
            Imported::Constant(t) if t.data_type == element::DOUBLE && to == element::FLOAT => {
                let made = self.node.output.first().and_then(|name| self.builder.value(name));
                made.ok_or_else(|| ImportError::Undefined { place: self.place(), tensor: t.name.clone() })
            }
            Imported::Constant(t) if t.data_type != element::FLOAT => self
                .usage(format!("it converts the constant '{}' of {}", t.name, element::name(t.data_type)), "only float is read"),
            value if to == element::FLOAT => Ok(value),
            _ => {
                let found = format!("it converts to {}", element::name(to));
                self.usage(found, "everything is computed in float; import the file up to the tensor that it reads")
            }
        }
    }

    /// Does nothing in inference. From opset 12 on a third operand may switch training on.
    pub(super) fn dropout(&mut self) -> Result<TensorView, ImportError> {
        let training = self.constant(2)?.map(tensor::integers).transpose()?;
        if training.is_some_and(|t| t.iter().any(|&t| t != 0)) {
            return self.usage("it is in training mode", "export the model in inference mode");
        }
        self.rows(0)
    }

    /// The axis of the columns: the one behind the batch.
    fn columns_axis(&self) -> i64 {
        i64::from(self.builder.batch != BatchDimension::None)
    }

    fn is_columns(&self, axis: i64) -> bool {
        axis == self.columns_axis() || axis == -1
    }

    /// The first operand, in a graph whose rows stand in a batch.
    pub(super) fn with_batch(&self) -> Result<TensorView, ImportError> {
        if self.builder.batch == BatchDimension::None {
            return self.usage("the network's input is one row without a batch", "give the input a first dimension, [N, width]");
        }
        self.rows(0)
    }

    pub(super) fn concat(&mut self) -> Result<TensorView, ImportError> {
        let axis = self.int("axis", i64::MIN)?;
        if !self.is_columns(axis) {
            return self.usage(format!("its axis is {axis}"), "only columns (axis 1) can be joined");
        }
        let (mut from, mut shape) = (vec![], vec![]);
        for k in 0..self.node.input.len() {
            let rows = self.rows(k)?;
            // Channels side by side are columns side by side.
            if k == 0 {
                shape.clone_from(&rows.shape);
            } else if shape[1..] == rows.shape[1..] && (axis != -1 || shape.len() == 1) {
                shape[0] = rows.shape[0].saturating_add(shape[0]);
            } else {
                return self
                    .usage(format!("it joins rows of shape {shape:?} and {:?}", rows.shape), "all but the channels must agree");
            }
            from.push(rows.index);
        }
        if from.is_empty() {
            return self.usage("it joins nothing", "it needs an operand");
        }
        let place = self.place();
        self.builder.push(&place, Op::Concat, from, shape)
    }

    /// Moves numbers within each row: a Select, or nothing where their order stays.
    pub(super) fn transpose(&mut self) -> Result<TensorView, ImportError> {
        let x = self.with_batch()?;
        let rank = x.shape.len() + 1;
        let reversed = || (0..rank as i64).rev().collect();
        let order: Vec<i64> = self.attribute("perm").map_or_else(reversed, |a| a.ints.clone());
        let mut sorted = order.clone();
        sorted.sort_unstable();
        if order.first() != Some(&0) || sorted.iter().copied().ne(0..rank as i64) {
            return self.usage(format!("it orders dimensions as {order:?}"), "the batch must stay the first dimension");
        }
        let axes: Vec<usize> = order[1..].iter().map(|a| (*a - 1) as usize).collect();
        let place = self.place();
        let width = self.builder.fits(&place, &x.shape)?;
        self.builder.charge(&place, width)?;
        let shape: Vec<usize> = axes.iter().map(|a| x.shape[*a]).collect();
        let stride = |axis: usize| x.shape[axis + 1..].iter().product::<usize>();
        let source = |element: usize| {
            let (mut left, mut index) = (element, 0);
            for (n, axis) in shape.iter().zip(&axes).rev() {
                index += left % n * stride(*axis);
                left /= n;
            }
            index
        };
        let columns: Vec<usize> = (0..width).map(source).collect();
        if columns.iter().enumerate().all(|(k, c)| k == *c) {
            return Ok(TensorView { shape, ..x });
        }
        self.builder.push(&place, Op::Select(columns), vec![x.index], shape)
    }

    /// The first of the largest columns, without a dimension of its own: what Gather reads to choose a row of a table.
    pub(super) fn arg_max(&mut self) -> Result<TensorView, ImportError> {
        let (axis, keep, last) = (self.int("axis", 0)?, self.int("keepdims", 1)?, self.int("select_last_index", 0)?);
        if !self.is_columns(axis) || keep != 0 || last != 0 {
            return self.usage(
                format!("its axis is {axis}, keepdims {keep}, select_last_index {last}"),
                "to choose a row of a table axis 1, keepdims 0 and the first index are needed",
            );
        }
        self.vector(0).map(|(rows, _)| rows)
    }

    /// A constant table and the index of its row -> Choose.
    fn choose(&mut self, totals: &TensorView) -> Result<TensorView, ImportError> {
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

    pub(super) fn gather(&mut self) -> Result<TensorView, ImportError> {
        if let Ok(Imported::Largest(totals)) = self.operand(1) {
            return self.choose(&totals);
        }
        let (x, width) = self.vector(0)?;
        let axis = self.int("axis", 0)?;
        let Some(indices) = self.constant(1)? else { return self.usage("it has no indices", "they must be constant") };
        if !self.is_columns(axis) || tensor::dims(indices)?.len() != 1 {
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

    pub(super) fn slice(&mut self) -> Result<TensorView, ImportError> {
        let (x, width) = self.vector(0)?;
        let in_operands = self.opset >= 10;
        let list = |k: usize, attribute: &str| self.integers(if in_operands { k } else { usize::MAX }, attribute);
        let starts = list(1, "starts")?.unwrap_or_default();
        let ends = list(2, "ends")?.unwrap_or_default();
        let axes = list(3, "axes")?.unwrap_or_else(|| (0..starts.len() as i64).collect());
        let steps = list(4, "steps")?.unwrap_or_else(|| vec![1; starts.len()]);
        let Some(ColumnSlice { start, end, step }) = column_cut(&starts, &ends, &axes, &steps, self.columns_axis()) else {
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

    fn select(&mut self, x: &TensorView, columns: Vec<usize>) -> Result<TensorView, ImportError> {
        let place = self.place();
        let shape = vec![columns.len()];
        self.builder.push(&place, Op::Select(columns), vec![x.index], shape)
    }

    pub(super) fn flatten(&mut self) -> Result<TensorView, ImportError> {
        let x = self.with_batch()?;
        let axis = self.int("axis", 1)?;
        if from_end(axis, x.shape.len() + 1) != Some(1) {
            return self.usage(format!("its axis is {axis}"), "the batch must stay the first dimension (axis 1)");
        }
        let width = x.width();
        Ok(TensorView { shape: vec![width], ..x })
    }

    /// Allowed where the batch stays in front: then the numbers of a row keep their order.
    pub(super) fn reshape(&mut self) -> Result<TensorView, ImportError> {
        let x = self.with_batch()?;
        let target = self.integers(1, "shape")?.unwrap_or_default();
        let fits =
            if self.int("allowzero", 0)? != 0 && target.contains(&0) { None } else { reshaped(&target, &x, self.builder.batch) };
        match fits {
            Some(shape) => Ok(TensorView { shape, ..x }),
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

struct ColumnSlice {
    start: i64,
    end: i64,
    step: i64,
}

/// What a Slice does to the columns. It may name the batch too, as Keras does, if it keeps all rows.
fn column_cut(starts: &[i64], ends: &[i64], axes: &[i64], steps: &[i64], columns: i64) -> Option<ColumnSlice> {
    if [ends.len(), axes.len(), steps.len()] != [starts.len(); 3] {
        return None;
    }
    let mut cut = None;
    for (((&start, &end), axis), &step) in starts.iter().zip(ends).zip(axes).zip(steps) {
        match *axis {
            axis if (axis == columns || axis == -1) && cut.is_none() && step != 0 => cut = Some(ColumnSlice { start, end, step }),
            0 if columns == 1 && start == 0 && end >= i64::from(i32::MAX) && step == 1 => {}
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
fn reshaped(target: &[i64], x: &TensorView, batch: BatchDimension) -> Option<Vec<usize>> {
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
        (b, _) if usize::try_from(b).is_ok_and(|b| batch == BatchDimension::Fixed(b)) => {}
        _ => return None,
    }
    if let Some(k) = open {
        row[k] = x.width() / known;
    }
    let whole = row.iter().try_fold(1usize, |n, &d| n.checked_mul(d))?;
    (whole == x.width() && !row.is_empty()).then_some(row)
}
