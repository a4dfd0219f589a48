//! Reads through JSON (RFC 8259) and keeps nothing of it. Each function takes what is left of a text and gives what is left
//! after one thing of it.
//!
//! Invariants: what is not JSON is refused wherever it stands; only what is within quotes need not be UTF-8, nor whole surrogate
//! pairs. However deep a value is nested, it is passed without recursion, for a bit of memory a level.

use crate::fields::Malformed;

type Rest<'a> = Result<&'a [u8], Malformed>;

/// What a bracket encloses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Inside {
    Array,
    Object,
}

/// A key as it is written between its quotes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Key<'a> {
    pub(crate) text: &'a [u8],
    pub(crate) escaped: bool,
}

impl Inside {
    fn end(self) -> u8 {
        match self {
            Self::Array => b']',
            Self::Object => b'}',
        }
    }

    /// After the opening bracket, which was read: where the first member is, or after the closing bracket if there is none.
    #[inline(always)]
    pub(crate) fn first(self, rest: &[u8]) -> Result<(bool, &[u8]), Malformed> {
        let rest = after_white_space(rest);
        match rest {
            [end, after @ ..] if *end == self.end() => Ok((false, after)),
            _ => Ok((true, rest)),
        }
    }

    /// After a member: where the next one is, or after the closing bracket if there is none.
    #[inline(always)]
    pub(crate) fn next(self, rest: &[u8]) -> Result<(bool, &[u8]), Malformed> {
        match after_white_space(rest) {
            [b',', after @ ..] => Ok((true, after_white_space(after))),
            [end, after @ ..] if *end == self.end() => Ok((false, after)),
            _ => Err(Malformed),
        }
    }
}

/// A key, and the value it is the key of.
#[inline(always)]
pub(crate) fn key(rest: &[u8]) -> Result<(Key<'_>, &[u8]), Malformed> {
    let Some((b'"', text)) = rest.split_first() else { return Err(Malformed) };
    let (escaped, rest) = match special(text)? {
        (b'"', rest) => (false, rest),
        (_, _) => (true, after_string(text)?),
    };
    let text = text.get(..text.len() - rest.len() - 1).unwrap_or_default();
    Ok((Key { text, escaped }, after_colon(rest)?))
}

/// After any value.
#[inline(always)]
pub(crate) fn after_value(rest: &[u8]) -> Rest<'_> {
    match rest {
        [b'{', after @ ..] => after_members(Inside::Object, after),
        [b'[', after @ ..] => after_members(Inside::Array, after),
        [first, after @ ..] => after_scalar(*first, after),
        [] => Err(Malformed),
    }
}

/// After the closing bracket of what an opening one, which was read, began.
fn after_members(mut inside: Inside, mut rest: &[u8]) -> Rest<'_> {
    let mut around = Around { bits: 1, outer: Vec::new() };
    let mut more;
    (more, rest) = inside.first(rest)?;
    loop {
        while !more {
            match around.leave() {
                Some(around) => inside = around,
                None => return Ok(rest),
            }
            (more, rest) = inside.next(rest)?;
        }
        if inside == Inside::Object {
            rest = after_key(rest)?;
        }
        let entered = match rest {
            [b'{', after @ ..] => Some((Inside::Object, after)),
            [b'[', after @ ..] => Some((Inside::Array, after)),
            [first, after @ ..] => {
                rest = after_scalar(*first, after)?;
                None
            }
            [] => return Err(Malformed),
        };
        if let Some((entered, after)) = entered {
            around.enter(inside);
            inside = entered;
            (more, rest) = inside.first(after)?;
        } else {
            (more, rest) = inside.next(rest)?;
        }
    }
}

/// The brackets around the innermost: a bit each.
struct Around {
    /// Behind a leading one, one for an object, the innermost lowest.
    bits: u64,
    /// As many as did not fit, 63 each.
    outer: Vec<u64>,
}

impl Around {
    #[inline(always)]
    fn enter(&mut self, inside: Inside) {
        if self.bits.leading_zeros() == 0 {
            self.outer.push(self.bits);
            self.bits = 1;
        }
        self.bits = self.bits << 1 | u64::from(inside == Inside::Object);
    }

    #[inline(always)]
    fn leave(&mut self) -> Option<Inside> {
        if self.bits == 1 {
            self.bits = self.outer.pop()?;
        }
        let inside = if self.bits & 1 == 1 { Inside::Object } else { Inside::Array };
        self.bits >>= 1;
        Some(inside)
    }
}

#[inline(always)]
pub(crate) fn after_white_space(rest: &[u8]) -> &[u8] {
    match rest {
        [0..=b' ', ..] => after_much_white_space(rest),
        _ => rest,
    }
}

#[inline(always)]
fn after_much_white_space(mut rest: &[u8]) -> &[u8] {
    // A line's end and the next one's indent, as most print it.
    if let [b'\n', after @ ..] = rest
        && let Some((eight, _)) = after.split_first_chunk()
    {
        let other = u64::from_le_bytes(*eight) ^ repeated(b' ');
        rest = &after[other.trailing_zeros() as usize / 8..];
        if other == 0 {
            while let [b' ', after @ ..] = rest {
                rest = after;
            }
        }
    }
    while let [b' ' | b'\n' | b'\r' | b'\t', after @ ..] = rest {
        rest = after;
    }
    rest
}

#[inline(always)]
fn after_key(rest: &[u8]) -> Rest<'_> {
    match rest {
        [b'"', rest @ ..] => after_colon(after_string(rest)?),
        _ => Err(Malformed),
    }
}

#[inline(always)]
fn after_colon(rest: &[u8]) -> Rest<'_> {
    // As most print it.
    if let Some((b": ", after)) = rest.split_first_chunk()
        && let [b'!'..=0xff, ..] = after
    {
        return Ok(after);
    }
    match after_white_space(rest) {
        [b':', rest @ ..] => Ok(after_white_space(rest)),
        _ => Err(Malformed),
    }
}

#[inline(always)]
fn after_scalar(first: u8, rest: &[u8]) -> Rest<'_> {
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
fn after_string(mut rest: &[u8]) -> Rest<'_> {
    loop {
        match special(rest)? {
            (b'"', after) => return Ok(after),
            (b'\\', after) => rest = after_escape(after)?,
            (_, _) => return Err(Malformed),
        }
    }
}

/// The first quote, backslash or control character, and what comes after it.
#[inline(always)]
fn special(mut rest: &[u8]) -> Result<(u8, &[u8]), Malformed> {
    while let Some((eight, after)) = rest.split_first_chunk() {
        let eight = u64::from_le_bytes(*eight);
        let marks = marks(eight);
        if marks != 0 {
            let bits = marks.trailing_zeros();
            return Ok(((eight >> (bits - 7)) as u8, &rest[bits as usize / 8 + 1..]));
        }
        rest = after;
    }
    special_of_last(rest)
}

/// As [`special`], of the last seven bytes.
#[cold]
fn special_of_last(mut rest: &[u8]) -> Result<(u8, &[u8]), Malformed> {
    while let Some((byte, after)) = rest.split_first() {
        if matches!(byte, b'"' | b'\\' | 0..=0x1f) {
            return Ok((*byte, after));
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
