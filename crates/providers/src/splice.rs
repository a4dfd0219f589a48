//! Other text in the place of parts of a body. Invariant: every byte that is not replaced stays as it was.

use bytes::Bytes;

/// `body` with each part (a slice of it) replaced by the text beside it.
pub(crate) fn splice(body: Bytes, mut parts: Vec<(&[u8], String)>) -> Bytes {
    if parts.is_empty() {
        return body;
    }
    parts.sort_unstable_by_key(|(part, _)| part.as_ptr());
    let mut spliced = Vec::with_capacity(body.len());
    let mut copied = 0;
    for (part, text) in parts {
        let start = (part.as_ptr() as usize).saturating_sub(body.as_ptr() as usize);
        spliced.extend_from_slice(body.get(copied..start).unwrap_or_default());
        spliced.extend_from_slice(text.as_bytes());
        copied = start + part.len();
    }
    spliced.extend_from_slice(body.get(copied..).unwrap_or_default());
    Bytes::from(spliced)
}
