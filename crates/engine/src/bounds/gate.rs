//! `y = r x` with a gate r: only after the last dense layer, where bounds end.
//!
//! For fixed x a rule is linear in r, so a cell looks at both ends of r's range with x in its whole box (`guard::cell`). So there
//! is no interval and no line to give here: everything before the gate has been bounded without it.

pub(super) fn interval() {}

pub(super) fn back(coefficients: &mut Vec<f64>) {
    coefficients.clear();
}

pub(super) fn along() {}
