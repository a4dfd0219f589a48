//! Proof that a delivery is genuine. Invariant: a [`Proof`] exists only where a secret was shown to be known by the sender,
//! and all comparisons take constant time for inputs of one length.
//!
//! A [`VerifiedEvent`](crate::VerifiedEvent) cannot be built without one, and only verified events can be claimed,
//! so "verify before the database" is checked by the compiler.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Sha256, Sha512};
use subtle::ConstantTimeEq;

use crate::key::Via;
use crate::secret::Secret;

/// Shortest replay token in bytes; a shorter one could be guessed.
pub const REPLAY_TOKEN_BYTES_MIN: usize = 32;

/// The right to build verified events from one delivery.
#[derive(Debug)]
pub struct Proof {
    via: Via,
}

/// Keyed hash functions that providers sign with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HmacAlgorithm {
    Sha256,
    Sha512,
}

impl Proof {
    /// Any of `signatures` made with any of `secrets` over the concatenation of `signed` is proof: while a secret is rotated
    /// a provider signs with either, or with both.
    pub fn hmac<'a>(
        algorithm: HmacAlgorithm,
        secrets: &[Secret],
        signed: &[&[u8]],
        signatures: impl IntoIterator<Item = &'a [u8]> + Clone,
    ) -> Option<Self> {
        let any = |check: &dyn Fn(&Secret, &[u8]) -> bool| {
            secrets.iter().any(|secret| signatures.clone().into_iter().any(|signature| check(secret, signature)))
        };
        let proven = match algorithm {
            HmacAlgorithm::Sha256 => any(&|secret, signature| hmac_matches::<Hmac<Sha256>>(secret, signed, signature)),
            HmacAlgorithm::Sha512 => any(&|secret, signature| hmac_matches::<Hmac<Sha512>>(secret, signed, signature)),
        };
        proven.then_some(Self { via: Via::Webhook })
    }

    /// The operator's replay token. It stands in for the signature and for nothing else.
    pub fn replay_token(configured: &Secret, presented: &[u8]) -> Option<Self> {
        let long_enough = configured.expose().len() >= REPLAY_TOKEN_BYTES_MIN;
        let equal = bool::from(configured.expose().ct_eq(presented));
        (long_enough && equal).then_some(Self { via: Via::Replay })
    }

    pub fn via(&self) -> Via {
        self.via
    }
}

fn hmac_matches<M: Mac + KeyInit>(secret: &Secret, signed: &[&[u8]], signature: &[u8]) -> bool {
    let Ok(mut mac) = <M as KeyInit>::new_from_slice(secret.expose()) else { return false };
    for part in signed {
        mac.update(part);
    }
    mac.verify_slice(signature).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mac(key: &str, body: &[u8]) -> Vec<u8> {
        let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(key.as_bytes()).unwrap();
        mac.update(body);
        mac.finalize().into_bytes().to_vec()
    }

    fn proven(secrets: &[&str], signatures: &[&[u8]]) -> bool {
        let secrets: Vec<_> = secrets.iter().map(|s| Secret::new(*s).unwrap()).collect();
        Proof::hmac(HmacAlgorithm::Sha256, &secrets, &[b"bo", b"dy"], signatures.iter().copied()).is_some()
    }

    #[test]
    fn any_live_secret_and_any_signature_will_do() {
        let (old, new) = (mac("old", b"body"), mac("new", b"body"));
        assert!(proven(&["old", "new"], &[&new]));
        assert!(proven(&["new"], &[&old, &new]));
        assert!(!proven(&["third"], &[&old, &new]));
    }

    #[test]
    fn a_signature_that_is_short_long_or_empty_proves_nothing() {
        let good = mac("k", b"body");
        let long = [good.clone(), vec![0]].concat();
        assert!(proven(&["k"], &[&good]));
        for bad in [&good[..31], &long, &[]] {
            assert!(!proven(&["k"], &[bad]));
        }
        assert!(!proven(&["k"], &[]));
        assert!(!proven(&[], &[&good]));
    }

    #[test]
    fn a_replay_token_is_long_and_equal() {
        let long = "t".repeat(REPLAY_TOKEN_BYTES_MIN);
        let token = Secret::new(long.clone()).unwrap();
        assert_eq!(Proof::replay_token(&token, long.as_bytes()).unwrap().via(), Via::Replay);
        assert!(Proof::replay_token(&token, b"t").is_none());
        assert!(Proof::replay_token(&Secret::new("short").unwrap(), b"short").is_none());
    }
}
