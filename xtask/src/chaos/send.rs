//! The sender, which behaves as Stripe does: what is not answered with 200 is delivered again, later and not for ever.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hookledger_harness::deployment::STRIPE_SECRET;
use hookledger_harness::lambda::Function;
use hookledger_harness::lambda::api_gateway::deliver;
use hookledger_harness::subscription::SubscriptionEvent;
use tokio::sync::Semaphore;

/// Stripe gives up after three days and about fifteen tries, at intervals that grow.
const TRIES_MAX: u32 = 20;
const WAIT_MAX: Duration = Duration::from_secs(2);
const AT_ONCE: usize = 12;

pub(super) struct Sender {
    receiver: Arc<Function>,
    events: Vec<SubscriptionEvent>,
    seed: u64,
    at_once: Semaphore,
    first_answers: AtomicUsize,
    under_way: AtomicUsize,
    counts: Counts,
    acknowledged: Mutex<BTreeSet<usize>>,
}

#[derive(Default)]
struct Counts {
    sent: AtomicU64,
    duplicates: AtomicU64,
    given_up: AtomicU64,
}

/// What a run's sender has seen.
#[derive(Debug, Clone, Default)]
pub(super) struct Sent {
    /// Deliveries, each try counted.
    pub(super) sent: u64,
    /// Places of the events that were answered with 200 at least once.
    pub(super) acknowledged: BTreeSet<usize>,
    /// Deliveries that were answered as a duplicate.
    pub(super) duplicates: u64,
    /// Deliveries that were never answered with 200.
    pub(super) given_up: u64,
}

impl Sender {
    pub(super) fn new(receiver: Arc<Function>, events: Vec<SubscriptionEvent>, seed: u64) -> Self {
        Self {
            receiver,
            events,
            seed,
            at_once: Semaphore::new(AT_ONCE),
            first_answers: AtomicUsize::new(0),
            under_way: AtomicUsize::new(0),
            counts: Counts::default(),
            acknowledged: Mutex::default(),
        }
    }

    /// Delivers the event at this place until it is acknowledged or given up.
    pub(super) async fn deliver(&self, event: usize) {
        self.under_way.fetch_add(1, Ordering::SeqCst);
        let mut rng = fastrand::Rng::with_seed(self.seed ^ event as u64);
        for n in 0..TRIES_MAX {
            let taken = self.deliver_once(event).await;
            if n == 0 {
                self.first_answers.fetch_add(1, Ordering::SeqCst);
            }
            if taken {
                self.under_way.fetch_sub(1, Ordering::SeqCst);
                return;
            }
            let wait = Duration::from_millis(100 << n.min(6)).min(WAIT_MAX);
            tokio::time::sleep(wait.mul_f64(0.5 + rng.f64() / 2.0)).await;
        }
        self.counts.given_up.fetch_add(1, Ordering::SeqCst);
        self.under_way.fetch_sub(1, Ordering::SeqCst);
    }

    async fn deliver_once(&self, place: usize) -> bool {
        let (Ok(_turn), Some(event)) = (self.at_once.acquire().await, self.events.get(place)) else { return false };
        self.counts.sent.fetch_add(1, Ordering::SeqCst);
        let answer = deliver(&self.receiver, &event.delivery(STRIPE_SECRET)).await;
        if answer.field("outcome").as_deref() == Some("duplicate") {
            self.counts.duplicates.fetch_add(1, Ordering::SeqCst);
        }
        if answer.status == 200 {
            self.acknowledged.lock().unwrap_or_else(PoisonError::into_inner).insert(place);
        }
        answer.status == 200
    }

    /// How many deliveries have been answered at least once, whatever the answer.
    pub(super) fn first_answers(&self) -> usize {
        self.first_answers.load(Ordering::SeqCst)
    }

    /// How many deliveries are neither acknowledged nor given up.
    pub(super) fn under_way(&self) -> usize {
        self.under_way.load(Ordering::SeqCst)
    }

    pub(super) fn acknowledged_ids(&self) -> Vec<String> {
        let acknowledged = self.acknowledged.lock().unwrap_or_else(PoisonError::into_inner);
        acknowledged.iter().filter_map(|place| Some(self.events.get(*place)?.id.clone())).collect()
    }

    pub(super) fn sent(&self) -> Sent {
        Sent {
            sent: self.counts.sent.load(Ordering::SeqCst),
            acknowledged: self.acknowledged.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            duplicates: self.counts.duplicates.load(Ordering::SeqCst),
            given_up: self.counts.given_up.load(Ordering::SeqCst),
        }
    }
}
