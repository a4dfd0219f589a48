//! `hookledger migrate`: brings a database up to this version. Reads `DATABASE_URL` and `DATABASE_TLS` as the functions do.

use anyhow::{Context, Result};
use hookledger_runtime::{DatabaseSettings, Env, Vault};

pub(crate) async fn migrate() -> Result<()> {
    let config = DatabaseSettings::read(&Env::process())?.resolve(&Vault::new()).await?;
    let mut client = hookledger_ledger::connect(&config).await.context("cannot migrate")?;
    let applied = hookledger_ledger::migrate(&mut client).await?;
    if applied.is_empty() {
        println!("the database is up to date");
    }
    for migration in applied {
        println!("applied {migration}");
    }
    Ok(())
}
