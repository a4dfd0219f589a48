//! Reads through JSON (RFC 8259) and keeps nothing of it. Each function takes what is left of a text and gives what is left
//! after one thing of it.
//!
//! Invariants: what is not JSON is refused wherever it stands; only what is within quotes need not be UTF-8, nor whole surrogate
//! pairs. However deep a value is nested, it is passed without recursion, for a bit of memory a level.

use crate::fields::Malformed;
use crate::scan_scalar::{after_scalar, after_string, special};

pub(crate) type Rest<'a> = Result<&'a [u8], Malformed>;

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
        // As most print it.
        if let Some(after) = rest.strip_prefix(b",\n") {
            return Ok((true, after_indent(after)));
        }
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
        [b'"', rest @ ..] => (false, rest),
        _ => (true, after_string(text)?),
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
fn after_much_white_space(rest: &[u8]) -> &[u8] {
    match rest {
        [b'\n', after @ ..] => after_indent(after),
        _ => after_any_white_space(rest),
    }
}

/// After the spaces that a line begins with. They are passed by steps of a fixed length and not by a count of them: that would have
/// to be known before anything behind them can be looked at, while a processor guesses the number of steps and goes on.
#[inline(always)]
fn after_indent(mut rest: &[u8]) -> &[u8] {
    while let Some(after) = rest.strip_prefix(b"        ") {
        rest = after;
    }
    while let Some(after) = rest.strip_prefix(b"  ") {
        rest = after;
    }
    match rest {
        [0..=b' ', ..] => after_any_white_space(rest),
        _ => rest,
    }
}

// Less often there than a space after a colon or an indent, which do not come here.
#[cold]
fn after_any_white_space(mut rest: &[u8]) -> &[u8] {
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
    if let Some(after) = rest.strip_prefix(b": ")
        && let [b'!'..=0xff, ..] = after
    {
        return Ok(after);
    }
    match after_white_space(rest) {
        [b':', rest @ ..] => Ok(after_white_space(rest)),
        _ => Err(Malformed),
    }
}
