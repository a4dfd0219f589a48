//! Settings that are words and numbers, a type for each concern. Each is read once, in init, by the functions that need it.

use hookledger_core::ClaimMode;
use hookledger_ledger::{LEDGER_RETENTION_DAYS_MIN, RetentionPolicy, UnsafeRetention};

use crate::env::{Env, EnvError};

/// The queues' URLs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queues {
    pub event: String,
    /// Without it, an event that arrives while the database is away is answered with 503.
    pub spill: Option<String>,
}

impl Queues {
    pub fn read(env: &Env) -> Result<Self, EnvError> {
        let event = url("QUEUE_URL", env.required("QUEUE_URL")?)?;
        let spill = env.optional("SPILL_QUEUE_URL")?.map(|text| url("SPILL_QUEUE_URL", text)).transpose()?;
        if spill.as_ref() == Some(&event) {
            return Err(EnvError::invalid("SPILL_QUEUE_URL", "another queue than QUEUE_URL"));
        }
        Ok(Self { event, spill })
    }
}

fn url(name: &str, text: String) -> Result<String, EnvError> {
    let is_url = text.starts_with("https://") || text.starts_with("http://");
    if is_url { Ok(text) } else { Err(EnvError::invalid(name, "the URL of a queue")) }
}

/// `CLAIM_MODE`: `enforce` (default) or `observe`.
pub fn claim_mode(env: &Env) -> Result<ClaimMode, EnvError> {
    match env.optional("CLAIM_MODE")?.as_deref() {
        None | Some("enforce") => Ok(ClaimMode::Enforce),
        Some("observe") => Ok(ClaimMode::Observe),
        Some(_) => Err(EnvError::invalid("CLAIM_MODE", "enforce or observe")),
    }
}

/// `PAYLOAD_RETENTION_DAYS` and `LEDGER_RETENTION_DAYS`: how long the sweeper keeps what is settled.
pub fn retention(env: &Env) -> Result<RetentionPolicy, EnvError> {
    let payload_days = env.number("PAYLOAD_RETENTION_DAYS", 1..=DAYS_MAX, "a number of days from 1 to 36500")?.unwrap_or(90);
    let days = "a number of days from 90 to 36500, or unset to keep rows for ever";
    let ledger_days = env.number("LEDGER_RETENTION_DAYS", LEDGER_RETENTION_DAYS_MIN..=DAYS_MAX, days)?;
    RetentionPolicy::new(payload_days, ledger_days).map_err(|unsafe_| match unsafe_ {
        UnsafeRetention::Payload => EnvError::invalid("PAYLOAD_RETENTION_DAYS", "at least 1"),
        UnsafeRetention::Ledger => EnvError::invalid("LEDGER_RETENTION_DAYS", days),
    })
}

/// A century: what is meant to be kept for ever is left unset.
const DAYS_MAX: u32 = 36_500;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::tests::env;

    #[test]
    fn the_event_queue_is_required_and_the_spill_queue_is_another() {
        assert_eq!(Queues::read(&env(&[])).unwrap_err().to_string(), "QUEUE_URL is not set");
        let same = env(&[("QUEUE_URL", "https://q"), ("SPILL_QUEUE_URL", "https://q")]);
        assert_eq!(Queues::read(&same).unwrap_err().to_string(), "SPILL_QUEUE_URL must be another queue than QUEUE_URL");
        assert!(Queues::read(&env(&[("QUEUE_URL", "events")])).is_err());
        let both = Queues::read(&env(&[("QUEUE_URL", "https://q"), ("SPILL_QUEUE_URL", "https://s")])).unwrap();
        assert_eq!(both, Queues { event: "https://q".into(), spill: Some("https://s".into()) });
        assert_eq!(Queues::read(&env(&[("QUEUE_URL", "http://127.0.0.1:1/q")])).unwrap().spill, None);
    }

    #[test]
    fn a_misspelt_claim_mode_stops_the_start() {
        assert_eq!(claim_mode(&env(&[])), Ok(ClaimMode::Enforce));
        assert_eq!(claim_mode(&env(&[("CLAIM_MODE", "enforce")])), Ok(ClaimMode::Enforce));
        assert_eq!(claim_mode(&env(&[("CLAIM_MODE", "observe")])), Ok(ClaimMode::Observe));
        assert!(claim_mode(&env(&[("CLAIM_MODE", "Observe")])).is_err());
    }

    #[test]
    fn retention_is_never_shorter_than_what_a_provider_can_resend() {
        let read = |payload: &str, ledger: &str| {
            retention(&env(&[("PAYLOAD_RETENTION_DAYS", payload), ("LEDGER_RETENTION_DAYS", ledger)]))
        };
        assert_eq!(read("", ""), Ok(RetentionPolicy::new(90, None).unwrap()));
        assert_eq!(read("7", "90"), Ok(RetentionPolicy::new(7, Some(90)).unwrap()));
        for (payload, ledger) in [("7", "89"), ("0", ""), ("x", ""), ("", "0"), ("", "36501")] {
            assert!(read(payload, ledger).is_err(), "{payload} {ledger}");
        }
    }
}
