//! A region enters; the box of the input leaves, and the categories whose columns are no box.

use deepsade_spec::{OneHot, Region, Schema};

use super::{Boxed, Origin};

/// A value with the columns of some categories at zero, and for each of these the columns of the allowed levels (`None` for a
/// level without a column).
#[derive(Debug, Clone)]
pub(super) struct Masked {
    pub(super) value: Boxed,
    pub(super) groups: Vec<Vec<Option<usize>>>,
}

pub(super) fn interval(x: &mut Boxed, schema: &Schema, region: &Region) {
    for (c, column) in schema.columns().iter().enumerate() {
        let (lo, hi) = region.column_range(column.feature, column.kind).unwrap_or((0.0, 1.0));
        x.m[c] = f64::midpoint(lo, hi) as f32;
        // Wide enough to reach both ends from the rounded middle.
        let radius = (hi - f64::from(x.m[c])).max(f64::from(x.m[c]) - lo);
        x.r[c] = (radius as f32).next_up() * f32::from(radius > 0.0);
    }
}

/// The categories of the input: the columns of the allowed levels of each.
pub(super) fn groups(schema: &Schema, region: &Region) -> Vec<Vec<Option<usize>>> {
    let origins: Vec<Option<Origin>> =
        (0..schema.columns().len()).map(|column| Some(Origin { column, scale: 1.0, shift: 0.0 })).collect();
    (0..schema.features.len()).filter_map(|f| group(f, &origins, schema, region)).map(|(_, group)| group).collect()
}

/// Leaves out the categories of a value of which more than one column is open; one open column alone is a box.
pub(super) fn mask(value: &Boxed, origins: &[Option<Origin>], schema: &Schema, region: &Region) -> Option<Masked> {
    let mut masked = Masked { value: value.clone(), groups: Vec::new() };
    for (places, group) in (0..schema.features.len()).filter_map(|f| group(f, origins, schema, region)) {
        if group.iter().flatten().count() < 2 {
            continue;
        }
        for at in places {
            (masked.value.m[at], masked.value.r[at]) = (0.0, 0.0);
        }
        masked.groups.push(group);
    }
    (!masked.groups.is_empty()).then_some(masked)
}

/// The columns of category f in a value, and those of its allowed levels, if the value holds all of it.
fn group(f: usize, origins: &[Option<Origin>], schema: &Schema, region: &Region) -> Option<(Vec<usize>, Vec<Option<usize>>)> {
    let allowed = region.levels(f)?;
    let map = schema.column_map();
    let held =
        |column: usize| origins.iter().position(|o| o.is_some_and(|o| o.column == column && o.scale == 1.0 && o.shift == 0.0));
    let place = |l: usize| map.level(f, l).map(held);
    let places: Vec<Option<Option<usize>>> = (0..allowed.len()).map(place).collect();
    // A level has no column only if the first is dropped; any other absence means this value is not the whole group.
    let dropped = schema.one_hot == OneHot::DropFirst;
    let some = places.iter().flatten().flatten().next().is_some();
    let whole = some && places.iter().enumerate().all(|(l, p)| matches!(p, Some(Some(_))) || (p.is_none() && dropped && l == 0));
    let open = || places.iter().zip(allowed).filter(|(_, a)| **a).map(|(p, _)| p.flatten()).collect();
    whole.then(|| (places.iter().flatten().flatten().copied().collect(), open()))
}
