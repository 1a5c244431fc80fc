//! Which rules a row breaks, exactly: its label as written in the data, or the prediction of a network.

use dashu::integer::{IBig, UBig};
use deepsade_net::Matrix;
use deepsade_spec::{Atom, ColumnMap, Formula, NormalSpec, Rational, Var};

/// Evaluates the rules of a problem on rows.
///
/// ```
/// use deepsade_output::Judge;
/// use deepsade_spec::{Domain, Feature, OneHot, RuleText, Schema, Task, compile};
///
/// let feature = |name: &str| Feature { name: name.into(), domain: Domain::Real { lo: 0.0, hi: 10.0 } };
/// let schema = Schema { features: vec![feature("income")], task: Task::regression(vec!["rent".into()]), one_hot: OneHot::Full, filled: vec![] };
/// let spec = compile(&[RuleText { name: "afford".into(), text: "rent <= 0.1 * income".into() }], &schema).unwrap();
/// let judge = Judge::new(&spec);
/// assert!(!judge.breaks(0, &[10.0], &[1.0]));
/// // As real numbers: 0.3 in float32 is a little more than 3/10.
/// assert!(judge.breaks(0, &[3.0], &[0.3]));
/// ```
#[derive(Debug)]
pub struct Judge<'a> {
    spec: &'a NormalSpec,
    map: ColumnMap,
}

impl<'a> Judge<'a> {
    /// Prepares the rules of `spec`.
    pub fn new(spec: &'a NormalSpec) -> Self {
        Self { spec, map: spec.schema.column_map() }
    }

    /// Whether a label breaks a rule; `None` if the rule reads scores, which labels do not have. `written` gives features and targets
    /// as the data file states them, in decimals; levels are read from the encoded inputs `x`.
    pub fn label_breaks(&self, rule: usize, x: &[f32], written: &impl Fn(Var) -> f64) -> Option<bool> {
        if self.spec.rules[rule].reads_scores {
            return None;
        }
        let value = |var: Var| if let Var::Level(..) = var { self.input(x, var) } else { written(var) };
        // Conditions are met by what the network sees; what a rule demands of outputs is compared with decimals as written.
        let met = |atom: &Atom| if atom.is_condition() { self.meets(atom, x) } else { holds(atom, &value, decimal) };
        Some(!self.spec.rules[rule].claim.holds(&mut |atom| met(atom)))
    }

    /// Whether outputs `y` for encoded inputs `x` break a rule: K read over the reals, on the float32 values.
    pub fn breaks(&self, rule: usize, x: &[f32], y: &[f32]) -> bool {
        // An output that is not a number obeys nothing.
        y.iter().any(|v| !v.is_finite()) || !self.spec.rules[rule].claim.holds(&mut |atom| self.holds(atom, x, y))
    }

    /// The same of any rule.
    pub fn breaks_any(&self, x: &[f32], y: &[f32]) -> bool {
        (0..self.spec.rules.len()).any(|rule| self.breaks(rule, x, y))
    }

    /// Whether some rule asks something of the outputs for these inputs.
    pub fn applies(&self, x: &[f32]) -> bool {
        let mut decided = |atom: &Atom| match atom.is_condition() {
            true if self.meets(atom, x) => Formula::True,
            true => Formula::False,
            false => Formula::Atom(atom.clone()),
        };
        self.spec.rules.iter().any(|rule| rule.claim.replaced(&mut decided) != Formula::True)
    }

    /// Whether an atom holds for encoded inputs and outputs, exactly.
    pub fn holds(&self, atom: &Atom, x: &[f32], y: &[f32]) -> bool {
        let value = |var: Var| if let Var::Output(j) = var { f64::from(y[j]) } else { self.input(x, var) };
        holds(atom, &value, binary)
    }

    /// Whether encoded inputs meet a condition, exactly.
    pub fn meets(&self, condition: &Atom, x: &[f32]) -> bool {
        holds(condition, &|var| self.input(x, var), binary)
    }

    /// The value of an input variable in an encoded row; not a number for an output.
    pub fn input(&self, x: &[f32], var: Var) -> f64 {
        if var.is_output() { f64::NAN } else { self.map.of(var).value(x, f64::from) }
    }

    /// How many rows of predictions break some rule, among those that `counted` marks.
    pub fn count_breaking(&self, x: &Matrix, y: &Matrix, counted: impl Fn(usize) -> bool) -> usize {
        (0..x.rows).filter(|row| counted(*row) && self.breaks_any(x.row(*row), y.row(*row))).count()
    }
}

/// The truth of an atom: in floats where they decide beyond rounding or are exact, else exactly.
fn holds(atom: &Atom, value: &impl Fn(Var) -> f64, exact: fn(f64) -> Rational) -> bool {
    let (mut sum, mut whole) = float(&atom.linear.constant);
    let mut size = sum.abs();
    for (var, c) in &atom.linear.terms {
        let ((c, small), v) = (float(c), value(*var));
        whole &= small && v.fract() == 0.0;
        sum += c * v;
        size += (c * v).abs();
    }
    // Each of the at most 2^20 operations is off by less than 2^-52 of the size.
    if sum.abs() > size * 1e-9 {
        return sum > 0.0;
    }
    // Sums of whole numbers are exact as long as they are small.
    if whole && size < WHOLE {
        return !atom.strict && sum == 0.0 || sum > 0.0;
    }
    atom.met_by(&atom.linear.at(&|var| exact(value(var))))
}

/// Below it sums of whole numbers are exact in float64.
const WHOLE: f64 = (1u64 << 51) as f64;

/// The float nearest to a number, and whether it is a small whole one, as most coefficients are: those are quick to read.
fn float(c: &Rational) -> (f64, bool) {
    match i32::try_from(c.numerator()) {
        Ok(n) if c.denominator().is_one() => (f64::from(n), true),
        _ => (c.to_f64().value(), false),
    }
}

fn binary(value: f64) -> Rational {
    Rational::try_from(value).unwrap_or_default()
}

/// The shortest decimal that reads back as `value`: what the data file says, up to 15 digits.
fn decimal(value: f64) -> Rational {
    let text = format!("{value:e}");
    let Some((mantissa, exponent)) = text.split_once('e') else { return binary(value) };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let (Ok(digits), Ok(exponent)) = (format!("{whole}{fraction}").parse::<IBig>(), exponent.parse::<i64>()) else {
        return binary(value);
    };
    let exponent = exponent - fraction.len() as i64;
    let power = UBig::from(10u8).pow(exponent.unsigned_abs() as usize);
    if exponent < 0 { Rational::from_parts(digits, power) } else { Rational::from(digits * IBig::from(power)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deepsade_spec::Linear;

    #[test]
    fn what_floats_can_not_tell_is_judged_exactly() {
        let third = Rational::from_parts(1.into(), 3u8.into());
        let near_one = Rational::ONE + Rational::from_parts(1.into(), UBig::ONE << 60);
        let judged = |c: &Rational, constant: i32, strict: bool, v: f64| {
            let linear =
                Linear { terms: [(Var::Output(0), c.clone())].into_iter().collect(), constant: Rational::from(constant) };
            holds(&Atom { linear, strict }, &|_| v, binary)
        };
        for strict in [false, true] {
            assert_eq!(judged(&Rational::ONE, -3, strict, 3.0), !strict);
            assert_eq!(judged(&third, -1, strict, 3.0), !strict);
            assert!(!judged(&third, -1, strict, 3.0f64.next_down()));
            // As a float this coefficient is one.
            assert!(judged(&near_one, -3, strict, 3.0));
            assert!(!judged(&near_one, 3, strict, -3.0));
            assert!(judged(&Rational::ONE, -1, strict, 1.0f64.next_up()));
        }
    }
}
