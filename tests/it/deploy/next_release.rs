//! An update to a release that has a new migration.

use hookledger_harness::{Application, operator_with_migration};

use super::account::{self, Account};

const MIGRATION: &str = "CREATE TABLE next_release (event_id text PRIMARY KEY)";

/// The same functions, deployed anew, with an operator that was built with one more migration.
fn application() -> anyhow::Result<Application> {
    let application = account::application("next")?;
    application.put("operator", &operator_with_migration("next_release", MIGRATION)?, "next")?;
    Ok(application)
}

/// First with something of the ledger's in the migration's way, then without.
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
pub(super) async fn updates(account: &Account, parameters: &[(&str, &str)]) {
    let application = tokio::task::spawn_blocking(application).await.unwrap().unwrap();
    account.database.batch_execute("CREATE TABLE next_release (in_the_way int)").await.unwrap();
    let stack = account.deploy("hookledger", &application, parameters).await.unwrap();
    assert_eq!(stack.status, "UPDATE_ROLLBACK_COMPLETE");
    let failure = stack.failures.iter().find(|failure| failure.starts_with("Migrations: ")).unwrap();
    assert!(failure.contains("relation \"next_release\" already exists"), "{failure}");
    for function in ["Receiver", "Worker", "Sweeper"] {
        assert!(stack.steps.iter().all(|step| *step != format!("{function} UPDATE_COMPLETE")), "{:#?}", stack.steps);
    }
    account.sees_applied(&stack, "evt_after_rollback").await;
    println!("not updated, because a new migration fails: {failure}");

    account.database.batch_execute("DROP TABLE next_release").await.unwrap();
    let stack = account.deploy("hookledger", &application, parameters).await.unwrap();
    assert_eq!((stack.status.as_str(), stack.failures.as_slice()), ("UPDATE_COMPLETE", &[][..]));
    assert_eq!(account.count("next_release").await, 0);
    assert_eq!(account.count("refinery_schema_history WHERE name = 'next_release'").await, 1);
    let at =
        |step: &str| stack.steps.iter().position(|s| s == step).unwrap_or_else(|| panic!("no {step}: {:#?}", stack.steps));
    for function in ["Receiver", "Worker", "Sweeper"] {
        assert!(at("Migrations UPDATE_COMPLETE") < at(&format!("{function} UPDATE_IN_PROGRESS")), "{:#?}", stack.steps);
    }
    account.sees_applied(&stack, "evt_after_migration").await;
    println!("updated: the new migration ran, then the new code was put in place");
}
