//! The process's clock. Everything that orders or expires an event goes by the database's; this one serves where there is
//! no database yet: a signature's tolerance, a spilled event's first time, the age of a cached secret, a record's time.

use std::time::{SystemTime, UNIX_EPOCH};

use hookledger_core::Micros;

/// Microseconds since 1970-01-01 UTC. It stands at 0 for a clock that is set before.
#[expect(clippy::disallowed_methods, reason = "the one exception: what happens before and without the database")]
pub fn now() -> Micros {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Micros::try_from(since.as_micros()).unwrap_or(Micros::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_counts_microseconds() {
        let (year_2025, year_2100) = (1_735_689_600_000_000, 4_102_444_800_000_000);
        assert!((year_2025..year_2100).contains(&now()));
    }
}
