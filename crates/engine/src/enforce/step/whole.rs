//! Atoms enter, with outputs that must be whole numbers; leaves an affine map of the input for which all of them hold and which gives
//! whole numbers there: constants, or whole weights on columns that are on the output's grid, too.
//!
//! For given weights each atom asks `a.b + r >= 0` of the constants b, r its least value over all inputs: half-spaces, in which the point
//! nearest to the usual outputs is looked for.

use deepsade_check::step::Outputs;
use deepsade_solve::whole::nearest_whole;
use deepsade_spec::{Atom, ColumnKind, Linear, Rational, Region, Schema, Var};

use super::affine::{Affine, affine};
use super::equality::{Which, reduced};
use super::usual::Usual;

/// Distances from every border that are aimed at, one after the other, in units of the outputs.
const INSIDE: [f64; 3] = [0.25, 0.02, 0.0];
/// What counts as beyond a border that must not be touched.
const BEYOND: f64 = 1e-6;
/// Parts that one search may look at.
const MOST_PARTS: usize = 2000;

type Weights = Vec<(usize, usize, f32)>;

/// The map and how far inside it stays.
pub fn whole(atoms: &[Atom], given: &[Atom], schema: &Schema, usual: &Usual, outputs: &Outputs) -> Option<(Affine, f64)> {
    let mut region = Region::whole(schema).ok()?;
    given.iter().for_each(|atom| region.cut(atom));
    let Outputs::Numbers(numbers) = outputs else { return None };
    let whole: Vec<usize> = (0..numbers.len()).filter(|j| numbers[*j].grid.is_some()).collect();
    let tries = weights(atoms, given, schema, usual, outputs, &whole);
    for inside in INSIDE {
        for weights in &tries {
            let spaces =
                atoms.iter().map(|atom| space(atom, weights, inside, schema, &region, usual)).collect::<Option<Vec<_>>>();
            let found = spaces.and_then(|spaces| nearest_whole(&usual.at, &spaces, &whole, MOST_PARTS));
            if let Some(bias) = found {
                return Some((Affine { weights: weights.clone(), bias: bias.iter().map(|b| *b as f32 + 0.0).collect() }, inside));
            }
        }
    }
    None
}

/// Weights that are worth a try: none, those that equalities ask for, and those of a linear program, rounded.
fn weights(atoms: &[Atom], given: &[Atom], schema: &Schema, usual: &Usual, outputs: &Outputs, whole: &[usize]) -> Vec<Weights> {
    let mut tries: Vec<Weights> = vec![Vec::new()];
    let equal = [Which::Last, Which::First].into_iter().filter_map(|which| reduced(atoms, outputs, which));
    tries.extend(equal.map(|reduced| reduced.weights(schema)));
    let columns = schema.columns();
    let grid = |c: usize| match columns[c].kind {
        ColumnKind::Number => schema.features[columns[c].feature].domain.grid(),
        ColumnKind::Level(_) => Some(0),
    };
    // Whether whole multiples of a column are on an output's grid.
    let fits = |o: usize, c: usize| match outputs {
        Outputs::Numbers(numbers) => numbers[o].grid.zip(grid(c)).is_some_and(|(own, k)| k <= own.max(0)),
        Outputs::Labels(_) => false,
    };
    if let Some((map, _)) = affine(atoms, given, schema, usual, true) {
        let rounds: [fn(f32) -> f32; 3] = [f32::round, f32::floor, f32::ceil];
        for round in rounds {
            let rounded = map.weights.iter().map(|(o, c, w)| match whole.contains(o) {
                true if fits(*o, *c) => (*o, *c, round(*w)),
                true => (*o, *c, 0.0),
                false => (*o, *c, *w),
            });
            tries.push(rounded.filter(|(.., w)| *w != 0.0).collect());
        }
    }
    tries.dedup();
    tries
}

/// What an atom asks of the constants: a direction of length 1, and the offset; `None` if it can't be met.
fn space(
    atom: &Atom,
    weights: &Weights,
    inside: f64,
    schema: &Schema,
    region: &Region,
    usual: &Usual,
) -> Option<(Vec<f64>, f64)> {
    let columns = schema.columns();
    let mut a = vec![0.0; usual.at.len()];
    let mut inputs = Linear::constant(atom.linear.constant.clone());
    for (var, c) in &atom.linear.terms {
        let Var::Output(j) = var else {
            inputs.add_scaled(c, &Linear::var(*var));
            continue;
        };
        a[*j] = c.to_f64().value();
        for (_, column, w) in weights.iter().filter(|(o, ..)| o == j) {
            let var = match columns[*column].kind {
                ColumnKind::Number => Var::Feature(columns[*column].feature),
                ColumnKind::Level(level) => Var::Level(columns[*column].feature, level),
            };
            inputs.add_scaled(&(c * Rational::try_from(*w).ok()?), &Linear::var(var));
        }
    }
    let length = a.iter().map(|v| v * v).sum::<f64>().sqrt();
    let margin = inside * a.iter().zip(&usual.scale).map(|(a, s)| a.abs() * s).sum::<f64>();
    let margin = if atom.strict { margin.max(BEYOND) } else { margin };
    let offset = least(&inputs, region) - margin;
    (length > 0.0).then(|| (a.iter().map(|v| v / length).collect(), offset / length))
}

/// The least value of a form of the input on a region.
fn least(linear: &Linear, region: &Region) -> f64 {
    let float = |v: &Rational| v.to_f64().value();
    let features: std::collections::BTreeSet<usize> = linear.terms.keys().filter_map(|v| v.feature()).collect();
    let of = |f: usize| {
        let c = |var: Var| linear.terms.get(&var).map_or(0.0, float);
        match (region.range(f), region.levels(f)) {
            (_, Some(levels)) => {
                let allowed = (0..levels.len()).filter(|l| levels[*l]);
                allowed.map(|l| c(Var::Level(f, l))).fold(f64::INFINITY, f64::min)
            }
            (Some((lo, hi)), _) => (c(Var::Feature(f)) * lo).min(c(Var::Feature(f)) * hi),
            (None, None) => 0.0,
        }
    };
    float(&linear.constant) + features.into_iter().map(of).sum::<f64>()
}
