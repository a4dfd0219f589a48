//! The ledger in Postgres: every SQL statement of hookledger, the connection and the migrations.
//!
//! It would change if the database did. Invariants: only a verified event can be claimed; everything after a lease carries
//! the lease's token, so whoever lost it changes nothing; the database has the only clock; each statement of the hot path is
//! unnamed and takes one round trip, which RDS Proxy and PgBouncer can multiplex.

mod claim;
mod connect;
mod error;
mod guard;
mod lease;
mod ledger;
mod migrate;
mod retention;
mod rows;
mod settle;
mod sweep;
mod tls;
mod work;

pub use connect::{CONNECT_TIMEOUT, ConnectError, DatabaseConfig, PEER_TIMEOUT, Tls, connect};
pub use error::LedgerError;
pub use guard::{Guard, Tie};
pub use lease::{Grant, LEASE_TERM_S, Lease};
pub use ledger::{Ledger, Reconfigure};
pub use migrate::{MigrateError, migrate};
pub use retention::{LEDGER_RETENTION_DAYS_MIN, Pruned, RetentionPolicy, UnsafeRetention};
pub use settle::Fenced;
pub use sweep::{Backlog, Swept};
pub use work::{Done, NotSettled, Unsettled, Work};
