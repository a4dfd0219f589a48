use hookledger_core::{Claim, ClaimMode, Status};
use hookledger_ledger::{Anew, Ledger, connect, migrate};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::ground::{Ground, config, event};

const TERMINATE_OTHERS: &str =
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";

#[tokio::test]
async fn a_session_that_was_terminated_is_replaced_without_an_error() {
    let mut ground = Ground::new("connection_terminated").await;
    assert_eq!(ground.claim(&event("a")).await, Claim::New);
    ground.run(TERMINATE_OTHERS).await;
    assert_eq!(ground.claim(&event("b")).await, Claim::New);
    ground.run(TERMINATE_OTHERS).await;
    ground.leased("c").await;
}

/// A ledger that counts how often it is configured anew.
fn counted(ground: &Ground, anew: Anew) -> (Ledger, Arc<AtomicU32>) {
    let asked = Arc::new(AtomicU32::new(0));
    let (right, counter) = (config(&ground.url), asked.clone());
    let ledger = Ledger::new(right.clone(), Duration::from_secs(20)).reconfigured(
        anew,
        Box::new(move || {
            counter.fetch_add(1, Ordering::SeqCst);
            let right = right.clone();
            Box::pin(async move { Some(right) })
        }),
    );
    (ledger, asked)
}

#[tokio::test]
async fn credentials_that_do_not_last_are_made_anew_for_each_connection_but_the_first() {
    let ground = Ground::new("connection_anew").await;
    for (anew, expected) in [(Anew::ForEachConnection, 2), (Anew::WhenRefused, 0)] {
        let (mut ledger, asked) = counted(&ground, anew);
        for _ in 0..3 {
            ledger.ping().await.unwrap();
            ledger.ping().await.unwrap();
            ledger.disconnect();
        }
        assert_eq!(asked.load(Ordering::SeqCst), expected, "{anew:?}");
    }
}

#[tokio::test]
async fn a_column_that_is_added_under_a_warm_connection_does_not_matter() {
    let mut ground = Ground::new("connection_migrated").await;
    ground.leased("a").await;
    ground.run("ALTER TABLE webhook_event ADD COLUMN later text").await;
    ground.run("ALTER TABLE webhook_payload ADD COLUMN later text").await;
    let lease = ground.leased("b").await;
    ground.settle(lease, "SELECT 1").await.unwrap();
}

#[tokio::test]
async fn migrations_run_once_however_many_start_them() {
    let url = hookledger_harness::Postgres::shared().unwrap().database("migrate_many").unwrap();
    let runs = (0..4).map(|_| async {
        let mut client = connect(&config(&url)).await.unwrap();
        migrate(&mut client).await.unwrap().len()
    });
    let applied: usize = futures_util::future::join_all(runs).await.into_iter().sum();
    let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../migrations")).unwrap();
    let migrations = files.filter(|file| file.as_ref().unwrap().file_name().to_string_lossy().starts_with('V')).count();
    assert_eq!(applied, migrations);
}

#[tokio::test]
async fn a_database_that_is_away_is_an_error_and_not_a_panic() {
    let port = hookledger_harness::free_port().unwrap();
    let mut ledger = crate::ground::ledger(&format!("postgres://nobody@127.0.0.1:{port}/none"));
    let error = ledger.claim(&[event("a")], ClaimMode::Enforce).await.unwrap_err();
    assert_eq!(error.to_string(), "cannot connect to the ledger to claim an event");
}

#[tokio::test]
async fn a_claim_that_is_prepared_outlives_its_session_and_a_migration() {
    let ground = Ground::new("connection_prepared").await;
    let mut ledger = ground.another().preparing();
    let mut claim = async |id: &str| {
        let event = event(id);
        assert_eq!(ledger.claim(std::slice::from_ref(&event), ClaimMode::Enforce).await.unwrap(), [Claim::New], "{id}");
        let again = ledger.claim(&[event], ClaimMode::Enforce).await.unwrap();
        assert_eq!(again, [Claim::Duplicate { status: Status::Claimed, requeue: false }], "{id}");
    };
    claim("first, unnamed, and again, prepared").await;
    claim("prepared").await;
    ground.run(TERMINATE_OTHERS).await;
    claim("in a new session").await;
    ground.run("ALTER TABLE webhook_event ADD COLUMN later text").await;
    claim("of a table with another column").await;
    ground.run("ALTER FUNCTION webhook_claim SET work_mem = '8MB'").await;
    claim("by a function that was changed").await;
    ground.check_read("SELECT count(*) FROM webhook_event", "(5)").await;
}
