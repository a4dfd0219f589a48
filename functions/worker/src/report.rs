//! The worker's one record per batch, and a line for each failure.

use std::error::Error;

use aws_lambda_events::sqs::SqsMessage;
use hookledger_core::{EventRef, Outcome};
use hookledger_runtime::{Metric, Record, error_chain};
use tracing::warn;

use crate::attempt::Settled;

pub(crate) struct Report {
    record: Record,
    errors: u64,
}

impl Report {
    pub(crate) fn new(messages: usize) -> Self {
        let mut record = Record::new("worker");
        record.field("messages", messages);
        Self { record, errors: 0 }
    }

    pub(crate) fn settled(&mut self, settled: Settled) -> EventRef {
        let Settled { done, applied } = settled;
        self.record.count(Metric::Settled, u64::from(done.outcome == Outcome::Applied));
        self.record.count(Metric::Stale, u64::from(done.outcome == Outcome::Stale));
        self.record.count(Metric::Ignored, u64::from(done.outcome == Outcome::Ignored));
        self.record.count(Metric::TieUnresolved, u64::from(applied.tie_unresolved));
        self.record.millis(Metric::ReceiveToSettleLag, done.lag.as_millis().try_into().unwrap_or(u64::MAX));
        done.key
    }

    pub(crate) fn failed(&mut self, key: &EventRef, error: &str) {
        self.record.count(Metric::Failed, 1);
        warn!(event.source = %key.source, event.id = %key.event_id, error, "an attempt failed");
    }

    pub(crate) fn dead_lettered(&mut self, key: &EventRef, error: &str) {
        self.record.count(Metric::DeadLettered, 1);
        warn!(event.source = %key.source, event.id = %key.event_id, error, "an event is a dead letter");
    }

    pub(crate) fn lease_lost(&mut self, key: &EventRef) {
        self.record.count(Metric::LeaseLost, 1);
        warn!(event.source = %key.source, event.id = %key.event_id, "a lease was lost");
    }

    pub(crate) fn unknown(&mut self, key: &EventRef) {
        warn!(event.source = %key.source, event.id = %key.event_id, "a message names an event that is not in the ledger");
    }

    pub(crate) fn unreadable(&mut self, message: &SqsMessage, why: &str) {
        warn!(message.id = message.message_id.as_deref(), error = why, "a message cannot be read");
    }

    pub(crate) fn visibility_unchanged(&mut self, why: &str) {
        warn!(error = why, "a message's visibility could not be changed");
    }

    pub(crate) fn error(&mut self, what: &str, error: &(dyn Error + 'static)) {
        self.errors += 1;
        warn!(error = error_chain(error), "{what}");
    }

    pub(crate) fn emit(mut self) {
        self.record.field("errors", self.errors);
        self.record.print();
    }
}
