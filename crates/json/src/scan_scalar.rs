//! Reads through JSON's strings, numbers and words: the other half of [`crate::scan`], and with its invariants.
//!
//! Strings are read eight bytes at a time, in the bits of one integer: most are too short for vectors.

use crate::fields::Malformed;
use crate::scan::Rest;

/// After any scalar of which `first` was read.
#[inline(always)]
pub(crate) fn after_scalar(first: u8, rest: &[u8]) -> Rest<'_> {
    if first == b'"' {
        return after_string(rest);
    }
    match first {
        b'0' => after_fraction(rest),
        b'1'..=b'9' => after_fraction(after_digits(rest)),
        b'-' => match rest.split_first() {
            Some((b'0', rest)) => after_fraction(rest),
            Some((b'1'..=b'9', rest)) => after_fraction(after_digits(rest)),
            Some(_) | None => Err(Malformed),
        },
        b't' => rest.strip_prefix(b"rue").ok_or(Malformed),
        b'f' => rest.strip_prefix(b"alse").ok_or(Malformed),
        b'n' => rest.strip_prefix(b"ull").ok_or(Malformed),
        _ => Err(Malformed),
    }
}

/// After the closing quote; the opening one was read.
#[inline(always)]
pub(crate) fn after_string(mut rest: &[u8]) -> Rest<'_> {
    loop {
        match special(rest)? {
            [b'"', after @ ..] => return Ok(after),
            [b'\\', after @ ..] => rest = after_escape(after)?,
            _ => return Err(Malformed),
        }
    }
}

/// What begins with the first quote, backslash or control character.
#[inline(always)]
pub(crate) fn special(mut rest: &[u8]) -> Rest<'_> {
    while let Some((eight, after)) = rest.split_first_chunk() {
        let marks = marks(u64::from_le_bytes(*eight));
        if marks != 0 {
            return Ok(&rest[marks.trailing_zeros() as usize / 8..]);
        }
        rest = after;
    }
    special_of_last(rest)
}

/// As [`special`], of the last seven bytes.
#[cold]
fn special_of_last(mut rest: &[u8]) -> Rest<'_> {
    while let Some((byte, after)) = rest.split_first() {
        if matches!(byte, b'"' | b'\\' | 0..=0x1f) {
            return Ok(rest);
        }
        rest = after;
    }
    Err(Malformed)
}

/// Marks a quote, a backslash and a control character in its highest bit. What is marked above the first may be wrong: a
/// subtraction borrows from the next byte.
#[inline(always)]
const fn marks(eight: u64) -> u64 {
    // With this bit turned over a quote is the first after the control characters, and nothing else comes down among them.
    let quote_or_control = (eight ^ repeated(b'"' ^ b' ')).wrapping_sub(repeated(b' ' + 1));
    let backslash = (eight ^ repeated(b'\\')).wrapping_sub(repeated(1));
    (quote_or_control | backslash) & !eight & repeated(0x80)
}

/// How many of eight bytes stand before the first backslash.
#[inline(always)]
pub(crate) fn before_backslash(eight: [u8; 8]) -> usize {
    let backslash = u64::from_le_bytes(eight) ^ repeated(b'\\');
    let marks = backslash.wrapping_sub(repeated(1)) & !backslash & repeated(0x80);
    marks.trailing_zeros() as usize / 8
}

const fn repeated(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

fn after_escape(rest: &[u8]) -> Rest<'_> {
    match rest {
        [b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', rest @ ..] => Ok(rest),
        [b'u', a, b, c, d, rest @ ..] if [a, b, c, d].into_iter().all(u8::is_ascii_hexdigit) => Ok(rest),
        _ => Err(Malformed),
    }
}

/// After what may follow the whole digits of a number.
#[inline(always)]
fn after_fraction(mut rest: &[u8]) -> Rest<'_> {
    if let [b'.', after @ ..] = rest {
        rest = after_digit_and_more(after)?;
    }
    if let [b'e' | b'E', after @ ..] = rest {
        rest = match after {
            [b'+' | b'-', after @ ..] => after_digit_and_more(after)?,
            _ => after_digit_and_more(after)?,
        };
    }
    Ok(rest)
}

fn after_digit_and_more(rest: &[u8]) -> Rest<'_> {
    match rest {
        [b'0'..=b'9', rest @ ..] => Ok(after_digits(rest)),
        _ => Err(Malformed),
    }
}

#[inline(always)]
fn after_digits(mut rest: &[u8]) -> &[u8] {
    while let [b'0'..=b'9', after @ ..] = rest {
        rest = after;
    }
    rest
}
