//! A number enters, exact or of float64; the float32 number next to it leaves.

use crate::Rational;

/// The largest float32 number that is at most v, or below it if strict; infinite where all are larger.
///
/// ```
/// use deepsade_spec::{Rational, float32};
///
/// let tenth = Rational::from_parts(1.into(), 10u8.into());
/// assert_eq!((float32::at_most(&tenth, false), float32::at_least(&tenth, false)), (0.1f32.next_down(), 0.1));
/// assert_eq!(float32::at_least(&Rational::ONE, true), 1f32.next_up());
/// ```
pub fn at_most(v: &Rational, strict: bool) -> f32 {
    // However a conversion rounds, the loops end at the right number.
    let mut at = v.to_f32().value();
    while is_beyond(at, v, strict) {
        at = at.next_down();
    }
    while !is_beyond(at.next_up(), v, strict) {
        at = at.next_up();
    }
    at
}

/// The smallest float32 number that is at least v, or above it if strict; infinite where all are smaller. Zero has no sign.
pub fn at_least(v: &Rational, strict: bool) -> f32 {
    0.0 - at_most(&-v, strict)
}

/// Whether a float32 number is above v, or as large if strict.
fn is_beyond(x: f32, v: &Rational, strict: bool) -> bool {
    match Rational::try_from(x) {
        Ok(x) if strict => x >= *v,
        Ok(x) => x > *v,
        Err(_) => x > 0.0,
    }
}

/// The largest float32 number that is at most v, which is within their range.
pub fn round_down(v: f64) -> f32 {
    let near = v as f32;
    if f64::from(near) > v { near.next_down() } else { near }
}

/// The smallest float32 number that is at least v, which is within their range.
pub fn round_up(v: f64) -> f32 {
    -round_down(-v)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{at_least, at_most, round_down, round_up};
    use crate::Rational;

    proptest! {
        #[test]
        fn roundings_enclose_and_are_tight(v in prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO) {
            prop_assume!(v.abs() <= f64::from(f32::MAX));
            let (lo, hi) = (round_down(v), round_up(v));
            prop_assert!(f64::from(lo) <= v && v <= f64::from(hi));
            prop_assert!(lo == hi || lo.next_up() == hi);
            let exact = Rational::try_from(v).unwrap();
            prop_assert_eq!((lo, hi), (at_most(&exact, false), at_least(&exact, false)));
        }
    }

    /// Every number between two neighbours, and the neighbours themselves, are where they belong.
    #[test]
    fn numbers_stand_between_their_neighbours() {
        let exact = |v: f32| Rational::try_from(v).unwrap();
        for x in [f32::MIN, -2.0, -1e-40, -f32::from_bits(1), 0.0, f32::from_bits(1), 1e-40, 0.1, 1.0, 16_777_216.0, 3e38] {
            let next = x.next_up();
            for share in [1u8, 2, 128, 254, 255] {
                let inside = exact(x) + (exact(next) - exact(x)) * Rational::from_parts(share.into(), 256u16.into());
                for strict in [false, true] {
                    assert_eq!((at_most(&inside, strict), at_least(&inside, strict)), (x, next), "{x} {share}");
                }
                let near = inside.to_f64().value();
                if Rational::try_from(near).unwrap() == inside {
                    assert_eq!((round_down(near), round_up(near)), (x, next), "{x} {share}");
                }
            }
            assert_eq!((at_most(&exact(x), false), at_least(&exact(x), false)), (x, x));
            assert_eq!((at_most(&exact(x), true), at_least(&exact(x), true)), (x.next_down(), next));
            assert_eq!((round_down(x.into()), round_up(x.into())), (x, x));
        }
    }

    #[test]
    fn beyond_the_last_number_is_none() {
        let last = Rational::try_from(f32::MAX).unwrap();
        let beyond = &last + Rational::ONE;
        for strict in [false, true] {
            assert_eq!((at_most(&beyond, strict), at_least(&beyond, strict)), (f32::MAX, f32::INFINITY));
            assert_eq!((at_most(&-&beyond, strict), at_least(&-&beyond, strict)), (f32::NEG_INFINITY, f32::MIN));
        }
        assert_eq!((at_most(&last, false), at_least(&last, true)), (f32::MAX, f32::INFINITY));
    }
}
