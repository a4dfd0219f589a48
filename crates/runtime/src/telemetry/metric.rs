//! The names of all metrics. Dashboards, alarms and docs/telemetry.md use the same words.

/// The two units that metrics come in, by CloudWatch's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Count,
    Milliseconds,
}

impl Unit {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Count => "Count",
            Self::Milliseconds => "Milliseconds",
        }
    }
}

macro_rules! metrics {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $unit:ident;)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Metric {
            $($(#[$doc])* $variant,)*
        }

        impl Metric {
            pub const ALL: &[Metric] = &[$(Self::$variant),*];

            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            pub fn unit(self) -> Unit {
                match self { $(Self::$variant => Unit::$unit),* }
            }
        }
    };
}

metrics! {
    /// Events claimed for the first time.
    Accepted = "accepted", Count;
    /// Events that were in the ledger already.
    Duplicate = "duplicate", Count;
    /// Deliveries refused. Counted by [`Record::rejected`](super::Record::rejected), which adds the reason.
    Rejected = "rejected", Count;
    /// Keys that could not be put on the queue; the sweeper sends them later.
    EnqueueFailed = "enqueue_failed", Count;
    /// Events put on the spill queue because the database was away.
    Spilled = "spilled", Count;
    /// Events whose handler's writes are committed.
    Settled = "settled", Count;
    /// Events settled without effect, because a newer version of their object was there.
    Stale = "stale", Count;
    /// Events settled without effect, because no handler wants them.
    Ignored = "ignored", Count;
    /// Attempts that failed and will be repeated.
    Failed = "failed", Count;
    /// Events that went to `dead_letter`.
    DeadLettered = "dead_lettered", Count;
    /// Same-version events whose order nothing told.
    TieUnresolved = "tie_unresolved", Count;
    /// Duplicates that observe mode let through.
    WouldSkip = "would_skip", Count;
    /// Unsettled events in the ledger, at a sweep.
    Backlog = "backlog", Count;
    /// Age of the oldest unsettled event, at a sweep.
    BacklogAge = "backlog_age", Milliseconds;
    /// Events in `dead_letter`, at a sweep.
    DeadLetters = "dead_letters", Count;
    /// Messages on the spill queue, at a sweep.
    SpillDepth = "spill_depth", Count;
    /// Workers that found their lease taken over, and wrote nothing.
    LeaseLost = "lease_lost", Count;
    /// From an event's first receipt to its settlement.
    ReceiveToSettleLag = "receive_to_settle_lag", Milliseconds;
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_metric_has_a_name_of_its_own_that_the_documentation_explains() {
        let names: BTreeSet<_> = Metric::ALL.iter().map(|metric| metric.as_str()).collect();
        assert_eq!(names.len(), Metric::ALL.len());
        let documentation = include_str!("../../../../docs/telemetry.md");
        for metric in Metric::ALL {
            let row = format!("| `{}` | {} |", metric.as_str(), metric.unit().as_str());
            assert!(documentation.contains(&row), "docs/telemetry.md has no row that starts {row}");
        }
    }
}
