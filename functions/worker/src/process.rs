//! From event ids to verdicts: lease, apply, settle.
//!
//! First attempts share one transaction, because a commit is what an event costs. If anything in it fails, everything in it is
//! rolled back and each event runs in a transaction of its own, so that one event's failure neither undoes nor delays
//! another's success. A retry is leased alone, just before it runs: it may be what killed the process last time, and must not
//! take its neighbours to dead letter with it.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use hookledger_core::{EventRef, HandlerError, ObjectKey, RetryPolicy, Settlement};
use hookledger_ledger::{Fenced, Grant, Lease};
use hookledger_providers::Source;
use hookledger_runtime::error_chain;
use tokio::time::Instant;

use crate::attempt::{Why, is_contention};
use crate::batch::Worker;
use crate::report::Report;
use crate::route::Route;

/// No event is begun with less than this left.
const TIME_FOR_ONE: Duration = Duration::from_secs(11);
/// Deadlocks and serialization failures are nobody's fault, so they are tried again within the attempt.
const CONTENTION_TRIES: u32 = 3;
const CONTENTION_PAUSE: Duration = Duration::from_millis(100);

/// What to tell the queue about a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Delete it: the event was settled just now.
    Settled,
    /// Delete it: there is nothing to do for the event any more.
    Gone,
    /// Bring it back after this time.
    Again { after: Duration },
    /// Bring it back when its visibility timeout ends: the state of the event is not known.
    Unknown,
}

impl Worker {
    /// The verdicts stand in the order of `keys`, which must differ.
    pub(crate) async fn process(
        &mut self,
        keys: &[EventRef],
        end: Instant,
        report: &mut Report,
    ) -> Vec<(EventRef, Verdict)> {
        let grants = match self.ledger.lease_first_attempts(keys).await {
            Ok(grants) => grants,
            Err(error) => {
                report.error("cannot lease events", &error);
                return keys.iter().map(|key| (key.clone(), Verdict::Unknown)).collect();
            }
        };
        let mut verdicts = Vec::with_capacity(keys.len());
        let mut first_attempts = Vec::new();
        let mut retries = Vec::new();
        for (key, grant) in keys.iter().zip(grants) {
            let verdict = match grant {
                Grant::Leased(lease) => {
                    first_attempts.push(lease);
                    continue;
                }
                Grant::RetryAlone => {
                    retries.push(key.clone());
                    continue;
                }
                Grant::Settled => Verdict::Gone,
                Grant::HeldElsewhere { for_s } => again_in(for_s),
                Grant::NotDue { in_s } => again_in(in_s),
                Grant::Exhausted => self.bury(key, report).await,
                Grant::Unknown => unknown(key, report),
            };
            verdicts.push((key.clone(), verdict));
        }
        verdicts.extend(self.first_attempts(first_attempts, end, report).await);
        for key in retries {
            let verdict = self.retry(&key, end, report).await;
            verdicts.push((key, verdict));
        }
        verdicts
    }

    async fn bury(&mut self, key: &EventRef, report: &mut Report) -> Verdict {
        match self.ledger.bury(key, self.retry_policy(key).attempts_max).await {
            Ok(Fenced::Recorded) => {
                report.dead_lettered(key, "the last attempt ended without a word");
                Verdict::Gone
            }
            Ok(Fenced::LeaseLost) => Verdict::Unknown,
            Err(error) => {
                report.error("cannot dead-letter an event", &error);
                Verdict::Unknown
            }
        }
    }

    async fn first_attempts(
        &mut self,
        mut leases: Vec<Lease>,
        end: Instant,
        report: &mut Report,
    ) -> Vec<(EventRef, Verdict)> {
        // Every worker locks objects in the same order, so two batches of the same objects wait and do not deadlock.
        leases.sort_by(|a, b| object_of(a).cmp(&object_of(b)).then_with(|| a.key.cmp(&b.key)));
        if leases.len() > 1 {
            match self.attempt(leases).await {
                Ok(done) => return done.into_iter().map(|settled| (report.settled(settled), Verdict::Settled)).collect(),
                Err(failed) => leases = failed.leases,
            }
        }
        let mut verdicts = Vec::with_capacity(leases.len());
        let mut leases = leases.into_iter();
        while let Some(lease) = leases.next() {
            if end.saturating_duration_since(Instant::now()) < TIME_FOR_ONE {
                verdicts.extend(self.release(std::iter::once(lease).chain(leases).collect(), report).await);
                break;
            }
            verdicts.push((lease.key.clone(), self.alone(lease, report).await));
        }
        verdicts
    }

    /// Out of time: the attempts were not begun, so they must not count.
    async fn release(&mut self, leases: Vec<Lease>, report: &mut Report) -> Vec<(EventRef, Verdict)> {
        let verdict = |lease: &Lease| (lease.key.clone(), Verdict::Again { after: Duration::from_secs(1) });
        let verdicts = leases.iter().map(verdict).collect();
        if let Err(error) = self.ledger.release(leases).await {
            report.error("cannot release leases", &error);
        }
        verdicts
    }

    async fn retry(&mut self, key: &EventRef, end: Instant, report: &mut Report) -> Verdict {
        if end.saturating_duration_since(Instant::now()) < TIME_FOR_ONE {
            return Verdict::Again { after: Duration::from_secs(1) };
        }
        match self.ledger.lease_alone(key, self.retry_policy(key).attempts_max).await {
            Ok(Grant::Leased(lease)) => self.alone(lease, report).await,
            Ok(Grant::Settled) => Verdict::Gone,
            // Asked alone, nothing has to be asked alone; somebody came in between.
            Ok(Grant::RetryAlone) => again_in(0),
            Ok(Grant::HeldElsewhere { for_s }) => again_in(for_s),
            Ok(Grant::NotDue { in_s }) => again_in(in_s),
            Ok(Grant::Exhausted) => self.bury(key, report).await,
            Ok(Grant::Unknown) => unknown(key, report),
            Err(error) => {
                report.error("cannot lease an event", &error);
                Verdict::Unknown
            }
        }
    }

    /// One event in a transaction of its own, and what its failure means.
    async fn alone(&mut self, lease: Lease, report: &mut Report) -> Verdict {
        let mut leases = vec![lease];
        for tries_left in (0..CONTENTION_TRIES).rev() {
            let failed = match self.attempt(leases).await {
                Ok(done) => {
                    done.into_iter().for_each(|settled| drop(report.settled(settled)));
                    return Verdict::Settled;
                }
                Err(failed) => failed,
            };
            leases = failed.leases;
            match failed.why {
                // At once, it would have its first lock back before the other one woke up to take it: the same deadlock again.
                Why::Handler(error) if tries_left > 0 && is_contention(error.reason()) => {
                    tokio::time::sleep(CONTENTION_PAUSE.mul_f64(0.5 + jitter())).await;
                }
                Why::Handler(error) => return self.record(leases, &error, report).await,
                // Whoever has the lease now, or had settled the event before us, decides about it.
                Why::LeaseLost => {
                    leases.iter().for_each(|lease| report.lease_lost(&lease.key));
                    return Verdict::Unknown;
                }
                // It may be committed; the row will tell when the message comes back.
                Why::CommitUnknown(error) => {
                    report.error("cannot tell whether an event was settled", &error);
                    return Verdict::Unknown;
                }
            }
        }
        Verdict::Unknown
    }

    async fn record(&mut self, leases: Vec<Lease>, error: &HandlerError, report: &mut Report) -> Verdict {
        let mut verdict = Verdict::Unknown;
        for lease in leases {
            let key = lease.key.clone();
            let policy = self.route_of(&lease).map_or(self.retry_policy(&key), |route| route.retry(self.retry_policy(&key)));
            let settlement = policy.after(lease.attempt, error, jitter());
            let text = error_chain(error.reason());
            match self.ledger.fail(lease, settlement, &text).await {
                Ok(Fenced::LeaseLost) => report.lease_lost(&key),
                Ok(Fenced::Recorded) => match settlement {
                    Settlement::RetryIn(wait) => {
                        report.failed(&key, &text);
                        // A second more, so that the message does not come back a moment before the row is due.
                        verdict = Verdict::Again { after: wait + Duration::from_secs(1) };
                    }
                    Settlement::DeadLetter => {
                        report.dead_lettered(&key, &text);
                        verdict = Verdict::Gone;
                    }
                },
                Err(error) => report.error("cannot record a failure", &error),
            }
        }
        verdict
    }

    fn route_of(&self, lease: &Lease) -> Option<&'static Route> {
        let event = lease.event.as_ref()?;
        self.routes.iter().find(|route| route.takes(event))
    }

    fn retry_policy(&self, key: &EventRef) -> RetryPolicy {
        self.sources.get(key.source.as_str()).map(Source::retry).unwrap_or_default()
    }
}

/// A second more, so that the message does not come back a moment before the row is free.
fn again_in(seconds: u32) -> Verdict {
    Verdict::Again { after: Duration::from_secs(u64::from(seconds) + 1) }
}

/// Nothing can ever be done for it, so its message goes.
fn unknown(key: &EventRef, report: &mut Report) -> Verdict {
    report.unknown(key);
    Verdict::Gone
}

fn object_of(lease: &Lease) -> Option<&ObjectKey> {
    lease.event.as_ref()?.object.as_ref()
}

/// Uniform in `0.0..1.0`. The standard library seeds each hasher's state at random.
fn jitter() -> f64 {
    let random = RandomState::new().build_hasher().finish();
    (random >> 11) as f64 / (1_u64 << 53) as f64
}
