//! Opening the ledger as the environment says, for a function's init.

use std::sync::Arc;
use std::time::Duration;

use hookledger_ledger::{Ledger, Reconfigure};
use tracing::error;

use crate::database::{DatabaseError, DatabaseSettings};
use crate::error_chain::error_chain;
use crate::vault::Vault;

/// A database that is down does not keep a function from starting: the receiver has the spill queue, and the others say so at
/// their first operation. Credentials that cannot be read do.
pub async fn open_ledger(settings: DatabaseSettings, answer_within: Duration) -> Result<Ledger, DatabaseError> {
    let vault = Vault::new();
    let config = settings.resolve(&vault).await?;
    let source = Arc::new((settings, vault));
    let prepares = source.0.prepared_statements;
    let mut ledger = Ledger::new(config, answer_within).reconfigured(source.0.anew(), reconfigure(source));
    if prepares {
        ledger = ledger.preparing();
    }
    if let Err(error) = ledger.warm().await {
        error!("{}", error_chain(&error));
    }
    Ok(ledger)
}

fn reconfigure(source: Arc<(DatabaseSettings, Vault)>) -> Reconfigure {
    Box::new(move || {
        let source = source.clone();
        Box::pin(async move {
            let (settings, vault) = &*source;
            settings.resolve(vault).await.inspect_err(|e| error!("{}", error_chain(e))).ok()
        })
    })
}
