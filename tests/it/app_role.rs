//! The functions' role: it can do what functions do, and nothing to the tables.

use hookledger_core::{ClaimMode, RetryPolicy};
use hookledger_ledger::{AppRoleError, RetentionPolicy, grant_app_role};

use crate::ground::{Ground, event, key, ledger};

/// Roles belong to the server, which may be a developer's own.
async fn drop_role(ground: &Ground, role: &str) {
    ground.run(&format!("DROP OWNED BY {role}; DROP ROLE {role}")).await;
}

/// The URL of `ground`'s database for another user.
fn as_role(ground: &Ground, role: &str) -> String {
    let (_, rest) = ground.url.split_once('@').unwrap_or_default();
    format!("postgres://{role}@{rest}")
}

#[tokio::test]
async fn the_functions_role_takes_an_event_from_its_claim_to_its_end_and_keeps_house() {
    const ROLE: &str = "app_role_works";
    let mut ground = Ground::new("app_role_works").await;
    grant_app_role(&ground.sql, ROLE).await.unwrap();
    // Each deployment runs it again.
    grant_app_role(&ground.sql, ROLE).await.unwrap();

    let url = as_role(&ground, ROLE);
    let mut app = Ground { ledger: ledger(&url), sql: ground.sql, url };
    let lease = app.leased("a").await;
    app.settle(lease, "INSERT INTO subscription VALUES ('sub_1', 'gold', 'active', 1)").await.unwrap();
    app.check_read("SELECT status, outcome FROM webhook_event", "(settled,applied)").await;

    app.run("SELECT webhook_payload_add_month('2020-01-15')").await;
    app.ledger.add_payload_partitions().await.unwrap();
    let pruned = app.ledger.prune(RetentionPolicy::new(90, None).unwrap(), 100).await.unwrap();
    assert_eq!(pruned.partitions_dropped, ["webhook_payload_202001"]);
    let swept = app.ledger.sweep(&[], RetryPolicy::default().attempts_max, 100).await.unwrap();
    assert!(swept.requeue.is_empty());
    ground = app;
    assert!(ground.ledger.claim(&[event("b")], ClaimMode::Enforce).await.is_ok());
    assert_eq!(ground.lease("b").await.key, key("b"));
    drop_role(&ground, ROLE).await;
}

#[tokio::test]
async fn the_functions_role_cannot_change_tables_or_the_record_of_migrations() {
    const ROLE: &str = "app_role_bounds";
    let mut ground = Ground::new("app_role_bounds").await;
    grant_app_role(&ground.sql, ROLE).await.unwrap();
    ground.ledger = ledger(&as_role(&ground, ROLE));
    for forbidden in [
        "CREATE TABLE mine (id int)",
        "DROP TABLE subscription",
        "ALTER TABLE webhook_event ADD COLUMN mine text",
        "TRUNCATE webhook_event",
        "DELETE FROM refinery_schema_history",
        "CREATE ROLE another",
    ] {
        let work = ground.ledger.begin().await.unwrap();
        let refused = work.transaction().batch_execute(forbidden).await.unwrap_err();
        let code = refused.code().map(tokio_postgres::error::SqlState::code);
        assert_eq!(code, Some("42501"), "{forbidden}: {refused:?}");
    }
    drop_role(&ground, ROLE).await;
}

#[tokio::test]
async fn a_role_whose_name_is_no_plain_word_is_refused() {
    let ground = Ground::new("app_role_name").await;
    for name in ["", "1app", "App", "app; DROP TABLE webhook_event", "app\"", &"a".repeat(64)] {
        assert!(matches!(grant_app_role(&ground.sql, name).await, Err(AppRoleError::Name)), "{name}");
    }
}
