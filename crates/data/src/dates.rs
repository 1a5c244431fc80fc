//! A text enters; whether it spells a date, or a date with a time, leaves.

/// Whether a text is a date as files spell them: `2024-03-31`, `31.3.2024`, `3/31/24`, perhaps with a time behind it.
pub fn is_date(text: &str) -> bool {
    let day = text.split(['T', ' ']).next().unwrap_or_default();
    let parts: Vec<&str> = day.split(['-', '/', '.']).collect();
    let [a, b, c] = parts[..] else { return false };
    let number = |part: &str| part.parse::<u32>().ok().filter(|_| part.len() <= 4 && part.bytes().all(|b| b.is_ascii_digit()));
    let (Some(x), Some(y), Some(z)) = (number(a), number(b), number(c)) else { return false };
    let year_first = a.len() == 4 && day_and_month(z, y);
    let year_last =
        (c.len() == 4 || c.len() == 2) && a.len() <= 2 && b.len() <= 2 && (day_and_month(x, y) || day_and_month(y, x));
    year_first || year_last
}

/// Whether a whole number spells a date as `20240331`.
pub fn is_day_number(v: f64) -> bool {
    let n = v as u64;
    (19_000_101..=21_001_231).contains(&n) && day_and_month((n % 100) as u32, (n / 100 % 100) as u32)
}

fn day_and_month(day: u32, month: u32) -> bool {
    (1..=31).contains(&day) && (1..=12).contains(&month)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_told_from_numbers_and_words() {
        for date in
            ["2024-03-31", "31.3.2024", "3/31/24", "03/31/2024 10:15", "2024-03-31T10:15:00Z", "1999/1/2", "2024/1/5 10:33:00"]
        {
            assert!(is_date(date), "{date}");
        }
        for other in [
            "",
            "12",
            "1.5.3.2",
            "192-168-1",
            "a-b-c",
            "2024-13-01",
            "32/32/2024",
            "555-12-345",
            "3.5",
            "10-20",
            "2024-12-45x",
            "192.168.1.1",
            "1-2-3",
        ] {
            assert!(!is_date(other), "{other}");
        }
        assert!(is_day_number(20_240_331.0) && !is_day_number(20_241_331.0) && !is_day_number(1234.0));
    }
}
