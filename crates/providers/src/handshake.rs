//! What a provider sends to see whether an endpoint is ours. Invariants: an unsigned handshake is told apart by its query,
//! headers or form, never by JSON, and nothing it says is kept; an echo is bounded and is sent as plain text.

use hookledger_core::{HmacAlgorithm, Secret};
use http::Method;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::condition::Condition;
use crate::facts::{Facts, Wanted};
use crate::place::Place;
use crate::rejection::Rejection;
use crate::settings::Settings;
use crate::verify::{Answer, Verified};
use hookledger_json::Malformed;

/// Longest text that is echoed, in bytes; the longest of a provider (Microsoft Graph) are some hundred.
const ECHO_BYTES_MAX: usize = 4096;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Handshake {
    #[serde(default)]
    method: Verb,
    /// Whether it is looked at only after the signature.
    #[serde(default = "yes")]
    pub(crate) signed: bool,
    /// All have to hold.
    #[serde(default)]
    when: Vec<Condition>,
    /// Where the source's verify token has to stand.
    verify_token: Option<Place>,
    answer: Reply,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum Verb {
    #[default]
    Post,
    Get,
    Head,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Reply {
    /// 200 with the text that stands there.
    Echo(Place),
    /// 200 with this JSON.
    Json(String),
    /// This status with an empty body.
    Status(u16),
    Ignore(Ignore),
    /// Zoom: the token and its HMAC.
    ZoomToken(Place),
    /// Braintree: the public key and the challenge's HMAC.
    BraintreeChallenge(Place),
}

/// Why a genuine delivery is not routed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Ignore {
    /// The provider tries the endpoint.
    Ping,
    /// The provider says that it is holding events back.
    RateLimited,
    /// A test event where live ones are wanted, or the reverse.
    OtherMode,
    /// A delivery without an event in it.
    NoEvents,
    /// The provider ended the subscription.
    Revoked,
}

impl Ignore {
    pub(crate) fn verified(self) -> Verified {
        let reason = match self {
            Self::Ping => "ping",
            Self::RateLimited => "rate_limited",
            Self::OtherMode => "other_mode",
            Self::NoEvents => "no_events",
            Self::Revoked => "revoked",
        };
        Verified::Ignored { reason }
    }
}

fn yes() -> bool {
    true
}

impl Handshake {
    pub(crate) fn bind(&mut self, wanted: &mut Wanted) -> Result<(), String> {
        for condition in &mut self.when {
            condition.bind(wanted)?;
        }
        if let Some(place) = &mut self.verify_token {
            place.bind(wanted)?;
        }
        match &mut self.answer {
            Reply::Echo(place) | Reply::ZoomToken(place) | Reply::BraintreeChallenge(place) => place.bind(wanted),
            Reply::Json(_) | Reply::Status(_) | Reply::Ignore(_) => Ok(()),
        }
    }

    pub(crate) fn needs_verify_token(&self) -> bool {
        self.verify_token.is_some()
    }

    pub(crate) fn needs_public_key(&self) -> bool {
        matches!(self.answer, Reply::BraintreeChallenge(_))
    }

    pub(crate) fn reads_json(&self) -> bool {
        self.when.iter().any(Condition::is_in_json)
    }

    /// Whether a form has to be opened to know it.
    pub(crate) fn is_in_body(&self) -> bool {
        self.when.iter().any(Condition::is_in_body)
    }

    pub(crate) fn is_for(&self, method: &Method) -> bool {
        match self.method {
            Verb::Post => method == Method::POST,
            Verb::Get => method == Method::GET,
            Verb::Head => method == Method::HEAD,
        }
    }

    /// `None` where the delivery is not this handshake.
    pub(crate) fn answer(
        &self,
        facts: &Facts<'_>,
        settings: &Settings,
        secrets: &[Secret],
    ) -> Result<Option<Verified>, Rejection> {
        let malformed = |Malformed| Rejection::MalformedBody;
        for condition in &self.when {
            if !condition.holds(facts).map_err(malformed)? {
                return Ok(None);
            }
        }
        if let Some(place) = &self.verify_token {
            let given = place.text(facts).map_err(malformed)?.ok_or(Rejection::NoSignature)?;
            let wanted = settings.verify_token_sha256.ok_or(Rejection::BadSignature)?;
            if !bool::from(Sha256::digest(given.as_bytes())[..].ct_eq(&wanted)) {
                return Err(Rejection::BadSignature);
            }
        }
        let text = |place: &Place| {
            let text = place.text(facts).map_err(malformed)?.filter(|text| text.len() <= ECHO_BYTES_MAX);
            text.map(|text| text.into_owned()).ok_or(Rejection::MalformedBody)
        };
        let secret = || secrets.first().ok_or(Rejection::BadSignature);
        Ok(Some(match &self.answer {
            Reply::Echo(place) => plain(text(place)?),
            Reply::Json(json) => answer(200, "application/json", json.clone()),
            Reply::Status(status) => answer(*status, "text/plain", String::new()),
            Reply::Ignore(reason) => reason.verified(),
            Reply::ZoomToken(place) => {
                let token = text(place)?;
                let mac = hex::encode(hookledger_core::hmac(HmacAlgorithm::Sha256, secret()?, &[token.as_bytes()]));
                let json = serde_json::json!({ "plainToken": token, "encryptedToken": mac });
                answer(200, "application/json", json.to_string())
            }
            Reply::BraintreeChallenge(place) => {
                let challenge = text(place)?;
                // The answer is an HMAC over what anybody may send: only a challenge's form, never a payload's.
                let is_challenge = (20..=32).contains(&challenge.len()) && challenge.bytes().all(|b| b.is_ascii_hexdigit());
                if !is_challenge {
                    return Err(Rejection::MalformedBody);
                }
                let mac = hex::encode(hookledger_core::hmac(HmacAlgorithm::Sha1, secret()?, &[challenge.as_bytes()]));
                plain(format!("{}|{mac}", settings.public_key.as_deref().unwrap_or_default()))
            }
        }))
    }
}

fn plain(body: String) -> Verified {
    answer(200, "text/plain; charset=utf-8", body)
}

fn answer(status: u16, content_type: &'static str, body: String) -> Verified {
    Verified::Handshake(Answer { status, content_type, body: body.into_bytes() })
}
