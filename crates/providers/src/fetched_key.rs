//! Keys that a provider publishes under a URL. Nothing is fetched here: this says what to fetch, and makes a key of what came.
//!
//! Invariant: what to fetch is pinned by the definition (scheme, host, path) before it is said, so that a sender cannot make
//! this program call an address of its choice; and a key that was fetched for one delivery proves that delivery only.

use std::time::Duration;

use hookledger_core::{Secret, has_control};
use http::Method;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, UnixTime};
use serde::Deserialize;
use webpki::{EndEntityCert, KeyUsage};

use crate::facts::Facts;
use crate::jwt;
use crate::opened::Opened;
use crate::place::Place;
use crate::rejection::Rejection;
use crate::request::SignedRequest;
use crate::settings::Settings;
use crate::sources::Source;
use crate::verify::REPLAY_TOKEN;

/// Longest answer that may be a key, in bytes.
pub const KEY_BYTES_MAX: usize = 64 << 10;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FetchedKey {
    kind: Kind,
    /// Where the certificate's URL stands, or the token that names a key.
    pub(crate) at: Place,
    /// A star stands for one label.
    #[serde(default)]
    hosts: Vec<String>,
    #[serde(default)]
    path_start: String,
    #[serde(default)]
    path_end: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    Certificate,
    PlaidJwk,
}

/// What to fetch before a delivery can be verified. The caller follows no redirect, sends no credentials but those named
/// here, reads at most [`KEY_BYTES_MAX`], bounds the time, and may cache by the whole value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum KeyFetch {
    /// `GET` the URL: an X.509 certificate as PEM.
    Certificate { url: String },
    /// `POST` JSON of `client_id`, `key_id` and the source's secret as `secret`: a JSON Web Key.
    PlaidKey { url: String, client_id: String, key_id: String },
}

/// What was fetched is no key that may be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnusableKey {
    #[error("it is longer than {KEY_BYTES_MAX} bytes")]
    TooLong,
    #[error("it is not an X.509 certificate in PEM")]
    NoCertificate,
    #[error("it is a certificate that has expired, or is not valid yet")]
    OutOfDate,
    #[error("it is not the P-256 key for ES256 that was asked for, or it has expired")]
    NoKey,
}

#[derive(Deserialize)]
struct PlaidAnswer {
    key: Jwk,
}

#[derive(Deserialize)]
struct Jwk {
    alg: String,
    crv: String,
    kid: String,
    kty: String,
    x: String,
    y: String,
    expired_at: Option<i64>,
}

/// The key that `request` needs, `None` where the source has its own secrets, and for a replay and what is no delivery at
/// all: those need none. A delivery that names no key, or one outside of what is pinned, is refused like any other that is
/// not signed.
pub fn key_fetch(source: &Source, request: &SignedRequest) -> Result<Option<KeyFetch>, Rejection> {
    let Some(fetched) = &source.provider.definition.fetched_key else { return Ok(None) };
    if request.method != Method::POST || request.headers.contains_key(REPLAY_TOKEN) {
        return Ok(None);
    }
    if request.body.len() > source.body_bytes_max() {
        return Err(Rejection::TooLarge);
    }
    let no_signature = |_| Rejection::NoSignature;
    let text = if fetched.at.is_in_body() {
        let opened = Opened::new(&source.provider, request).map_err(no_signature)?;
        let whole = opened.whole();
        let found = opened.item(&whole).map_err(no_signature)?;
        let facts = Facts { item: &found, ..Facts::unopened(request, 0) };
        fetched.at.text(&facts).map_err(no_signature)?.map(|text| text.into_owned())
    } else {
        let facts = Facts::unopened(request, 0);
        fetched.at.text(&facts).map_err(no_signature)?.map(|text| text.into_owned())
    };
    let text = text.ok_or(Rejection::NoSignature)?;
    fetched.fetch(&text, &source.settings).map(Some).ok_or(Rejection::BadSignature)
}

impl FetchedKey {
    pub(crate) fn needs_client_id(&self) -> bool {
        self.kind == Kind::PlaidJwk
    }

    fn fetch(&self, text: &str, settings: &Settings) -> Option<KeyFetch> {
        match self.kind {
            Kind::Certificate if self.pins(text) => Some(KeyFetch::Certificate { url: text.to_owned() }),
            Kind::Certificate => None,
            Kind::PlaidJwk => Some(KeyFetch::PlaidKey {
                url: format!("https://{}.plaid.com/webhook_verification_key/get", settings.plaid_host()),
                client_id: settings.client_id.clone()?,
                key_id: jwt::key_id(text).filter(|id| id.len() <= 128 && !has_control(id))?,
            }),
        }
    }

    fn pins(&self, url: &str) -> bool {
        let Some((host, path)) = url.strip_prefix("https://").and_then(|rest| rest.split_once('/')) else { return false };
        let plain = path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte)) && !path.contains("..");
        let path = format!("/{path}");
        plain
            && self.hosts.iter().any(|pinned| host_fits(pinned, host))
            && path.starts_with(&self.path_start)
            && path.ends_with(&self.path_end)
            && path.len() > self.path_start.len() + self.path_end.len()
    }
}

fn host_fits(pinned: &str, host: &str) -> bool {
    let label =
        |text: &str| text.len() >= 3 && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    let (pinned, host): (Vec<&str>, Vec<&str>) = (pinned.split('.').collect(), host.split('.').collect());
    pinned.len() == host.len()
        && pinned.iter().zip(host).all(|(pinned, host)| *pinned == host || (*pinned == "*" && label(host)))
}

impl KeyFetch {
    pub fn url(&self) -> &str {
        match self {
            Self::Certificate { url } | Self::PlaidKey { url, .. } => url,
        }
    }

    /// Makes of `fetched` the key to give to [`verify`](crate::verify) instead of the source's secrets, for deliveries that
    /// ask for this same fetch and no others. `now_s` is Unix time in seconds.
    ///
    /// A certificate has to be within its dates. Who issued it is not asked: it comes without those above it, and is trusted
    /// because it was fetched, over verified TLS, from a host that only the provider has.
    pub fn key(&self, fetched: &[u8], now_s: i64) -> Result<Secret, UnusableKey> {
        if fetched.len() > KEY_BYTES_MAX {
            return Err(UnusableKey::TooLong);
        }
        match self {
            Self::Certificate { .. } => {
                let der = CertificateDer::from_pem_slice(fetched).map_err(|_| UnusableKey::NoCertificate)?;
                let certificate = EndEntityCert::try_from(&der).map_err(|_| UnusableKey::NoCertificate)?;
                if !is_in_date(&certificate, now_s) {
                    return Err(UnusableKey::OutOfDate);
                }
                Secret::new(certificate.subject_public_key_info().to_vec()).map_err(|_| UnusableKey::NoCertificate)
            }
            Self::PlaidKey { key_id, .. } => {
                let PlaidAnswer { key } = serde_json::from_slice(fetched).map_err(|_| UnusableKey::NoKey)?;
                let wanted = (key.alg.as_str(), key.crv.as_str(), key.kty.as_str()) == ("ES256", "P-256", "EC");
                if !wanted || key.kid != *key_id || key.expired_at.is_some() {
                    return Err(UnusableKey::NoKey);
                }
                let point = jwt::p256_point(&key.x, &key.y).ok_or(UnusableKey::NoKey)?;
                Secret::new(point).map_err(|_| UnusableKey::NoKey)
            }
        }
    }
}

/// The verification looks at a certificate's dates before it looks for an issuer, of which it is given none.
fn is_in_date(certificate: &EndEntityCert<'_>, now_s: i64) -> bool {
    let now = UnixTime::since_unix_epoch(Duration::from_secs(u64::try_from(now_s).unwrap_or_default()));
    let verified = certificate.verify_for_usage(&[], &[], &[], now, KeyUsage::server_auth(), None, None);
    !matches!(
        verified.err(),
        Some(
            webpki::Error::CertExpired { .. }
                | webpki::Error::CertNotValidYet { .. }
                | webpki::Error::InvalidCertValidity
                | webpki::Error::BadDerTime
                | webpki::Error::BadDer
        )
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sns() -> FetchedKey {
        FetchedKey {
            kind: Kind::Certificate,
            at: Place::try_from("body:/SigningCertURL".to_owned()).unwrap(),
            hosts: vec!["sns.*.amazonaws.com".to_owned(), "sns.*.amazonaws.com.cn".to_owned()],
            path_start: "/SimpleNotificationService-".to_owned(),
            path_end: ".pem".to_owned(),
        }
    }

    #[test]
    fn only_the_pinned_addresses_are_fetched() {
        for good in [
            "https://sns.us-west-2.amazonaws.com/SimpleNotificationService-f3ecfb7224c7233fe7bb5f59f96de52f.pem",
            "https://sns.cn-north-1.amazonaws.com.cn/SimpleNotificationService-0.pem",
        ] {
            assert!(sns().pins(good), "{good}");
        }
        for bad in [
            "http://sns.us-west-2.amazonaws.com/SimpleNotificationService-0.pem",
            "https://sns.us-west-2.amazonaws.com:8443/SimpleNotificationService-0.pem",
            "https://user@sns.us-west-2.amazonaws.com/SimpleNotificationService-0.pem",
            "https://sns.us-west-2.amazonaws.com.evil.io/SimpleNotificationService-0.pem",
            "https://evil.io/sns.us-west-2.amazonaws.com/SimpleNotificationService-0.pem",
            "https://sns.us-west-2.amazonaws.com@evil.io/SimpleNotificationService-0.pem",
            "https://evil.io#.sns.us-west-2.amazonaws.com/SimpleNotificationService-0.pem",
            "https://evil.io\\.amazonaws.com/SimpleNotificationService-0.pem",
            "https://sns.evil.io?.amazonaws.com/SimpleNotificationService-0.pem",
            "https://bucket.s3.amazonaws.com/SimpleNotificationService-0.pem",
            "https://sns.a.amazonaws.com/SimpleNotificationService-0.pem",
            "https://sns.us-west-2.x.amazonaws.com/SimpleNotificationService-0.pem",
            "https://SNS.us-west-2.amazonaws.com/SimpleNotificationService-0.pem",
            "https://sns.us-west-2.amazonaws.com/other-0.pem",
            "https://sns.us-west-2.amazonaws.com/SimpleNotificationService-0.pem?x",
            "https://sns.us-west-2.amazonaws.com/SimpleNotificationService-/../0.pem",
            "https://sns.us-west-2.amazonaws.com/SimpleNotificationService-%2e.pem",
            "https://sns.us-west-2.amazonaws.com/SimpleNotificationService-.pem",
            "https://169.254.169.254/SimpleNotificationService-0.pem",
            "https://localhost/SimpleNotificationService-0.pem",
            "file:///SimpleNotificationService-0.pem",
            "",
        ] {
            assert!(!sns().pins(bad), "{bad}");
        }
    }

    #[test]
    fn what_is_no_key_is_refused() {
        let fetch = KeyFetch::Certificate { url: String::new() };
        assert_eq!(fetch.key(b"<html>", 0), Err(UnusableKey::NoCertificate));
        assert_eq!(fetch.key(&vec![b'x'; KEY_BYTES_MAX + 1], 0), Err(UnusableKey::TooLong));
        let jwk = |alg: &str, kid: &str, expired: &str| {
            let x = "A".repeat(43);
            format!(
                r#"{{"key":{{"alg":"{alg}","crv":"P-256","kid":"{kid}","kty":"EC","use":"sig","x":"{x}","y":"{x}","expired_at":{expired}}}}}"#
            )
        };
        let fetch = KeyFetch::PlaidKey { url: String::new(), client_id: String::new(), key_id: "k1".into() };
        assert!(fetch.key(jwk("ES256", "k1", "null").as_bytes(), 0).is_ok());
        for bad in [jwk("HS256", "k1", "null"), jwk("ES256", "k2", "null"), jwk("ES256", "k1", "1"), "{}".into()] {
            assert_eq!(fetch.key(bad.as_bytes(), 0), Err(UnusableKey::NoKey));
        }
    }
}
