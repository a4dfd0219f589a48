//! Times as providers write them, as microseconds since 1970 UTC. Invariant: digits are never taken through a float.

use hookledger_core::Micros;
use jiff::{Timestamp, civil::DateTime, tz::TimeZone};
use serde::Deserialize;

/// What a number counts. A text that is no number is a date (RFC 3339, UTC where it names no zone), whatever the unit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub(crate) enum Unit {
    #[default]
    #[serde(rename = "s")]
    Seconds,
    #[serde(rename = "ms")]
    Millis,
    #[serde(rename = "us")]
    Micros,
    /// No unit of time: a counter that grows, such as Square's object version.
    #[serde(rename = "count")]
    Count,
}

impl Unit {
    fn micros(self) -> i64 {
        match self {
            Self::Seconds => 1_000_000,
            Self::Millis => 1000,
            Self::Micros | Self::Count => 1,
        }
    }
}

/// `None` for what is not a time, and for one beyond what 64 bits hold.
pub(crate) fn micros(text: &str, unit: Unit) -> Option<Micros> {
    if is_digits(text) {
        return decimal(text, "", unit);
    }
    if let Some((whole, fraction)) = text.split_once('.')
        && is_digits(whole)
        && !fraction.is_empty()
    {
        return decimal(whole, fraction, unit);
    }
    // What stands behind a date: it is dear to find out by trying.
    let has_zone = text.get(10..).is_some_and(|time| time.contains(['Z', 'z', '+', '-']));
    if has_zone && let Ok(instant) = text.parse::<Timestamp>() {
        return Some(instant.as_microsecond());
    }
    // GitLab writes "2015-05-17 18:08:09 UTC"; Discord, WooCommerce and Xero leave the zone out and mean UTC.
    let zoneless: DateTime = text.strip_suffix(" UTC").unwrap_or(text).parse().ok()?;
    Some(TimeZone::UTC.to_timestamp(zoneless).ok()?.as_microsecond())
}

/// Whole units only, digits only: no sign, no space, no exponent, nothing beyond ASCII.
pub(crate) fn count(text: &str) -> Option<i64> {
    let digit = |total: i64, digit: u8| match digit {
        b'0'..=b'9' => total.checked_mul(10)?.checked_add(i64::from(digit - b'0')),
        _ => None,
    };
    if text.is_empty() { None } else { text.bytes().try_fold(0, digit) }
}

fn decimal(whole: &str, fraction: &str, unit: Unit) -> Option<Micros> {
    let mut total = count(whole)?.checked_mul(unit.micros())?;
    let mut digit_micros = unit.micros();
    for digit in fraction.bytes() {
        if !digit.is_ascii_digit() {
            return None;
        }
        digit_micros /= 10;
        total = total.checked_add(i64::from(digit - b'0') * digit_micros)?;
    }
    Some(total)
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, unit: Unit, expected: Option<Micros>) {
        assert_eq!(micros(text, unit), expected, "{text:?}");
    }

    #[test]
    fn numbers_count_units_and_keep_every_digit() {
        check("1533204620", Unit::Seconds, Some(1_533_204_620_000_000));
        check("1595926230.009600", Unit::Seconds, Some(1_595_926_230_009_600));
        check("1529006854.3295741", Unit::Seconds, Some(1_529_006_854_329_574));
        check("1700000000123", Unit::Millis, Some(1_700_000_000_123_000));
        check("0017", Unit::Count, Some(17));
    }

    #[test]
    fn dates_are_instants_whatever_their_offset() {
        let same = Some(1_745_350_200_000_000);
        for text in ["2025-04-22T14:30:00-05:00", "2025-04-22T19:30:00Z", "2025-04-22T19:30:00", "2025-04-22 19:30:00 UTC"] {
            check(text, Unit::Seconds, same);
        }
        check("2023-03-29T18:00:27.877041743Z", Unit::Seconds, Some(1_680_112_827_877_041));
    }

    #[test]
    fn anything_else_is_no_time() {
        for text in ["", "-1", "+5", " 1", "1e3", "1.", ".5", "1.2.3", "1.x", "٣", "soon", "2025-13-01T00:00:00Z"] {
            check(text, Unit::Seconds, None);
        }
        check(&"9".repeat(19), Unit::Seconds, None);
        check(&"9".repeat(400), Unit::Count, None);
    }
}
