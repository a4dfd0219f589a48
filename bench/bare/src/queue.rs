//! `SendMessage` by hand, signed by Signature Version 4
//! (docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html). Its key, which is good for a day, is made once
//! a day. Invariant: a request is what AWS's own signer makes of it; a test holds one against the other.

use anyhow::{Context, ensure};
use hmac::{Hmac, KeyInit, Mac};
use jiff::Timestamp;
use sha2::{Digest, Sha256};

use crate::http::Peer;

/// As the harness has them; SQS's stand-in looks at neither.
const REGION: &str = "us-east-1";
const ACCESS_KEY_ID: &str = "test";

pub(crate) struct Queue {
    peer: Peer,
    signer: Signer,
}

struct Signer {
    url: String,
    host: String,
    secret: String,
    /// The day, as in 20151231, and its key.
    key: (String, Hmac<Sha256>),
}

impl Queue {
    pub(crate) fn connect(url: String, secret: &str) -> anyhow::Result<Self> {
        let signer = Signer::new(url, secret)?;
        Ok(Self { peer: Peer::connect(&signer.host)?, signer })
    }

    /// The id has nothing in it that JSON would escape.
    pub(crate) fn send(&mut self, event_id: &str) -> anyhow::Result<()> {
        let request = self.signer.request(event_id, Timestamp::now())?;
        let status = self.peer.ask(request.as_bytes())?.status;
        ensure!(status == 200, "the queue answers {status}");
        Ok(())
    }
}

impl Signer {
    fn new(url: String, secret: &str) -> anyhow::Result<Self> {
        let host = url.split('/').nth(2).context("QUEUE_URL has no host")?.to_owned();
        Ok(Self { url, host, secret: secret.to_owned(), key: (String::new(), Hmac::new_from_slice(&[])?) })
    }

    fn request(&mut self, event_id: &str, now: Timestamp) -> anyhow::Result<String> {
        let time = now.strftime("%Y%m%dT%H%M%SZ").to_string();
        let day = &time[..8];
        if self.key.0 != day {
            self.key = (day.to_owned(), key(&self.secret, day)?);
        }
        let Self { url, host, key: (_, key), .. } = self;
        let body =
            format!(r#"{{"QueueUrl":"{url}","MessageBody":"{{\"source\":\"stripe\",\"event_id\":\"{event_id}\"}}"}}"#);
        let names = "content-type;host;x-amz-date;x-amz-target";
        let headers = format!(
            "content-type:application/x-amz-json-1.0\nhost:{host}\nx-amz-date:{time}\nx-amz-target:AmazonSQS.SendMessage\n"
        );
        let request = format!("POST\n/\n\n{headers}\n{names}\n{}", hex::encode(Sha256::digest(&body)));
        let scope = format!("{day}/{REGION}/sqs/aws4_request");
        let to_sign = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{}", hex::encode(Sha256::digest(request)));
        let signature = hex::encode(mac(key.clone(), &to_sign));
        Ok(format!(
            "POST / HTTP/1.1\r\n{}authorization:AWS4-HMAC-SHA256 Credential={ACCESS_KEY_ID}/{scope}, SignedHeaders={names}, \
             Signature={signature}\r\ncontent-length:{}\r\n\r\n{body}",
            headers.replace('\n', "\r\n"),
            body.len()
        ))
    }
}

fn key(secret: &str, day: &str) -> anyhow::Result<Hmac<Sha256>> {
    let mut key: Hmac<Sha256> = Hmac::new_from_slice(format!("AWS4{secret}").as_bytes())?;
    for part in [day, REGION, "sqs", "aws4_request"] {
        key = Hmac::new_from_slice(&mac(key, part))?;
    }
    Ok(key)
}

fn mac(mut key: Hmac<Sha256>, text: &str) -> [u8; 32] {
    key.update(text.as_bytes());
    key.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use aws_credential_types::Credentials;
    use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
    use aws_sigv4::sign::v4;

    use super::*;

    /// Of AWS's own signer.
    fn signature(head: &str, body: &str, now: Timestamp) -> String {
        let identity = Credentials::new(ACCESS_KEY_ID, "test", None, None, "test").into();
        let params = v4::SigningParams::builder()
            .identity(&identity)
            .region(REGION)
            .name("sqs")
            .time(SystemTime::UNIX_EPOCH + Duration::from_secs(now.as_second() as u64))
            .settings(SigningSettings::default())
            .build()
            .unwrap();
        let header = |name| head.lines().find_map(|line: &str| line.strip_prefix(name)?.strip_prefix(':')).unwrap();
        let signed = ["content-type", "x-amz-target"].map(|name| (name, header(name)));
        let url = format!("http://{}/", header("host"));
        let request = SignableRequest::new("POST", &url, signed.into_iter(), SignableBody::Bytes(body.as_bytes())).unwrap();
        sign(request, &params.into()).unwrap().into_parts().1
    }

    #[test]
    fn a_request_has_the_signature_that_awss_own_signer_gives_it_today_and_tomorrow() {
        let mut signer = Signer::new("http://127.0.0.1:4570/000000000000/events".into(), "test").unwrap();
        for now in ["2026-11-30T23:59:59Z", "2026-12-01T00:00:00Z"] {
            let now: Timestamp = now.parse().unwrap();
            let request = signer.request("evt_1", now).unwrap();
            let (head, body) = request.split_once("\r\n\r\n").unwrap();
            assert!(head.contains(&format!("Signature={}\r\n", signature(head, body, now))), "{head}");
        }
    }
}
