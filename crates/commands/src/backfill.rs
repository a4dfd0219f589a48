//! Teaching the version guard from a business table or from what a provider said, batch by batch.

use hookledger_core::SourceName;
use hookledger_ledger::{BackfillBatch, BackfillFrom, ObjectVersion};
use serde::{Deserialize, Serialize};

use crate::place::Place;
use crate::{Command, CommandError};

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Backfill {
    pub from: BackfillFrom,
    pub after: Option<String>,
    pub writes: bool,
    /// Who asks.
    pub by: String,
}

/// Objects, each of them once, as a provider told of them to the caller.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Learn {
    pub source: SourceName,
    pub objects: Vec<ObjectVersion>,
    pub writes: bool,
    /// What told of them, for the audit.
    pub from: String,
    /// Who asks.
    pub by: String,
}

impl Command for Backfill {
    const NAME: &'static str = "object.backfill";
    type Answer = BackfillBatch;
    async fn run(self, place: &mut Place) -> Result<BackfillBatch, CommandError> {
        let audit = format!("asked for by {}: {} from {}", self.by, self.from.kind, self.from.table);
        let audit = self.writes.then_some(audit.as_str());
        Ok(place.ledger.backfill(&self.from, self.after.as_deref(), audit).await?)
    }
}

impl Command for Learn {
    const NAME: &'static str = "object.learn";
    type Answer = BackfillBatch;
    async fn run(self, place: &mut Place) -> Result<BackfillBatch, CommandError> {
        let audit = format!("asked for by {}: {} from {}", self.by, self.source, self.from);
        Ok(place.ledger.learn(&self.source, &self.objects, self.writes.then_some(audit.as_str())).await?)
    }
}
