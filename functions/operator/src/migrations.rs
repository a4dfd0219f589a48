//! The migrations of this code, applied to the deployment's database.

use std::time::Duration;

use anyhow::{Context, Result};
use hookledger_ledger::{ConnectError, DatabaseConfig, connect, grant_app_role, migrate};
use hookledger_runtime::{DatabaseSettings, Env, Vault};
use tokio::time::{Instant, sleep};
use tokio_postgres::Client;

/// A database that was just made, or that pauses when nobody asks, takes a while to its first answer.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_secs(1);

/// The names of what was applied. The settings are read here and not in init, so that a wrong one is told to CloudFormation.
pub(crate) async fn apply() -> Result<Vec<String>> {
    let env = Env::process();
    let settings = DatabaseSettings::read(&env)?;
    let mut client = patiently(&settings.resolve(&Vault::new()).await?).await.context("cannot reach the database")?;
    let applied = migrate(&mut client).await?;
    if let Some(role) = env.optional("DATABASE_APP_ROLE")? {
        grant_app_role(&client, &role).await?;
    }
    Ok(applied)
}

async fn patiently(config: &DatabaseConfig) -> Result<Client, ConnectError> {
    let end = Instant::now() + PATIENCE;
    loop {
        match connect(config).await {
            Err(ConnectError::Unreachable(_)) if Instant::now() < end => sleep(PAUSE).await,
            connected => return connected,
        }
    }
}
