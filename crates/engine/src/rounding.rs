//! Multipliers of a cell's atoms enter; whole numbers in nearly the same ratios leave, as certificates have them.
//!
//! Each number is rounded by its own size and not by that of the largest: atoms have units, and the multiplier of one that is written
//! in thousandths is a thousand times that of one in units, though both count alike.

/// The largest whole number: still exact in float64.
const MOST: f64 = (1u64 << 53) as f64;

/// The whole numbers, and the factor by which they are larger. Even the smallest has `bits` binary digits, unless the largest would
/// exceed 2^53.
pub(crate) fn whole(multipliers: &[f64], bits: u32) -> (Vec<u64>, f64) {
    let used = || multipliers.iter().copied().filter(|l| *l > 0.0);
    let (least, most) = used().fold((f64::INFINITY, f64::MIN_POSITIVE), |(a, b), l| (a.min(l), b.max(l)));
    let factor = if least.is_finite() { (f64::from(bits).exp2() / least).min(MOST / most) } else { 1.0 };
    (multipliers.iter().map(|l| (l * factor).round() as u64).collect(), factor)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::whole;

    #[test]
    fn equal_multipliers_are_equal_and_none_is_none() {
        assert_eq!(whole(&[0.5, 0.0, 0.5], 20).0, [1 << 20, 0, 1 << 20]);
        assert_eq!(whole(&[0.0, 0.0], 20).0, [0, 0]);
        assert!(whole(&[], 20).0.is_empty());
        // Beyond 2^53 the largest counts.
        assert_eq!(whole(&[1e-300, 1.0], 20).0, [0, 1 << 53]);
    }

    proptest! {
        #[test]
        fn ratios_are_kept_to_each_numbers_own_precision(
            numbers in prop::collection::vec((0.1f64..1.0, -4i32..4), 1..6),
        ) {
            let raw: Vec<f64> = numbers.iter().map(|(l, e)| l * 10f64.powi(*e)).collect();
            let (found, factor) = whole(&raw, 20);
            for (l, w) in raw.iter().zip(found) {
                prop_assert!((w as f64 / (l * factor) - 1.0).abs() <= 1.0 / f64::from(1 << 20), "{l} {w} {factor}");
            }
        }
    }
}
