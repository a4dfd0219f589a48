//! End to end, on real parts: one binary, a module per subject.

mod infra;
mod pgbouncer;
mod tls;
