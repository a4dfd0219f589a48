//! Signatures as the providers make them: a second implementation, so that a mistake in the first does not agree with itself.

use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// `Stripe-Signature` for `body` sent at `t`, in seconds since 1970. The key is the whole secret, `whsec_` included.
pub fn stripe(secret: &str, t: i64, body: &[u8]) -> String {
    let signed = [t.to_string().as_bytes(), b".", body].concat();
    format!("t={t},v1={}", hex::encode(hmac_sha256(secret.as_bytes(), &signed)))
}

/// `X-Hub-Signature-256` for `body`.
pub fn github(secret: &str, body: &[u8]) -> String {
    format!("sha256={}", hex::encode(hmac_sha256(secret.as_bytes(), body)))
}

/// `X-Shopify-Hmac-SHA256` for `body`.
pub fn shopify(secret: &str, body: &[u8]) -> String {
    BASE64.encode(hmac_sha256(secret.as_bytes(), body))
}

/// `Paddle-Signature` for `body` sent at `t`, in seconds since 1970.
pub fn paddle(secret: &str, t: i64, body: &[u8]) -> String {
    let signed = [t.to_string().as_bytes(), b":", body].concat();
    format!("ts={t};h1={}", hex::encode(hmac_sha256(secret.as_bytes(), &signed)))
}

/// `X-Slack-Signature` for `body` sent at `t`, which `X-Slack-Request-Timestamp` repeats.
pub fn slack(secret: &str, t: i64, body: &[u8]) -> String {
    let signed = [b"v0:", t.to_string().as_bytes(), b":", body].concat();
    format!("v0={}", hex::encode(hmac_sha256(secret.as_bytes(), &signed)))
}

pub fn hmac_sha256(key: &[u8], message: &[u8]) -> Vec<u8> {
    // HMAC takes a key of any length, so this arm is never taken.
    let Ok(mut mac) = <Hmac<Sha256> as KeyInit>::new_from_slice(key) else { return Vec::new() };
    mac.update(message);
    mac.finalize().into_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hmac_is_that_of_rfc_4231() {
        let expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(hex::encode(hmac_sha256(b"Jefe", b"what do ya want for nothing?")), expected);
    }

    #[test]
    fn headers_have_their_providers_form() {
        assert!(stripe("whsec_x", 1_700_000_000, b"{}").starts_with("t=1700000000,v1="));
        assert_eq!(github("x", b"{}").len(), "sha256=".len() + 64);
    }
}
