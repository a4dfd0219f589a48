//! End to end, on real parts: one binary, a module per subject.

mod embedded;
mod hint;
mod infra;
mod migrations;
mod pgbouncer;
mod queue;
mod secrets;
mod tls;
