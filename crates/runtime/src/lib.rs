//! What each function's `main` shares: settings, sources, secrets, records, the clock and the hint, and how events come and answers go.
//!
//! Knows the process it runs in: its environment, its standard output, its clock, its Runtime API. Invariant: a setting that is missing or
//! wrong stops the start with an error that names it; nothing has a default that fails open.

mod database;
mod env;
mod error_chain;
mod fetched_keys;
mod hint;
mod https;
mod iam;
mod open;
mod replay_token;
mod resp;
mod runtime_api;
mod secrets;
mod serve;
mod settings;
mod sources;
mod telemetry;
mod time;
mod vault;

pub use database::{DatabaseError, DatabaseSettings};
pub use env::{Env, EnvError};
pub use error_chain::error_chain;
pub use fetched_keys::{FETCHES_PER_MINUTE_MAX, FetchedKeys, KEY_TTL_S, KeyError, REFUSED_TTL_S, UNAVAILABLE_TTL_S};
pub use hint::{HINT_BUDGET, HINT_TTL_S, Hint};
pub use https::{CALL_WITHIN, CallError, Https};
pub use iam::IamError;
pub use open::open_ledger;
pub use replay_token::{ReplayTokenError, replay_token};
pub use secrets::{REFETCH_PAUSE_S, SECRETS_STALE_MAX_S, SecretStore, SecretsError, secrets_ttl_s};
pub use serve::{ServeError, serve, serve_and_finish};
pub use settings::{Queues, claim_mode, retention};
pub use sources::{LoadSourcesError, load_sources};
pub use telemetry::{Metric, NAMESPACE, Record, Unit, init_telemetry};
pub use time::now;
pub use vault::{Vault, VaultError, Versions};
