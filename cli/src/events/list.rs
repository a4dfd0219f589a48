//! `hookledger events list`.

use anyhow::Result;
use clap::Args;
use hookledger_commands as commands;
use hookledger_core::Micros;
use hookledger_ledger::{EventFilter, EventRow, Order, PAGE_ROWS_MAX, Position};
use hookledger_runtime::now;

use crate::ended::Ended;
use crate::events::table;
use crate::filter::{Filter, LOOK_BACK_DAYS};
use crate::session::Session;

/// List events, the newest first
///
/// Looks back 30 days, unless --since says how far, or --status names only what is not settled.
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
    let List { filter, limit, all, reverse } = arguments;
    let order = if reverse { Order::OldestFirst } else { Order::NewestFirst };
    let filter: EventFilter = filter.into();
    let mut left = if all { u64::MAX } else { u64::from(limit) };
    let (mut after, mut more, mut shown, mut rows) = (None, false, 0, Vec::new());
    let (windows, looks_back) = windows(&filter, all || reverse);
    for since in windows {
        if left == 0 {
            break;
        }
        more = true;
        while left > 0 && more {
            let page_rows = u32::try_from(left).unwrap_or(PAGE_ROWS_MAX).min(PAGE_ROWS_MAX);
            let filter = EventFilter { since, ..filter.clone() };
            let page = reach.ask(commands::List { filter, order, after: after.clone(), rows: page_rows }).await?;
            left -= page.events.len() as u64;
            shown += page.events.len();
            more = page.next.is_some();
            after = page.events.last().map(Position::of).or(after);
            rows.extend(page.events);
            if rows.len() >= PAGE_ROWS_MAX as usize {
                show(&std::mem::take(&mut rows), session)?;
            }
        }
    }
    show(&rows, session)?;
    if left > 0 && looks_back {
        let none = if shown == 0 { "no such events in" } else { "these are of" };
        session.terminal.note(&format!("{none} the last {LOOK_BACK_DAYS} days; --since looks further back"));
    } else if shown == 0 {
        session.terminal.note("no such events");
    } else if more && !session.terminal.json {
        session.terminal.note(&format!("{shown} shown; --limit or --all shows more"));
    }
    Ok(Ended::Done)
}

/// From when on to look, one time after the other until enough is found, and whether the last of them is a bound of ours. The
/// ledger's rows have no index by time that is in order, so what is read is all of a time.
fn windows(filter: &EventFilter, at_once: bool) -> (Vec<Option<Micros>>, bool) {
    if filter.since.is_some() || !filter.includes_settled() {
        return (vec![filter.since], false);
    }
    let end = filter.until.unwrap_or_else(now);
    let days = if at_once { vec![LOOK_BACK_DAYS] } else { vec![1, 7, LOOK_BACK_DAYS] };
    (days.into_iter().map(|days| Some(end - days * 86_400_000_000)).collect(), true)
}

fn show(events: &[EventRow], session: &Session) -> Result<()> {
    if session.terminal.json {
        events.iter().try_for_each(|event| session.terminal.json(event))
    } else if events.is_empty() {
        Ok(())
    } else {
        table(events).lines(session.terminal.paint).iter().try_for_each(|line| session.terminal.line(line))
    }
}
