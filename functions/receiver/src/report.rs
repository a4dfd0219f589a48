//! The receiver's one record per delivery.

use std::error::Error;

use hookledger_core::{Claim, ClaimMode, SourceName, VerifiedEvent};
use hookledger_runtime::{Metric, Record, error_chain};

pub(crate) struct Report(Record);

impl Report {
    pub(crate) fn new() -> Self {
        Self(Record::new("receiver"))
    }

    pub(crate) fn source(&mut self, source: &SourceName) {
        self.0.source(source);
    }

    pub(crate) fn event(&mut self, event: &VerifiedEvent, events: usize) {
        self.0.field("event.id", event.identity().event_id.as_str());
        self.0.field("event.type", event.identity().event_type.as_str());
        self.0.field("event.via", event.via().as_str());
        self.0.field("events", events);
    }

    pub(crate) fn claims(&mut self, claims: &[Claim], mode: ClaimMode) {
        let new = claims.iter().filter(|claim| **claim == Claim::New).count();
        self.0.count(Metric::Accepted, new as u64);
        self.duplicates(claims.len() - new);
        match mode {
            ClaimMode::Enforce => {}
            ClaimMode::Observe => drop(self.0.count(Metric::WouldSkip, (claims.len() - new) as u64)),
        }
    }

    pub(crate) fn duplicates(&mut self, n: usize) {
        self.0.count(Metric::Duplicate, n as u64);
    }

    pub(crate) fn rejected(&mut self, reason: &'static str) {
        self.0.rejected(reason);
    }

    pub(crate) fn ignored(&mut self, reason: &'static str) {
        self.0.count(Metric::Ignored, 1).field("ignored.reason", reason);
    }

    pub(crate) fn not_sent(&mut self, keys: usize, why: Option<&str>) {
        self.0.count(Metric::EnqueueFailed, keys as u64);
        if let Some(why) = why {
            self.0.field("enqueue.error", why);
        }
    }

    pub(crate) fn spilled(&mut self, events: usize) {
        self.0.count(Metric::Spilled, events as u64);
    }

    pub(crate) fn error(&mut self, what: &str, error: &(dyn Error + 'static)) {
        self.0.field("error", format!("{what}: {}", error_chain(error)));
    }

    pub(crate) fn answered(&mut self, status: u16) {
        self.0.field("answer.status", status);
    }

    pub(crate) fn emit(&self) {
        self.0.print();
    }
}
