//! Exact numbers `m * 2^e` and intervals of them: sums and products never round; where a mantissa grows long, [`Dyadic::up`] and
//! [`Dyadic::down`] round in a stated direction.

use std::cmp::Ordering;
use std::ops::{Add, AddAssign, Mul, Neg, Sub};

use dashu::base::{BitTest, DivEuclid, Signed};
use dashu::integer::IBig;
use deepsade_spec::Rational;

/// `m * 2^e`. Several pairs may stand for the same number.
#[derive(Debug, Clone, Default)]
pub(crate) struct Dyadic {
    m: IBig,
    e: i64,
}

/// The numbers from `lo` to `hi`.
#[derive(Debug, Clone)]
pub(crate) struct Interval {
    pub(crate) lo: Dyadic,
    pub(crate) hi: Dyadic,
}

/// Bits kept of sums that decide: enough that no rounding is seen.
pub(crate) const LONG: usize = 256;
/// Bits kept of bounds and coefficients, of which there are many; float32 itself has 24.
pub(crate) const SHORT: usize = 96;
/// No bit below this one is kept either.
const LOWEST: i64 = -2048;

impl Dyadic {
    pub(crate) fn int(m: impl Into<IBig>) -> Self {
        Self { m: m.into(), e: 0 }
    }

    /// 2^e
    pub(crate) fn power(e: i64) -> Self {
        Self { m: IBig::ONE, e }
    }

    /// The number itself; what is not finite becomes 0, and no caller has such a thing.
    pub(crate) fn float(x: f64) -> Self {
        let bits = x.to_bits();
        let (field, fraction) = ((bits >> 52 & 0x7ff) as i64, (bits & ((1 << 52) - 1)) as i64);
        let (m, e) = match field {
            0x7ff => (0, 0),
            0 => (fraction, -1074),
            _ => (fraction | 1 << 52, field - 1075),
        };
        let zeros = if m == 0 { 0 } else { m.trailing_zeros() };
        let m = m >> zeros;
        Self { m: IBig::from(if x.is_sign_negative() { -m } else { m }), e: e + i64::from(zeros) }
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.m.is_zero()
    }

    pub(crate) fn is_positive(&self) -> bool {
        self.m.is_positive() && !self.is_zero()
    }

    pub(crate) fn is_negative(&self) -> bool {
        self.m.is_negative()
    }

    pub(crate) fn abs(&self) -> Self {
        if self.is_negative() { -self } else { self.clone() }
    }

    /// The same as a fraction.
    pub(crate) fn rational(&self) -> Rational {
        let power = IBig::ONE << self.e.unsigned_abs() as usize;
        let m = Rational::from(self.m.clone());
        if self.e < 0 { m / Rational::from(power) } else { m * Rational::from(power) }
    }

    /// Adds `a * b`.
    pub(crate) fn add_product(&mut self, a: &Self, b: &Self) {
        self.accumulate(&a.m * &b.m, a.e + b.e);
    }

    fn accumulate(&mut self, m: IBig, e: i64) {
        if m.is_zero() {
            return;
        }
        if self.is_zero() {
            (self.m, self.e) = (m, e);
        } else if e >= self.e {
            self.m += if e > self.e { m << (e - self.e) as usize } else { m };
        } else {
            self.m <<= (self.e - e) as usize;
            self.m += m;
            self.e = e;
        }
    }

    /// The number, or one just below it with so many bits.
    pub(crate) fn down(self, bits: usize) -> Self {
        let drop = (self.m.bit_len() as i64 - bits as i64).max(LOWEST - self.e);
        // A shift of a negative integer to the right rounds down, too.
        if drop <= 0 { self } else { Self { m: self.m >> drop as usize, e: self.e + drop } }
    }

    /// The number, or one just above it with so many bits.
    pub(crate) fn up(self, bits: usize) -> Self {
        -&(-&self).down(bits)
    }

    /// A float64 at most this number.
    pub(crate) fn f64_down(&self) -> f64 {
        let drop = (self.m.bit_len() as i64 - 53).max(0);
        let Ok(m) = i64::try_from(&self.m >> drop as usize) else { return f64::NEG_INFINITY };
        match self.e + drop {
            _ if m == 0 => 0.0,
            // Here m 2^e is a normal float64 or zero, hence exact.
            e @ -1022..=960 => m as f64 * f64::from_bits(((e + 1023) as u64) << 52),
            ..-1022 => [0.0, -f64::MIN_POSITIVE * 2f64.powi(53)][usize::from(m < 0)],
            _ => [2f64.powi(960), f64::NEG_INFINITY][usize::from(m < 0)],
        }
    }

    /// A float64 at least this number.
    pub(crate) fn f64_up(&self) -> f64 {
        -(-self).f64_down()
    }

    /// A float64 at most `self / divisor`; the divisor is positive.
    pub(crate) fn over_down(&self, divisor: &IBig) -> f64 {
        let scale = divisor.bit_len() + 64;
        Self { m: (&self.m << scale).div_euclid(divisor), e: self.e - scale as i64 }.f64_down()
    }
}

impl Add for &Dyadic {
    type Output = Dyadic;
    fn add(self, other: Self) -> Dyadic {
        let mut sum = self.clone();
        sum += other;
        sum
    }
}

impl AddAssign<&Dyadic> for Dyadic {
    fn add_assign(&mut self, other: &Dyadic) {
        self.accumulate(other.m.clone(), other.e);
    }
}

impl Neg for &Dyadic {
    type Output = Dyadic;
    fn neg(self) -> Dyadic {
        Dyadic { m: -&self.m, e: self.e }
    }
}

impl Sub for &Dyadic {
    type Output = Dyadic;
    fn sub(self, other: Self) -> Dyadic {
        self + &-other
    }
}

impl Mul for &Dyadic {
    type Output = Dyadic;
    fn mul(self, other: Self) -> Dyadic {
        Dyadic { m: &self.m * &other.m, e: self.e + other.e }
    }
}

impl From<f32> for Dyadic {
    fn from(x: f32) -> Self {
        Self::float(f64::from(x))
    }
}

impl Ord for Dyadic {
    fn cmp(&self, other: &Self) -> Ordering {
        (self - other).m.cmp(&IBig::ZERO)
    }
}

impl PartialOrd for Dyadic {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Dyadic {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Dyadic {}

impl Interval {
    /// The largest absolute value.
    pub(crate) fn size(&self) -> Dyadic {
        self.lo.abs().max(self.hi.abs())
    }

    /// The largest `a v`.
    pub(crate) fn most(&self, a: &Dyadic) -> Dyadic {
        a * if a.is_negative() { &self.lo } else { &self.hi }
    }

    pub(crate) fn plus(&self, other: &Self) -> Self {
        Self { lo: &self.lo + &other.lo, hi: &self.hi + &other.hi }
    }

    /// What is in both.
    pub(crate) fn within(self, other: &Self) -> Self {
        Self { lo: self.lo.max(other.lo.clone()), hi: self.hi.min(other.hi.clone()) }
    }

    pub(crate) fn widened(&self, by: &Dyadic) -> Self {
        Self { lo: &self.lo - by, hi: &self.hi + by }
    }

    /// The same, with results near zero possibly flushed to it: only a bound on zero's far side has to move.
    pub(crate) fn flushed(&self, tiny: &Dyadic) -> Self {
        let [mut lo, mut hi] = [self.lo.clone(), self.hi.clone()];
        if lo.is_positive() && lo < *tiny {
            lo = Dyadic::default();
        }
        if hi.is_negative() && -&hi < *tiny {
            hi = Dyadic::default();
        }
        Self { lo, hi }
    }

    pub(crate) fn rounded(self) -> Self {
        Self { lo: self.lo.down(SHORT), hi: self.hi.up(SHORT) }
    }
}

#[cfg(test)]
mod tests;
