//! Migrations and a database that is not where they left it.

use hookledger_core::Secret;
use hookledger_harness::Postgres;
use hookledger_ledger::{DatabaseConfig, Tls, connect, migrate};
use tokio_postgres::Client;

async fn migrated(name: &str) -> anyhow::Result<Client> {
    let url = Secret::new(Postgres::shared()?.database(name)?)?;
    let mut client = connect(&DatabaseConfig { url, tls: Tls::Disable }).await?;
    migrate(&mut client).await?;
    let newer =
        "INSERT INTO refinery_schema_history SELECT 999, 'later', applied_on, checksum FROM refinery_schema_history LIMIT 1";
    client.batch_execute(newer).await?;
    Ok(client)
}

#[tokio::test]
async fn code_that_was_rolled_back_accepts_a_database_that_is_ahead() {
    let mut client = migrated("ahead").await.unwrap();
    assert_eq!(migrate(&mut client).await.unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn a_migration_that_a_later_one_overtook_is_refused() {
    let mut client = migrated("overtaken").await.unwrap();
    client.batch_execute("DELETE FROM refinery_schema_history WHERE version = 2").await.unwrap();
    migrate(&mut client).await.unwrap_err();
}
