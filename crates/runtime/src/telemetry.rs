//! What an operator sees: one record per unit of work, and the libraries' warnings.
//!
//! Invariant: a record is one line of JSON on standard output, written once, when its unit of work has ended. Nothing that
//! a sender chose is ever a metric's name or dimension.

mod logs;
mod metric;
mod record;

pub use logs::init_logs;
pub use metric::{Metric, Unit};
pub use record::{NAMESPACE, Record};
