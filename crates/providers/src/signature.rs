//! Checks a delivery's signature as its definition says. Invariants: bytes are signed as received; every live secret and every
//! listed signature is tried; one that cannot be decoded is skipped.

use std::borrow::Cow;

use hookledger_core::{HmacAlgorithm, Proof, PublicKeyAlgorithm, Secret};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use smallvec::SmallVec;

use crate::condition::Condition;
use crate::encoding::{Decoded, Encoding};
use crate::facts::{Facts, Wanted};
use crate::jwt;
use crate::list::List;
use crate::one_or_many::one_or_many;
use crate::place::Place;
use crate::rejection::Rejection;
use crate::settings::Settings;
use crate::template::Template;
use hookledger_json::Malformed;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Signature {
    pub(crate) algorithm: Algorithm,
    pub(crate) at: Place,
    #[serde(flatten)]
    pub(crate) list: List,
    #[serde(default)]
    pub(crate) encoding: Encoding,
    /// What is signed; several are alternatives.
    #[serde(default = "body_only", deserialize_with = "one_or_many")]
    signed: Vec<Template>,
    /// The header may come more than once (Mollie).
    #[serde(default)]
    repeated: bool,
    /// There is a header for each key: NAME-1, NAME-2 … (DocuSign).
    #[serde(default)]
    pub(crate) numbered: bool,
    /// Every event of the body carries a signature of its own (Adyen, Microsoft Graph).
    #[serde(default)]
    pub(crate) each: bool,
    /// Says that one knows (Mailgun, Adyen): whoever sees one delivery can make others.
    #[serde(default)]
    pub(crate) body_not_covered: bool,
    /// When an `rsa-sha256` is SHA-1 instead (SNS version 1).
    sha1_when: Option<Condition>,
    /// Where the topic stands that has to be one of the source's `topic_arn` (SNS).
    pub(crate) topic: Option<Place>,
    /// Where the body's SHA-256 stands, in hex, when the signature covers that instead of the body (Twilio's JSON, Plaid).
    body_sha256: Option<Place>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Algorithm {
    HmacSha1,
    HmacSha256,
    HmacSha512,
    Ed25519,
    EcdsaP256,
    /// PKCS #1 version 1.5.
    RsaSha256,
    /// Only as SNS version 1 asks for it.
    #[serde(skip)]
    RsaSha1,
    /// The header is a JSON Web Token (Plaid).
    JwtEs256,
    /// The secret itself. Basic authentication is this with the prefix `Basic ` and the encoding `base64`.
    Token,
}

/// The texts that may hold a signature.
pub(crate) type Texts<'a> = SmallVec<[Cow<'a, str>; 1]>;

/// DocuSign signs with up to a hundred keys.
const NUMBERED_MAX: usize = 100;

fn body_only() -> Vec<Template> {
    Template::try_from("{body}".to_owned()).into_iter().collect()
}

impl Signature {
    pub(crate) fn bind(&mut self, wanted: &mut Wanted) -> Result<(), String> {
        self.at.bind(wanted)?;
        for place in [&mut self.body_sha256, &mut self.topic].into_iter().flatten() {
            place.bind(wanted)?;
        }
        if let Some(condition) = &mut self.sha1_when {
            condition.bind(wanted)?;
        }
        self.signed.iter_mut().try_for_each(|template| template.bind(wanted))
    }

    /// Whether the body has to be opened before its signature can be checked.
    pub(crate) fn is_in_body(&self) -> bool {
        let beside = [&self.body_sha256, &self.topic].into_iter().flatten().any(Place::is_in_body);
        let version = self.sha1_when.as_ref().is_some_and(Condition::is_in_body);
        self.each || self.at.is_in_body() || beside || version || self.signed.iter().any(Template::is_in_body)
    }

    pub(crate) fn is_at(&self, header: &http::HeaderName) -> bool {
        self.at.headers().any(|name| name == header)
    }

    /// Whether its one text is what stands at `place`.
    pub(crate) fn is_alone_at(&self, place: &Place) -> bool {
        self.at == *place && !self.repeated && !self.numbered
    }

    pub(crate) fn needs_public_url(&self) -> bool {
        self.signed.iter().any(Template::needs_public_url)
    }

    pub(crate) fn needs_webhook_id(&self) -> bool {
        self.signed.iter().any(Template::needs_webhook_id)
    }

    pub(crate) fn templates_in_words(&self) -> String {
        self.signed.iter().map(Template::to_string).collect::<Vec<_>>().join(" or ")
    }

    pub(crate) fn templates(&self) -> &[Template] {
        &self.signed
    }

    pub(crate) fn prove(
        &self,
        facts: &Facts<'_>,
        texts: &Result<Texts<'_>, Malformed>,
        settings: &Settings,
        timestamp: &str,
        secrets: &[Secret],
    ) -> Result<Proof, Rejection> {
        self.check_body_hash(facts).map_err(|Malformed| Rejection::BadSignature)?;
        self.check_topic(facts, settings).map_err(|Malformed| Rejection::BadSignature)?;
        let texts = texts.as_ref().map_err(|Malformed| Rejection::NoSignature)?;
        if texts.is_empty() {
            return Err(Rejection::NoSignature);
        }
        if self.algorithm == Algorithm::JwtEs256 {
            let tokens = texts.iter().filter_map(|token| jwt::parts(token));
            let mut proofs = tokens.filter_map(|(signed, signature)| es256(secrets, signed, &signature));
            return proofs.next().ok_or(Rejection::BadSignature);
        }
        let algorithm = self.algorithm_for(facts).map_err(|Malformed| Rejection::NoSignature)?;
        let mut signatures = SmallVec::<[Decoded; 2]>::new();
        for text in texts {
            signatures.extend(self.list.items(text).filter_map(|item| self.encoding.decode(item)));
        }
        for template in &self.signed {
            let parts = template.fill(facts, settings, timestamp).map_err(|Malformed| Rejection::NoSignature)?;
            let parts = parts.ok_or(Rejection::NoSignature)?;
            let parts: SmallVec<[&[u8]; 6]> = parts.iter().map(Cow::as_ref).collect();
            if let Some(proof) = algorithm.prove(secrets, &parts, &signatures) {
                return Ok(proof);
            }
        }
        Err(Rejection::BadSignature)
    }

    pub(crate) fn texts<'a>(&'a self, facts: &Facts<'a>) -> Result<Texts<'a>, Malformed> {
        let headers = &facts.request.headers;
        if self.numbered {
            let names = self.at.headers().flat_map(|name| (1..=NUMBERED_MAX).map(move |n| format!("{name}-{n}")));
            let values = names.map_while(|name| headers.get(name)).filter_map(|value| value.to_str().ok());
            return Ok(values.map(Cow::Borrowed).collect());
        }
        if self.repeated {
            let values = self.at.headers().flat_map(|name| headers.get_all(name)).filter_map(|value| value.to_str().ok());
            return Ok(values.map(Cow::Borrowed).collect());
        }
        Ok(self.at.text(facts)?.into_iter().collect())
    }

    fn algorithm_for(&self, facts: &Facts<'_>) -> Result<Algorithm, Malformed> {
        match &self.sha1_when {
            Some(condition) if condition.holds(facts)? => Ok(Algorithm::RsaSha1),
            Some(_) | None => Ok(self.algorithm),
        }
    }

    fn check_topic(&self, facts: &Facts<'_>, settings: &Settings) -> Result<(), Malformed> {
        let Some(place) = &self.topic else { return Ok(()) };
        let topic = place.text(facts)?.ok_or(Malformed)?;
        if settings.topic_arn.iter().any(|ours| *ours == topic) { Ok(()) } else { Err(Malformed) }
    }

    fn check_body_hash(&self, facts: &Facts<'_>) -> Result<(), Malformed> {
        let Some(place) = &self.body_sha256 else { return Ok(()) };
        // A form is signed field by field.
        if facts.request.is_form() && self.signed.iter().all(Template::has_form) {
            return Ok(());
        }
        let given = place.text(facts)?.ok_or(Malformed)?;
        let given = hex::decode(given.as_ref()).map_err(|_| Malformed)?;
        if given == Sha256::digest(&facts.request.body)[..] { Ok(()) } else { Err(Malformed) }
    }
}

fn es256(keys: &[Secret], signed: &str, signature: &[u8]) -> Option<Proof> {
    let keys: Vec<&[u8]> = keys.iter().map(Secret::expose).collect();
    Proof::public_key(PublicKeyAlgorithm::Es256, &keys, &[signed.as_bytes()], [signature])
}

impl Algorithm {
    pub(crate) fn in_words(self) -> &'static str {
        match self {
            Self::HmacSha1 => "HMAC-SHA1",
            Self::HmacSha256 => "HMAC-SHA256",
            Self::HmacSha512 => "HMAC-SHA512",
            Self::Ed25519 => "Ed25519",
            Self::EcdsaP256 => "ECDSA P-256",
            Self::RsaSha256 | Self::RsaSha1 => "RSA",
            Self::JwtEs256 => "JWT ES256",
            Self::Token => "shared token",
        }
    }

    /// `None` where only the provider can sign.
    pub(crate) fn sign(self, secret: &Secret, signed: &[&[u8]]) -> Option<Vec<u8>> {
        match self {
            Self::HmacSha1 => Some(hookledger_core::hmac(HmacAlgorithm::Sha1, secret, signed)),
            Self::HmacSha256 => Some(hookledger_core::hmac(HmacAlgorithm::Sha256, secret, signed)),
            Self::HmacSha512 => Some(hookledger_core::hmac(HmacAlgorithm::Sha512, secret, signed)),
            Self::Token => Some(secret.expose().to_vec()),
            Self::Ed25519 | Self::EcdsaP256 | Self::RsaSha256 | Self::RsaSha1 | Self::JwtEs256 => None,
        }
    }

    fn prove(self, secrets: &[Secret], signed: &[&[u8]], signatures: &[Decoded]) -> Option<Proof> {
        let signatures = signatures.iter().map(Decoded::as_slice);
        let keys = || secrets.iter().map(Secret::expose).collect::<Vec<_>>();
        match self {
            Self::HmacSha1 => Proof::hmac(HmacAlgorithm::Sha1, secrets, signed, signatures),
            Self::HmacSha256 => Proof::hmac(HmacAlgorithm::Sha256, secrets, signed, signatures),
            Self::HmacSha512 => Proof::hmac(HmacAlgorithm::Sha512, secrets, signed, signatures),
            Self::Ed25519 => Proof::public_key(PublicKeyAlgorithm::Ed25519, &keys(), signed, signatures),
            Self::EcdsaP256 => Proof::public_key(PublicKeyAlgorithm::EcdsaP256Sha256, &keys(), signed, signatures),
            Self::RsaSha256 => Proof::public_key(PublicKeyAlgorithm::RsaSha256, &keys(), signed, signatures),
            Self::RsaSha1 => Proof::public_key(PublicKeyAlgorithm::RsaSha1, &keys(), signed, signatures),
            // Its signature comes with what it signs, see `es256`.
            Self::JwtEs256 => None,
            Self::Token => signatures.into_iter().find_map(|token| Proof::token(secrets, token)),
        }
    }
}
