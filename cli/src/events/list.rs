//! `hookledger events list`.

use anyhow::Result;
use clap::Args;
use hookledger_commands as commands;
use hookledger_ledger::{Order, PAGE_ROWS_MAX};

use crate::ended::Ended;
use crate::events::table;
use crate::filter::Filter;
use crate::session::Session;

/// List events, the newest first
#[derive(Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    filter: Filter,
    /// At most so many
    #[arg(long, default_value_t = 50, conflicts_with = "all")]
    limit: u32,
    /// As many as there are
    #[arg(long)]
    all: bool,
    /// The oldest first
    #[arg(long)]
    reverse: bool,
}

pub(crate) async fn run(arguments: List, session: &mut Session) -> Result<Ended> {
    let mut reach = session.reach().await?;
    let order = if arguments.reverse { Order::OldestFirst } else { Order::NewestFirst };
    let mut left = if arguments.all { u64::MAX } else { u64::from(arguments.limit) };
    let filter = arguments.filter.into();
    let (mut after, mut shown) = (None, 0);
    while left > 0 {
        let rows = u32::try_from(left).unwrap_or(PAGE_ROWS_MAX).min(PAGE_ROWS_MAX);
        let page = reach.ask(commands::List { filter: Clone::clone(&filter), order, after, rows }).await?;
        left -= page.events.len() as u64;
        shown += page.events.len();
        if session.terminal.json {
            page.events.iter().try_for_each(|event| session.terminal.json(event))?;
        } else if !page.events.is_empty() {
            table(&page.events).lines(session.terminal.paint).iter().try_for_each(|line| session.terminal.line(line))?;
        }
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    if shown == 0 {
        session.terminal.note("no such events");
    } else if after.is_some() && !session.terminal.json {
        session.terminal.note(&format!("{shown} shown; --limit or --all shows more"));
    }
    Ok(Ended::Done)
}
