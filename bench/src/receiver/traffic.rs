//! What one request takes on the wire, to Postgres and to the queue. Invariant: the requests that are counted have done their work.

use bytes::Bytes;

use super::{Subject, work};
use crate::deliveries::{delivery, new_id};
use crate::load::{cold, is_200, warm};
use crate::stage::Stage;
use crate::wire::Wire;

const REQUESTS: usize = 200;

/// Of one request, on the average.
pub(super) struct Traffic {
    pub(super) round_trips: f64,
    pub(super) sent_bytes: f64,
    pub(super) received_bytes: f64,
    pub(super) queue_calls: f64,
    pub(super) queue_bytes: f64,
    /// What these requests left in the ledger.
    pub(super) claims: Vec<String>,
}

impl Traffic {
    /// By an environment that has answered before.
    pub(super) async fn of(subject: Subject, stage: &Stage) -> anyhow::Result<Self> {
        let wire = Wire::start(stage.postgres.port()).await?;
        let function = subject.function_over(stage, wire.port(), 1)?;
        cold(&function, delivery(&new_id()), is_200).await?;
        let ids: Vec<String> = (0..REQUESTS).map(|_| new_id()).collect();
        let payloads: Vec<Bytes> = ids.iter().map(|id| delivery(id)).collect();
        if subject == Subject::Duplicates {
            warm(&function, payloads.clone(), 1, is_200).await?;
        }
        let (before, (calls, _), bytes) = (wire.traffic(), stage.queue.counts(), stage.queue.bytes());
        warm(&function, payloads, 1, is_200).await?;
        let (after, (calls_after, _), bytes_after) = (wire.traffic(), stage.queue.counts(), stage.queue.bytes());
        let claims = work::claims(subject, stage, &ids).await?;
        work::is_queued(subject, calls_after - calls, REQUESTS)?;
        let each = |count: u64| count as f64 / REQUESTS as f64;
        Ok(Self {
            round_trips: each(after.round_trips - before.round_trips),
            sent_bytes: each(after.sent_bytes - before.sent_bytes),
            received_bytes: each(after.received_bytes - before.received_bytes),
            queue_calls: each(calls_after - calls),
            queue_bytes: each(bytes_after - bytes),
            claims,
        })
    }
}
