//! Processing events again from their stored payloads: re-armed in the ledger, and their keys sent to the queue.

use hookledger_core::EventRef;
use hookledger_ledger::{EventFilter, Position, Tally};
use serde::{Deserialize, Serialize};

use crate::place::Place;
use crate::{Command, CommandError};

/// How many [`Rearm`] would meet.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CountToRearm {
    pub filter: EventFilter,
    pub settled_too: bool,
}

/// Re-arms one batch of failed events and dead letters.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Rearm {
    pub filter: EventFilter,
    /// Settled events too, which are then processed again.
    pub settled_too: bool,
    /// Who asks.
    pub by: String,
    pub after: Option<Position>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Rearmed {
    pub rearmed: u64,
    /// Of these, the ones that are on their way. The others are sent by the sweeper within a minute.
    pub sent: u64,
    /// What the queue said, where it did not take all.
    pub queue_error: Option<String>,
    /// Left as they are: their payload is gone.
    pub without_payload: u64,
    pub next: Option<Position>,
}

impl Command for CountToRearm {
    const NAME: &'static str = "events.count_to_rearm";
    type Answer = Vec<Tally>;
    async fn run(self, place: &mut Place) -> Result<Vec<Tally>, CommandError> {
        Ok(place.ledger.count_to_rearm(&self.filter, self.settled_too).await?)
    }
}

impl Command for Rearm {
    const NAME: &'static str = "events.rearm";
    type Answer = Rearmed;
    async fn run(self, place: &mut Place) -> Result<Rearmed, CommandError> {
        let rearm = hookledger_ledger::Rearm {
            filter: self.filter,
            settled_too: self.settled_too,
            sends: place.queue.is_some(),
            detail: format!("asked for by {}", self.by),
        };
        let batch = place.ledger.rearm(&rearm, self.after.as_ref()).await?;
        let mut done = Rearmed {
            rearmed: batch.rearmed.len() as u64,
            without_payload: batch.without_payload,
            next: batch.next,
            ..Rearmed::default()
        };
        if let Some(queue) = &place.queue {
            let enqueued = queue.enqueue(&batch.rearmed).await;
            done.sent = enqueued.sent as u64;
            done.queue_error = enqueued.failed.first().map(|(_, why)| why.clone());
            let unsent: Vec<EventRef> = enqueued.failed.into_iter().map(|(key, _)| key).collect();
            if !unsent.is_empty() {
                place.ledger.unmark(&unsent).await?;
            }
        }
        Ok(done)
    }
}
