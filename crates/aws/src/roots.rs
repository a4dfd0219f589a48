//! Whom a connection trusts. Invariant: the roots chosen here are all there are; OpenSSL's own search finds none besides.

use std::{fs, io};

use openssl::error::ErrorStack;
use openssl::ssl::{SslConnector, SslConnectorBuilder, SslMethod, SslVersion};
use openssl::x509::X509;
use openssl::x509::store::{X509Store, X509StoreBuilder};

/// Roots of Amazon Trust Services, under which AWS's own services have their certificates.
const AMAZON_TRUST_ROOTS: &[u8] = include_bytes!("../../ledger/certs/amazon-trust.pem");

/// Where the system's roots are: Amazon Linux, Debian, macOS. Not where `SSL_CERT_FILE` says, which is how a receiver is told to
/// read none of them before it has to.
const SYSTEM: [&str; 3] = ["/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/certs/ca-certificates.crt", "/etc/ssl/cert.pem"];

/// Partitions whose endpoints are not known to have certificates of Amazon Trust Services, by how their regions begin.
const OTHER_PARTITIONS: [&str; 4] = ["cn-", "us-iso", "eu-iso", "eusc-"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Roots {
    /// Five, in place of some 140: a new environment answers sooner.
    Amazon,
    /// Those of the operating system.
    System,
    /// In PEM form.
    Pem(Vec<u8>),
}

#[derive(Debug, thiserror::Error)]
pub enum RootsError {
    #[error("cannot read {0} (AWS_CA_BUNDLE)")]
    Bundle(String, #[source] io::Error),
    #[error("this system has no certificates of authorities: none of {}", SYSTEM.join(", "))]
    NoSystem,
    #[error("there is no certificate in PEM form")]
    NoCertificate,
    #[error("cannot use the certificates of the authorities")]
    Unusable(#[from] ErrorStack),
}

impl Roots {
    /// For AWS's services: those in the file `bundle`, else Amazon's where they are AWS's roots.
    pub(crate) fn of_aws(bundle: Option<String>, region: Option<&str>, endpoint: Option<&str>) -> Result<Self, RootsError> {
        match bundle {
            Some(file) => Ok(Self::Pem(fs::read(&file).map_err(|error| RootsError::Bundle(file, error))?)),
            None if is_amazon_s(region, endpoint) => Ok(Self::Amazon),
            None => Ok(Self::System),
        }
    }

    pub(crate) fn tls(&self) -> Result<SslConnectorBuilder, RootsError> {
        let mut tls = SslConnector::builder(SslMethod::tls_client())?;
        tls.set_min_proto_version(Some(SslVersion::TLS1_2))?;
        tls.set_cert_store(match self {
            Self::Amazon => store(AMAZON_TRUST_ROOTS)?,
            Self::Pem(pem) => store(pem)?,
            Self::System => {
                let pem = SYSTEM.iter().find_map(|file| fs::read(file).ok()).ok_or(RootsError::NoSystem)?;
                store(&pem)?
            }
        });
        Ok(tls)
    }
}

fn store(pem: &[u8]) -> Result<X509Store, RootsError> {
    let roots = X509::stack_from_pem(pem)?;
    if roots.is_empty() {
        return Err(RootsError::NoCertificate);
    }
    let mut store = X509StoreBuilder::new()?;
    for root in roots {
        store.add_cert(root)?;
    }
    Ok(store.build())
}

/// An endpoint without TLS needs no roots, so it may have the few.
fn is_amazon_s(region: Option<&str>, endpoint: Option<&str>) -> bool {
    let elsewhere = endpoint.is_some_and(|url| {
        let host = url.strip_prefix("https://").map(|rest| rest.split(['/', ':']).next().unwrap_or_default());
        host.is_some_and(|host| !host.ends_with(".amazonaws.com"))
    });
    !elsewhere && !region.is_some_and(|region| OTHER_PARTITIONS.iter().any(|partition| region.starts_with(partition)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amazon_s_roots_are_for_amazon_s_endpoints() {
        for (region, endpoint, expected) in [
            (Some("eu-west-1"), None, true),
            (Some("us-gov-east-1"), None, true),
            (None, None, true),
            (Some("cn-north-1"), None, false),
            (Some("us-isob-east-1"), None, false),
            (Some("eu-west-1"), Some("https://vpce-1.sqs.eu-west-1.vpce.amazonaws.com/"), true),
            (Some("eu-west-1"), Some("https://sqs.example.com:4566"), false),
            (Some("eu-west-1"), Some("https://amazonaws.com.example.com"), false),
            (Some("eu-west-1"), Some("http://127.0.0.1:4566"), true),
        ] {
            assert_eq!(is_amazon_s(region, endpoint), expected, "{region:?} {endpoint:?}");
        }
    }

    #[test]
    fn a_bundle_that_is_named_is_all_that_is_trusted() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../ledger/certs/amazon-trust.pem");
        let roots = Roots::of_aws(Some(file.to_owned()), Some("eu-west-1"), None).unwrap();
        assert_eq!(roots, Roots::Pem(AMAZON_TRUST_ROOTS.to_vec()));
        let error = Roots::of_aws(Some("/nowhere/ca.pem".to_owned()), None, None).unwrap_err();
        assert_eq!(error.to_string(), "cannot read /nowhere/ca.pem (AWS_CA_BUNDLE)");
        assert_eq!(Roots::of_aws(None, Some("cn-north-1"), None).unwrap(), Roots::System);
    }

    #[test]
    fn every_kind_of_roots_makes_a_connector() {
        for roots in [Roots::Amazon, Roots::System, Roots::Pem(AMAZON_TRUST_ROOTS.to_vec())] {
            assert!(roots.tls().is_ok(), "{roots:?}");
        }
        assert!(matches!(Roots::Pem(Vec::new()).tls().err(), Some(RootsError::NoCertificate)));
        let broken = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".to_vec();
        assert!(matches!(Roots::Pem(broken).tls().err(), Some(RootsError::Unusable(_))));
    }
}
