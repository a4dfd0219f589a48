//! What the fault sheet plays on: a deployment of its own for each test, on a server and an emulator that they share.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use hookledger_harness::deployment::{Deployment, DeploymentOptions, STRIPE_SECRET, turn_back};
use hookledger_harness::lambda::Polled;
use hookledger_harness::lambda::api_gateway::{HttpAnswer, deliver};
use hookledger_harness::subscription::{SubscriptionEvent, effects, record_effects};
use hookledger_harness::{Emulator, Postgres};
use serde_json::json;
use tokio_postgres::Client;
use tokio_postgres::types::ToSql;

/// Long enough for any of it on a busy machine; nothing waits for so long unless it fails.
const BOUND: Duration = Duration::from_secs(40);
const LOOK_EVERY: Duration = Duration::from_millis(10);

pub(crate) struct Scene {
    pub(crate) hookledger: Deployment,
    pub(crate) emulator: Arc<Emulator>,
    pub(crate) sql: Client,
}

impl Scene {
    pub(crate) async fn new(name: &str) -> Self {
        Self::with(name, DeploymentOptions::default()).await
    }

    pub(crate) async fn with(name: &str, options: DeploymentOptions) -> Self {
        let url = server().database(&format!("faults_{name}")).unwrap();
        let emulator = emulator();
        let hookledger = Deployment::start(&url, emulator.clone(), options).await.unwrap();
        let sql = hookledger.database().await.unwrap();
        record_effects(&sql).await.unwrap();
        Self { hookledger, emulator, sql }
    }

    pub(crate) async fn deliver(&self, event: &SubscriptionEvent) -> HttpAnswer {
        deliver(&self.hookledger.receiver, &event.delivery(STRIPE_SECRET)).await
    }

    /// Delivers `event`, which must be taken, and waits until the receiver is done with it, which it is after its answer.
    pub(crate) async fn accept(&self, event: &SubscriptionEvent) {
        let answer = self.deliver(event).await;
        assert_eq!((answer.status, answer.field("outcome").as_deref()), (200, Some("accepted")), "{}", self.words());
        self.hookledger.receiver.at_rest(BOUND).await.unwrap();
    }

    pub(crate) async fn settle(&self, id: &str) {
        self.work_until(id, "settled").await;
    }

    /// Gives the worker what is on the event queue until `id` has this status.
    pub(crate) async fn work_until(&self, id: &str, status: &str) {
        let start = Instant::now();
        while self.status(id).await != status {
            assert!(start.elapsed() < BOUND, "{id} is {} and not {status}:\n{}", self.status(id).await, self.words());
            self.hookledger.events.poll(1).await.unwrap();
        }
    }

    /// The next batch of the event queue.
    pub(crate) async fn next_batch(&self) -> Polled {
        let start = Instant::now();
        loop {
            let polled = self.hookledger.events.poll(1).await.unwrap();
            if polled != Polled::Nothing {
                return polled;
            }
            assert!(start.elapsed() < BOUND, "no message comes:\n{}", self.words());
        }
    }

    /// A sweep, as if `after_s` seconds had passed for all that waits.
    pub(crate) async fn sweep_after(&self, after_s: u32) {
        turn_back(&self.sql, after_s).await.unwrap();
        self.hookledger.sweeper.invoke("{}").await.unwrap();
    }

    /// Invokes the worker with one message that names `id`, as a mapping would.
    pub(crate) async fn work_on(&self, id: &str) -> String {
        let record = json!({
            "messageId": "m", "receiptHandle": "r", "body": json!({ "source": "stripe", "event_id": id }).to_string(),
            "attributes": {}, "messageAttributes": {}, "eventSource": "aws:sqs", "awsRegion": "us-east-1",
            "eventSourceARN": "arn:aws:sqs:us-east-1:000000000000:elsewhere",
        });
        self.hookledger.worker.invoke(json!({ "Records": [record] }).to_string()).await.unwrap().payload
    }

    /// `none` where there is no row.
    pub(crate) async fn status(&self, id: &str) -> String {
        let row = self.sql.query_opt("SELECT status FROM webhook_event WHERE event_id = $1", &[&id]).await.unwrap();
        row.map_or("none".to_owned(), |row| row.get(0))
    }

    pub(crate) async fn ask<T: for<'a> tokio_postgres::types::FromSql<'a>>(&self, sql: &str, id: &str) -> T {
        self.sql.query_one(sql, &[&id as &(dyn ToSql + Sync)]).await.unwrap().get(0)
    }

    pub(crate) async fn attempts(&self, id: &str) -> i32 {
        self.ask("SELECT attempts FROM webhook_event WHERE event_id = $1", id).await
    }

    /// How often the business row of `subscription` was written.
    pub(crate) async fn effects(&self, subscription: &str) -> usize {
        effects(&self.sql).await.unwrap().iter().filter(|effect| effect.subscription == subscription).count()
    }

    /// Polls until `sql`, a boolean, is true.
    pub(crate) async fn until(&self, what: &str, sql: &str) {
        let start = Instant::now();
        while !self.sql.query_one(sql, &[]).await.unwrap().get::<_, bool>(0) {
            assert!(start.elapsed() < BOUND, "gave up waiting for {what}:\n{}", self.words());
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Polls until `condition` holds.
    pub(crate) async fn until_so(&self, what: &str, condition: impl Fn() -> bool) {
        let start = Instant::now();
        while !condition() {
            assert!(start.elapsed() < BOUND, "gave up waiting for {what}:\n{}", self.words());
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Handlers that write a subscription take so many seconds from now on.
    pub(crate) async fn slow_handlers(&self, seconds: f64) {
        let sql = format!(
            "CREATE OR REPLACE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS
                 $$ BEGIN PERFORM pg_sleep({seconds}); RETURN new; END $$;
             CREATE OR REPLACE TRIGGER dawdle BEFORE INSERT OR UPDATE ON subscription FOR EACH ROW EXECUTE FUNCTION dawdle();"
        );
        self.sql.batch_execute(&sql).await.unwrap();
    }

    /// Until a handler is inside its slow write.
    pub(crate) async fn until_a_handler_dawdles(&self) {
        let sql =
            "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep')";
        self.until("a handler to be at its work", sql).await;
    }

    /// What the functions have written, for a message.
    pub(crate) fn words(&self) -> String {
        self.hookledger.output()
    }
}

pub(crate) fn event(id: &str, subscription: &str) -> SubscriptionEvent {
    SubscriptionEvent {
        id: id.to_owned(),
        change: "updated",
        subscription: subscription.to_owned(),
        plan: "team".to_owned(),
        created_s: 1_700_000_000,
    }
}

/// A server of our own: its port has to be on 127.0.0.1, for the proxy. It ends with this process.
fn server() -> &'static Postgres {
    static SERVER: OnceLock<Postgres> = OnceLock::new();
    SERVER.get_or_init(|| Postgres::options().own().start().unwrap())
}

fn emulator() -> Arc<Emulator> {
    static EMULATOR: OnceLock<Arc<Emulator>> = OnceLock::new();
    EMULATOR.get_or_init(|| Arc::new(Emulator::start().unwrap())).clone()
}
