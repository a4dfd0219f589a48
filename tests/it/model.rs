//! A machine that tries to break the ledger's promises: random interleavings of deliveries, copies, late arrivals, sweeps and
//! the passing of time, with receiver and worker dying at any of their await points. Real receiver, worker and ledger, real
//! Postgres, real SQS protocol.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::task::Poll;
use std::time::Duration;

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
    Sweep,
    /// Leases run out and waits are over.
    Pass,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let deliver = (0..3_u8, 0..5_u8, prop::option::weighted(0.3, 0..12_u8));
    let deliver = deliver.prop_map(|(object, version, dies_after)| Step::Deliver { object, version, dies_after });
    let work = prop::option::weighted(0.5, 0..24_u8).prop_map(|dies_after| Step::Work { dies_after });
    prop::collection::vec(prop_oneof![6 => deliver, 4 => work, 1 => Just(Step::Sweep), 2 => Just(Step::Pass)], 5..40)
}

/// Runs `future` to its end, or drops it when it waits for the `dies_after`-th time, as a kill does.
async fn live_or_die<T>(future: impl Future<Output = T>, dies_after: Option<u8>) -> Option<T> {
    let mut future = Box::pin(future);
    let mut waits = 0;
    std::future::poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(value) => Poll::Ready(Some(value)),
        Poll::Pending if dies_after == Some(waits) => Poll::Ready(None),
        Poll::Pending => {
            waits += 1;
            Poll::Pending
        }
    })
    .await
}

struct World {
    ground: Ground,
    emulator: Emulator,
    queue: String,
    acknowledged: BTreeSet<String>,
}

const TURN_BACK: &str = "
UPDATE webhook_event SET received_at = received_at - interval '2 hours', requeued_at = requeued_at - interval '2 hours',
       next_attempt_at = next_attempt_at - interval '2 hours', lease_until = lease_until - interval '2 hours'
WHERE settled_at IS NULL";

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
        Self { ground, emulator, queue, acknowledged: BTreeSet::new() }
    }

    async fn step(&mut self, step: &Step) {
        match step {
            Step::Deliver { object, version, dies_after } => self.deliver(*object, *version, *dies_after).await,
            Step::Work { dies_after } => self.work(*dies_after).await,
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
        if let Some(answer) = live_or_die(answer, dies_after).await {
            assert_eq!(answer.status, 200, "{}", answer.body);
            self.acknowledged.insert(id);
        }
    }

    async fn work(&mut self, dies_after: Option<u8>) {
        let messages = self.emulator.receive(&self.queue, 0).await.unwrap();
        let records: Vec<_> =
            messages.iter().enumerate().map(|(n, message)| crate::worker::message(&n.to_string(), &message.body)).collect();
        let mut worker = self.ground.worker(worker::handlers::ROUTES);
        let batch = live_or_die(worker.batch(crate::worker::batch_of(&records)), dies_after).await;
        let Some(response) = batch else { return };
        let kept: BTreeSet<_> =
            response.batch_item_failures.iter().map(|failure| failure.item_identifier.as_str()).collect();
        for (n, message) in messages.iter().enumerate() {
            if !kept.contains(n.to_string().as_str()) {
                self.emulator.delete(&self.queue, &message.receipt_handle).await.unwrap();
            }
        }
    }

    async fn sweep(&mut self) {
        let limits = [(SourceName::new("stripe").unwrap(), RetryPolicy::default().attempts_max)];
        let swept = self.ground.ledger.sweep(&limits, 5, 100).await.unwrap();
        let queue = Queue::new(crate::queue::client(&self.emulator.endpoint()).await, self.queue.clone());
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
            self.ground.sql.query("SELECT event_id, object_id, version, status FROM webhook_event", &[]).await.unwrap();
        let (mut newest, mut dead, mut taken) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
        for row in rows {
            taken.insert(row.get::<_, String>(0));
            // One that killed its worker five times is given up, and may be the newest.
            if row.get::<_, &str>(3) == "dead_letter" {
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
            for step in &steps {
                world.step(step).await;
            }
            world.drain().await;
            // Dead environments' sessions are closed, but the server may not have noticed all of them yet.
            tokio::time::timeout(Duration::from_secs(30), world.check()).await.unwrap()
        })
    });
    result.unwrap();
}
