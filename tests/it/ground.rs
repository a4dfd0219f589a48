//! What the tests of ledger and worker stand on: a migrated database of its own for each, and events that can be claimed.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::Duration;

use bytes::Bytes;
use hookledger_core::{
    Claim, ClaimMode, EventId, EventRef, Identity, Lifecycle, ObjectKey, Outcome, Proof, Secret, SourceName, VerifiedEvent,
};
use hookledger_harness::Postgres;
use hookledger_ledger::{DatabaseConfig, Done, Grant, Lease, Ledger, Tls, Unsettled, connect, migrate};
use tokio_postgres::Client;

pub(crate) struct Ground {
    pub(crate) url: String,
    /// For looking at rows, and for turning back the clock in them.
    pub(crate) sql: Client,
    pub(crate) ledger: Ledger,
}

impl Ground {
    pub(crate) async fn new(name: &str) -> Self {
        let url = Postgres::shared().unwrap().database(name).unwrap();
        let mut sql = connect(&config(&url)).await.unwrap();
        migrate(&mut sql).await.unwrap();
        Self { ledger: ledger(&url), sql, url }
    }

    /// Another environment's connection to the same ledger.
    pub(crate) fn another(&self) -> Ledger {
        ledger(&self.url)
    }

    pub(crate) async fn claim(&mut self, event: &VerifiedEvent) -> Claim {
        self.ledger.claim(std::slice::from_ref(event), ClaimMode::Enforce).await.unwrap()[0]
    }

    /// Claims and leases a new event.
    pub(crate) async fn leased(&mut self, id: &str) -> Lease {
        self.claim(&event(id)).await;
        self.lease(id).await
    }

    pub(crate) async fn lease(&mut self, id: &str) -> Lease {
        let grant = self.ledger.lease_alone(&key(id), 5).await.unwrap();
        let Grant::Leased(lease) = grant else { panic!("{id} is not to be leased: {grant:?}") };
        lease
    }

    /// Runs `sql` in a lease's transaction and settles it as applied.
    pub(crate) async fn settle(&mut self, lease: Lease, sql: &str) -> Result<Vec<Done>, Unsettled> {
        let work = self.ledger.begin().await.unwrap();
        work.transaction().batch_execute(sql).await.unwrap();
        work.settle(vec![(lease, Outcome::Applied)]).await
    }

    pub(crate) async fn run(&self, sql: &str) {
        self.sql.batch_execute(sql).await.unwrap();
    }

    /// Gives the ledger's connection up and waits until the database is rid of it and of all others, which may still carry out what
    /// they were sent, and count only when they end.
    pub(crate) async fn alone(&mut self) {
        self.ledger.disconnect();
        let others = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
        let gone = async {
            while !self.sql.query(others, &[]).await.unwrap().is_empty() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), gone).await.unwrap();
    }

    /// The rows as Postgres writes them, `(a,b) (c,d)`.
    pub(crate) async fn read(&self, sql: &str) -> String {
        let sql = format!("SELECT coalesce(string_agg(r::text, ' '), '') FROM ({sql}) AS r");
        self.sql.query_typed(&sql, &[]).await.unwrap()[0].get(0)
    }

    #[track_caller]
    pub(crate) fn check_read<'a>(&'a self, sql: &'a str, expected: &'a str) -> impl Future<Output = ()> + 'a {
        let caller = std::panic::Location::caller();
        async move { assert_eq!(self.read(sql).await, expected, "{sql} at {caller}") }
    }
}

pub(crate) fn config(url: &str) -> DatabaseConfig {
    DatabaseConfig { url: Secret::new(url).unwrap(), tls: Tls::Disable }
}

pub(crate) fn ledger(url: &str) -> Ledger {
    Ledger::new(config(url), Duration::from_secs(20))
}

pub(crate) fn key(id: &str) -> EventRef {
    EventRef { source: SourceName::new("stripe").unwrap(), event_id: EventId::new(id).unwrap() }
}

pub(crate) fn event(id: &str) -> VerifiedEvent {
    event_with(id, None, Lifecycle::Updated, b"{}")
}

/// About the object `sub_1`, with a version in microseconds.
pub(crate) fn event_with(id: &str, version: Option<i64>, lifecycle: Lifecycle, body: &[u8]) -> VerifiedEvent {
    event_of(id, version, lifecycle, &[("content-type", "application/json")], body)
}

pub(crate) fn event_of(
    id: &str,
    version: Option<i64>,
    lifecycle: Lifecycle,
    headers: &[(&str, &str)],
    body: &[u8],
) -> VerifiedEvent {
    let token = "t".repeat(32);
    let proof = Proof::replay_token(&Secret::new(token.clone()).unwrap(), token.as_bytes()).unwrap();
    let identity = Identity {
        event_id: EventId::new(id).unwrap(),
        event_type: "customer.subscription.updated".into(),
        object: version.map(|_| ObjectKey { account: String::new(), kind: "subscription".into(), id: "sub_1".into() }),
        version,
        lifecycle,
    };
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    VerifiedEvent::new(&proof, SourceName::new("stripe").unwrap(), identity, headers, Bytes::copy_from_slice(body))
}
