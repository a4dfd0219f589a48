//! End to end, on real parts: one binary, a module per subject.

mod app_role;
mod architecture;
mod aws_tls;
mod chaos;
mod cli;
mod costs;
mod deploy;
mod embedded;
mod faults;
mod ground;
mod hint;
mod infra;
mod ledger;
mod migrations;
mod model;
mod own_handler;
mod pgbouncer;
mod providers;
mod queue;
mod receiver;
mod secrets;
mod serve;
mod sweeper;
mod tls;
mod worker;
