//! `hookledger events tail`: asks again and again. What it shows is what changed since, an arrival or a new state.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use hookledger_commands as commands;
use hookledger_core::{Micros, Status};
use hookledger_ledger::{EventFilter, Order, PAGE_ROWS_MAX};
use hookledger_runtime::{error_chain, now};

use crate::ended::Ended;
use crate::events::{HEAD, cells};
use crate::filter::Filter;
use crate::session::Session;
use crate::table::Table;

/// An event that takes longer than this to end is not watched any more.
const WATCHED: Micros = 10 * 60 * 1_000_000;
/// Of the columns of [`HEAD`].
const WIDTHS: [usize; 9] = [19, 10, 28, 32, 11, 7, 5, 32, 0];

/// Follow events as they come in and end
#[derive(Debug, Args)]
pub(crate) struct Tail {
    #[command(flatten)]
    filter: Filter,
    /// Seconds between two looks
    #[arg(long, default_value_t = 1.0, value_name = "SECONDS")]
    interval: f64,
    /// End after so long, with exit code 0; without it, Ctrl-C ends it
    #[arg(long = "for", value_name = "SECONDS")]
    end_after: Option<f64>,
}

pub(crate) async fn run(arguments: Tail, session: &mut Session) -> Result<Ended> {
    let mut reach = session.reach().await?;
    let interval = Duration::from_secs_f64(arguments.interval.clamp(0.1, 3_600.0));
    let start = tokio::time::Instant::now();
    let end = arguments.end_after.map(|s| start + Duration::from_secs_f64(s.clamp(0.0, 1e9)));
    let filter: EventFilter = arguments.filter.into();
    let from = filter.since.unwrap_or_else(now);
    let mut known: HashMap<String, (Status, u32)> = HashMap::new();
    let mut head_shown = false;
    loop {
        // Rows are committed a little after the time that they bear, so each look goes back over the last.
        let since = from.max(now() - WATCHED);
        let mut after = None;
        loop {
            let filter = EventFilter { since: Some(since), ..filter.clone() };
            let asked = commands::List { filter, order: Order::OldestFirst, after: after.clone(), rows: PAGE_ROWS_MAX };
            let page = match reach.ask(asked).await {
                Ok(page) => page,
                // It may be back in a moment, and nothing is lost meanwhile: what changed is seen then.
                Err(error) => {
                    session.terminal.warn(&error_chain(error.as_ref()));
                    break;
                }
            };
            for event in &page.events {
                let state = (event.status, event.attempts);
                let name = format!("{}/{}", event.source, event.event_id);
                if known.insert(name, state) == Some(state) {
                    continue;
                }
                if session.terminal.json {
                    session.terminal.json(event)?;
                    continue;
                }
                let mut table = Table::new(&HEAD);
                table.row(cells(event));
                let lines = table.lines_of_many(&WIDTHS, session.terminal.paint);
                let from = usize::from(head_shown);
                lines.iter().skip(from).try_for_each(|line| session.terminal.line(line))?;
                head_shown = true;
            }
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        let next = tokio::time::Instant::now() + interval;
        if end.is_some_and(|end| next > end) {
            return Ok(Ended::Done);
        }
        tokio::time::sleep_until(next).await;
    }
}
