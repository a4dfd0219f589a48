//! Migrations, as files under `migrations/`, compiled in. Invariant: one process at a time applies them.

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

/// Applies what is missing and returns its names. Needs a direct connection or one in session mode: the lock belongs to
/// the session. refinery itself takes none, and two deployments at once would both apply the same file.
pub async fn migrate(client: &mut Client) -> Result<Vec<String>, MigrateError> {
    client.batch_execute(LOCK).await.map_err(MigrateError::Lock)?;
    let report = embedded::migrations::runner().set_abort_divergent(true).run_async(client).await;
    // Where the session is broken the lock is gone with it.
    client.batch_execute(UNLOCK).await.ok();
    Ok(report?.applied_migrations().iter().map(ToString::to_string).collect())
}
