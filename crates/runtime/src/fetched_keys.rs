//! Keys that providers publish under a URL (Amazon SNS, PayPal, Plaid), fetched when a delivery needs one and remembered.
//!
//! Invariant: a key proves only deliveries that ask for the very same fetch; and whatever senders ask for, an environment
//! remembers and fetches no more than the limits here say.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hookledger_core::{Micros, Secret};
use hookledger_providers::{KEY_BYTES_MAX, KeyFetch};
use serde_json::json;

use crate::https::{CallError, Https};

/// Seconds for which a key is used before it is fetched again.
pub const KEY_TTL_S: i64 = 3_600;
/// Seconds for which a key is used while its host is not available.
const KEY_STALE_MAX_S: i64 = 24 * 3_600;
/// Seconds for which what was refused is not asked for again.
pub const REFUSED_TTL_S: i64 = 60;
/// Seconds for which a host that was not available is left alone, about that one key.
pub const UNAVAILABLE_TTL_S: i64 = 10;
/// An honest provider has two or three keys at once, for each of its regions.
const KEYS_MAX: usize = 64;
pub const FETCHES_PER_MINUTE_MAX: u32 = 20;

const SECOND: Micros = 1_000_000;

/// Why there is no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// There is no such key, so nobody can have signed with it.
    #[error("there is no such key: {why}")]
    Refused { why: String },
    /// The delivery may be genuine: it should come again.
    #[error("the key cannot be fetched now: {why}")]
    Unavailable { why: String },
}

pub struct FetchedKeys {
    https: Https,
    remembered: Mutex<Remembered>,
}

#[derive(Default)]
struct Remembered {
    keys: HashMap<KeyFetch, Entry>,
    minute_began_at: Micros,
    fetches: u32,
}

struct Entry {
    found: Result<Secret, KeyError>,
    fetched_at: Micros,
    until: Micros,
}

impl FetchedKeys {
    pub fn new(https: Https) -> Self {
        Self { https, remembered: Mutex::default() }
    }

    /// The key that `fetch` names. `secrets` are the source's own, where its provider asks for one before it gives a key out.
    pub async fn key(&self, fetch: &KeyFetch, secrets: &[Secret], now: Micros) -> Result<Secret, KeyError> {
        if let Some(found) = self.lock().find(fetch, now) {
            return found;
        }
        if !self.lock().may_fetch(now) {
            return Err(KeyError::Unavailable { why: format!("{FETCHES_PER_MINUTE_MAX} were fetched within a minute") });
        }
        let found = Box::pin(self.fetch(fetch, secrets, now / SECOND)).await;
        self.lock().remember(fetch, found, now)
    }

    async fn fetch(&self, fetch: &KeyFetch, secrets: &[Secret], now_s: i64) -> Result<Secret, KeyError> {
        let fetched = match fetch {
            KeyFetch::Certificate { url } => self.https.get(url, KEY_BYTES_MAX).await?,
            KeyFetch::PlaidKey { url, client_id, key_id } => {
                let mut answer = Err(KeyError::Refused { why: "the source has no secret".to_owned() });
                // While a secret is rotated there are two, and the provider takes one of them.
                for secret in secrets {
                    let secret = String::from_utf8_lossy(secret.expose());
                    let asked = json!({ "client_id": client_id, "secret": secret, "key_id": key_id });
                    answer = self.https.post_json(url, asked.to_string(), KEY_BYTES_MAX).await.map_err(KeyError::from);
                    if !matches!(answer, Err(KeyError::Refused { .. })) {
                        break;
                    }
                }
                answer?
            }
        };
        fetch.key(&fetched, now_s).map_err(|unusable| KeyError::Refused { why: unusable.to_string() })
    }

    fn lock(&self) -> MutexGuard<'_, Remembered> {
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Remembered {
    fn find(&self, fetch: &KeyFetch, now: Micros) -> Option<Result<Secret, KeyError>> {
        // An entry of the future is one from before the clock was set back.
        let entry = self.keys.get(fetch).filter(|entry| (entry.fetched_at..entry.until).contains(&now))?;
        Some(entry.found.clone())
    }

    fn may_fetch(&mut self, now: Micros) -> bool {
        if !(self.minute_began_at..self.minute_began_at + 60 * SECOND).contains(&now) {
            (self.minute_began_at, self.fetches) = (now, 0);
        }
        self.fetches += 1;
        self.fetches <= FETCHES_PER_MINUTE_MAX
    }

    fn remember(&mut self, fetch: &KeyFetch, found: Result<Secret, KeyError>, now: Micros) -> Result<Secret, KeyError> {
        let ttl_s = match &found {
            Ok(_) => KEY_TTL_S,
            Err(KeyError::Refused { .. }) => REFUSED_TTL_S,
            Err(KeyError::Unavailable { .. }) => UNAVAILABLE_TTL_S,
        };
        let until = now + ttl_s * SECOND;
        if let (Err(KeyError::Unavailable { .. }), Some(entry)) = (&found, self.keys.get_mut(fetch))
            && entry.found.is_ok()
            && now < entry.fetched_at + KEY_STALE_MAX_S * SECOND
        {
            entry.until = until;
            return entry.found.clone();
        }
        self.make_room(fetch);
        self.keys.insert(fetch.clone(), Entry { found: found.clone(), fetched_at: now, until });
        found
    }

    /// What was not found goes first, so that nobody can push a key out by asking for others that are not there.
    fn make_room(&mut self, fetch: &KeyFetch) {
        if self.keys.len() < KEYS_MAX || self.keys.contains_key(fetch) {
            return;
        }
        let least = self.keys.iter().min_by_key(|(_, entry)| (entry.found.is_ok(), entry.until));
        if let Some(least) = least.map(|(fetch, _)| fetch.clone()) {
            self.keys.remove(&least);
        }
    }
}

impl From<CallError> for KeyError {
    fn from(error: CallError) -> Self {
        let why = error.to_string();
        match error {
            CallError::Refused { .. } => Self::Refused { why },
            CallError::Unavailable { .. } => Self::Unavailable { why },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Micros = 1_700_000_000 * SECOND;

    fn fetch(n: usize) -> KeyFetch {
        KeyFetch::Certificate { url: format!("https://host.test/{n}.pem") }
    }

    fn key() -> Result<Secret, KeyError> {
        Ok(Secret::new("a key").unwrap())
    }

    fn refused() -> Result<Secret, KeyError> {
        Err(KeyError::Refused { why: "404".to_owned() })
    }

    fn away() -> Result<Secret, KeyError> {
        Err(KeyError::Unavailable { why: "503".to_owned() })
    }

    #[test]
    fn each_answer_is_remembered_for_its_own_time() {
        for (found, ttl_s) in [(key(), KEY_TTL_S), (refused(), REFUSED_TTL_S), (away(), UNAVAILABLE_TTL_S)] {
            let mut remembered = Remembered::default();
            assert_eq!(remembered.remember(&fetch(1), found.clone(), AT), found);
            assert_eq!(remembered.find(&fetch(1), AT + ttl_s * SECOND - 1), Some(found));
            assert_eq!(remembered.find(&fetch(1), AT + ttl_s * SECOND), None);
            assert_eq!(remembered.find(&fetch(1), AT - 1), None);
            assert_eq!(remembered.find(&fetch(2), AT), None);
        }
    }

    #[test]
    fn a_key_outlives_its_host_s_outage_for_a_day_and_no_refusal() {
        let mut remembered = Remembered::default();
        remembered.remember(&fetch(1), key(), AT).unwrap();
        let day = AT + KEY_STALE_MAX_S * SECOND;
        assert_eq!(remembered.remember(&fetch(1), away(), day - 1), key());
        assert_eq!(remembered.find(&fetch(1), day + UNAVAILABLE_TTL_S * SECOND - 2), Some(key()));
        assert_eq!(remembered.remember(&fetch(1), away(), day), away());
        remembered.remember(&fetch(2), key(), AT).unwrap();
        assert_eq!(remembered.remember(&fetch(2), refused(), AT + KEY_TTL_S * SECOND), refused());
    }

    #[test]
    fn no_number_of_wrong_requests_pushes_out_a_key() {
        let mut remembered = Remembered::default();
        remembered.remember(&fetch(0), key(), AT).unwrap();
        for n in 1..10 * KEYS_MAX {
            remembered.remember(&fetch(n), refused(), AT + n as Micros).unwrap_err();
            assert!(remembered.keys.len() <= KEYS_MAX);
        }
        assert_eq!(remembered.find(&fetch(0), AT + SECOND), Some(key()));
    }

    #[test]
    fn fetches_are_counted_by_the_minute() {
        let mut remembered = Remembered::default();
        for _ in 0..FETCHES_PER_MINUTE_MAX {
            assert!(remembered.may_fetch(AT));
        }
        assert!(!remembered.may_fetch(AT + 60 * SECOND - 1));
        assert!(remembered.may_fetch(AT + 60 * SECOND));
        assert!(remembered.may_fetch(AT), "the clock was set back");
    }
}
