//! Signatures that are checked with a public key, by OpenSSL, which a function has for its database anyway.
//!
//! Invariant: a key that is not of the algorithm's own kind and size checks nothing, whatever else it could check.

use openssl::bn::{BigNum, BigNumContext};
use openssl::ec::{EcGroup, EcKey, EcPoint};
use openssl::ecdsa::EcdsaSig;
use openssl::error::ErrorStack;
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{Id, PKey, Public};
use openssl::sha::sha256;
use openssl::sign::Verifier;

use crate::proof::PublicKeyAlgorithm;

/// Shorter keys can be broken; longer ones take seconds.
const RSA_BITS: std::ops::RangeInclusive<u32> = 2048..=8192;
/// `r` and `s` of a P-256 signature.
const SCALAR_BYTES: usize = 32;

pub(crate) fn is_signed(algorithm: PublicKeyAlgorithm, key: &[u8], message: &[u8], signature: &[u8]) -> bool {
    let checked = match algorithm {
        PublicKeyAlgorithm::Ed25519 => ed25519(key, message, signature),
        PublicKeyAlgorithm::EcdsaP256Sha256 => p256_asn1(key, message, signature),
        PublicKeyAlgorithm::Es256 => p256_fixed(key, message, signature),
        PublicKeyAlgorithm::RsaSha1 => rsa(key, MessageDigest::sha1(), message, signature),
        PublicKeyAlgorithm::RsaSha256 => rsa(key, MessageDigest::sha256(), message, signature),
    };
    // What cannot be parsed is not signed.
    checked.unwrap_or(false)
}

fn ed25519(key: &[u8], message: &[u8], signature: &[u8]) -> Result<bool, ErrorStack> {
    let key = PKey::public_key_from_raw_bytes(key, Id::ED25519)?;
    Verifier::new_without_digest(&key)?.verify_oneshot(signature, message)
}

fn p256_asn1(key: &[u8], message: &[u8], signature: &[u8]) -> Result<bool, ErrorStack> {
    let key = PKey::public_key_from_der(key)?;
    if key.ec_key()?.group().curve_name() != Some(Nid::X9_62_PRIME256V1) {
        return Ok(false);
    }
    verify(&key, MessageDigest::sha256(), message, signature)
}

fn p256_fixed(key: &[u8], message: &[u8], signature: &[u8]) -> Result<bool, ErrorStack> {
    if signature.len() != 2 * SCALAR_BYTES {
        return Ok(false);
    }
    let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1)?;
    let point = EcPoint::from_bytes(&group, key, &mut *BigNumContext::new()?)?;
    let key = EcKey::from_public_key(&group, &point)?;
    key.check_key()?;
    let (r, s) = signature.split_at(SCALAR_BYTES);
    let signature = EcdsaSig::from_private_components(BigNum::from_slice(r)?, BigNum::from_slice(s)?)?;
    signature.verify(&sha256(message), &key)
}

fn rsa(key: &[u8], digest: MessageDigest, message: &[u8], signature: &[u8]) -> Result<bool, ErrorStack> {
    let key = PKey::public_key_from_der(key)?;
    if key.id() != Id::RSA || !RSA_BITS.contains(&key.bits()) {
        return Ok(false);
    }
    verify(&key, digest, message, signature)
}

fn verify(key: &PKey<Public>, digest: MessageDigest, message: &[u8], signature: &[u8]) -> Result<bool, ErrorStack> {
    Verifier::new(digest, key)?.verify_oneshot(signature, message)
}

#[cfg(test)]
mod tests {
    use openssl::pkey::Private;
    use openssl::rsa::Rsa;
    use openssl::sign::Signer;

    use super::*;

    const MESSAGE: &[u8] = b"body";

    fn ec(curve: Nid) -> PKey<Private> {
        PKey::from_ec_key(EcKey::generate(&EcGroup::from_curve_name(curve).unwrap()).unwrap()).unwrap()
    }

    fn signed(key: &PKey<Private>, digest: MessageDigest) -> Vec<u8> {
        Signer::new(digest, key).unwrap().sign_oneshot_to_vec(MESSAGE).unwrap()
    }

    #[track_caller]
    fn check(algorithm: PublicKeyAlgorithm, key: &[u8], signature: &[u8]) {
        assert!(is_signed(algorithm, key, MESSAGE, signature));
        assert!(!is_signed(algorithm, key, b"other", signature));
        assert!(!is_signed(algorithm, b"", MESSAGE, signature));
        assert!(!is_signed(algorithm, &key[1..], MESSAGE, signature));
        assert!(!is_signed(algorithm, key, MESSAGE, &signature[1..]));
        assert!(!is_signed(algorithm, key, MESSAGE, &[signature, &[0]].concat()));
        for at in [0, signature.len() / 2, signature.len() - 1] {
            let mut altered = signature.to_vec();
            altered[at] ^= 1;
            assert!(!is_signed(algorithm, key, MESSAGE, &altered), "{at}");
        }
    }

    #[test]
    fn a_signature_of_a_p256_key_is_taken_in_either_form() {
        let pair = ec(Nid::X9_62_PRIME256V1);
        let asn1 = signed(&pair, MessageDigest::sha256());
        check(PublicKeyAlgorithm::EcdsaP256Sha256, &pair.public_key_to_der().unwrap(), &asn1);
        let (key, parts) = (pair.ec_key().unwrap(), EcdsaSig::from_der(&asn1).unwrap());
        let fixed = [parts.r(), parts.s()].map(|part| part.to_vec_padded(32).unwrap()).concat();
        let form = openssl::ec::PointConversionForm::UNCOMPRESSED;
        let point = key.public_key().to_bytes(key.group(), form, &mut BigNumContext::new().unwrap()).unwrap();
        check(PublicKeyAlgorithm::Es256, &point, &fixed);
        assert!(!is_signed(PublicKeyAlgorithm::Es256, &point, MESSAGE, &[0; 64]));
    }

    #[test]
    fn a_signature_of_an_rsa_key_is_taken() {
        let pair = PKey::from_rsa(Rsa::generate(2048).unwrap()).unwrap();
        let key = pair.public_key_to_der().unwrap();
        check(PublicKeyAlgorithm::RsaSha256, &key, &signed(&pair, MessageDigest::sha256()));
        let sha1 = signed(&pair, MessageDigest::sha1());
        check(PublicKeyAlgorithm::RsaSha1, &key, &sha1);
        assert!(!is_signed(PublicKeyAlgorithm::RsaSha256, &key, MESSAGE, &sha1));
    }

    #[test]
    fn a_key_of_another_kind_or_size_checks_nothing() {
        let (p384, short) = (ec(Nid::SECP384R1), PKey::from_rsa(Rsa::generate(1024).unwrap()).unwrap());
        for (algorithm, pair) in [
            (PublicKeyAlgorithm::EcdsaP256Sha256, &p384),
            (PublicKeyAlgorithm::RsaSha256, &p384),
            (PublicKeyAlgorithm::RsaSha256, &short),
            (PublicKeyAlgorithm::EcdsaP256Sha256, &short),
        ] {
            let signature = signed(pair, MessageDigest::sha256());
            assert!(!is_signed(algorithm, &pair.public_key_to_der().unwrap(), MESSAGE, &signature), "{algorithm:?}");
        }
    }
}
