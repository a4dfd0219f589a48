//! Keys of providers that sign with a private one.

use base64::Engine;
use base64::prelude::{BASE64_STANDARD as BASE64, BASE64_URL_SAFE_NO_PAD as BASE64_URL};
use openssl::asn1::Asn1Time;
use openssl::bn::{BigNum, BigNumContext};
use openssl::ec::{EcGroup, EcKey};
use openssl::ecdsa::EcdsaSig;
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};
use openssl::rsa::Rsa;
use openssl::sign::Signer;
use openssl::x509::{X509, X509Name};
use sha2::{Digest, Sha256};

pub(super) struct Ed25519(PKey<Private>);

impl Ed25519 {
    pub(super) fn new() -> Self {
        Self(PKey::generate_ed25519().unwrap())
    }

    pub(super) fn public_hex(&self) -> String {
        hex::encode(self.0.raw_public_key().unwrap())
    }

    pub(super) fn sign_hex(&self, message: &[u8]) -> String {
        hex::encode(Signer::new_without_digest(&self.0).unwrap().sign_oneshot_to_vec(message).unwrap())
    }
}

pub(super) struct P256(EcKey<Private>);

impl P256 {
    pub(super) fn new() -> Self {
        Self(EcKey::generate(&EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap()).unwrap())
    }

    /// As SendGrid shows it.
    pub(super) fn public_base64(&self) -> String {
        BASE64.encode(self.0.public_key_to_der().unwrap())
    }

    pub(super) fn sign_base64(&self, message: &[u8]) -> String {
        BASE64.encode(EcdsaSig::sign(&Sha256::digest(message), &self.0).unwrap().to_der().unwrap())
    }

    /// A JSON Web Token by ES256.
    pub(super) fn token(&self, header: &str, claims: &str) -> String {
        let signed = format!("{}.{}", BASE64_URL.encode(header), BASE64_URL.encode(claims));
        let signature = EcdsaSig::sign(&Sha256::digest(&signed), &self.0).unwrap();
        let number = |n: &openssl::bn::BigNumRef| n.to_vec_padded(32).unwrap();
        format!("{signed}.{}", BASE64_URL.encode([number(signature.r()), number(signature.s())].concat()))
    }

    /// The public key's coordinates, as a JSON Web Key has them.
    pub(super) fn coordinates(&self) -> (String, String) {
        let (mut x, mut y) = (BigNum::new().unwrap(), BigNum::new().unwrap());
        let mut context = BigNumContext::new().unwrap();
        self.0.public_key().affine_coordinates(self.0.group(), &mut x, &mut y, &mut context).unwrap();
        (BASE64_URL.encode(x.to_vec_padded(32).unwrap()), BASE64_URL.encode(y.to_vec_padded(32).unwrap()))
    }
}

/// A key whose certificate is published.
pub(super) struct Published(PKey<Private>);

impl Published {
    pub(super) fn new() -> Self {
        Self(PKey::from_rsa(Rsa::generate(2048).unwrap()).unwrap())
    }

    pub(super) fn certificate(&self) -> Vec<u8> {
        let mut name = X509Name::builder().unwrap();
        name.append_entry_by_nid(Nid::COMMONNAME, "a provider").unwrap();
        let (name, mut builder) = (name.build(), X509::builder().unwrap());
        builder.set_version(2).unwrap();
        builder.set_subject_name(&name).unwrap();
        builder.set_issuer_name(&name).unwrap();
        builder.set_pubkey(&self.0).unwrap();
        builder.set_not_before(&Asn1Time::days_from_now(0).unwrap()).unwrap();
        builder.set_not_after(&Asn1Time::days_from_now(1).unwrap()).unwrap();
        builder.sign(&self.0, MessageDigest::sha256()).unwrap();
        builder.build().to_pem().unwrap()
    }

    pub(super) fn sign_base64(&self, digest: MessageDigest, message: &str) -> String {
        BASE64.encode(Signer::new(digest, &self.0).unwrap().sign_oneshot_to_vec(message.as_bytes()).unwrap())
    }
}
