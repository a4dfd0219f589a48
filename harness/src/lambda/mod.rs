//! Functions run as Lambda runs them: the built binaries as processes, which ask a Runtime API for one invocation at a time
//! (docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html), and the two that invoke them here, API Gateway and an event
//! source mapping.
//!
//! Invariants: an environment has one invocation at a time; one that crashed or ran out of time is killed by SIGKILL and never
//! used again; none outlives its [`Function`].

pub mod api_gateway;
mod environment;
mod function;
mod mapping;
mod runtime_api;

pub use function::{Function, FunctionOptions};
pub use mapping::{Mapping, Polled};

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What an invocation gave.
#[derive(Debug, Clone)]
pub struct Response {
    pub payload: String,
    /// From the start of the process to its first request for an event, where the environment was new.
    pub init: Option<Duration>,
    /// From handing the event over to its answer. The function may work on after it.
    pub took: Duration,
}

/// Why an invocation gave nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvokeError {
    /// The process ended, or was killed.
    #[error("the environment ended within the invocation")]
    Crashed,
    /// The process was killed because its time was over.
    #[error("the invocation took longer than the function has")]
    TimedOut,
    /// The function said so; its environment lives on. The text is what it reported.
    #[error("the function failed: {0}")]
    FunctionError(String),
}

/// A panic elsewhere leaves what this guards as good as it was.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
