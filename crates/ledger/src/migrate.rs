//! Migrations, as files under `migrations/`, compiled in. Invariant: one process at a time applies them.

use refinery::error::Kind;
use tokio_postgres::Client;

mod embedded {
    refinery::embed_migrations!("../../migrations");
}

#[derive(Debug, thiserror::Error)]
pub enum MigrateError {
    #[error("cannot take the migrations' lock")]
    Lock(#[source] tokio_postgres::Error),
    #[error("cannot apply the migrations")]
    Apply(#[from] refinery::Error),
}

/// An arbitrary number that stands for "hookledger's migrations" among the database's advisory locks.
const LOCK: &str = "SELECT pg_advisory_lock(7126350412981140551)";
const UNLOCK: &str = "SELECT pg_advisory_unlock(7126350412981140551)";

/// Applies what is missing and returns its names; a database that newer code has migrated further is left as it is. Needs a direct connection or one in session mode: the lock belongs to
/// the session. refinery itself takes none, and two deployments at once would both apply the same file.
pub async fn migrate(client: &mut Client) -> Result<Vec<String>, MigrateError> {
    client.batch_execute(LOCK).await.map_err(MigrateError::Lock)?;
    let applied = apply(client).await;
    // Where the session is broken the lock is gone with it.
    client.batch_execute(UNLOCK).await.ok();
    Ok(applied?)
}

async fn apply(client: &mut Client) -> Result<Vec<String>, refinery::Error> {
    let runner = embedded::migrations::runner().set_abort_divergent(true);
    match runner.run_async(client).await {
        Ok(report) => Ok(report.applied_migrations().iter().map(ToString::to_string).collect()),
        // A database that is ahead is what code that was rolled back finds, and it can work with it.
        Err(error) if matches!(error.kind(), Kind::MissingVersion(_)) => {
            let there = runner.get_applied_migrations_async(client).await?;
            let all = runner.get_migrations().iter().all(|migration| there.contains(migration));
            if all { Ok(Vec::new()) } else { Err(error) }
        }
        Err(error) => Err(error),
    }
}

/// The names of this code's migrations, in their order.
pub(crate) fn embedded_names() -> Vec<String> {
    embedded::migrations::runner().get_migrations().iter().map(ToString::to_string).collect()
}
