//! The outputs of a regression enter, for a row as its file writes it; numbers leave that obey as they are printed.
//!
//! A model reads inputs rounded to float32, and its outputs obey for those. Who reads both files in float64 compares with other inputs, and
//! rounds sums of his own. So what holds for the model is made to hold for him as well: outputs move by about one part in ten million.

use deepsade_spec::{Atom, Linear, NormalSpec, Rational, Var};

use super::judge::Judge;

/// Sums are kept so far from their borders, as a share of the size of what is added up.
const CLEAR: f64 = 64.0 * f64::EPSILON;
/// What moves one output may undo what moved another.
const ROUNDS: usize = 12;

/// Prepared rules.
#[derive(Debug)]
pub struct Printed<'a> {
    judge: Judge<'a>,
    bounds: Vec<PrintedBound>,
}

/// What a rule says about outputs: a sum that is at least 0.
#[derive(Debug)]
struct PrintedBound {
    atom: Atom,
    terms: Vec<(Var, f64)>,
    constant: f64,
    /// Computed without an error whatever the values are: one number against another.
    is_comparison: bool,
    /// Outputs that may be moved, with what stands before them: whole numbers stay as they are.
    moved: Vec<(usize, f64)>,
    /// Where the opposite bound stands, if there is one: both hold where two sides are equal.
    opposite: Option<usize>,
}

impl<'a> Printed<'a> {
    /// Prepares the rules of `spec`.
    pub fn new(spec: &'a NormalSpec) -> Self {
        let mut atoms: Vec<Atom> = Vec::new();
        for rule in &spec.rules {
            rule.claim.atoms(&mut |atom| {
                if !atom.is_condition() && !atoms.contains(atom) {
                    atoms.push(atom.clone());
                }
            });
        }
        let turned: Vec<Linear> = atoms.iter().map(|atom| atom.linear.scaled(&-Rational::ONE)).collect();
        let opposite = |atom: &Atom| turned.iter().position(|other| *other == atom.linear);
        let whole = spec.schema.task.whole_outputs();
        let bounds = atoms
            .iter()
            .map(|atom| PrintedBound { opposite: opposite(atom), ..PrintedBound::new(atom.clone(), &whole) })
            .collect();
        Self { judge: Judge::new(spec), bounds }
    }

    /// Numbers to print for the outputs `y` of the encoded inputs `x`; `written` gives a feature as its file states it.
    pub fn numbers(&self, x: &[f32], y: &[f32], written: &impl Fn(usize) -> f64) -> PrintedRow {
        let own: Vec<f64> = y.iter().map(|v| f64::from(*v)).collect();
        if own.iter().any(|v| !v.is_finite()) {
            return PrintedRow { numbers: own, obeys: true };
        }
        let holds: Vec<bool> = self.bounds.iter().map(|bound| self.judge.holds(&bound.atom, x, y)).collect();
        let input = |var: Var| if let Var::Feature(f) = var { written(f) } else { self.judge.input(x, var) };
        let sides = |bound: &PrintedBound| bound.opposite.is_some_and(|other| holds[other]);
        // With room for sums in any order, without, and of comparisons alone: no rounding makes those contradict each other.
        for (room, comparisons) in [(CLEAR, false), (0.0, false), (0.0, true)] {
            let kept = || {
                let held = self.bounds.iter().zip(&holds).filter(|(_, holds)| **holds).map(|(bound, _)| bound);
                held.filter(|bound| bound.is_comparison || !comparisons)
            };
            let mut numbers = own.clone();
            for _ in 0..ROUNDS {
                if !kept().fold(false, |moved, bound| moved | bound.meet(&mut numbers, &input, sides(bound), room)) {
                    break;
                }
            }
            if kept().all(|bound| bound.is_met(&numbers, &input, sides(bound))) {
                return PrintedRow { numbers, obeys: !comparisons };
            }
        }
        PrintedRow { numbers: own, obeys: false }
    }
}

/// The outputs of a row, as they are printed.
#[derive(Debug, Clone, PartialEq)]
pub struct PrintedRow {
    /// The numbers.
    pub numbers: Vec<f64>,
    /// Whether they obey in float64 what the model's own obey in float32; else they are the model's own, or near them and obey
    /// all comparisons of two values.
    pub obeys: bool,
}

impl PrintedBound {
    fn new(atom: Atom, whole: &[usize]) -> Self {
        let terms: Vec<(Var, f64)> = atom.linear.terms.iter().map(|(var, c)| (*var, c.to_f64().value())).collect();
        let constant = atom.linear.constant.to_f64().value();
        let sides = terms.len() + usize::from(constant != 0.0);
        let is_comparison = sides <= 2 && terms.iter().all(|(_, c)| c.abs() == 1.0);
        let movable = |(var, c): &(Var, f64)| match var {
            Var::Output(j) if !whole.contains(j) => Some((*j, *c)),
            _ => None,
        };
        let moved = terms.iter().filter_map(movable).collect();
        Self { atom, terms, constant, is_comparison, moved, opposite: None }
    }

    /// The bound's value for a reader in float64, the size of what he adds up, and whether he does so without an error.
    fn read(&self, numbers: &[f64], input: &impl Fn(Var) -> f64) -> (f64, f64, bool) {
        let (mut sum, mut size, mut is_exact) = (self.constant, self.constant.abs(), on_grid(self.constant));
        for (var, c) in &self.terms {
            let part = c * if let Var::Output(j) = var { numbers[*j] } else { input(*var) };
            (sum, size, is_exact) = (sum + part, size + part.abs(), is_exact && on_grid(part));
        }
        (sum, size, self.is_comparison || is_exact && size < GRID)
    }

    /// Whether it holds as it is read; of an equality, but for what rounding leaves: of two values nothing.
    fn is_met(&self, numbers: &[f64], input: &impl Fn(Var) -> f64, is_equal: bool) -> bool {
        let (sum, size, _) = self.read(numbers, input);
        sum > 0.0 || sum == 0.0 && !self.atom.strict || self.rounds(is_equal) && -sum <= CLEAR * size
    }

    /// Whether both sides are a sum's, and what its rounding leaves can't be taken away.
    fn rounds(&self, is_equal: bool) -> bool {
        is_equal && !self.is_comparison
    }

    /// Moves the numbers to where the bound holds with this room, if it does not; whether it did.
    fn meet(&self, numbers: &mut [f64], input: &impl Fn(Var) -> f64, is_equal: bool, room: f64) -> bool {
        let (sum, size, is_exact) = self.read(numbers, input);
        let clear = if is_exact || is_equal { 0.0 } else { room * size };
        if sum > clear || sum == clear && !(self.atom.strict && clear == 0.0) {
            return false;
        }
        if self.rounds(is_equal) && -sum <= CLEAR * size || self.moved.is_empty() || !sum.is_finite() {
            return false;
        }
        // Two equal values are made so; else by what float64 tells apart.
        let least = if is_equal && self.is_comparison { 0.0 } else { f64::EPSILON * size };
        let by = (clear - sum).max(least) * if self.is_comparison { 1.0 } else { 1.0 + CLEAR };
        let square: f64 = self.moved.iter().map(|(_, c)| c * c).sum();
        self.moved.iter().for_each(|(j, c)| numbers[*j] += by * c / square);
        true
    }
}

/// Multiples of 1 / GRID below GRID are added up in float64 without an error.
const GRID: f64 = (1u64 << 26) as f64;

fn on_grid(v: f64) -> bool {
    (v * GRID).fract() == 0.0
}

#[cfg(test)]
mod tests {
    use deepsade_spec::{Domain, Feature, OneHot, RuleText, Schema, Task, compile};
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    fn spec(targets: &[&str], rules: &[&str]) -> NormalSpec {
        let feature = |name: &str, domain| Feature { name: name.into(), domain };
        let features = vec![
            feature("income", Domain::Real { lo: 0.0, hi: 1000.0 }),
            feature("all", Domain::Integer { lo: 0, hi: 500 }),
            feature("area", Domain::Category { levels: vec!["town".into(), "land".into()] }),
        ];
        let task = Task::regression(targets.iter().map(|t| (*t).into()).collect());
        let texts: Vec<RuleText> = rules.iter().map(|t| RuleText { name: (*t).into(), text: (*t).into() }).collect();
        compile(&texts, &Schema { features, task, one_hot: OneHot::Full, filled: vec![] }).unwrap()
    }

    /// Outputs on the very border of what the model sees, from inputs that are no float32 numbers; a reader computes in float64.
    #[test]
    fn what_obeys_in_the_model_obeys_as_printed() {
        let rules = [
            "a <= income",
            "a + b + c <= income",
            "b <= 0.05 * income",
            "a >= 0 and c >= 0",
            "area == 'land' => c <= 0.3 * a + 1",
        ];
        let spec = spec(&["a", "b", "c"], &rules);
        let (printed, judge) = (Printed::new(&spec), Judge::new(&spec));
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let (mut as_they_are, mut judged) = (0, 0);
        for _ in 0..20_000 {
            let income = (rng.random::<f64>() * 1e5).round() / 1e3;
            let land = rng.random::<bool>();
            let x = [income as f32, 7.0, f32::from(u8::from(!land)), f32::from(u8::from(land))];
            let (b, c) = (0.05 * x[0], rng.random::<f32>() * x[0] * 0.2);
            let y = if rng.random::<bool>() { [x[0], 0.0, 0.0] } else { [x[0] - b - c, b, c] };
            if (0..rules.len()).any(|rule| judge.breaks(rule, &x, &y)) {
                continue;
            }
            judged += 1;
            let obeys = |y: &[f64]| {
                let within = y[0] <= income && y[0] + y[1] + y[2] <= income && y[2] + y[1] + y[0] <= income;
                within && y[1] <= 0.05 * income && y[0] >= 0.0 && y[2] >= 0.0 && (!land || y[2] <= 0.3 * y[0] + 1.0)
            };
            as_they_are += usize::from(obeys(&y.map(f64::from)));
            let PrintedRow { numbers, obeys: says } = printed.numbers(&x, &y, &|f| [income, 7.0, 0.0][f]);
            let read: Vec<f64> = numbers.iter().map(|v| v.to_string().parse().unwrap()).collect();
            assert!(says && obeys(&read), "{income} {y:?} {read:?}");
            let moved = |(v, y): (&f64, &f32)| (v - f64::from(*y)).abs() <= 1e-6 * income;
            assert!(read.iter().zip(&y).all(moved), "{y:?} {read:?}");
        }
        assert!(judged > 5000 && as_they_are < judged * 9 / 10, "{as_they_are} of {judged} needed nothing");
    }

    #[test]
    fn what_is_exact_stays_as_it_is() {
        let spec = spec(&["a", "b"], &["a + b == all", "a >= 0", "b <= 300", "a <= 2 * all"]);
        let printed = Printed::new(&spec);
        for y in [[100.25, 199.75], [0.0, 300.0]] {
            assert_eq!(printed.numbers(&[12.5, 300.0, 1.0, 0.0], &y, &|f| [12.5, 300.0, 0.0][f]).numbers, y.map(f64::from));
        }
        assert!(printed.numbers(&[1.0, 3.0, 1.0, 0.0], &[f32::NAN, 1.0], &|_| 0.0).numbers[0].is_nan());
    }

    /// The income that the file writes is just below 2, the one that the model saw is 2: a gives way, which may be any number.
    #[test]
    fn whole_numbers_stay_whole() {
        let mut spec = spec(&["a", "b"], &["a + b <= income", "b <= income"]);
        spec.schema.task = Task::Regression { targets: vec!["a".into(), "b".into()], whole: vec!["b".into()] };
        let income = 1.999_999_99;
        let numbers = Printed::new(&spec).numbers(&[2.0, 0.0, 1.0, 0.0], &[1.0, 1.0], &|f| [income, 0.0, 0.0][f]).numbers;
        assert!(numbers[1] == 1.0 && numbers[0] < 1.0 && numbers[0] + numbers[1] <= income, "{numbers:?}");
        let numbers = Printed::new(&spec).numbers(&[2.0, 0.0, 1.0, 0.0], &[0.0, 2.0], &|f| [income, 0.0, 0.0][f]).numbers;
        assert_eq!(numbers[1], 2.0);
    }

    /// `1.2 - 0.4 * 3` is below 0 in float64: no number obeys both rules as they are read, and 0, the model's own, breaks no comparison.
    #[test]
    fn where_float64_leaves_nothing_comparisons_hold() {
        let below = spec(&["u"], &["u >= 0", "u <= 1.2 - 0.4 * all"]);
        let row = |all: f64, u: f32| Printed::new(&below).numbers(&[0.0, all as f32, 1.0, 0.0], &[u], &|f| [0.0, all, 0.0][f]);
        assert_eq!(row(3.0, 0.0), PrintedRow { numbers: vec![0.0], obeys: false });
        let near = row(2.0, 0.4f32.next_down());
        assert!(near.obeys && near.numbers[0] <= 1.2 - 0.4 * 2.0 && near.numbers[0] > 0.399_999, "{near:?}");

        // What holds beside an equality of two values does not move it: here a bound whose condition does not.
        let equal = spec(&["u"], &["all == 3 => u == 0.5", "all < 3 => u <= 0.1 * all + 0.2"]);
        let row = Printed::new(&equal).numbers(&[0.0, 3.0, 1.0, 0.0], &[0.5], &|f| [0.0, 3.0, 0.0][f]);
        assert_eq!(row.numbers, [0.5]);

        let order = spec(&["u", "v"], &["v <= u", "u <= v + 0.4 * all - 0.4"]);
        for k in 0..1000u16 {
            let same = 0.1 + f32::from(k) / 7.0;
            let row = Printed::new(&order).numbers(&[0.0, 1.0, 1.0, 0.0], &[same, same], &|f| [0.0, 1.0, 0.0][f]);
            assert!(row.numbers[1] <= row.numbers[0], "{same}: {row:?}");
        }
    }
}
