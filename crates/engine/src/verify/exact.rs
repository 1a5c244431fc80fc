//! A network of relus and an input enter; its outputs in exact arithmetic leave.
//!
//! Float32 numbers are whole multiples of 2^-149, so every value is a whole number over a power of two.

use dashu::base::Signed;
use dashu::integer::{IBig, UBig};
use deepsade_net::{Activation, Network, Op};
use deepsade_spec::Rational;

/// Bits behind the point of a float32 number.
const BITS: usize = 149;

/// Whole numbers over 2^bits.
#[derive(Clone)]
struct Values {
    numbers: Vec<IBig>,
    bits: usize,
}

/// The outputs; `None` for sigmoid and tanh, whose values are no fractions, and for numbers that are not finite.
pub(super) fn outputs(network: &Network, x: &[f32]) -> Option<Vec<Rational>> {
    let numbers = x.iter().map(|v| whole(*v)).collect::<Option<_>>()?;
    let mut values = vec![Values { numbers, bits: BITS }];
    for node in &network.nodes {
        let from = &values[node.from[0]];
        let value = match &node.op {
            Op::Dense { .. } | Op::Conv(_) => {
                let mut row = Vec::new();
                let unit = |o: usize| {
                    let mut sum = whole(node.op.row(o, &mut row))? << from.bits;
                    for (i, w) in row.iter().filter(|(i, _)| !from.numbers[*i].is_zero()) {
                        sum += whole(*w)? * &from.numbers[*i];
                    }
                    Some(sum)
                };
                let width = network.width(values.len())?;
                Values { numbers: (0..width).map(unit).collect::<Option<_>>()?, bits: from.bits + BITS }
            }
            Op::MaxPool(window) => {
                let mut columns = Vec::new();
                let unit = |o: usize| {
                    window.columns_of(o, &mut columns);
                    columns.iter().map(|c| from.numbers[*c].clone()).max()
                };
                Values { numbers: (0..window.results()).map(unit).collect::<Option<_>>()?, bits: from.bits }
            }
            Op::Affine { scale, shift } => {
                let column = |((x, s), t): ((&IBig, &f32), &f32)| Some(whole(*s)? * x + (whole(*t)? << from.bits));
                let numbers = from.numbers.iter().zip(scale).zip(shift).map(column).collect::<Option<_>>()?;
                Values { numbers, bits: from.bits + BITS }
            }
            Op::Act(Activation::Relu) => {
                let numbers = from.numbers.iter().map(|v| if v.is_negative() { IBig::ZERO } else { v.clone() });
                Values { numbers: numbers.collect(), bits: from.bits }
            }
            Op::Select(columns) => {
                Values { numbers: columns.iter().map(|c| from.numbers[*c].clone()).collect(), bits: from.bits }
            }
            Op::Concat => {
                let bits = node.from.iter().map(|v| values[*v].bits).max()?;
                let widened = |v: &usize| values[*v].numbers.iter().map(|n| n << (bits - values[*v].bits)).collect::<Vec<_>>();
                Values { numbers: node.from.iter().flat_map(widened).collect(), bits }
            }
            Op::Gate => {
                let factor = &values[node.from[1]];
                Values { numbers: from.numbers.iter().map(|v| v * &factor.numbers[0]).collect(), bits: from.bits + factor.bits }
            }
            Op::Act(_) | Op::Choose(_) => return None,
        };
        values.push(shortened(value));
    }
    let Values { numbers, bits } = values.pop()?;
    let scale = UBig::ONE << bits;
    Some(numbers.into_iter().map(|n| Rational::from_parts(n, scale.clone())).collect())
}

/// The same values with as few bits behind the point as they need.
fn shortened(mut values: Values) -> Values {
    let spare = values.numbers.iter().filter_map(IBig::trailing_zeros).min().unwrap_or(values.bits).min(values.bits);
    if spare > 0 {
        values.numbers.iter_mut().for_each(|n| *n >>= spare);
        values.bits -= spare;
    }
    values
}

/// A float32 number times 2^149.
fn whole(v: f32) -> Option<IBig> {
    let bits = v.to_bits();
    let (field, fraction) = ((bits >> 23 & 0xff) as usize, bits & 0x007f_ffff);
    let magnitude = match field {
        0xff => return None,
        0 => IBig::from(fraction),
        _ => IBig::from(fraction | 0x0080_0000) << (field - 1),
    };
    Some(if v.is_sign_negative() { -magnitude } else { magnitude })
}
