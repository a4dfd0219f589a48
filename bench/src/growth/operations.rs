//! The ledger's operations, timed one by one. Invariant: what an operation needs is prepared outside of its time, both ledgers
//! take turns at each, and each round leaves them with the same backlog.

use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use hookledger_core::{Candidate, Claim, ClaimMode, Event, Outcome, RetryPolicy};
use hookledger_ledger::{Grant, Lease, Ledger, RetentionPolicy};

use super::BACKLOG;
use super::rows::event_id;
use crate::cpu;
use crate::events::{event, key};
use crate::spread::{micros, quantile};

/// For so long Stripe delivers an event again that was not answered (docs.stripe.com/webhooks); the ledgers hold a year.
const RETRY_DAYS: u64 = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Operation {
    Claim,
    Retry,
    Duplicate,
    Lease,
    Settle,
    Sweep,
    Backlog,
    Prune,
}

/// A ledger under measurement.
pub(super) struct Subject {
    pub(super) ledger: Ledger,
    /// How many rows it was made with.
    pub(super) rows: u64,
    /// Of the server process that works for it.
    pub(super) backend_pid: u32,
    /// Claimed in this round, and then leased.
    pub(super) new: Vec<String>,
    pub(super) leases: Vec<Lease>,
}

/// Of one operation, in one round, in microseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cost {
    /// The median.
    pub(super) time: f64,
    /// The server process's processor time, on the average.
    pub(super) cpu: f64,
}

impl Operation {
    pub(super) const ALL: [Self; 8] =
        [Self::Claim, Self::Retry, Self::Duplicate, Self::Lease, Self::Settle, Self::Sweep, Self::Backlog, Self::Prune];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Claim => "claim a new event",
            Self::Retry => "claim a duplicate, as providers retry",
            Self::Duplicate => "claim a duplicate of any age",
            Self::Lease => "lease",
            Self::Settle => "guard and settle",
            Self::Sweep => "sweep",
            Self::Backlog => "measure the backlog",
            Self::Prune => "prune, with nothing to prune",
        }
    }

    /// Rather than once a minute for all of them; the sweep counts, because it is how an event is recovered.
    pub(super) fn is_of_an_event(self) -> bool {
        match self {
            Self::Claim | Self::Retry | Self::Duplicate | Self::Lease | Self::Settle | Self::Sweep => true,
            Self::Backlog | Self::Prune => false,
        }
    }

    /// How often it is measured, where the others are `operations` times.
    fn times(self, operations: u32) -> u32 {
        match self {
            Self::Claim | Self::Retry | Self::Duplicate | Self::Lease | Self::Settle => operations,
            Self::Sweep | Self::Backlog | Self::Prune => (operations / 10).max(1),
        }
    }

    async fn once(self, subject: &mut Subject) -> anyhow::Result<Duration> {
        match self {
            Self::Claim => claim(subject).await,
            Self::Retry => duplicate(subject, subject.rows * RETRY_DAYS / 365).await,
            Self::Duplicate => duplicate(subject, subject.rows).await,
            Self::Lease => lease(subject).await,
            Self::Settle => settle(subject).await,
            Self::Sweep => sweep(subject).await,
            Self::Backlog => {
                let start = Instant::now();
                subject.ledger.backlog().await?;
                Ok(start.elapsed())
            }
            Self::Prune => {
                let start = Instant::now();
                subject.ledger.prune(RetentionPolicy::new(3_000, Some(3_000))?, 500).await?;
                Ok(start.elapsed())
            }
        }
    }

    /// What it costs each of `subjects`, in their order.
    pub(super) async fn measure(self, subjects: &mut [Subject], operations: u32) -> anyhow::Result<Vec<Cost>> {
        let times = self.times(operations);
        let mut took: Vec<Vec<Duration>> = subjects.iter().map(|_| Vec::new()).collect();
        let cpu = |subjects: &[Subject]| subjects.iter().map(|s| cpu::time(s.backend_pid)).collect::<Result<Vec<_>, _>>();
        let before = cpu(subjects)?;
        let first = fastrand::usize(..subjects.len());
        for n in 0..times as usize {
            for turn in 0..subjects.len() {
                let who = (first + n + turn) % subjects.len();
                took[who].push(self.once(&mut subjects[who]).await?);
            }
        }
        let spent = cpu(subjects)?.into_iter().zip(before).map(|(after, before)| after.saturating_sub(before));
        let cost = |(took, spent): (&mut Vec<Duration>, Duration)| Cost {
            time: micros(quantile(took, 0.5)),
            cpu: micros(spent) / f64::from(times),
        };
        Ok(took.iter_mut().zip(spent).map(cost).collect())
    }
}

async fn claim(subject: &mut Subject) -> anyhow::Result<Duration> {
    let id = format!("evt_{:032x}", fastrand::u128(..));
    let object = format!("sub_{}", fastrand::u64(..=subject.rows / 10));
    let event = [event(&id, &object, hookledger_harness::since_epoch().as_micros() as i64)?];
    let start = Instant::now();
    let claims = subject.ledger.claim(&event, ClaimMode::Enforce).await?;
    let took = start.elapsed();
    ensure!(claims == [Claim::New], "{id} is not new: {claims:?}");
    subject.new.push(id);
    Ok(took)
}

/// Of one of the newest `rows`.
async fn duplicate(subject: &mut Subject, rows: u64) -> anyhow::Result<Duration> {
    let age = fastrand::u64(..rows.max(1));
    let event = [event(&event_id(subject.rows - 1 - age), "sub_0", 0)?];
    let start = Instant::now();
    let claims = subject.ledger.claim(&event, ClaimMode::Enforce).await?;
    let took = start.elapsed();
    ensure!(matches!(claims[..], [Claim::Duplicate { requeue: false, .. }]), "not a duplicate: {claims:?}");
    Ok(took)
}

async fn lease(subject: &mut Subject) -> anyhow::Result<Duration> {
    let Some(id) = subject.new.pop() else { bail!("more leases than claims") };
    let keys = [key(&id)?];
    let start = Instant::now();
    let grants = subject.ledger.lease_first_attempts(&keys).await?;
    let took = start.elapsed();
    match grants.into_iter().next() {
        Some(Grant::Leased(lease)) => subject.leases.push(lease),
        refused => bail!("{id} is not to be leased: {refused:?}"),
    }
    Ok(took)
}

async fn settle(subject: &mut Subject) -> anyhow::Result<Duration> {
    let Some(lease) = subject.leases.pop() else { bail!("more settlements than leases") };
    // Asked only in a tie, which there is none of.
    let candidate = |event: &Event| -> Candidate {
        Candidate { event_id: event.event_id.clone(), lifecycle: event.lifecycle, object: None, previous: None }
    };
    let start = Instant::now();
    let events: Vec<&Event> = lease.event.iter().collect();
    let (work, _) = subject.ledger.begin_guarded(&events, &candidate).await?;
    work.settle(vec![(lease, Outcome::Applied)]).await.map_err(|unsettled| unsettled.why)?;
    Ok(start.elapsed())
}

async fn sweep(subject: &mut Subject) -> anyhow::Result<Duration> {
    let start = Instant::now();
    let swept = subject.ledger.sweep(&[], RetryPolicy::default().attempts_max, BACKLOG).await?;
    let took = start.elapsed();
    ensure!(swept.requeue.len() == BACKLOG as usize, "swept {} rows", swept.requeue.len());
    // Due again at the next sweep.
    subject.ledger.unmark(&swept.requeue).await?;
    Ok(took)
}
