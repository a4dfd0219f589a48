//! The sources' signing secrets. Invariants: a source without a usable secret stops the start; a secret that was revoked
//! stops verifying within the TTL; and no sender can make us fetch more than once a minute for each source.
//!
//! A Lambda is frozen between invocations, so nothing renews in the background: age is looked at on use, by the wall clock
//! that the caller passes in, because a monotonic one may stand still while frozen.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hookledger_core::{Micros, Secret, SourceName};
use hookledger_providers::{SecretRef, Source, Sources, UnusableSecret};

use crate::env::{Env, EnvError};
use crate::error_chain::error_chain;
use crate::vault::{Vault, VaultError, Versions};

/// Shortest time in seconds between two fetches for one source, beside the TTL's own.
pub const REFETCH_PAUSE_S: u32 = 60;
/// How long cached secrets go on being used, in seconds since they were last fetched, while Secrets Manager does not answer.
/// Once it answers that a secret is gone, that counts at once.
pub const SECRETS_STALE_MAX_S: u32 = 3_600;

/// Names the source, and never shows a secret.
#[derive(Debug, thiserror::Error)]
pub enum SecretsError {
    #[error("source {name} has no secret")]
    Env { name: SourceName, source: EnvError },
    #[error("source {name} has no secret")]
    Vault { name: SourceName, source: VaultError },
    #[error("source {name}: {reference} has no text under its key")]
    NoJsonKey { name: SourceName, reference: String },
    #[error("source {name}: {reference} is a JSON object, so say which of its keys with #key")]
    JsonWithoutKey { name: SourceName, reference: String },
    #[error("source {name}: {reference} cannot be used")]
    Unusable { name: SourceName, reference: String, source: UnusableSecret },
    /// A fetch failed less than [`REFETCH_PAUSE_S`] ago, and nothing is left to use meanwhile.
    #[error("source {name} has no secret until the next fetch")]
    Pausing { name: SourceName },
}

/// `SECRETS_TTL_S`.
pub fn secrets_ttl_s(env: &Env) -> Result<u32, EnvError> {
    Ok(env.number("SECRETS_TTL_S", 10..=SECRETS_STALE_MAX_S, "a number of seconds from 10 to 3600")?.unwrap_or(300))
}

pub struct SecretStore {
    vault: Vault,
    ttl_s: u32,
    cached: Mutex<HashMap<SourceName, Cached>>,
}

#[derive(Clone)]
struct Cached {
    /// Those of the environment, which cannot change.
    fixed: Arc<[Secret]>,
    /// All of them; empty after a refusal.
    live: Arc<[Secret]>,
    fetched_at: Micros,
    tried_at: Micros,
}

impl SecretStore {
    /// Resolves every secret of every source, each stored one once and all at the same time.
    pub async fn load(sources: &Sources, env: &Env, vault: Vault, ttl_s: u32, now: Micros) -> Result<Self, SecretsError> {
        let named = sources.iter().flat_map(|source| stored_ids(source).map(move |id| (id, source.name()))).collect();
        let versions = fetch_all(&vault, &named).await?;
        let mut cached = HashMap::new();
        for source in sources.iter() {
            let fixed: Arc<[Secret]> = from_env(source, env)?.into();
            let live = with_stored(source, &fixed, &versions)?;
            cached.insert(source.name().clone(), Cached { fixed, live, fetched_at: now, tried_at: now });
        }
        Ok(Self { vault, ttl_s, cached: Mutex::new(cached) })
    }

    /// The live secrets of a source, at least one. Fetches them anew when they are older than the TTL, which takes 2 s at most.
    pub async fn secrets_for(&self, source: &Source, now: Micros) -> Result<Arc<[Secret]>, SecretsError> {
        let pausing = || SecretsError::Pausing { name: source.name().clone() };
        let Some(cached) = self.lock().get(source.name()).cloned() else { return Err(pausing()) };
        if stored_ids(source).next().is_none() || within(cached.fetched_at, self.ttl_s, now) {
            return Ok(cached.live);
        }
        let failed = if within(cached.tried_at, REFETCH_PAUSE_S, now) && cached.tried_at != cached.fetched_at {
            pausing()
        } else {
            match self.fetch(source, now).await {
                Ok(live) => return Ok(live),
                Err(error) => error,
            }
        };
        let usable = within(cached.fetched_at, SECRETS_STALE_MAX_S, now) && !cached.live.is_empty() && !refused(&failed);
        if usable { Ok(cached.live) } else { Err(failed) }
    }

    /// For when a signature fits none of the secrets: they may have been rotated since. `None` where there is nothing new,
    /// or the last fetch was less than [`REFETCH_PAUSE_S`] ago.
    pub async fn refetch_after_failure(&self, source: &Source, now: Micros) -> Option<Arc<[Secret]>> {
        let cached = self.lock().get(source.name()).cloned()?;
        if stored_ids(source).next().is_none() || within(cached.tried_at, REFETCH_PAUSE_S, now) {
            return None;
        }
        self.fetch(source, now).await.ok().filter(|live| *live != cached.live)
    }

    async fn fetch(&self, source: &Source, now: Micros) -> Result<Arc<[Secret]>, SecretsError> {
        // Before the call, so that invocations beside this one do not fetch as well.
        let fixed = self.update(source, |cached| cached.tried_at = now).map(|cached| cached.fixed).unwrap_or_default();
        let named = stored_ids(source).map(|id| (id, source.name())).collect();
        let fetched = fetch_all(&self.vault, &named).await.and_then(|versions| with_stored(source, &fixed, &versions));
        match &fetched {
            Ok(live) => {
                self.update(source, |cached| (cached.live, cached.fetched_at) = (live.clone(), now));
            }
            Err(error) => {
                tracing::warn!(event.source = %source.name(), "cannot renew secrets: {}", error_chain(error));
                if refused(error) {
                    self.update(source, |cached| cached.live = Arc::from([]));
                }
            }
        }
        fetched
    }

    fn update(&self, source: &Source, change: impl FnOnce(&mut Cached)) -> Option<Cached> {
        let mut all = self.lock();
        let cached = all.get_mut(source.name())?;
        change(cached);
        Some(cached.clone())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SourceName, Cached>> {
        self.cached.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether `now` is less than `seconds` after `since`. A clock that was set back makes everything old.
fn within(since: Micros, seconds: u32, now: Micros) -> bool {
    (0..Micros::from(seconds) * 1_000_000).contains(&(now - since))
}

fn refused(error: &SecretsError) -> bool {
    matches!(error, SecretsError::Vault { source: VaultError::Refused { .. }, .. })
}

fn stored_ids(source: &Source) -> impl Iterator<Item = &str> {
    source.secret_refs().iter().filter_map(|reference| match reference {
        SecretRef::Env(_) => None,
        SecretRef::SecretsManager { id, .. } => Some(id.as_str()),
    })
}

async fn fetch_all<'a>(
    vault: &Vault,
    named: &HashMap<&'a str, &SourceName>,
) -> Result<HashMap<&'a str, Versions>, SecretsError> {
    let fetches = named.iter().map(|(id, name)| async move {
        let fetched = vault.fetch(id).await;
        let versions = fetched.map_err(|source| SecretsError::Vault { name: (*name).clone(), source })?;
        Ok((*id, versions))
    });
    futures_util::future::try_join_all(fetches).await.map(|all| all.into_iter().collect())
}

fn from_env(source: &Source, env: &Env) -> Result<Vec<Secret>, SecretsError> {
    let mut secrets = Vec::new();
    for reference in source.secret_refs() {
        if let SecretRef::Env(variable) = reference {
            let name = || source.name().clone();
            let text = env.required(variable).map_err(|source| SecretsError::Env { name: name(), source })?;
            secrets.push(decode(source, reference, &text)?);
        }
    }
    Ok(secrets)
}

/// The fixed secrets and the stored ones. The current version of each must be usable; the previous one is taken if it is.
fn with_stored(
    source: &Source,
    fixed: &[Secret],
    versions: &HashMap<&str, Versions>,
) -> Result<Arc<[Secret]>, SecretsError> {
    let mut secrets = fixed.to_vec();
    for reference in source.secret_refs() {
        if let SecretRef::SecretsManager { id, json_key } = reference
            && let Some(Versions { current, previous }) = versions.get(id.as_str())
        {
            secrets.push(decode(source, reference, &pick(source, reference, json_key.as_deref(), current)?)?);
            let previous = previous.as_ref().and_then(|text| pick(source, reference, json_key.as_deref(), text).ok());
            secrets.extend(previous.and_then(|text| decode(source, reference, &text).ok()));
        }
    }
    Ok(secrets.into())
}

fn decode(source: &Source, reference: &SecretRef, text: &str) -> Result<Secret, SecretsError> {
    source.secret(text).map_err(|cause| SecretsError::Unusable {
        name: source.name().clone(),
        reference: reference.to_string(),
        source: cause,
    })
}

fn pick(source: &Source, reference: &SecretRef, json_key: Option<&str>, text: &str) -> Result<String, SecretsError> {
    let (name, reference) = (source.name().clone(), reference.to_string());
    let object: Option<serde_json::Map<String, serde_json::Value>> = serde_json::from_str(text).ok();
    match (json_key, object) {
        (None, None) => Ok(text.to_owned()),
        (None, Some(_)) => Err(SecretsError::JsonWithoutKey { name, reference }),
        (Some(key), object) => match object.and_then(|mut object| object.remove(key)) {
            Some(serde_json::Value::String(text)) => Ok(text),
            Some(_) | None => Err(SecretsError::NoJsonKey { name, reference }),
        },
    }
}
