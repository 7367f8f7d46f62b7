//! Helpers of the page: escapes, numbers, dates.

use std::time::{SystemTime, UNIX_EPOCH};

/// Escapes a text for HTML, also for quoted attributes. Replaces characters that change the text
/// direction by U+FFFD, because they would reverse the text around them.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
        .replace(is_direction, "\u{fffd}")
}

fn is_direction(mark: char) -> bool {
    matches!(mark, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Formats a number with at most three decimals; numbers from 1 on get fewer.
pub fn number(value: f64) -> String {
    let digits = match value.abs() {
        v if v == v.trunc() && v < 1e9 => 0,
        v if v >= 1_000.0 => 0,
        v if v >= 10.0 => 1,
        v if v >= 1.0 => 2,
        _ => 3,
    };
    format!("{value:.digits$}")
}

/// Formats the number at a mark of an axis, without trailing zeros.
pub fn mark_text(value: f64) -> String {
    trimmed(number(value))
}

/// Removes trailing zeros after the decimal point.
pub fn trimmed(text: String) -> String {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// Returns the current date in UTC, in the form `2026-03-01`.
pub fn today() -> String {
    let passed = SystemTime::now().duration_since(UNIX_EPOCH);
    let days = passed.map_or(0, |passed| passed.as_secs() / 86_400);
    date(days)
}

/// Returns the date that is `days` days after 1970-01-01.
fn date(mut days: u64) -> String {
    let is_leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let mut year = 1970;
    loop {
        let of_year = 365 + u64::from(is_leap(year));
        if days < of_year {
            break;
        }
        days -= of_year;
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while days >= months[month] {
        days -= months[month];
        month += 1;
    }
    format!("{year:04}-{:02}-{:02}", month + 1, days + 1)
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn days_have_dates() {
        for (days, expected) in [
            (0, "1970-01-01"),
            (11_016, "2000-02-29"),
            (11_017, "2000-03-01"),
            (20_453, "2025-12-31"),
            (20_454, "2026-01-01"),
        ] {
            assert_eq!(date(days), expected);
        }
    }
}
