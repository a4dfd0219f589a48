//! One run. What cannot be done now is done by the next run, so a failed step does not keep the others from being tried.

use std::time::Duration;

use hookledger_core::{RetryPolicy, SourceName};
use hookledger_ledger::{Ledger, LedgerError, RetentionPolicy, Swept};
use hookledger_providers::Sources;
use hookledger_queue::Queue;
use tokio::time::Instant;

use crate::report::Report;

/// For one operation on the ledger, a second try included.
pub(crate) const SWEEP_WITHIN: Duration = Duration::from_secs(10);
/// After this no further round is begun; the function has 50 s.
const RUN_MAX: Duration = Duration::from_secs(25);
/// A round, of each kind. With rounds bounded by time, a run takes as many rows as the queue takes in that time.
const ROWS_PER_ROUND: u32 = 500;
const ROWS_PRUNED_PER_RUN: u32 = 5_000;

pub struct Sweeper {
    pub ledger: Ledger,
    pub queue: Queue,
    pub spill: Option<Queue>,
    pub sources: Sources,
    pub retention: RetentionPolicy,
}

impl Sweeper {
    pub async fn run(&mut self) {
        let mut report = Report::new();
        if let Err(error) = self.recover(&mut report).await {
            report.error("cannot recover rows", &error);
        }
        self.measure(&mut report).await;
        if let Err(error) = self.keep_house(&mut report).await {
            report.error("cannot keep house", &error);
        }
        report.emit();
    }

    async fn recover(&mut self, report: &mut Report) -> Result<(), LedgerError> {
        let end = Instant::now() + RUN_MAX;
        let limits: Vec<(SourceName, u32)> =
            self.sources.iter().map(|source| (source.name().clone(), source.retry().attempts_max)).collect();
        let (mut found, mut not_sent, mut dead_lettered) = (0, 0, Vec::new());
        loop {
            let Swept { requeue, dead_lettered: exhausted } =
                self.ledger.sweep(&limits, RetryPolicy::default().attempts_max, ROWS_PER_ROUND).await?;
            let enqueued = self.queue.enqueue(&requeue).await;
            let unsent: Vec<_> = enqueued.failed.into_iter().map(|(key, _)| key).collect();
            if !unsent.is_empty() {
                self.ledger.unmark(&unsent).await?;
            }
            let full = requeue.len().max(exhausted.len()) >= ROWS_PER_ROUND as usize;
            found += requeue.len();
            not_sent += unsent.len();
            dead_lettered.extend(exhausted);
            if !full || !unsent.is_empty() || Instant::now() >= end {
                break;
            }
        }
        report.requeued(found, not_sent);
        report.dead_lettered(&dead_lettered);
        Ok(())
    }

    async fn measure(&mut self, report: &mut Report) {
        match self.ledger.backlog().await {
            Ok(backlog) => report.backlog(backlog),
            Err(error) => report.error("cannot measure the backlog", &error),
        }
        if let Some(spill) = &self.spill {
            match spill.depth().await {
                Ok(depth) => report.spill_depth(depth),
                Err(error) => report.error("cannot measure the spill queue", &error),
            }
        }
    }

    async fn keep_house(&mut self, report: &mut Report) -> Result<(), LedgerError> {
        self.ledger.add_payload_partitions().await?;
        let pruned = self.ledger.prune(self.retention, ROWS_PRUNED_PER_RUN).await?;
        report.pruned(&pruned);
        Ok(())
    }
}
