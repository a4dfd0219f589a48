//! What is known about one provider, as its definition (a TOML file here, or a table in a user's `sources.toml`) says it.
//! Invariant: a definition that could not verify, or could verify too much, does not come into being.

use http::HeaderName;
use serde::Deserialize;

use crate::envelope::Envelope;
use crate::facts::Wanted;
use crate::fetched_key::FetchedKey;
use crate::handshake::Handshake;
use crate::place::Place;
use crate::secret_kind::SecretKind;
use crate::signature::{Algorithm, Signature};
use crate::template::Template;
use crate::timestamp::SignedTime;

/// Longest body in bytes, unless the definition or the source says otherwise.
pub(crate) const BODY_BYTES_MAX: usize = 1 << 20;
/// A Lambda request is at most 6 MB, whatever a provider may send.
pub(crate) const LAMBDA_BODY_BYTES_MAX: usize = 6 << 20;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Definition {
    /// The provider's name as it writes it.
    #[serde(default)]
    pub(crate) title: String,
    /// The page that says how its deliveries are verified.
    #[serde(default)]
    pub(crate) docs: String,
    /// What is odd, for the table of providers.
    #[serde(default)]
    pub(crate) notes: String,
    /// When a failed delivery comes again.
    #[serde(default)]
    pub(crate) retries: String,
    /// How to have a delivery sent again.
    #[serde(default)]
    pub(crate) resend: String,
    /// The status that accepts an event, with an empty body, where the provider minds.
    pub(crate) accepted_status: Option<u16>,
    #[serde(default)]
    pub(crate) secret: SecretKind,
    pub(crate) signature: Signature,
    /// The key comes from the provider, not from the source's secrets.
    pub(crate) fetched_key: Option<FetchedKey>,
    pub(crate) timestamp: Option<SignedTime>,
    #[serde(default)]
    pub(crate) handshake: Vec<Handshake>,
    pub(crate) event: Envelope,
    /// The form field that holds the payload when the body is a form.
    pub(crate) payload_field: Option<String>,
    #[serde(default)]
    pub(crate) payload: Payload,
    /// The body may be anything: what is not JSON has no fields.
    #[serde(default)]
    pub(crate) json_optional: bool,
    pub(crate) body_bytes_max: Option<usize>,
    /// Headers that are kept beside `content-type`. Never one that carries a secret.
    #[serde(default)]
    keep_headers: Vec<String>,
    /// Secrets that the provider writes into its bodies: blanked before anything is stored.
    #[serde(default)]
    pub(crate) redact: Vec<Place>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Payload {
    #[default]
    Json,
    /// Braintree's.
    XmlBase64,
}

/// A definition, ready: every place knows its slot.
#[derive(Debug, Clone)]
pub(crate) struct Provider {
    pub(crate) definition: Definition,
    pub(crate) wanted: Wanted,
    pub(crate) kept_headers: Vec<HeaderName>,
    /// The envelope again, with the states that only ties need.
    pub(crate) ties: (Envelope, Wanted),
    /// Whether the body has to be opened before its signature can be checked.
    pub(crate) opens_early: bool,
    /// Whether the signed time stands in the body.
    pub(crate) times_in_body: bool,
    pub(crate) signs_time: bool,
    /// Whether the signed time stands in the text that the signature stands in.
    pub(crate) times_beside_signature: bool,
}

impl Provider {
    pub(crate) fn new(mut definition: Definition) -> Result<Self, String> {
        let mut wanted = Wanted::default();
        definition.signature.bind(&mut wanted)?;
        if let Some(time) = &mut definition.timestamp {
            time.bind(&mut wanted)?;
        }
        if let Some(key) = &mut definition.fetched_key {
            key.at.bind(&mut wanted)?;
        }
        for handshake in &mut definition.handshake {
            handshake.bind(&mut wanted)?;
        }
        let mut ties = (definition.event.clone(), Wanted::default());
        ties.0.bind_states(&mut ties.1)?;
        definition.event.bind(&mut wanted)?;
        for place in &mut definition.redact {
            place.bind(&mut wanted)?;
        }
        let mut kept_headers = vec![http::header::CONTENT_TYPE];
        for name in &definition.keep_headers {
            let name = name.parse::<HeaderName>().map_err(|_| format!("keep_headers: {name:?} names no header"))?;
            let secret = ["authorization", "cookie", "token", "signature", "secret", "hmac"];
            let secret = secret.iter().any(|word| name.as_str().contains(word)) && !name.as_str().contains("idempotency");
            if secret || definition.signature.is_at(&name) {
                return Err(format!("keep_headers: {name:?} may carry a secret or a signature"));
            }
            kept_headers.push(name);
        }
        definition.check()?;
        let times_in_body = definition.timestamp.as_ref().is_some_and(SignedTime::is_in_body);
        let beside_signature = |time: &SignedTime| definition.signature.is_alone_at(&time.at);
        let times_beside_signature = definition.timestamp.as_ref().is_some_and(beside_signature);
        let signs_time = definition.signature.templates().iter().any(Template::has_timestamp);
        let opens_early = definition.signature.is_in_body() || (signs_time && times_in_body);
        Ok(Self { definition, wanted, kept_headers, ties, opens_early, times_in_body, signs_time, times_beside_signature })
    }
}

impl Definition {
    /// Whether a source has secrets: not where a certificate is all there is.
    pub(crate) fn takes_secrets(&self) -> bool {
        self.fetched_key.as_ref().is_none_or(FetchedKey::needs_client_id)
    }

    pub(crate) fn verified_by(&self) -> String {
        let tolerance = self.timestamp.as_ref().and_then(|time| time.tolerance_s);
        let time = tolerance.map_or(String::new(), |seconds| format!(", {seconds} s"));
        format!("{} in {}{time}", self.signature.algorithm.in_words(), self.signature.at)
    }

    fn check(&self) -> Result<(), String> {
        let templates = self.signature.templates();
        if templates.is_empty() {
            return Err("signature.signed is empty: nothing would be signed".to_owned());
        }
        if templates.iter().any(Template::has_timestamp) && self.timestamp.is_none() {
            return Err("signature.signed has {timestamp}, but there is no [timestamp]".to_owned());
        }
        if self.timestamp.as_ref().is_some_and(|time| time.is_loose() && !templates.iter().any(Template::has_timestamp)) {
            return Err("[timestamp] is in a header that is not signed: anybody could write it anew".to_owned());
        }
        let covers = self.signature.algorithm == Algorithm::Token
            || templates.iter().all(|template| template.covers_body(self.payload_field.as_deref()));
        if !covers && !self.signature.body_not_covered {
            return Err(
                "signature.signed does not cover the body; if that is so, set signature.body_not_covered = true".to_owned()
            );
        }
        if self.accepted_status.is_some_and(|status| !(200..300).contains(&status)) {
            return Err("accepted_status is 200 to 299: any other makes the provider deliver again".to_owned());
        }
        if self.event.id.is_empty() {
            return Err("event.id is empty: nothing could be deduplicated".to_owned());
        }
        if self.handshake.iter().any(|handshake| !handshake.signed && handshake.reads_json()) {
            return Err("an unsigned handshake is told apart by query, headers or form, not by the body's JSON".to_owned());
        }
        Ok(())
    }
}
