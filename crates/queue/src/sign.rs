//! Signature Version 4 of the one kind of request that each event costs
//! (docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html), by a key that is made once a day.
//!
//! Invariant: the signature is the one that AWS's own signer gives the same request; a test holds one against the other.

use std::time::SystemTime;

use aws_credential_types::Credentials;
use hmac::digest::InvalidLength;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, InvalidHeaderValue};
use http::{HeaderMap, HeaderName, HeaderValue};
use jiff::Timestamp;
use jiff::tz::Offset;
use sha2::{Digest as _, Sha256};

const SERVICE: &str = "sqs";
const TYPE: HeaderValue = HeaderValue::from_static("application/x-amz-json-1.0");
const SEND_MESSAGE: HeaderValue = HeaderValue::from_static("AmazonSQS.SendMessage");

const DATE: HeaderName = HeaderName::from_static("x-amz-date");
const TOKEN: HeaderName = HeaderName::from_static("x-amz-security-token");
const TARGET: HeaderName = HeaderName::from_static("x-amz-target");

#[derive(Debug, thiserror::Error)]
pub(crate) enum SignError {
    #[error("the clock is at a time that no calendar has")]
    Clock(#[from] jiff::Error),
    #[error("HMAC does not take the key")]
    Key(#[from] InvalidLength),
    #[error("credentials or host cannot stand in a header")]
    Header(#[from] InvalidHeaderValue),
}

/// Signs for one server with one set of credentials.
pub(crate) struct Signer {
    credentials: Credentials,
    region: String,
    host: String,
    day: Option<Day>,
}

/// What is the same for a whole day.
struct Day {
    /// As in 20151231/eu-west-1/sqs/aws4_request.
    scope: String,
    key: Hmac<Sha256>,
    /// All headers but those that differ from request to request.
    headers: HeaderMap,
}

impl Signer {
    /// `host` is as the `Host` header has it.
    pub(crate) fn new(credentials: Credentials, region: String, host: String) -> Self {
        Self { credentials, region, host, day: None }
    }

    pub(crate) fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    /// All headers of a `SendMessage` to `/` with this body, but for `Content-Length`.
    pub(crate) fn headers(&mut self, body: &[u8], now: SystemTime) -> Result<HeaderMap, SignError> {
        let time = Offset::UTC.to_datetime(Timestamp::try_from(now)?).strftime("%Y%m%dT%H%M%SZ").to_string();
        let date = time.get(..8).unwrap_or_default();
        let kept = self.day.take().filter(|day| day.scope.starts_with(date));
        let day = kept.map_or_else(|| self.day(date), Ok)?;
        let day = self.day.insert(day);
        let Self { credentials, host, .. } = self;

        let (token, names) = match credentials.session_token() {
            Some(token) => (token, "content-type;host;x-amz-date;x-amz-security-token;x-amz-target"),
            None => ("", "content-type;host;x-amz-date;x-amz-target"),
        };
        let mut request = String::with_capacity(512 + token.len());
        for part in ["POST\n/\n\ncontent-type:application/x-amz-json-1.0\nhost:", host, "\nx-amz-date:", &time] {
            request.push_str(part);
        }
        if !token.is_empty() {
            request.push_str("\nx-amz-security-token:");
            request.push_str(token);
        }
        request.push_str("\nx-amz-target:AmazonSQS.SendMessage\n\n");
        request.push_str(names);
        request.push('\n');
        request.push_str(&hex::encode(Sha256::digest(body)));

        let to_sign = ["AWS4-HMAC-SHA256\n", &time, "\n", &day.scope, "\n", &hex::encode(Sha256::digest(request))].concat();
        let signature = hex::encode(mac(day.key.clone(), &to_sign));
        let id = credentials.access_key_id();
        let authorization =
            ["AWS4-HMAC-SHA256 Credential=", id, "/", &day.scope, ", SignedHeaders=", names, ", Signature=", &signature]
                .concat();

        let mut headers = day.headers.clone();
        headers.insert(DATE, HeaderValue::try_from(time)?);
        headers.insert(AUTHORIZATION, HeaderValue::try_from(authorization)?);
        Ok(headers)
    }

    fn day(&self, date: &str) -> Result<Day, SignError> {
        let mut key = Hmac::new_from_slice(["AWS4", self.credentials.secret_access_key()].concat().as_bytes())?;
        let scope = [date, &self.region, SERVICE, "aws4_request"];
        for part in scope {
            key = Hmac::new_from_slice(&mac(key, part))?;
        }
        let mut headers = HeaderMap::with_capacity(8);
        headers.insert(HOST, HeaderValue::try_from(&self.host)?);
        headers.insert(CONTENT_TYPE, TYPE);
        headers.insert(TARGET, SEND_MESSAGE);
        if let Some(token) = self.credentials.session_token() {
            headers.insert(TOKEN, HeaderValue::try_from(token)?);
        }
        Ok(Day { scope: scope.join("/"), key, headers })
    }
}

fn mac(mut key: Hmac<Sha256>, text: &str) -> [u8; 32] {
    key.update(text.as_bytes());
    key.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
    use aws_sigv4::sign::v4;

    use super::*;

    /// `Authorization` by AWS's own signer.
    fn of_aws(credentials: &Credentials, host: &str, body: &[u8], now: SystemTime) -> String {
        let identity = credentials.clone().into();
        let params = v4::SigningParams::builder()
            .identity(&identity)
            .region("eu-west-1")
            .name("sqs")
            .time(now)
            .settings(SigningSettings::default())
            .build()
            .unwrap()
            .into();
        let url = format!("https://{host}/");
        let headers = [("content-type", "application/x-amz-json-1.0"), ("x-amz-target", "AmazonSQS.SendMessage")];
        let request = SignableRequest::new("POST", &url, headers.into_iter(), SignableBody::Bytes(body)).unwrap();
        let (instructions, _) = sign(request, &params).unwrap().into_parts();
        let mut request = http::Request::post(&url).body(()).unwrap();
        instructions.apply_to_request_http1x(&mut request);
        request.headers()["authorization"].to_str().unwrap().to_owned()
    }

    #[test]
    fn a_request_has_the_signature_of_awss_own_signer_today_and_tomorrow_and_with_a_role_s_token() {
        let forever = Credentials::new("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", None, None, "test");
        let role = Credentials::new("ASIAEXAMPLE", "secret", Some("to/ken+with==".into()), None, "test");
        let midnight = UNIX_EPOCH + Duration::from_secs(1_796_083_200);
        for credentials in [forever, role] {
            for host in ["sqs.eu-west-1.amazonaws.com", "127.0.0.1:4566"] {
                let mut signer = Signer::new(credentials.clone(), "eu-west-1".into(), host.into());
                for now in [midnight - Duration::from_millis(1), midnight, midnight + Duration::from_secs(3_661)] {
                    for body in [&b"{}"[..], "{\"QueueUrl\":\"é\"}".as_bytes()] {
                        let headers = signer.headers(body, now).unwrap();
                        assert_eq!(headers["authorization"].to_str().unwrap(), of_aws(&credentials, host, body, now));
                        assert_eq!(headers["host"], *host);
                        let token = headers.get("x-amz-security-token").map(|token| token.to_str().unwrap());
                        assert_eq!(token, credentials.session_token());
                    }
                }
            }
        }
    }

    #[test]
    fn what_cannot_stand_in_a_header_is_an_error() {
        let credentials = Credentials::new("id\n", "secret", None, None, "test");
        let refused = Signer::new(credentials, "eu-west-1".into(), "host".into()).headers(b"{}", UNIX_EPOCH);
        assert!(matches!(refused, Err(SignError::Header(_))), "{refused:?}");
    }
}
