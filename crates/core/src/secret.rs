//! Bytes that must not be printed.

use std::fmt;

/// A signing secret or token, as bytes ready for the algorithm. `Debug` does not show it; there is no `Display`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Vec<u8>);

/// An empty secret would verify everything an attacker signs with an empty key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a secret is empty")]
pub struct EmptySecret;

impl Secret {
    pub fn new(bytes: impl Into<Vec<u8>>) -> Result<Self, EmptySecret> {
        let bytes = bytes.into();
        if bytes.is_empty() { Err(EmptySecret) } else { Ok(Self(bytes)) }
    }

    pub fn expose(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_does_not_show_it_and_empty_is_refused() {
        assert_eq!(format!("{:?}", Secret::new("hunter2").unwrap()), "Secret(…)");
        assert_eq!(Secret::new(""), Err(EmptySecret));
    }
}
