//! Atoms about outputs enter; leaves an affine map of the input for which all of them hold, as far inside as can be, by a linear program.
//!
//! `y = b + B u`, the features scaled to u in [-1, 1]. An atom `a.y + c.u + d >= 0` holds for every input that meets the conditions
//! `g_p(u) >= 0` iff, for some multipliers `m_p >= 0`, `a.b + d - sum m_p g_p(0) - sum_f |a.B_f + c_f - sum m_p g_pf| >= 0`: linear in
//! (b, B, m) with an unknown for each absolute value. An output on a grid reads columns on grids only, and its weights and its bias, in steps
//! that lead from grid to grid, are whole numbers: unknowns that are branched on.

use deepsade_check::step::{Number, Outputs, Over};
use deepsade_solve::simplex::Simplex;
use deepsade_solve::whole::solve_whole;
use deepsade_spec::{Atom, ColumnKind, Rational, Schema, nearest_multiple};

use super::MOST_STEPS;
use super::usual::Usual;

/// The distance from every border that is aimed at, in units of the outputs.
pub const AIM: f64 = 0.25;
/// What that distance counts beside the distance from the usual outputs.
const WEIGHT: f64 = 100.0;
/// The distance from one border that is aimed at where another one must be touched, and what it counts.
const OWN: f64 = 0.02;
const OWN_WEIGHT: f64 = 10.0;
/// The least distance from a border that must not be touched.
const BEYOND: f64 = 4e-6;
/// What a slope costs beside the distance from the usual outputs: of two maps that are as good the flatter one.
const FLAT: f64 = 0.01;
/// Ends of slopes and multipliers, in units of the outputs.
const LARGEST: f64 = 1e3;
/// What a program in floats leaves of 0, in units of the outputs.
const NOISE: f64 = 1e-9;
const PIVOTS: usize = 20_000;
const MOST_PARTS: usize = 300;
const MOST_UNKNOWNS: usize = 800;

/// An affine map: output, column and weight; one number an output.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Affine {
    /// Weights, none of them zero.
    pub weights: Vec<(usize, usize, f32)>,
    /// Biases.
    pub bias: Vec<f32>,
}

/// A map, and how far inside it stays, in units of the outputs.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The map.
    pub map: Affine,
    /// The least distance from a border.
    pub inside: f64,
}

/// What is asked of a map.
#[derive(Debug, Clone, Copy)]
pub struct Query<'a> {
    /// What must hold.
    pub atoms: &'a [Atom],
    /// For the inputs where these do.
    pub given: &'a [Atom],
    /// The inputs.
    pub schema: &'a Schema,
    /// Where outputs usually are.
    pub usual: &'a Usual,
    /// Outputs that are multiples of 2^-k.
    pub grids: &'a [Option<i32>],
    /// Whether the map may depend on the input.
    pub steep: bool,
}

/// A linear form over outputs and scaled columns.
struct AtomRow {
    a: Vec<(usize, f64)>,
    c: Vec<(usize, f64)>,
    d: f64,
    strict: bool,
}

impl Query<'_> {
    /// What a bias, or the weight of a column, must be a multiple of for an output of multiples of 2^-k; `None` for a column that may be
    /// any number.
    fn step(&self, k: i32, column: Option<usize>) -> Option<f64> {
        let Some(column) = column else { return Some(2f64.powi(-k)) };
        let column = &self.schema.columns()[column];
        let grid = match column.kind {
            ColumnKind::Number => self.schema.features[column.feature].domain.grid()?,
            ColumnKind::Level(_) => 0,
        };
        Some(2f64.powi(grid.max(0) - k))
    }

    /// The best map.
    pub fn solve(&self) -> Option<Found> {
        let Self { schema, usual, .. } = self;
        let outputs = usual.at.len();
        let wide = Outputs::Numbers(vec![Number { lo: -1.0, hi: 1.0, grid: None }; outputs]);
        let over = Over::new(schema, Some(&wide));
        let ranges = halves(schema);
        let row = |atom: &Atom| {
            let (mut form, mut constant) = (Vec::new(), atom.linear.constant.clone());
            atom.linear.terms.iter().for_each(|(var, c)| over.add(*var, c, &mut form, &mut constant));
            let mut row = AtomRow { a: Vec::new(), c: Vec::new(), d: float(&constant), strict: atom.strict };
            for (column, c) in form.iter().filter(|(_, c)| !c.is_zero()) {
                let c = float(c);
                match column.checked_sub(outputs) {
                    None => {
                        row.a.push((*column, c * usual.scale[*column]));
                        row.d += c * usual.at[*column];
                    }
                    Some(x) => {
                        let (mid, radius) = ranges[x];
                        row.d += c * mid;
                        row.c.push((x, c * radius));
                    }
                }
            }
            row
        };
        let (rows, given): (Vec<AtomRow>, Vec<AtomRow>) =
            (self.atoms.iter().map(row).collect(), self.given.iter().map(row).collect());
        let mut columns: Vec<usize> = rows.iter().chain(&given).flat_map(|r| r.c.iter().map(|(x, _)| *x)).collect();
        columns.sort_unstable();
        columns.dedup();
        columns.retain(|x| ranges[*x].1 > 0.0);
        let layout = ProgramLayout::new(self, &rows, &given, columns);
        let mut program = layout.program(&rows, &given)?;
        let (grid, whole) = layout.grids(self, &ranges, &mut program);
        solve_whole(&mut program, &whole, PIVOTS, MOST_PARTS).then(|| layout.map(self, &ranges, &program, &grid))
    }
}

/// Where the unknowns of a program stand: b, how far it is from the usual, slopes, then for each row its own distance, multipliers and
/// absolute values; the distance of all; last those that are whole numbers.
struct ProgramLayout {
    outputs: usize,
    columns: Vec<usize>,
    /// Each slope is the difference of two unknowns that are not negative, so that its size has a cost.
    slopes: usize,
    each: usize,
    given: usize,
    inside: usize,
    count: usize,
}

/// An output's bias, or its weight on a column, as a whole number of steps: output, column, unknown.
type Gridded = (usize, Option<usize>, usize);

impl ProgramLayout {
    fn new(query: &Query, rows: &[AtomRow], given: &[AtomRow], columns: Vec<usize>) -> Self {
        let (outputs, width) = (query.usual.at.len(), columns.len());
        let slopes = if query.steep { 2 * outputs * width } else { 0 };
        let sized = if query.steep || !given.is_empty() { width } else { 0 };
        let each = 1 + given.len() + sized;
        let inside = 2 * outputs + slopes + rows.len() * each;
        let gridded = query.grids.iter().flatten().count();
        let whole = gridded * if query.steep { 1 + width } else { 1 };
        Self { outputs, columns, slopes, each, given: given.len(), inside, count: inside + 1 + whole }
    }

    /// The two unknowns of an output's slope in column `columns[k]` begin here.
    fn slope(&self, output: usize, k: usize) -> usize {
        2 * self.outputs + 2 * (output * self.columns.len() + k)
    }

    fn own(&self, row: usize) -> usize {
        2 * self.outputs + self.slopes + row * self.each
    }

    fn program(&self, rows: &[AtomRow], given: &[AtomRow]) -> Option<Simplex> {
        if self.count > MOST_UNKNOWNS {
            return None;
        }
        let (outputs, inside, sized) = (self.outputs, self.inside, self.each > 1 + self.given);
        let (far, slope) = (outputs, 2 * outputs);
        let (mut cost, mut lo, mut hi) = (vec![0.0; self.count], vec![0.0; self.count], vec![LARGEST; self.count]);
        lo[..outputs].fill(-LARGEST);
        cost[far..slope].fill(1.0);
        cost[slope..slope + self.slopes].fill(FLAT);
        (cost[inside], hi[inside]) = (-WEIGHT * outputs as f64, AIM);
        for (i, row) in rows.iter().enumerate() {
            let own = self.own(i);
            // Sizes may be as large as features are beside outputs.
            hi[own..own + self.each].fill(1e9);
            (cost[own], lo[own], hi[own]) = (-OWN_WEIGHT, if row.strict { BEYOND } else { 0.0 }, OWN);
        }
        let mut program = Simplex::new(cost, lo, hi);
        for j in 0..outputs {
            program.add_row(&[(far + j, 1.0), (j, 1.0)], 0.0);
            program.add_row(&[(far + j, 1.0), (j, -1.0)], 0.0);
        }
        for (i, row) in rows.iter().enumerate() {
            let norm: f64 = row.a.iter().map(|(_, a)| a.abs()).sum();
            let of = |row: &AtomRow, x: usize| row.c.iter().find(|(c, _)| *c == x).map_or(0.0, |(_, c)| *c);
            let mut total = row.a.clone();
            let mut constant = row.d;
            total.extend([(inside, -norm), (self.own(i), -norm)]);
            let multiplier = |p: usize| self.own(i) + 1 + p;
            total.extend(given.iter().enumerate().map(|(p, g)| (multiplier(p), -g.d)));
            for (k, x) in self.columns.iter().enumerate() {
                let mut q: Vec<(usize, f64)> = Vec::new();
                if self.slopes > 0 {
                    q.extend(row.a.iter().flat_map(|(j, a)| [(self.slope(*j, k), *a), (self.slope(*j, k) + 1, -a)]));
                }
                q.extend(given.iter().enumerate().map(|(p, g)| (multiplier(p), -of(g, *x))).filter(|(_, c)| *c != 0.0));
                let c = of(row, *x);
                if !sized {
                    constant -= c.abs();
                    continue;
                }
                let size = multiplier(self.given + k);
                total.push((size, -1.0));
                for sign in [1.0, -1.0] {
                    let mut bound: Vec<(usize, f64)> = q.iter().map(|(v, c)| (*v, -sign * c)).collect();
                    bound.push((size, 1.0));
                    program.add_row(&bound, -sign * c);
                }
            }
            program.add_row(&total, constant);
        }
        Some(program)
    }

    /// Adds what is whole: `steps * step` is the bias, or the weight, in the units of the rules.
    fn grids(&self, query: &Query, ranges: &[(f64, f64)], program: &mut Simplex) -> (Vec<Gridded>, Vec<usize>) {
        let (mut grids, mut next) = (Vec::new(), self.inside + 1);
        for (o, k) in query.grids.iter().enumerate().filter_map(|(o, grid)| grid.map(|k| (o, k))) {
            let (scale, at) = (query.usual.scale[o], query.usual.at[o]);
            let mut equal = |steps: f64, mut form: Vec<(usize, f64)>, constant: f64, column: Option<usize>, next: &mut usize| {
                form.push((*next, -query.step(k, column).unwrap_or(1.0)));
                program.set_bounds(*next, -steps, steps);
                program.add_row(&form, constant);
                program.add_row(&form.iter().map(|(v, c)| (*v, -c)).collect::<Vec<_>>(), -constant);
                grids.push((o, column, *next));
                *next += 1;
            };
            let mut bias = vec![(o, scale)];
            let slopes = if self.slopes > 0 { &self.columns[..] } else { &[] };
            for (j, x) in slopes.iter().enumerate() {
                let (at, (mid, radius)) = (self.slope(o, j), ranges[*x]);
                let by = scale / radius;
                let steps = query.step(k, Some(*x)).map_or(0.0, |step| (LARGEST * by / step).ceil());
                equal(steps, vec![(at, by), (at + 1, -by)], 0.0, Some(*x), &mut next);
                bias.extend([(at, -by * mid), (at + 1, by * mid)]);
            }
            equal(MOST_STEPS, bias, at, None, &mut next);
        }
        let whole = grids.iter().map(|(.., v)| *v).collect();
        (grids, whole)
    }

    /// The map that a solved program stands for. Where there is room, numbers have few digits: sums of whole features are exact then.
    fn map(&self, query: &Query, ranges: &[(f64, f64)], program: &Simplex, grids: &[Gridded]) -> Found {
        let inside = program.value(self.inside);
        let mut map = Affine { weights: Vec::new(), bias: vec![0.0; self.outputs] };
        for o in 0..self.outputs {
            if let Some(k) = query.grids[o] {
                for (_, column, v) in grids.iter().filter(|(output, ..)| *output == o) {
                    let v = (program.value(*v).round() * query.step(k, *column).unwrap_or_default()) as f32;
                    match column {
                        None => map.bias[o] = v + 0.0,
                        Some(x) if v != 0.0 => map.weights.push((o, *x, v)),
                        Some(_) => {}
                    }
                }
                continue;
            }
            let (scale, mut bias) = (query.usual.scale[o], query.usual.at[o] + program.value(o) * query.usual.scale[o]);
            let by = (inside / 4.0).max(NOISE) * scale / (1 + self.columns.len()) as f64;
            for k in (0..self.columns.len()).filter(|_| self.slopes > 0) {
                let (x, (mid, radius)) = (self.columns[k], ranges[self.columns[k]]);
                let slope = program.value(self.slope(o, k)) - program.value(self.slope(o, k) + 1);
                let w = slope * scale / radius;
                bias -= w * mid;
                let w = short(w, by / (mid.abs() + radius));
                if w != 0.0 {
                    map.weights.push((o, x, w));
                }
            }
            map.bias[o] = short(bias, by);
        }
        Found { map, inside }
    }
}

/// A number near v, by no more than half of `by`, with few digits.
fn short(v: f64, by: f64) -> f32 {
    nearest_multiple(v, Some(by.log2().floor().exp2())) as f32 + 0.0
}

/// Middle and half the width of each column's range.
fn halves(schema: &Schema) -> Vec<(f64, f64)> {
    let half = |(lo, hi): (f32, f32)| (f64::midpoint(lo.into(), hi.into()), (f64::from(hi) - f64::from(lo)) / 2.0);
    schema.column_ranges().into_iter().map(half).collect()
}

fn float(v: &Rational) -> f64 {
    v.to_f64().value()
}
