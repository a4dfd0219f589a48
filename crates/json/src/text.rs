//! What JSON's strings and other scalars say.

use std::borrow::Cow;

use crate::fields::Malformed;
use crate::scan_scalar::before_backslash;

/// A scalar's text: a string without its quotes and escapes, a number or a boolean as it is written. `None` for null, objects and
/// arrays. `json` is a value that was found in JSON.
pub fn scalar(json: &str) -> Result<Option<Cow<'_, str>>, Malformed> {
    match json.as_bytes().first() {
        Some(b'"') => text(json).map(Some),
        Some(b'n' | b'{' | b'[') | None => Ok(None),
        Some(_) => Ok(Some(Cow::Borrowed(json))),
    }
}

/// What a string says; anything else is refused. Copied only where something in it is escaped. `json` is a value that was found in
/// JSON.
pub fn text(json: &str) -> Result<Cow<'_, str>, Malformed> {
    let inner = json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).ok_or(Malformed)?;
    if inner.contains('\\') { unescaped(inner).map(Cow::Owned) } else { Ok(Cow::Borrowed(inner)) }
}

/// Half a surrogate pair is no text.
pub(crate) fn unescaped(inner: &str) -> Result<String, Malformed> {
    // Eight bytes are copied before it is known how many of them are meant.
    let mut text = Vec::with_capacity(inner.len() + 8);
    let mut rest = inner.as_bytes();
    while let Some((eight, after)) = rest.split_first_chunk() {
        text.extend_from_slice(eight);
        let plain = before_backslash(*eight);
        if plain == 8 {
            rest = after;
            continue;
        }
        text.truncate(text.len() - 8 + plain);
        rest = after_escape(rest.get(plain + 1..).unwrap_or_default(), &mut text)?;
    }
    while let Some((byte, after)) = rest.split_first() {
        rest = if *byte == b'\\' {
            after_escape(after, &mut text)?
        } else {
            text.push(*byte);
            after
        };
    }
    String::from_utf8(text).map_err(|_| Malformed)
}

/// After what stands behind a backslash.
#[inline(always)]
fn after_escape<'a>(rest: &'a [u8], text: &mut Vec<u8>) -> Result<&'a [u8], Malformed> {
    let (kind, after) = rest.split_first().ok_or(Malformed)?;
    text.push(match kind {
        b'"' | b'\\' | b'/' => *kind,
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'b' => 8,
        b'f' => 12,
        b'u' => return after_hexadecimal(after, text),
        _ => return Err(Malformed),
    });
    Ok(after)
}

fn after_hexadecimal<'a>(rest: &'a [u8], text: &mut Vec<u8>) -> Result<&'a [u8], Malformed> {
    let (first, after) = code_unit(rest)?;
    let (pair, after) = match (0xd800..0xe000).contains(&first) {
        false => ([first, 0], after),
        true => {
            let (second, after) = code_unit(after.strip_prefix(br"\u").ok_or(Malformed)?)?;
            ([first, second], after)
        }
    };
    let meant = char::decode_utf16(pair).next().and_then(Result::ok).ok_or(Malformed)?;
    text.extend_from_slice(meant.encode_utf8(&mut [0; 4]).as_bytes());
    Ok(after)
}

/// Of UTF-16.
fn code_unit(rest: &[u8]) -> Result<(u16, &[u8]), Malformed> {
    let (digits, after) = rest.split_first_chunk::<4>().ok_or(Malformed)?;
    let unit = digits.iter().try_fold(0, |unit, digit| Some(unit << 4 | char::from(*digit).to_digit(16)?));
    unit.and_then(|unit| u16::try_from(unit).ok()).map(|unit| (unit, after)).ok_or(Malformed)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_scalar_has_text_and_nothing_else_has() {
        assert_eq!(scalar(r#""a\nb""#).unwrap().unwrap(), "a\nb");
        assert_eq!(scalar("-1.50").unwrap().unwrap(), "-1.50");
        assert_eq!(scalar("true").unwrap().unwrap(), "true");
        for none in ["null", "{}", "[1]"] {
            assert_eq!(scalar(none), Ok(None));
        }
        assert_eq!(scalar(r#""\ud800""#), Err(Malformed));
        for other in ["null", "1", "{}", "\"", ""] {
            assert_eq!(text(other), Err(Malformed), "{other}");
        }
    }

    #[test]
    fn only_what_is_escaped_is_copied() {
        assert!(matches!(text(r#""é""#), Ok(Cow::Borrowed("é"))));
        assert!(matches!(text(r#""\u00E9""#), Ok(Cow::Owned(text)) if text == "é"));
    }

    #[test]
    fn half_of_a_pair_is_no_text() {
        for (json, expected) in [
            (r#""\ud83d\ude00 \uD83D\uDE00.""#, Some("\u{1f600} \u{1f600}.")),
            (r#""\ud83d""#, None),
            (r#""\ude00\ud83d""#, None),
            (r#""\ud83d \ude00""#, None),
            (r#""\ud83dx""#, None),
            (r#""\ud83d\n""#, None),
            (r#""\ud83d\\ude00""#, None),
            (r#""\\ud83d""#, Some(r"\ud83d")),
        ] {
            assert_eq!(text(json).ok().as_deref(), expected, "{json}");
        }
    }

    proptest! {
        #[test]
        fn a_string_says_what_serde_json_reads(
            parts in proptest::collection::vec(
                prop_oneof![
                    "[^\"\\\\\u{0}-\u{1f}]{0,9}",
                    r#"\\["\\/bfnrt]"#,
                    r"\\u[0-9a-fA-F]{4}",
                    r"\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}",
                ],
                0..9,
            )
        ) {
            let json = format!("\"{}\"", parts.concat());
            let theirs: Option<String> = serde_json::from_str(&json).ok();
            prop_assert_eq!(text(&json).ok().map(Cow::into_owned), theirs, "{}", json);
        }

        /// What is no JSON does not come here, and would be no panic.
        #[test]
        fn whatever_stands_in_quotes_is_text_or_refused(inner in "[\"\\\\udU0-9a-fx é]{0,12}") {
            let json = format!("\"{inner}\"");
            if let Ok(theirs) = serde_json::from_str::<String>(&json) {
                prop_assert_eq!(text(&json).unwrap(), theirs);
            }
        }
    }
}
