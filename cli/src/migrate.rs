//! `hookledger migrate`: brings a database up to this version.

use anyhow::{Context, Result};
use serde_json::json;

use crate::ended::{BadInput, Ended};
use crate::session::Session;

pub(crate) async fn run(session: &mut Session) -> Result<Ended> {
    if session.options.stack.is_some() || session.options.function.is_some() {
        let why = "a deployment migrates its database by itself: deploy it, or give the database's own URL";
        return Err(BadInput(why.to_owned()).into());
    }
    let config = session.database().await?;
    let mut client = hookledger_ledger::connect(&config).await.context("cannot migrate")?;
    let applied = hookledger_ledger::migrate(&mut client).await?;
    if session.terminal.json {
        session.terminal.json(&json!({ "applied": applied }))?;
        return Ok(Ended::Done);
    }
    if applied.is_empty() {
        session.terminal.line("the database is up to date")?;
    }
    for migration in applied {
        session.terminal.line(&format!("applied {migration}"))?;
    }
    Ok(Ended::Done)
}
