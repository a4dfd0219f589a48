//! End to end, on real parts: one binary, a module per subject.

mod deploy;
mod embedded;
mod ground;
mod hint;
mod infra;
mod ledger;
mod migrations;
mod pgbouncer;
mod queue;
mod secrets;
mod tls;
mod worker;
