//! What an operator sees: one record per unit of work, and the libraries' warnings.
//!
//! Invariant: a record is one line of JSON on standard output, written once, when its unit of work has ended. Nothing that
//! a sender chose is ever a metric's name or dimension.

mod deployment;
mod logs;
mod metric;
mod record;

pub use metric::{Metric, Unit};
pub use record::{NAMESPACE, Record};

use crate::env::{Env, EnvError};

/// To be called once, first in `main`: names the deployment in the records, and lets the libraries speak.
pub fn init_telemetry(env: &Env) -> Result<(), EnvError> {
    deployment::init(env)?;
    logs::init(env)
}
