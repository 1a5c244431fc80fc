//! A parquet type that is neither number nor text enters; what it is called, and how a CSV file would spell its values, leave.

use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type as Physical};
use parquet::schema::types::ColumnDescriptor;

/// Values that are texts only if the reader asks for texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spelled {
    /// Days since 1970.
    Day,
    /// So many of these a second since 1970.
    Time { of_second: i64 },
    /// A whole number of which so many digits stand behind the point.
    Decimal { scale: u32 },
}

/// What a column holds that no model reads, in plain words, and how its values are spelled where they are.
pub(super) fn of(column: &ColumnDescriptor) -> (String, Option<Spelled>) {
    let (name, spelled) = match (column.logical_type_ref(), column.converted_type()) {
        (Some(LogicalType::Date), _) | (None, ConvertedType::DATE) => ("dates", Some(Spelled::Day)),
        (Some(LogicalType::Timestamp(stamp)), _) => {
            let of_second = match stamp.unit {
                TimeUnit::MILLIS => 1_000,
                TimeUnit::MICROS => 1_000_000,
                TimeUnit::NANOS => 1_000_000_000,
            };
            ("dates with times", Some(Spelled::Time { of_second }))
        }
        (None, ConvertedType::TIMESTAMP_MILLIS) => ("dates with times", Some(Spelled::Time { of_second: 1_000 })),
        (None, ConvertedType::TIMESTAMP_MICROS) => ("dates with times", Some(Spelled::Time { of_second: 1_000_000 })),
        (Some(LogicalType::Decimal(_)), _) | (None, ConvertedType::DECIMAL) => {
            let scale = u32::try_from(column.type_scale()).ok().filter(|scale| *scale <= 38);
            ("decimal numbers of fixed length", scale.map(|scale| Spelled::Decimal { scale }))
        }
        (Some(LogicalType::Time(_)), _) | (None, ConvertedType::TIME_MILLIS | ConvertedType::TIME_MICROS) => {
            ("times of day", None)
        }
        (_, ConvertedType::INTERVAL) => ("spans of time", None),
        (Some(LogicalType::Uuid), _) => ("identifiers (UUID)", None),
        (Some(LogicalType::Float16), _) => ("numbers of half precision", None),
        (Some(LogicalType::List | LogicalType::Map), _) | (None, ConvertedType::LIST | ConvertedType::MAP) => {
            ("nested values", None)
        }
        (None, _) if column.physical_type() == Physical::INT96 => ("dates with times of an old kind (INT96)", None),
        (None, _) => ("plain bytes", None),
        _ => ("values of a kind that is not read", None),
    };
    // In which bytes they may be stored.
    let stored = match spelled {
        Some(Spelled::Day) => column.physical_type() == Physical::INT32,
        Some(Spelled::Time { .. }) => column.physical_type() == Physical::INT64,
        Some(Spelled::Decimal { .. }) => {
            let bytes = [Physical::INT32, Physical::INT64, Physical::BYTE_ARRAY, Physical::FIXED_LEN_BYTE_ARRAY];
            bytes.contains(&column.physical_type())
        }
        None => false,
    };
    (name.into(), spelled.filter(|_| stored))
}

impl Spelled {
    /// A stored whole number as text.
    pub(super) fn text(self, stored: i128) -> String {
        match self {
            Self::Day => day(stored),
            Self::Time { of_second } => {
                let (second, rest) = (stored.div_euclid(of_second.into()), stored.rem_euclid(of_second.into()));
                let (date, clock) = (second.div_euclid(86_400), second.rem_euclid(86_400));
                let part = if rest == 0 {
                    String::new()
                } else {
                    let digits = format!("{:0width$}", rest, width = of_second.ilog10() as usize);
                    format!(".{}", digits.trim_end_matches('0'))
                };
                format!("{} {:02}:{:02}:{:02}{part}", day(date), clock / 3600, clock / 60 % 60, clock % 60)
            }
            Self::Decimal { scale: 0 } => stored.to_string(),
            Self::Decimal { scale } => {
                let sign = if stored < 0 { "-" } else { "" };
                let digits = format!("{:0>width$}", stored.unsigned_abs(), width = scale as usize + 1);
                let (whole, part) = digits.split_at(digits.len() - scale as usize);
                format!("{sign}{whole}.{part}")
            }
        }
    }
}

/// The whole number that bytes of a decimal are: big-endian, in two's complement; `None` where it has more than 16 bytes.
pub(super) fn whole(bytes: &[u8]) -> Option<i128> {
    if bytes.len() > 16 {
        return None;
    }
    let start = if bytes.first().is_some_and(|b| b & 0x80 != 0) { -1 } else { 0 };
    Some(bytes.iter().fold(start, |sum: i128, b| sum << 8 | i128::from(*b)))
}

/// A day by its number since 1970, in the calendar of today: years begin in March, so that a leap day is a last one.
fn day(number: i128) -> String {
    let number = number + 719_468;
    let (era, of_era) = (number.div_euclid(146_097), number.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let (day, month) = (of_year - (153 * from_march + 2) / 5 + 1, if from_march < 10 { from_march + 3 } else { from_march - 9 });
    format!("{:04}-{month:02}-{day:02}", year + era * 400 + i128::from(month <= 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_is_spelled_as_a_csv_file_has_it() {
        let days =
            [(0, "1970-01-01"), (-1, "1969-12-31"), (11_016, "2000-02-29"), (19_813, "2024-03-31"), (-25_509, "1900-02-28")];
        days.iter().for_each(|(stored, text)| assert_eq!(Spelled::Day.text(*stored), *text));
        let stamp = Spelled::Time { of_second: 1_000 };
        assert_eq!(stamp.text(19_813 * 86_400_000 + 36_900_000), "2024-03-31 10:15:00");
        assert_eq!(stamp.text(-1), "1969-12-31 23:59:59.999");
        let decimal = Spelled::Decimal { scale: 2 };
        assert_eq!([5, -5, 1234, -100].map(|v| decimal.text(v)), ["0.05", "-0.05", "12.34", "-1.00"]);
        assert_eq!((Spelled::Decimal { scale: 0 }).text(7), "7");
        assert_eq!((whole(&[0x04, 0xd2]), whole(&[0xff, 0xfb]), whole(&[0; 17])), (Some(1234), Some(-5), None));
    }
}
