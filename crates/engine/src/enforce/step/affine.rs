//! Atoms about outputs enter; leaves an affine map of the input for which all of them hold, as far inside as can be, by a linear program.
//!
//! `y = b + B u`, the features scaled to u in [-1, 1]. An atom `a.y + c.u + d >= 0` holds for every input that meets the conditions
//! `g_p(u) >= 0` iff, for some multipliers `m_p >= 0`, `a.b + d - sum m_p g_p(0) - sum_f |a.B_f + c_f - sum m_p g_pf| >= 0`: linear in
//! (b, B, m) with an unknown for each absolute value.

use deepsade_check::step::{Number, Outputs, Over};
use deepsade_solve::simplex::{Simplex, Status};
use deepsade_spec::{Atom, Rational, Schema};

use super::usual::Usual;

/// The distance from every border that is aimed at, in units of the outputs.
const AIM: f64 = 0.25;
/// What that distance counts beside the distance from the usual outputs.
const WEIGHT: f64 = 100.0;
/// What a slope costs beside the distance from the usual outputs: of two maps that are as good the flatter one.
const FLAT: f64 = 0.01;
/// Ends of slopes and multipliers, in units of the outputs.
const LARGEST: f64 = 1e3;
const PIVOTS: usize = 20_000;
const MOST_UNKNOWNS: usize = 600;

/// An affine map: output, column and weight; one number an output.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Affine {
    /// Weights, none of them zero.
    pub weights: Vec<(usize, usize, f32)>,
    /// Biases.
    pub bias: Vec<f32>,
}

/// A linear form over outputs and scaled columns.
struct Row {
    a: Vec<(usize, f64)>,
    c: Vec<(usize, f64)>,
    d: f64,
}

/// The best map and how far inside it stays; `steep` lets it depend on the input.
pub fn affine(atoms: &[Atom], given: &[Atom], schema: &Schema, usual: &Usual, steep: bool) -> Option<(Affine, f64)> {
    let outputs = usual.at.len();
    let wide = Outputs::Numbers(vec![Number { lo: -1.0, hi: 1.0, grid: None }; outputs]);
    let over = Over::new(schema, Some(&wide));
    let ranges = column_ranges(schema);
    let row = |atom: &Atom| {
        let (mut form, mut constant) = (Vec::new(), atom.linear.constant.clone());
        atom.linear.terms.iter().for_each(|(var, c)| over.add(*var, c, &mut form, &mut constant));
        let mut row = Row { a: Vec::new(), c: Vec::new(), d: float(&constant) };
        for (column, c) in form.iter().filter(|(_, c)| !c.is_zero()) {
            let c = float(c);
            match column.checked_sub(outputs) {
                None => row.a.push((*column, c * usual.scale[*column])),
                Some(x) => {
                    let (mid, radius) = ranges[x];
                    row.d += c * mid;
                    row.c.push((x, c * radius));
                }
            }
            if *column < outputs {
                row.d += c * usual.at[*column];
            }
        }
        row
    };
    let (rows, given): (Vec<Row>, Vec<Row>) = (atoms.iter().map(row).collect(), given.iter().map(row).collect());
    let mut columns: Vec<usize> = rows.iter().chain(&given).flat_map(|r| r.c.iter().map(|(x, _)| *x)).collect();
    columns.sort_unstable();
    columns.dedup();
    solve(&rows, &given, &columns, outputs, steep).map(|(b, slopes, inside)| {
        let mut bias: Vec<f64> = b.iter().zip(&usual.scale).zip(&usual.at).map(|((b, scale), at)| b * scale + at).collect();
        let mut weights = Vec::new();
        for (o, j, slope) in slopes.iter().filter(|(.., slope)| slope.abs() > 1e-9) {
            let (mid, radius) = ranges[columns[*j]];
            if radius > 0.0 {
                let w = slope * usual.scale[*o] / radius;
                weights.push((*o, columns[*j], w as f32));
                bias[*o] -= w * mid;
            }
        }
        (Affine { weights, bias: bias.iter().map(|b| *b as f32 + 0.0).collect() }, inside)
    })
}

type Solved = (Vec<f64>, Vec<(usize, usize, f64)>, f64);

fn solve(rows: &[Row], given: &[Row], columns: &[usize], outputs: usize, steep: bool) -> Option<Solved> {
    let width = columns.len();
    // Each slope is the difference of two unknowns that are not negative, so that its size has a cost.
    let slopes = if steep { 2 * outputs * width } else { 0 };
    let sized = if steep || !given.is_empty() { width } else { 0 };
    // b, how far it is from the usual, slopes, then for each row multipliers and absolute values; last the distance.
    let (far, slope) = (outputs, 2 * outputs);
    let first = |i: usize| 2 * outputs + slopes + i * (given.len() + sized);
    let inside = first(rows.len());
    let count = inside + 1;
    if count > MOST_UNKNOWNS {
        return None;
    }
    let (mut cost, mut lo, mut hi) = (vec![0.0; count], vec![0.0; count], vec![LARGEST; count]);
    lo[..outputs].fill(-LARGEST);
    cost[far..slope].fill(1.0);
    cost[slope..slope + slopes].fill(FLAT);
    (cost[inside], hi[inside]) = (-WEIGHT * outputs as f64, AIM);
    // Sizes may be as large as features are beside outputs.
    for i in 0..rows.len() {
        hi[first(i)..first(i + 1)].fill(1e9);
    }
    let mut program = Simplex::new(cost, lo, hi);
    for j in 0..outputs {
        program.add_row(&[(far + j, 1.0), (j, 1.0)], 0.0);
        program.add_row(&[(far + j, 1.0), (j, -1.0)], 0.0);
    }
    for (i, row) in rows.iter().enumerate() {
        let norm: f64 = row.a.iter().map(|(_, a)| a.abs()).sum();
        let of = |row: &Row, x: usize| row.c.iter().find(|(c, _)| *c == x).map_or(0.0, |(_, c)| *c);
        let mut total = row.a.clone();
        let mut constant = row.d;
        total.push((inside, -norm));
        for (p, g) in given.iter().enumerate() {
            total.push((first(i) + p, -g.d));
        }
        for (k, x) in columns.iter().enumerate() {
            let mut q: Vec<(usize, f64)> = Vec::new();
            if steep {
                let at = |j: usize| slope + 2 * (j * width + k);
                q.extend(row.a.iter().flat_map(|(j, a)| [(at(*j), *a), (at(*j) + 1, -a)]));
            }
            q.extend(given.iter().enumerate().map(|(p, g)| (first(i) + p, -of(g, *x))).filter(|(_, c)| *c != 0.0));
            let c = of(row, *x);
            if sized == 0 {
                constant -= c.abs();
                continue;
            }
            let size = first(i) + given.len() + k;
            total.push((size, -1.0));
            for sign in [1.0, -1.0] {
                let mut bound: Vec<(usize, f64)> = q.iter().map(|(v, c)| (*v, -sign * c)).collect();
                bound.push((size, 1.0));
                program.add_row(&bound, -sign * c);
            }
        }
        program.add_row(&total, constant);
    }
    if program.solve(PIVOTS) != Status::Optimal {
        return None;
    }
    let b = (0..outputs).map(|j| program.value(j)).collect();
    let size = |k: usize| program.value(slope + 2 * k) - program.value(slope + 2 * k + 1);
    let slopes = (0..slopes / 2).map(|k| (k / width.max(1), k % width.max(1), size(k))).collect();
    Some((b, slopes, program.value(inside)))
}

/// Middle and half the width of each column's range.
fn column_ranges(schema: &Schema) -> Vec<(f64, f64)> {
    let range = |f: usize| schema.features[f].domain.range().unwrap_or((0.0, 1.0));
    let half = |(lo, hi): (f32, f32)| (f64::midpoint(lo.into(), hi.into()), (f64::from(hi) - f64::from(lo)) / 2.0);
    schema.columns().iter().map(|column| half(range(column.feature))).collect()
}

fn float(v: &Rational) -> f64 {
    v.to_f64().value()
}
