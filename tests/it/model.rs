//! A machine that tries to break the ledger's promises: random interleavings of deliveries, copies, late arrivals, sweeps and
//! the passing of time, with receiver and worker dying at any of their await points. Real receiver, worker and ledger, real
//! Postgres, real SQS protocol.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::task::Poll;

use hookledger_core::{RetryPolicy, SourceName};
use hookledger_harness::Emulator;
use hookledger_queue::Queue;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::ground::Ground;
use crate::receiver::{post, receiver, stripe_signature, subscription_event};

#[derive(Debug, Clone)]
enum Step {
    /// The provider delivers an event, for the first time or not; the receiver dies after so many waits.
    Deliver {
        object: u8,
        version: u8,
        dies_after: Option<u8>,
    },
    /// A worker takes what is on the queue; it dies after so many waits.
    Work {
        dies_after: Option<u8>,
    },
    /// A worker takes what is on the queue and is frozen while it waits for its leases, or for its transaction to begin.
    Freeze {
        after: u8,
    },
    /// All frozen workers go on as if nothing had happened.
    Thaw,
    Sweep,
    /// Leases run out and waits are over.
    Pass,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let deliver = (0..3_u8, 0..5_u8, prop::option::weighted(0.3, 0..12_u8));
    let deliver = deliver.prop_map(|(object, version, dies_after)| Step::Deliver { object, version, dies_after });
    let work = prop::option::weighted(0.5, 0..24_u8).prop_map(|dies_after| Step::Work { dies_after });
    let freeze = (0..2_u8).prop_map(|after| Step::Freeze { after });
    let time = prop_oneof![1 => Just(Step::Sweep), 2 => Just(Step::Pass), 1 => Just(Step::Thaw)];
    prop::collection::vec(prop_oneof![6 => deliver, 4 => work, 2 => freeze, 4 => time], 5..40)
}

/// Runs `future` to its end, or leaves it when it waits for the `leaves_after`-th time. Dropped then, it is a process that
/// was killed; kept, it is one that was frozen.
async fn run<T>(future: &mut (impl Future<Output = T> + Unpin), leaves_after: Option<u8>) -> Option<T> {
    let mut waits = 0;
    std::future::poll_fn(|context| match Pin::new(&mut *future).poll(context) {
        Poll::Ready(value) => Poll::Ready(Some(value)),
        Poll::Pending if leaves_after == Some(waits) => Poll::Ready(None),
        Poll::Pending => {
            waits += 1;
            Poll::Pending
        }
    })
    .await
}

/// A worker with its batch, from which come the receipt handles of the messages to delete.
type Running = Pin<Box<dyn Future<Output = Vec<String>>>>;

struct World {
    ground: Ground,
    emulator: Emulator,
    queue: String,
    acknowledged: BTreeSet<String>,
    frozen: Vec<Running>,
}

const TURN_BACK: &str = "
UPDATE webhook_payload SET received_at = received_at - interval '2 hours';
UPDATE webhook_event SET received_at = received_at - interval '2 hours', requeued_at = requeued_at - interval '2 hours',
       next_attempt_at = next_attempt_at - interval '2 hours', lease_until = lease_until - interval '2 hours'";

/// Every effect leaves a row, so that a second one shows.
const LOG_EFFECTS: &str = "
CREATE TABLE effect (place bigint GENERATED ALWAYS AS IDENTITY, subscription_id text, version bigint);
CREATE FUNCTION log_effect() RETURNS trigger LANGUAGE plpgsql AS
  'BEGIN INSERT INTO effect (subscription_id, version) VALUES (NEW.subscription_id, NEW.version); RETURN NULL; END';
CREATE TRIGGER log_effect AFTER INSERT OR UPDATE ON subscription FOR EACH ROW EXECUTE FUNCTION log_effect()";

const FORGET: &str = "TRUNCATE webhook_event, webhook_payload, webhook_object, subscription, effect";

impl World {
    async fn new() -> Self {
        let ground = Ground::new("model").await;
        ground.run(LOG_EFFECTS).await;
        let emulator = Emulator::start().unwrap();
        // Messages are visible again at once, so each is delivered over and over until it is deleted.
        let queue = emulator.create_queue("events", &[("VisibilityTimeout", "0")]).await.unwrap();
        Self { ground, emulator, queue, acknowledged: BTreeSet::new(), frozen: Vec::new() }
    }

    async fn step(&mut self, step: &Step) {
        match step {
            Step::Deliver { object, version, dies_after } => self.deliver(*object, *version, *dies_after).await,
            Step::Work { dies_after } => self.work(*dies_after).await,
            Step::Freeze { after } => self.freeze(*after).await,
            Step::Thaw => self.thaw().await,
            Step::Sweep => self.sweep().await,
            Step::Pass => self.ground.run(TURN_BACK).await,
        }
    }

    async fn deliver(&mut self, object: u8, version: u8, dies_after: Option<u8>) {
        let id = format!("evt_{object}_{version}");
        let body = subscription_event(&id, &format!("sub_{object}"), 1_773_342_000 + i64::from(version));
        let mut receiver = receiver(&self.ground, &self.emulator).await;
        let signature = stripe_signature(&body);
        let headers = [("stripe-signature", signature.as_str())];
        let answer = post(&mut receiver, "/webhooks/stripe", &headers, &body);
        if let Some(answer) = run(&mut Box::pin(answer), dies_after).await {
            assert_eq!(answer.status, 200, "{}", answer.body);
            self.acknowledged.insert(id);
        }
    }

    async fn work(&mut self, dies_after: Option<u8>) {
        let mut worker = self.worker().await;
        let deleted = run(&mut worker, dies_after).await;
        self.delete(deleted).await;
    }

    async fn freeze(&mut self, after: u8) {
        let mut worker = self.worker().await;
        match run(&mut worker, Some(after)).await {
            None => self.frozen.push(worker),
            deleted => self.delete(deleted).await,
        }
    }

    async fn thaw(&mut self) {
        for worker in std::mem::take(&mut self.frozen) {
            let deleted = worker.await;
            self.delete(Some(deleted)).await;
        }
    }

    /// A worker that has taken a batch and is about to begin. Its connection is open, as in a warm environment.
    async fn worker(&mut self) -> Running {
        let messages = self.emulator.receive(&self.queue, 0).await.unwrap();
        let numbered = messages.iter().enumerate();
        let records: Vec<_> = numbered.map(|(n, message)| crate::worker::message(&n.to_string(), &message.body)).collect();
        let mut worker = self.ground.worker(worker::handlers::ROUTES);
        worker.ledger.warm().await.unwrap();
        Box::pin(async move {
            let response = worker.batch(crate::worker::batch_of(&records)).await;
            let kept: BTreeSet<_> = response.batch_item_failures.iter().map(|kept| kept.item_identifier.clone()).collect();
            let done = messages.into_iter().enumerate().filter(|(n, _)| !kept.contains(&n.to_string()));
            done.map(|(_, message)| message.receipt_handle).collect()
        })
    }

    /// What Lambda does with the messages of a batch, if its worker lived to answer.
    async fn delete(&self, receipt_handles: Option<Vec<String>>) {
        for handle in receipt_handles.into_iter().flatten() {
            // The handle of a message that was received again since, or is gone, deletes nothing.
            drop(self.emulator.delete(&self.queue, &handle).await);
        }
    }

    async fn sweep(&mut self) {
        let limits = [(SourceName::new("stripe").unwrap(), RetryPolicy::default().attempts_max)];
        let swept = self.ground.ledger.sweep(&limits, 5, 100).await.unwrap();
        let queue = Queue::new(crate::queue::client(&self.emulator.endpoint()), self.queue.clone());
        assert!(queue.enqueue(&swept.requeue).await.failed.is_empty());
    }

    /// Nothing happens any more but time, sweeps and workers that live.
    async fn drain(&mut self) {
        for _ in 0..30 {
            if self.ground.ledger.backlog().await.unwrap().unsettled == 0 {
                return;
            }
            self.ground.run(TURN_BACK).await;
            self.sweep().await;
            self.work(None).await;
        }
        panic!("not settled: {}", self.ground.read("SELECT event_id, status, attempts FROM webhook_event").await);
    }

    /// The promises, held against a model: an object shows the largest version that was taken.
    async fn check(&self) -> Result<(), TestCaseError> {
        let rows =
            self.ground.sql.query("SELECT event_id, object_id, version, last_error FROM webhook_event", &[]).await.unwrap();
        let (mut newest, mut dead, mut taken) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
        for row in rows {
            taken.insert(row.get::<_, String>(0));
            // One that killed its worker five times is given up, and may be the newest. Nothing else is.
            if let Some(error) = row.get::<_, Option<String>>(3) {
                prop_assert_eq!(error, "the last attempt ended without a word");
                dead.insert(row.get::<_, String>(1));
            }
            let version = newest.entry(row.get::<_, String>(1)).or_insert(0);
            *version = row.get::<_, i64>(2).max(*version);
        }
        prop_assert!(taken.is_superset(&self.acknowledged), "lost: {:?}", self.acknowledged.difference(&taken));
        let effects =
            self.ground.sql.query("SELECT subscription_id, version FROM effect ORDER BY place", &[]).await.unwrap();
        let mut shown = BTreeMap::new();
        for effect in effects {
            let before = shown.insert(effect.get::<_, String>(0), effect.get::<_, i64>(1));
            prop_assert!(before < shown.get(effect.get::<_, &str>(0)).copied(), "twice, or an older one on top");
        }
        for (object, version) in newest {
            prop_assert!(dead.contains(&object) || shown.get(&object) == Some(&version), "{object} does not show {version}");
        }
        Ok(())
    }
}

#[test]
fn no_interleaving_loses_an_event_applies_it_twice_or_puts_an_older_one_on_top() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let world = std::cell::RefCell::new(runtime.block_on(World::new()));
    let config = ProptestConfig { cases: 25, failure_persistence: None, max_shrink_iters: 60, ..ProptestConfig::default() };
    let result = TestRunner::new(config).run(&steps(), |steps| {
        let mut world = world.borrow_mut();
        runtime.block_on(async {
            world.ground.run(FORGET).await;
            world.acknowledged.clear();
            world.frozen.clear();
            for step in &steps {
                world.step(step).await;
            }
            world.thaw().await;
            // Environments that died may have left something that the database still carries out.
            world.ground.alone().await;
            world.drain().await;
            world.check().await
        })
    });
    result.unwrap();
}
