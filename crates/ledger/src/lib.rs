//! The ledger in Postgres: every SQL statement of hookledger, the connection and the migrations.
//!
//! It would change if the database did. Invariants: only a verified event can be claimed; everything after a lease carries
//! the lease's token, so whoever lost it changes nothing; the database has the only clock; each statement of the hot path is
//! unnamed and takes one round trip, which RDS Proxy and PgBouncer can multiplex.

mod app_role;
mod audit;
mod backfill;
mod claim;
mod connect;
mod error;
mod events;
mod guard;
mod health;
mod history;
mod known;
mod lease;
mod ledger;
mod migrate;
mod purge;
mod rearm;
mod retention;
mod rows;
mod session;
mod settle;
mod show;
mod statements;
mod stats;
mod sweep;
mod tls;
mod transaction;
mod work;

pub use app_role::{AppRoleError, grant_app_role};
pub use backfill::{BackfillBatch, BackfillFrom, ObjectVersion, VersionUnit};
pub use connect::{CONNECT_TIMEOUT, ConnectError, DatabaseConfig, PEER_TIMEOUT, Tls, connect};
pub use error::{LedgerError, without_values};
pub use events::{EventFilter, EventPage, EventRow, Order, PAGE_ROWS_MAX, Position};
pub use guard::{Guard, Tie};
pub use health::Health;
pub use history::{History, InForce, ObjectEvent};
pub use lease::{Grant, LEASE_TERM_S, Lease};
pub use ledger::{Anew, Ledger, Reconfigure};
pub use migrate::{MigrateError, migrate};
pub use purge::{InvalidPointer, Pointer, PurgeBatch, PurgeFilter, PurgePosition};
pub use rearm::{Rearm, RearmBatch, Tally};
pub use retention::{LEDGER_RETENTION_DAYS_MIN, Pruned, RetentionPolicy, UnsafeRetention};
pub use settle::Fenced;
pub use show::{AuditRow, BODY_BYTES_SHOWN_MAX, EventDetail};
pub use statements::{STATEMENTS, Statements};
pub use stats::StatsRow;
pub use sweep::{Backlog, Swept};
pub use transaction::Transaction;
pub use work::{Done, NotSettled, Unsettled, Work};
