//! The sweeper's one record per run.

use std::error::Error;

use hookledger_core::EventRef;
use hookledger_ledger::{Backlog, Pruned};
use hookledger_runtime::{Metric, Record, error_chain};
use tracing::warn;

pub(crate) struct Report(Record);

impl Report {
    pub(crate) fn new() -> Self {
        Self(Record::new("sweeper"))
    }

    pub(crate) fn requeued(&mut self, found: usize, not_sent: usize) {
        self.0.field("requeued", found - not_sent).count(Metric::EnqueueFailed, not_sent as u64);
    }

    pub(crate) fn dead_lettered(&mut self, keys: &[EventRef]) {
        self.0.count(Metric::DeadLettered, keys.len() as u64);
        for key in keys {
            warn!(event.source = %key.source, event.id = %key.event_id, "an event is a dead letter: its last attempt ended without a word");
        }
    }

    pub(crate) fn backlog(&mut self, backlog: Backlog) {
        self.0.count(Metric::Backlog, backlog.unsettled).count(Metric::DeadLetters, backlog.dead_letters);
        self.0.millis(Metric::BacklogAge, backlog.oldest_age.as_millis().try_into().unwrap_or(u64::MAX));
    }

    pub(crate) fn spill_depth(&mut self, depth: u64) {
        self.0.count(Metric::SpillDepth, depth);
    }

    pub(crate) fn pruned(&mut self, pruned: &Pruned) {
        self.0.field("pruned.rows", pruned.rows);
        self.0.field("pruned.partitions", pruned.partitions_dropped.join(" "));
        self.0.field("held.partitions", pruned.partitions_held.join(" "));
    }

    pub(crate) fn error(&mut self, what: &str, error: &(dyn Error + 'static)) {
        self.0.field("error", format!("{what}: {}", error_chain(error)));
    }

    pub(crate) fn emit(&self) {
        self.0.print();
    }
}
