//! The sources of this deployment, as `sources.toml` declares them. Invariant: a source has a provider that can verify and at
//! least one secret; whatever else stands there is refused with a message that names the source and the key.

use std::time::Duration;

use hookledger_core::{RetryPolicy, Secret, SourceName};
use serde::Deserialize;
use toml::{Table, Value};

use crate::builtin;
use crate::definition::{BODY_BYTES_MAX, Definition, LAMBDA_BODY_BYTES_MAX, Provider};
use crate::fetched_key::FetchedKey;
use crate::id_rule::IdRule;
use crate::one_or_many::one_or_many;
use crate::secret_kind::UnusableSecret;
use crate::secret_ref::SecretRef;
use crate::settings::Settings;
use crate::url;

/// The longest visibility timeout of SQS, which a retry's wait becomes.
const RETRY_CAP_S_MAX: u64 = 12 * 3600;

/// Every source that this deployment accepts.
#[derive(Debug)]
pub struct Sources(Vec<Source>);

/// One webhook source: a name, a provider's definition, and where its secrets are.
#[derive(Debug, Clone)]
pub struct Source {
    name: SourceName,
    secret_refs: Vec<SecretRef>,
    body_bytes_max: usize,
    retry: RetryPolicy,
    pub(crate) provider: Provider,
    pub(crate) settings: Settings,
}

/// What is wrong with `sources.toml`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourcesError {
    #[error("sources.toml is not TOML: {0}")]
    Syntax(String),
    #[error("{name:?} cannot name a source: a source name is 1 to 64 of a-z, 0-9, '-' and '_'")]
    Name { name: String },
    #[error("source {name}: it is no table: write [{name}]")]
    NoTable { name: String },
    #[error("source {name}: unknown provider {provider:?}; known are {known}")]
    UnknownProvider { name: String, provider: String, known: String },
    #[error("source {name}: key {key}: {problem}")]
    Key { name: String, key: &'static str, problem: String },
    #[error("source {name}: {problem}")]
    Settings { name: String, problem: String },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Declared {
    secrets: Option<Vec<String>>,
    tolerance_s: Option<i64>,
    livemode: Option<bool>,
    body_bytes_max: Option<usize>,
    #[serde(default)]
    retry: DeclaredRetry,
    public_url: Option<String>,
    webhook_id: Option<String>,
    public_key: Option<String>,
    verify_token_sha256: Option<String>,
    #[serde(default, deserialize_with = "one_or_many")]
    topic_arn: Vec<String>,
    client_id: Option<String>,
    sandbox: Option<bool>,
    #[serde(default, deserialize_with = "one_or_many")]
    id: Vec<IdRule>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct DeclaredRetry {
    attempts_max: Option<u32>,
    base_s: Option<u64>,
    cap_s: Option<u64>,
}

impl Sources {
    pub fn parse(toml: &str) -> Result<Self, SourcesError> {
        let table: Table =
            toml.parse().map_err(|error: toml::de::Error| SourcesError::Syntax(error.to_string().trim_end().to_owned()))?;
        table.into_iter().map(|(name, value)| Source::parse(name, value)).collect::<Result<_, _>>().map(Self)
    }

    pub fn get(&self, name: &str) -> Option<&Source> {
        self.0.iter().find(|source| source.name.as_str() == name)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Source> {
        self.0.iter()
    }
}

impl Source {
    pub fn name(&self) -> &SourceName {
        &self.name
    }

    /// Where the live secrets are: at least one, but none where the provider publishes its key.
    pub fn secret_refs(&self) -> &[SecretRef] {
        &self.secret_refs
    }

    /// A secret's text as key bytes for this source's algorithm. Trailing white space is no part of a secret.
    pub fn secret(&self, text: &str) -> Result<Secret, UnusableSecret> {
        self.provider.definition.secret.decode(text)
    }

    /// Longest body in bytes: 1 MiB, but 6 MiB for GitHub, which sends up to 25 MB: a Lambda request ends at 6 MB.
    pub fn body_bytes_max(&self) -> usize {
        self.body_bytes_max
    }

    /// The status to accept an event with, and an empty body: `None` where the provider does not mind what it reads.
    pub fn accepted_status(&self) -> Option<u16> {
        self.provider.definition.accepted_status
    }

    pub fn retry(&self) -> RetryPolicy {
        self.retry
    }

    fn parse(name: String, value: Value) -> Result<Self, SourcesError> {
        let Ok(source_name) = SourceName::new(name.as_str()) else { return Err(SourcesError::Name { name }) };
        let Value::Table(mut table) = value else { return Err(SourcesError::NoTable { name }) };
        let provider = provider(&name, table.remove("provider"))?;
        let declared: Declared = Value::Table(table)
            .try_into()
            .map_err(|error: toml::de::Error| SourcesError::Settings { name: name.clone(), problem: one_line(&error) })?;
        let wrong = |key, problem: &str| SourcesError::Key { name: name.clone(), key, problem: problem.to_owned() };

        let secret_refs = match (&declared.secrets, provider.definition.takes_secrets()) {
            (Some(secrets), true) => secrets.iter().map(|text| text.parse::<SecretRef>()).collect::<Result<Vec<_>, _>>(),
            (None, true) => return Err(wrong("secrets", "it is missing: without a secret nothing can be verified")),
            (Some(_), false) => return Err(wrong("secrets", "this provider publishes its key and has no secret")),
            (None, false) => Ok(Vec::new()),
        };
        let secret_refs = secret_refs.map_err(|error| wrong("secrets", &error.to_string()))?;
        if secret_refs.is_empty() && provider.definition.takes_secrets() {
            return Err(wrong("secrets", "it is empty: without a secret nothing can be verified"));
        }
        let body_bytes_max = declared.body_bytes_max.or(provider.definition.body_bytes_max).unwrap_or(BODY_BYTES_MAX);
        if !(1..=LAMBDA_BODY_BYTES_MAX).contains(&body_bytes_max) {
            return Err(wrong("body_bytes_max", "it is 1 to 6291456: a Lambda request ends at 6 MB"));
        }
        let retry = declared.retry.policy().map_err(|problem| wrong("retry", problem))?;
        let settings = declared.settings(&provider).map_err(|(key, problem)| wrong(key, &problem))?;
        let mut source = Self { name: source_name, secret_refs, body_bytes_max, retry, provider, settings };
        source.bind_id().map_err(|problem| wrong("id", &problem))?;
        Ok(source)
    }

    /// The source's own id rules look for fields of their own.
    fn bind_id(&mut self) -> Result<(), String> {
        let places = self.settings.id.iter_mut().flatten().flat_map(IdRule::places);
        places.into_iter().try_for_each(|place| place.bind(&mut self.provider.wanted))
    }
}

fn provider(name: &str, value: Option<Value>) -> Result<Provider, SourcesError> {
    let wrong = |problem: String| SourcesError::Key { name: name.to_owned(), key: "provider", problem };
    let definition: Definition = match value {
        None => return Err(wrong("it is missing".to_owned())),
        Some(Value::String(provider)) => match builtin::definition(&provider) {
            Some(text) => toml::from_str(text).map_err(|error| wrong(one_line(&error)))?,
            None => {
                let known = builtin::names().collect::<Vec<_>>().join(", ");
                return Err(SourcesError::UnknownProvider { name: name.to_owned(), provider, known });
            }
        },
        Some(table @ Value::Table(_)) => table.try_into().map_err(|error| wrong(one_line(&error)))?,
        Some(_) => return Err(wrong("it is a built-in provider's name or a table that defines one".to_owned())),
    };
    Provider::new(definition).map_err(wrong)
}

fn one_line(error: &toml::de::Error) -> String {
    error.message().replace('\n', " ")
}

impl Declared {
    fn settings(self, provider: &Provider) -> Result<Settings, (&'static str, String)> {
        let definition = &provider.definition;
        let fetched = definition.fetched_key.as_ref();
        if self.tolerance_s.is_some_and(|seconds| seconds < 1) {
            return Err(("tolerance_s", "it is at least 1 second: 0 would refuse every honest delivery".to_owned()));
        }
        if self.tolerance_s.is_some() && definition.timestamp.is_none() {
            return Err(("tolerance_s", "this provider signs no time that could be checked".to_owned()));
        }
        if self.livemode.is_some() && !definition.event.says_mode() {
            return Err(("livemode", "this provider's events do not say their mode".to_owned()));
        }
        if self.public_url.as_deref().is_some_and(|url| url::checked(url).is_none()) {
            return Err(("public_url", "it is an absolute http(s) URL without query, as the provider has it".to_owned()));
        }
        for (needed, given, key) in [
            (definition.signature.needs_public_url(), self.public_url.is_some(), "public_url"),
            (definition.signature.needs_webhook_id(), self.webhook_id.is_some(), "webhook_id"),
            (
                definition.handshake.iter().any(|h| h.needs_verify_token()),
                self.verify_token_sha256.is_some(),
                "verify_token_sha256",
            ),
            (definition.handshake.iter().any(|h| h.needs_public_key()), self.public_key.is_some(), "public_key"),
            (definition.signature.topic.is_some(), !self.topic_arn.is_empty(), "topic_arn"),
            (fetched.is_some_and(FetchedKey::needs_client_id), self.client_id.is_some(), "client_id"),
            (self.sandbox.is_some() && fetched.is_some_and(FetchedKey::needs_client_id), self.sandbox.is_some(), "sandbox"),
        ] {
            match (needed, given) {
                (true, false) => return Err((key, "it is missing, and this provider needs it".to_owned())),
                (false, true) => return Err((key, "this provider has no use for it".to_owned())),
                (true, true) | (false, false) => {}
            }
        }
        let verify_token_sha256 = match &self.verify_token_sha256 {
            Some(text) => {
                let mut hash = [0; 32];
                hex::decode_to_slice(text, &mut hash).map_err(|_| {
                    ("verify_token_sha256", "it is 64 hexadecimal digits: printf %s TOKEN | sha256sum".to_owned())
                })?;
                Some(hash)
            }
            None => None,
        };
        Ok(Settings {
            tolerance_s: self.tolerance_s,
            livemode: self.livemode,
            public_url: self.public_url,
            webhook_id: self.webhook_id,
            public_key: self.public_key,
            verify_token_sha256,
            topic_arn: self.topic_arn,
            client_id: self.client_id,
            sandbox: self.sandbox.unwrap_or(false),
            id: (!self.id.is_empty()).then_some(self.id),
        })
    }
}

impl DeclaredRetry {
    fn policy(&self) -> Result<RetryPolicy, &'static str> {
        let default = RetryPolicy::default();
        let base = self.base_s.map_or(default.base, Duration::from_secs);
        let cap = self.cap_s.map_or(default.cap.max(base), Duration::from_secs);
        let attempts_max = self.attempts_max.unwrap_or(default.attempts_max);
        let rules = [
            (attempts_max > 0, "attempts_max is at least 1"),
            (!base.is_zero(), "base_s is at least 1"),
            (cap >= base, "cap_s is at least base_s"),
            (cap.as_secs() <= RETRY_CAP_S_MAX, "cap_s is at most 43200, the longest visibility timeout of SQS"),
        ];
        match rules.into_iter().find(|(kept, _)| !kept) {
            Some((_, rule)) => Err(rule),
            None => Ok(RetryPolicy { attempts_max, base, cap }),
        }
    }
}
