//! Signature Version 4 of the one kind of request that each event costs
//! (docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html), by a key that is made once a day.
//!
//! Invariant: the signature is the one that AWS's own signer gives the same request; a test holds one against the other.

use std::time::SystemTime;

use aws_credential_types::Credentials;
use hmac::digest::InvalidLength;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::HeaderValue;
use http::header::InvalidHeaderValue;
use jiff::Timestamp;
use jiff::tz::Offset;
use sha2::{Digest as _, Sha256};

const SERVICE: &str = "sqs";
/// Of a time, those that say the day.
const DATE_BYTES: usize = 8;
const ALGORITHM: &str = "AWS4-HMAC-SHA256";

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
    /// The request's line and those of its headers that are the same for all requests.
    head: String,
    /// From its algorithm on, up to the signature.
    authorization: String,
    /// What is signed of the request, before its time, between that and the digest of its body.
    signed: [String; 2],
}

impl Signer {
    /// `host` is as the `Host` header has it.
    pub(crate) fn new(credentials: Credentials, region: String, host: String) -> Self {
        Self { credentials, region, host, day: None }
    }

    pub(crate) fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    /// A `SendMessage` with this body, as it goes over the wire. X-Ray's id is no part of what is signed.
    pub(crate) fn request(
        &mut self,
        body: &[u8],
        now: SystemTime,
        trace_id: Option<&HeaderValue>,
    ) -> Result<Vec<u8>, SignError> {
        let time = time(now)?;
        let kept = self.day.take().filter(|day| day.scope.as_bytes().starts_with(&time[..DATE_BYTES]));
        let day = kept.map_or_else(|| self.day(&time), Ok)?;
        let day = self.day.insert(day);

        let [before, between] = &day.signed;
        let signed = [before.as_bytes(), &time, between.as_bytes(), &hexadecimal(Sha256::digest(body))].concat();
        let to_sign = [ALGORITHM.as_bytes(), b"\n", &time, b"\n", day.scope.as_bytes(), b"\n"].concat();
        let mut key = day.key.clone();
        key.update(&to_sign);
        key.update(&hexadecimal(Sha256::digest(signed)));
        let signature = hexadecimal(key.finalize().into_bytes());

        let length = body.len().to_string();
        let (trace_name, trace_id) = trace_id.map(|id| (&b"\r\nx-amzn-trace-id: "[..], id.as_bytes())).unwrap_or_default();
        let parts = [
            day.head.as_bytes(),
            trace_name,
            trace_id,
            b"\r\nx-amz-date: ",
            &time,
            b"\r\nauthorization: ",
            day.authorization.as_bytes(),
            &signature,
            b"\r\ncontent-length: ",
            length.as_bytes(),
            b"\r\n\r\n",
            body,
        ];
        Ok(parts.concat())
    }

    fn day(&self, time: &[u8; 16]) -> Result<Day, SignError> {
        let Self { credentials, region, host, .. } = self;
        let mut key = Hmac::new_from_slice(["AWS4", credentials.secret_access_key()].concat().as_bytes())?;
        let scope = [&*String::from_utf8_lossy(&time[..DATE_BYTES]), region, SERVICE, "aws4_request"];
        for part in scope {
            key.update(part.as_bytes());
            key = Hmac::new_from_slice(&key.finalize().into_bytes())?;
        }
        let scope = scope.join("/");
        let (token, names) = match credentials.session_token() {
            Some(token) => {
                (format!("x-amz-security-token:{token}\n"), "content-type;host;x-amz-date;x-amz-security-token;x-amz-target")
            }
            None => (String::new(), "content-type;host;x-amz-date;x-amz-target"),
        };
        let id = credentials.access_key_id();
        let authorization = format!("{ALGORITHM} Credential={id}/{scope}, SignedHeaders={names}, Signature=");
        for value in [host, &authorization, credentials.session_token().unwrap_or_default()] {
            HeaderValue::try_from(value)?;
        }
        let mut head = format!(
            "POST / HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/x-amz-json-1.0\r\nx-amz-target: AmazonSQS.SendMessage"
        );
        if let Some(token) = credentials.session_token() {
            head.push_str("\r\nx-amz-security-token: ");
            head.push_str(token);
        }
        let signed = [
            format!("POST\n/\n\ncontent-type:application/x-amz-json-1.0\nhost:{host}\nx-amz-date:"),
            format!("\n{token}x-amz-target:AmazonSQS.SendMessage\n\n{names}\n"),
        ];
        Ok(Day { scope, key, head, authorization, signed })
    }
}

/// As in 20151231T235959Z.
fn time(now: SystemTime) -> Result<[u8; 16], SignError> {
    let at = Offset::UTC.to_datetime(Timestamp::try_from(now)?);
    let mut time = *b"00000000T000000Z";
    let [year_of_century, month, day, hour, minute, second] =
        [at.year() % 100, at.month().into(), at.day().into(), at.hour().into(), at.minute().into(), at.second().into()];
    for (at, number) in
        [(0, at.year() / 100), (2, year_of_century), (4, month), (6, day), (9, hour), (11, minute), (13, second)]
    {
        let digit = |number: i16| b'0' + u8::try_from(number.rem_euclid(10)).unwrap_or_default();
        (time[at], time[at + 1]) = (digit(number / 10), digit(number));
    }
    Ok(time)
}

fn hexadecimal(digest: impl Into<[u8; 32]>) -> [u8; 64] {
    let mut text = [0; 64];
    // It cannot fail: there is as much room as it takes.
    let _ = hex::encode_to_slice(digest.into(), &mut text);
    text
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::time::{Duration, UNIX_EPOCH};

    use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
    use aws_sigv4::sign::v4;

    use super::*;

    /// The body, and each header of a request.
    fn read(request: &[u8]) -> (&[u8], HashMap<&str, &str>) {
        let end = request.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
        let lines = std::str::from_utf8(&request[..end]).unwrap().split("\r\n");
        let headers: Vec<(&str, &str)> = lines.skip(1).map(|line| line.split_once(": ").unwrap()).collect();
        let count = headers.len();
        let headers: HashMap<_, _> = headers.into_iter().collect();
        assert_eq!(headers.len(), count, "a header stands there twice");
        (&request[end + 4..], headers)
    }

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
                        let trace_id = HeaderValue::from_static("Root=1-2-3;Lineage=1:a:0");
                        let request = signer.request(body, now, Some(&trace_id)).unwrap();
                        let (sent, headers) = read(&request);
                        assert_eq!(sent, body);
                        assert_eq!(headers["authorization"], of_aws(&credentials, host, body, now));
                        assert_eq!(headers["host"], host);
                        assert_eq!(headers["x-amzn-trace-id"], trace_id);
                        assert_eq!(headers.get("x-amz-security-token").copied(), credentials.session_token());
                        assert_eq!(headers["content-length"], body.len().to_string());
                    }
                }
            }
        }
    }

    #[test]
    fn what_cannot_stand_in_a_header_is_an_error() {
        let credentials = Credentials::new("id\n", "secret", None, None, "test");
        let refused = Signer::new(credentials, "eu-west-1".into(), "host".into()).request(b"{}", UNIX_EPOCH, None);
        assert!(matches!(refused, Err(SignError::Header(_))), "{refused:?}");
    }
}
