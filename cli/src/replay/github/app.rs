//! Signing in as a GitHub App (docs.github.com/apps/creating-github-apps/authenticating-with-a-github-app): a token that is signed here,
//! with the app's private key.

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hookledger_runtime::now;
use openssl::hash::MessageDigest;
use openssl::pkey::{PKey, Private};
use openssl::sign::Signer;
use serde_json::json;

use crate::ended::BadInput;
use crate::session::Session;

/// Seconds. GitHub takes up to 600, and wants the beginning set back for clocks that differ.
const LIFE_S: i64 = 540;
const SET_BACK_S: i64 = 60;

pub(crate) fn token(session: &Session) -> Result<String> {
    let missing = || BadInput("GITHUB_APP_ID is not set: it holds the app's id or client id".to_owned());
    let app_id = session.env.optional("GITHUB_APP_ID")?.ok_or_else(missing)?;
    let text = session.terminal.secret(&session.env, "GITHUB_APP_PRIVATE_KEY", "the app's private key, or its file")?;
    let pem = if text.expose().starts_with(b"-----BEGIN") {
        text.expose().to_vec()
    } else {
        let path = String::from_utf8_lossy(text.expose()).into_owned();
        std::fs::read(path).context("GITHUB_APP_PRIVATE_KEY is neither a key nor a file that can be read")?
    };
    let key = PKey::private_key_from_pem(&pem).context("GITHUB_APP_PRIVATE_KEY is no private key in PEM form")?;
    signed(&app_id, &key, now() / 1_000_000)
}

fn signed(app_id: &str, key: &PKey<Private>, now_s: i64) -> Result<String> {
    let part = |value: serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let claims = json!({ "iss": app_id, "iat": now_s - SET_BACK_S, "exp": now_s + LIFE_S - SET_BACK_S });
    let message = format!("{}.{}", part(json!({ "alg": "RS256", "typ": "JWT" })), part(claims));
    let mut signer = Signer::new(MessageDigest::sha256(), key)?;
    let signature = signer.sign_oneshot_to_vec(message.as_bytes())?;
    Ok(format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature)))
}

#[cfg(test)]
mod tests {
    use openssl::rsa::Rsa;
    use openssl::sign::Verifier;

    use super::*;

    #[test]
    fn the_token_is_signed_and_short_lived() {
        let key = PKey::from_rsa(Rsa::generate(2048).unwrap()).unwrap();
        let token = signed("Iv1.app", &key, 1_000_000).unwrap();
        let (message, signature) = token.rsplit_once('.').unwrap();
        let mut verifier = Verifier::new(MessageDigest::sha256(), &key).unwrap();
        let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
        assert!(verifier.verify_oneshot(&signature, message.as_bytes()).unwrap());
        let claims = URL_SAFE_NO_PAD.decode(message.split_once('.').unwrap().1).unwrap();
        let claims: serde_json::Value = serde_json::from_slice(&claims).unwrap();
        assert_eq!(claims, json!({"iss": "Iv1.app", "iat": 999_940, "exp": 1_000_480}));
    }
}
