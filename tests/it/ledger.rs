//! The ledger's rules against a real Postgres.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod claim;
mod connection;
mod guard;
mod lease;
mod retention;
mod settle;
mod sweep;
