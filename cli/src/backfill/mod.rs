//! `hookledger backfill-versions`: what the version guard should have known, from a table of yours or from the provider.
//!
//! Invariants: an object's version is what the provider's definition takes for one, read out of what the provider said as the
//! receiver would; it is only ever raised, so a backfill that broke off is run again.

mod github;
mod learn;
mod paddle;
mod shopify;
mod stripe;
mod table;

use anyhow::Result;
use clap::Subcommand;
use hookledger_ledger::BackfillBatch;

use crate::ended::Ended;
use crate::session::Session;
use crate::terminal::safe;

/// Ids of refused objects that are shown; --json has all.
const SHOWN_MAX: usize = 10;

/// Let the version guard learn what it should have known
///
/// Before the guard knows an object, its first event counts as the newest, however old it is. So let it learn before events come
/// in, from the table that your handlers write or from the provider. A version is only ever raised: run it as often as you
/// like. An object without a version is refused: one of 0 would let any event through.
#[derive(Debug, Subcommand)]
pub(crate) enum BackfillCommand {
    Table(table::Table),
    Stripe(stripe::Stripe),
    Github(github::Github),
    Paddle(paddle::Paddle),
    Shopify(shopify::Shopify),
}

pub(crate) async fn run(command: BackfillCommand, session: &mut Session) -> Result<Ended> {
    match command {
        BackfillCommand::Table(arguments) => table::run(arguments, session).await,
        BackfillCommand::Stripe(arguments) => stripe::run(arguments, session).await,
        BackfillCommand::Github(arguments) => github::run(arguments, session).await,
        BackfillCommand::Paddle(arguments) => paddle::run(arguments, session).await,
        BackfillCommand::Shopify(arguments) => shopify::run(arguments, session).await,
    }
}

fn add(all: &mut BackfillBatch, batch: BackfillBatch) {
    all.objects += batch.objects;
    all.unguarded += batch.unguarded;
    all.behind += batch.behind;
    all.guarded += batch.guarded;
    all.refused.extend(batch.refused);
    all.next = batch.next;
}

fn confirm(found: &BackfillBatch, session: &Session) -> Result<bool> {
    let to_write = found.unguarded + found.behind;
    session.terminal.confirm(&format!("the guard will learn the versions of {to_write} objects"))
}

fn tell(batch: &BackfillBatch, written: bool, session: &Session) -> Result<Ended> {
    let terminal = &session.terminal;
    let ended = if batch.refused.is_empty() { Ended::Done } else { Ended::InPart };
    if terminal.json {
        terminal.json(batch)?;
        return Ok(ended);
    }
    let had = if written { "had been" } else { "are" };
    terminal.line(&format!("{} objects read", batch.objects))?;
    terminal.line(&format!(
        "  {:>7}  {had} unknown to the guard: any event would have been taken for the newest",
        batch.unguarded
    ))?;
    terminal.line(&format!("  {:>7}  {had} behind: an event from between would have been taken for newer", batch.behind))?;
    terminal.line(&format!("  {:>7}  were known in this version or a newer one", batch.guarded))?;
    if !batch.refused.is_empty() {
        let ids: Vec<String> = batch.refused.iter().take(SHOWN_MAX).map(|id| safe(id)).collect();
        let (count, ids) = (batch.refused.len(), ids.join(", "));
        terminal.warn(&format!(
            "{count} refused, because they say no version or one of the future: {ids}{}",
            if count > SHOWN_MAX { ", …" } else { "" }
        ));
    }
    Ok(ended)
}
