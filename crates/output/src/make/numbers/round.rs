//! Outputs enter; calls leave that put them on their grids, within their bounds, and meet equalities exactly.
//!
//! On a grid of multiples of 2^-k whose sums stay below 2^(24-k) every sum is exact in float32, in any order: what is missing of an
//! equality is computed without error, and is a few steps of the grid.

use super::equality::Equality;
use super::exactly::Computed;
use super::plan::NearestPlan;
use super::search::search;
use super::writer::{FAR, PerLine, Writer};

/// What becomes of outputs on their grids, in numbers of steps, and the other way round; times a sign.
fn steps(w: &Writer, sign: f32) -> (Vec<f32>, Vec<f32>) {
    let step = |k: &dyn Fn(i32) -> i32| w.ground.ranges.iter().map(|n| sign * n.grid.map_or(1.0, |g| 2f32.powi(k(g)))).collect();
    (step(&|g| g), step(&|g| -g))
}

/// Bounds of single outputs, moved inwards to their grids.
pub(super) fn ends_on_grid(w: &mut Writer, lower: &PerLine, upper: &PerLine) -> (PerLine, PerLine) {
    let ((up, down), (against_up, against_down)) = (steps(w, 1.0), steps(w, -1.0));
    (to_grid(w, lower, &against_up, &against_down), to_grid(w, upper, &up, &down))
}

/// `lower` and `upper` are on the grids.
pub(super) fn round(w: &mut Writer, y: &str, plan: &NearestPlan, lower: &PerLine, upper: &PerLine) -> String {
    let (ranges, exactly) = (w.ground.ranges, &plan.exactly);
    let (up, down) = steps(w, 1.0);
    let (up, down, half) = (w.name(&PerLine::Constant(up)), w.name(&PerLine::Constant(down)), w.draft.number(0.5));
    let scaled = w.draft.call("Mul", &[y, &up]);
    let scaled = w.draft.call("Add", &[&scaled, &half]);
    let floor = w.draft.call("Floor", &[&scaled]);
    let mut found = w.draft.call("Mul", &[&floor, &down]);
    if ranges.iter().any(|n| n.grid.is_none()) {
        let free = ranges.iter().map(|n| f32::from(u8::from(n.grid.is_none()))).collect();
        let free = w.draft.each(free);
        let free = w.draft.call("Greater", &[&free, &half]);
        found = w.draft.call("Where", &[&free, y, &found]);
    }
    let mut found = w.clip(&found, lower, upper);
    if !plan.sums.is_empty() {
        let computed = plan.whole_computed(w.ground);
        if !computed.is_empty() {
            found = compute(w, &found, &computed);
        }
        // What is computed goes where the others go: its bounds are faces.
        let bounds = computed.iter().flat_map(|one| plan.bounds(one.output, w.ground));
        let faces: Vec<_> = plan.sums.iter().cloned().chain(bounds).collect();
        found = search(w, &found, &faces, &computed, lower, upper);
    }
    if !exactly.computed.is_empty() {
        found = compute(w, &found, &exactly.computed);
    }
    for equality in &exactly.remainders {
        found = remainder(w, &found, equality, lower, upper);
    }
    found
}

/// Bounds moved to the grid: down with positive steps, up with negative ones. Those of outputs without a grid stay, up to the sign.
fn to_grid(w: &mut Writer, bound: &PerLine, up: &[f32], down: &[f32]) -> PerLine {
    let open: Vec<bool> = w.ground.ranges.iter().map(|n| n.grid.is_none()).collect();
    match bound {
        PerLine::Constant(data) => {
            let to = |j: usize| if open[j] { data[j] } else { (data[j] * up[j]).floor() * down[j] };
            PerLine::Constant((0..data.len()).map(to).collect())
        }
        PerLine::Tensor(name) => {
            let (up, down) = (w.name(&PerLine::Constant(up.to_vec())), w.name(&PerLine::Constant(down.to_vec())));
            let scaled = w.draft.call("Mul", &[name, &up]);
            let floor = w.draft.call("Floor", &[&scaled]);
            let moved = w.draft.call("Mul", &[&floor, &down]);
            if !open.contains(&true) {
                return PerLine::Tensor(moved);
            }
            let (half, free) = (w.draft.number(0.5), open.iter().map(|o| f32::from(u8::from(*o))).collect());
            let free = w.draft.each(free);
            let free = w.draft.call("Greater", &[&free, &half]);
            PerLine::Tensor(w.draft.call("Where", &[&free, name, &moved]))
        }
    }
}

/// Some outputs from the others.
fn compute(w: &mut Writer, y: &str, computed: &[Computed]) -> String {
    let (outputs, columns) = (w.ground.outputs(), w.ground.columns().len());
    let mut rows: Vec<Vec<f64>> = (0..outputs).map(|j| (0..outputs).map(|i| f64::from(u8::from(i == j))).collect()).collect();
    let (mut x, mut constants) = (vec![vec![0.0; columns]; outputs], vec![0.0f32; outputs]);
    for one in computed {
        rows[one.output].clone_from(&one.from);
        x[one.output].clone_from(&one.x);
        constants[one.output] = one.constant as f32;
    }
    let rest = w.of_input(&x, constants);
    w.product(y, &rows, Some(&rest))
}

/// What is missing of an equality goes to the output that is farthest from its bounds.
fn remainder(w: &mut Writer, y: &str, equality: &Equality, lower: &PerLine, upper: &PerLine) -> String {
    let outputs = w.ground.outputs();
    let finest = equality.members().filter_map(|j| w.ground.ranges[j].grid).max().unwrap_or(0);
    let takes = |j: usize, w: &Writer| equality.dependent(j, finest, w.ground);
    let value = w.of_input(std::slice::from_ref(&equality.x), vec![equality.constant as f32]);
    let against: Vec<f64> = equality.a.iter().map(|a| 0.0 - a).collect();
    let mut missing = w.product(y, &[against], Some(&value));
    if !equality.always() {
        let failed = w.failed(&[&equality.unless]);
        missing = w.draft.call("Mul", &[&missing, &failed]);
    }
    let (lower, upper) = (w.name(lower), w.name(upper));
    let (below, above) = (w.draft.call("Sub", &[y, &lower]), w.draft.call("Sub", &[&upper, y]));
    let mut room = w.draft.call("Min", &[&below, &above]);
    if (0..outputs).any(|j| !takes(j, w)) {
        let barred = (0..outputs).map(|j| if takes(j, w) { 0.0 } else { -FAR }).collect();
        let barred = w.draft.each(barred);
        room = w.draft.call("Add", &[&room, &barred]);
    }
    let most = w.draft.call_with("ArgMax", &[&room], &[("axis", 0), ("keepdims", 0)]);
    let mut shares = vec![0.0; outputs * outputs];
    (0..outputs).for_each(|j| shares[j * outputs + j] = equality.a[j] as f32);
    let shares = w.draft.floats(&[outputs, outputs], shares);
    let share = w.draft.call_with("Gather", &[&shares, &most], &[("axis", 1)]);
    let moved = w.draft.call("Mul", &[&share, &missing]);
    w.draft.call("Add", &[y, &moved])
}
