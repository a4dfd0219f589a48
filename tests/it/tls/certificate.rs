//! Certificates made for a test: an authority, and what it issues.

use native_tls::Identity;
use openssl::asn1::Asn1Time;
use openssl::bn::{BigNum, MsbOption};
use openssl::ec::{EcGroup, EcKey};
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};
use openssl::x509::extension::{AuthorityKeyIdentifier, BasicConstraints, SubjectAlternativeName, SubjectKeyIdentifier};
use openssl::x509::{X509, X509Builder, X509Name, X509NameRef};

pub(crate) struct Authority {
    certificate: X509,
    key: PKey<Private>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Validity {
    UntilTomorrow,
    Expired,
}

impl Authority {
    /// All authorities have one name: only their keys tell them apart, as when one is renewed.
    pub(crate) fn new() -> Self {
        let (name, key) = (common_name("an authority"), new_key());
        let mut builder = certificate(&name, &name, &key, Validity::UntilTomorrow);
        builder.append_extension(BasicConstraints::new().critical().ca().build().unwrap()).unwrap();
        let key_id = SubjectKeyIdentifier::new().build(&builder.x509v3_context(None, None)).unwrap();
        builder.append_extension(key_id).unwrap();
        builder.sign(&key, MessageDigest::sha256()).unwrap();
        Self { certificate: builder.build(), key }
    }

    pub(crate) fn pem(&self) -> Vec<u8> {
        self.certificate.to_pem().unwrap()
    }

    pub(crate) fn issue(&self, host: &str, validity: Validity) -> Identity {
        let key = new_key();
        let mut builder = certificate(&common_name(host), self.certificate.subject_name(), &key, validity);
        let context = builder.x509v3_context(Some(&self.certificate), None);
        let alternative_name = SubjectAlternativeName::new().dns(host).build(&context).unwrap();
        let issuer_key_id = AuthorityKeyIdentifier::new().keyid(true).build(&context).unwrap();
        builder.append_extension(alternative_name).unwrap();
        builder.append_extension(issuer_key_id).unwrap();
        builder.sign(&self.key, MessageDigest::sha256()).unwrap();
        Identity::from_pkcs8(&builder.build().to_pem().unwrap(), &key.private_key_to_pem_pkcs8().unwrap()).unwrap()
    }
}

fn certificate(subject: &X509NameRef, issuer: &X509NameRef, key: &PKey<Private>, validity: Validity) -> X509Builder {
    let end = match validity {
        Validity::UntilTomorrow => Asn1Time::days_from_now(1),
        Validity::Expired => Asn1Time::from_str("20210101000000Z"),
    };
    let mut serial = BigNum::new().unwrap();
    serial.rand(64, MsbOption::ONE, false).unwrap();
    let mut builder = X509Builder::new().unwrap();
    builder.set_version(2).unwrap();
    builder.set_serial_number(&serial.to_asn1_integer().unwrap()).unwrap();
    builder.set_subject_name(subject).unwrap();
    builder.set_issuer_name(issuer).unwrap();
    builder.set_pubkey(key).unwrap();
    builder.set_not_before(&Asn1Time::from_str("20200101000000Z").unwrap()).unwrap();
    builder.set_not_after(&end.unwrap()).unwrap();
    builder
}

fn common_name(name: &str) -> X509Name {
    let mut builder = X509Name::builder().unwrap();
    builder.append_entry_by_nid(Nid::COMMONNAME, name).unwrap();
    builder.build()
}

fn new_key() -> PKey<Private> {
    let curve = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
    PKey::from_ec_key(EcKey::generate(&curve).unwrap()).unwrap()
}
