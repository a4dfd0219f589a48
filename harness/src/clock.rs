//! The time of day as providers and Lambda tell it: the parts that we play have a clock of their own.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Since 1970 UTC.
#[expect(
    clippy::disallowed_methods,
    reason = "here we are the provider and the platform, whose clocks are not the database's"
)]
pub fn since_epoch() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
