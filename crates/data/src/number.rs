//! The bytes of one field enter; a missing value, a decimal number or neither leaves. Also float32 rounding with a direction.

/// Fields that stand for "no value".
pub const MISSING_TOKENS: [&str; 8] = ["", "?", "NA", "N/A", "NaN", "nan", "null", "NULL"];

/// Whether a trimmed field stands for "no value".
pub(crate) fn is_missing(field: &[u8]) -> bool {
    // Every token is short: the length settles nearly all fields.
    field.len() <= 4 && MISSING_TOKENS.iter().any(|token| token.as_bytes() == field)
}

/// Further fields that stand for "no value".
#[derive(Debug, Clone, Default)]
pub(crate) struct MarkedMissing {
    texts: Vec<String>,
    numbers: Vec<f64>,
}

impl MarkedMissing {
    pub(crate) fn new(markers: &[String]) -> Self {
        Self { texts: markers.to_vec(), numbers: markers.iter().filter_map(|m| parse(m)).collect() }
    }

    /// Whether a trimmed field is one of them, or spells the same number as one of them.
    pub(crate) fn holds(&self, field: &[u8]) -> bool {
        if self.texts.is_empty() {
            return false;
        }
        let number = || std::str::from_utf8(field).ok().and_then(parse);
        self.texts.iter().any(|m| m.as_bytes() == field) || !self.numbers.is_empty() && number().is_some_and(|v| self.is(v))
    }

    /// The same for a number.
    pub(crate) fn is(&self, v: f64) -> bool {
        self.numbers.contains(&v)
    }
}

/// The number a text spells, infinities included (they are refused later, with their place); never NaN.
pub(crate) fn parse(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|v| !v.is_nan())
}

/// Whether a field spells a number; the common spelling is settled without parsing it.
pub(crate) fn is_number(field: &[u8]) -> bool {
    is_plain(field) || std::str::from_utf8(field).is_ok_and(|text| parse(text).is_some())
}

/// Sign, digits, at most one point.
fn is_plain(field: &[u8]) -> bool {
    let unsigned = field.strip_prefix(b"-").unwrap_or(field);
    let point = unsigned.iter().position(|b| *b == b'.').unwrap_or(unsigned.len());
    let (whole, fraction) = (&unsigned[..point], unsigned.get(point + 1..).unwrap_or_default());
    whole.len() + fraction.len() > 0 && whole.iter().chain(fraction).all(u8::is_ascii_digit)
}

/// Whether float32 can hold (a rounding of) this number.
pub(crate) fn fits_f32(v: f64) -> bool {
    v.abs() <= f64::from(f32::MAX)
}

/// A number as class and level names spell it: `1`, not `1.0`.
pub fn as_text(v: f64) -> String {
    // Adding zero turns -0 into 0.
    format!("{}", v + 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn spellings() {
        for good in ["0", "-1", "1.5", ".5", "5.", "+3", "1e-3", "-2E+8", "inf", "00012"] {
            assert!(is_number(good.as_bytes()), "{good}");
        }
        for bad in ["", "-", ".", "1.2.3", "abc", "1,5", "0x1F", "NAN", "1 2", "--1", "٣"] {
            assert!(!is_number(bad.as_bytes()), "{bad}");
        }
        assert!(MISSING_TOKENS.iter().all(|t| is_missing(t.as_bytes())));
        assert!(!is_missing(b"Na") && !is_missing(b"None") && !is_missing(b"0"));
        assert_eq!(as_text(-0.0), "0");
        assert_eq!(as_text(1.0), "1");
        assert_eq!(as_text(0.25), "0.25");
    }

    proptest! {
        #[test]
        fn plain_spellings_do_parse(text in "-?[0-9]{0,25}\\.?[0-9]{0,25}") {
            prop_assert_eq!(is_number(text.as_bytes()), parse(&text).is_some());
        }
    }
}
