//! Starts the local parts that tests, the demo and daily work run against: Postgres, the AWS emulator, the functions.
//!
//! Invariants: everything listens on 127.0.0.1 only; nothing that was started outlives the process that started it, even
//! if that is killed; a missing prerequisite is one sentence that names it and the command that mends it.
//! It would change if another tool played one of these parts.

mod application;
mod built;
mod cargo;
mod clock;
pub mod deployment;
mod emulator;
pub mod faults;
pub mod http;
pub mod lambda;
mod next_release;
mod place;
mod postgres;
pub mod preflight;
mod redis;
pub mod sign;
mod step;
pub mod subscription;
mod venv;
mod wait;
mod watch;
mod watchdog;

pub use application::Application;
pub use built::built;
pub use cargo::{cargo, cargo_lambda};
pub use clock::since_epoch;
pub use emulator::{Emulator, EmulatorOptions, Message, Stack};
pub use next_release::operator_with_migration;
pub use place::{free_port, root, setting};
pub use postgres::{Postgres, PostgresOptions};
pub use redis::Redis;
pub use step::{run_for_output, run_to_end};
pub use venv::{Venv, sam_with_progress, venv, venv_with_progress};
pub use wait::{block_on, until};
pub use watch::Watch;
pub use watchdog::{Service, ServiceOptions, Signal, stop_everything};
