//! Points in time as people type and read them.

use hookledger_core::Micros;
use hookledger_runtime::now;
use jiff::Timestamp;

const FORMS: &str =
    "a time such as 2026-07-01T14:10Z, a day such as 2026-07-01 (UTC), or how long ago, such as 90m, 24h, 7d";

/// Reads `2026-07-01T14:10Z`, `2026-07-01`, or `24h` for a day ago.
pub(crate) fn parse(text: &str) -> Result<Micros, String> {
    let refused = || format!("not {FORMS}");
    if let Some(ago_s) = seconds(text) {
        return Ok(now() - ago_s * 1_000_000);
    }
    let with_zone = if text.len() == "2026-07-01".len() { format!("{text}T00:00Z") } else { text.to_owned() };
    let at: Timestamp = with_zone.parse().map_err(|_| refused())?;
    Ok(at.as_microsecond())
}

/// A time with the words that it was typed in: `24h` is another time later, but the same question.
#[derive(Debug, Clone)]
pub(crate) struct When {
    pub(crate) text: String,
    pub(crate) at: Micros,
}

pub(crate) fn when(text: &str) -> Result<When, String> {
    parse(text).map(|at| When { text: text.to_owned(), at })
}

fn seconds(text: &str) -> Option<i64> {
    let unit = text.chars().next_back()?;
    let factor = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        'w' => 604_800,
        _ => return None,
    };
    let digits = &text[..text.len() - 1];
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    digits.parse::<i64>().ok().filter(|_| plain)?.checked_mul(factor)
}

/// RFC 3339, to the second.
pub(crate) fn show(at: Micros) -> String {
    Timestamp::from_second(at.div_euclid(1_000_000)).map_or_else(|_| at.to_string(), |time| time.to_string())
}

/// `2026-07-01 14:10:07`, from what the ledger answers.
pub(crate) fn short(rfc3339: &str) -> String {
    rfc3339.get(..19).unwrap_or(rfc3339).replacen('T', " ", 1)
}

/// `2026-07-01`, in UTC.
pub(crate) fn day(at: Micros) -> String {
    show(at).get(..10).unwrap_or_default().to_owned()
}

/// `14:10`, in UTC.
pub(crate) fn clock(at: Micros) -> String {
    show(at).get(11..16).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_in_the_forms_that_people_type() {
        let at = 1_782_915_000_000_000;
        for text in ["2026-07-01T14:10Z", "2026-07-01T14:10:00Z", "2026-07-01T16:10+02:00", "2026-07-01 14:10Z"] {
            assert_eq!(parse(text), Ok(at), "{text}");
        }
        assert_eq!(parse("2026-07-01"), Ok(at - (14 * 60 + 10) * 60_000_000));
        assert_eq!(show(at), "2026-07-01T14:10:00Z");
        assert_eq!(clock(at), "14:10");
        assert_eq!(short("2026-07-01T14:10:00.123456Z"), "2026-07-01 14:10:00");
    }

    #[test]
    fn how_long_ago_counts_from_now() {
        for (text, seconds) in [("90s", 90), ("90m", 5_400), ("24h", 86_400), ("7d", 604_800), ("1w", 604_800)] {
            let ago = now() - parse(text).unwrap();
            assert!((ago - seconds * 1_000_000).abs() < 60_000_000, "{text}");
        }
    }

    #[test]
    fn anything_else_is_answered_with_the_forms() {
        for text in ["", "yesterday", "2026-07-01T14:10", "14:10", "-5m", "5y", "m", "2026-13-01", "99999999999999999d"] {
            assert!(parse(text).unwrap_err().starts_with("not a time such as"), "{text}");
        }
    }
}
