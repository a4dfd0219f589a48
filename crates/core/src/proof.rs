//! Proof that a delivery is genuine. Invariant: a [`Proof`] exists only where the sender was shown to know a secret (or a
//! private key), and secrets are compared in constant time.
//!
//! A [`VerifiedEvent`](crate::VerifiedEvent) cannot be built without one, and only verified events can be claimed,
//! so "verify before the database" is checked by the compiler.

use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use sha2::{Sha256, Sha512};
use subtle::ConstantTimeEq;

use crate::key::Via;
use crate::public_key;
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
    /// Old, but as a keyed hash not broken: collisions of SHA-1 do not forge it.
    Sha1,
    Sha256,
    Sha512,
}

/// Signatures that are checked with a public key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PublicKeyAlgorithm {
    /// Keys of 32 bytes.
    Ed25519,
    /// Keys as an X.509 `SubjectPublicKeyInfo`, signatures as ASN.1.
    EcdsaP256Sha256,
    /// Keys as an uncompressed point, signatures as `r` and `s` of 32 bytes each: the `ES256` of a JWT.
    Es256,
    /// Keys as an X.509 `SubjectPublicKeyInfo`. SNS version 1; new subscriptions should not use it.
    RsaSha1,
    /// Keys as an X.509 `SubjectPublicKeyInfo`, at least 2048 bits.
    RsaSha256,
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
        // One hash per secret, however many signatures a sender lists: the body may be megabytes.
        let proven = secrets.iter().any(|secret| {
            let compare = |expected: &[u8]| {
                signatures.clone().into_iter().fold(false, |found, given| found | is_same(expected, given))
            };
            match algorithm {
                HmacAlgorithm::Sha256 => finished(secret.hmac_sha256(), signed, compare),
                HmacAlgorithm::Sha1 | HmacAlgorithm::Sha512 => with_hmac(algorithm, secret, signed, compare),
            }
        });
        proven.then_some(Self { via: Via::Webhook })
    }

    /// As [`Proof::hmac`], with the public halves of the signing keys.
    pub fn public_key<'a>(
        algorithm: PublicKeyAlgorithm,
        keys: &[&[u8]],
        signed: &[&[u8]],
        signatures: impl IntoIterator<Item = &'a [u8]> + Clone,
    ) -> Option<Self> {
        let message = signed.concat();
        let proven = keys.iter().any(|key| {
            signatures.clone().into_iter().any(|signature| public_key::is_signed(algorithm, key, &message, signature))
        });
        proven.then_some(Self { via: Via::Webhook })
    }

    /// The secret itself, presented in plain: all that some providers offer. It covers nothing of the body.
    pub fn token(secrets: &[Secret], presented: &[u8]) -> Option<Self> {
        let equal = secrets.iter().fold(false, |found, secret| found | is_same(secret.expose(), presented));
        equal.then_some(Self { via: Via::Webhook })
    }

    /// The operator's replay token. It stands in for the signature and for nothing else.
    pub fn replay_token(configured: &Secret, presented: &[u8]) -> Option<Self> {
        let long_enough = configured.expose().len() >= REPLAY_TOKEN_BYTES_MIN;
        let equal = is_same(configured.expose(), presented);
        (long_enough && equal).then_some(Self { via: Via::Replay })
    }

    pub fn via(&self) -> Via {
        self.via
    }
}

/// In a time that depends on how long they are, and on nothing in them. Eight bytes at a time, as many as there are.
fn is_same(expected: &[u8], given: &[u8]) -> bool {
    if expected.len() != given.len() {
        return false;
    }
    let ((expected, expected_end), (given, given_end)) = (expected.as_chunks(), given.as_chunks());
    let eights = expected.iter().zip(given);
    let same = eights.fold(expected_end.ct_eq(given_end), |same, (expected, given)| {
        same & u64::from_le_bytes(*expected).ct_eq(&u64::from_le_bytes(*given))
    });
    same.into()
}

/// The MAC as bytes, for the two providers whose handshake asks for one (Zoom, Braintree).
pub fn hmac(algorithm: HmacAlgorithm, secret: &Secret, signed: &[&[u8]]) -> Vec<u8> {
    with_hmac(algorithm, secret, signed, <[u8]>::to_vec)
}

fn with_hmac<T>(algorithm: HmacAlgorithm, secret: &Secret, signed: &[&[u8]], then: impl FnOnce(&[u8]) -> T) -> T {
    match algorithm {
        HmacAlgorithm::Sha1 => with_mac::<Hmac<Sha1>, T>(secret, signed, then),
        HmacAlgorithm::Sha256 => with_mac::<Hmac<Sha256>, T>(secret, signed, then),
        HmacAlgorithm::Sha512 => with_mac::<Hmac<Sha512>, T>(secret, signed, then),
    }
}

fn with_mac<M: Mac + KeyInit, T>(secret: &Secret, signed: &[&[u8]], then: impl FnOnce(&[u8]) -> T) -> T {
    #[expect(clippy::expect_used, reason = "HMAC takes keys of any length (RFC 2104)")]
    let mac = <M as KeyInit>::new_from_slice(secret.expose()).expect("any key fits");
    finished(mac, signed, then)
}

fn finished<M: Mac, T>(mut mac: M, signed: &[&[u8]], then: impl FnOnce(&[u8]) -> T) -> T {
    for part in signed {
        mac.update(part);
    }
    then(&mac.finalize().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use openssl::pkey::{Id, PKey};
    use openssl::sign::Signer;

    fn mac(key: &str, body: &[u8]) -> Vec<u8> {
        hmac(HmacAlgorithm::Sha256, &Secret::new(key).unwrap(), &[body])
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
    fn hashes_are_those_of_rfc_2202_and_4231() {
        let key = Secret::new("Jefe").unwrap();
        let hash = |algorithm| hmac(algorithm, &key, &[b"what do ya want ", b"for nothing?"]);
        assert_eq!(hash(HmacAlgorithm::Sha1)[..4], [0xef, 0xfc, 0xdf, 0x6a]);
        assert_eq!(hash(HmacAlgorithm::Sha256)[..4], [0x5b, 0xdc, 0xc1, 0x46]);
        assert_eq!(hash(HmacAlgorithm::Sha512)[..4], [0x16, 0x4b, 0x7a, 0x7b]);
    }

    #[test]
    fn a_public_key_checks_what_its_private_half_signed() {
        let pair = PKey::private_key_from_raw_bytes(&[7; 32], Id::ED25519).unwrap();
        let signature = Signer::new_without_digest(&pair).unwrap().sign_oneshot_to_vec(b"body").unwrap();
        let check = |key: &[u8], signed: &[u8], signature: &[u8]| {
            Proof::public_key(PublicKeyAlgorithm::Ed25519, &[key], &[signed], [signature]).is_some()
        };
        let key = &*pair.raw_public_key().unwrap();
        assert!(check(key, b"body", &signature));
        assert!(!check(key, b"other", &signature));
        assert!(!check(&[0; 32], b"body", &signature));
        assert!(!check(&key[..31], b"body", &signature));
        assert!(!check(key, b"body", b""));
    }

    #[test]
    fn a_token_is_equal_as_a_whole() {
        let secrets = [Secret::new("old").unwrap(), Secret::new("new").unwrap()];
        assert!(Proof::token(&secrets, b"new").is_some());
        for bad in [&b"ne"[..], b"new ", b"", b"oldnew"] {
            assert!(Proof::token(&secrets, bad).is_none());
        }
    }

    #[test]
    fn bytes_are_the_same_only_as_a_whole() {
        for len in [0, 1, 7, 8, 9, 20, 32, 64, 65] {
            let bytes = vec![7; len];
            assert!(is_same(&bytes, &bytes.clone()));
            assert!(!is_same(&bytes, &[&bytes[..], &[7]].concat()));
            for at in 0..len {
                for bit in 0..8 {
                    let mut other = bytes.clone();
                    other[at] ^= 1 << bit;
                    assert!(!is_same(&bytes, &other), "bit {bit} of byte {at} of {len}");
                }
            }
        }
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
