//! What a source sets beside its provider and secrets. Invariant: what a definition needs is there, or the source is refused.

use crate::id_rule::IdRule;

#[derive(Debug, Clone, Default)]
pub(crate) struct Settings {
    /// Overrides the provider's tolerance, past and future, in seconds.
    pub(crate) tolerance_s: Option<i64>,
    /// Events of the other mode are ignored.
    pub(crate) livemode: Option<bool>,
    /// The URL as the provider has it, without query: some sign it.
    pub(crate) public_url: Option<String>,
    /// PayPal's id of this webhook, which it signs but does not send.
    pub(crate) webhook_id: Option<String>,
    /// SHA-256 of the verify token that Meta asks for, in hex: the token itself travels in a URL and must not be a key.
    pub(crate) verify_token_sha256: Option<[u8; 32]>,
    /// The public half of an API key pair, which Braintree wants to see in an answer.
    pub(crate) public_key: Option<String>,
    /// The topics of SNS that are ours: anybody's topic is signed by SNS.
    pub(crate) topic_arn: Vec<String>,
    /// Plaid's id of the client, to fetch a key with.
    pub(crate) client_id: Option<String>,
    /// Plaid's sandbox instead of its production.
    pub(crate) sandbox: bool,
    /// Overrides how the event id is formed.
    pub(crate) id: Option<Vec<IdRule>>,
}

impl Settings {
    pub(crate) fn plaid_host(&self) -> &'static str {
        if self.sandbox { "sandbox" } else { "production" }
    }
}
