//! `hookledger events stats`.

use std::collections::BTreeMap;

use anyhow::Result;
use clap::Args;
use hookledger_commands as commands;
use hookledger_core::{Micros, SourceName};
use hookledger_ledger::StatsRow;
use hookledger_runtime::{error_chain, now};
use serde::Serialize;

use crate::ended::Ended;
use crate::events::duplicates;
use crate::events::retry::name;
use crate::filter::source_name;
use crate::reach::Reach;
use crate::session::Session;
use crate::table::{Cell, Table};
use crate::when;

/// Count what became of events
///
/// A duplicate leaves no trace in the ledger. With --stack, CloudWatch is asked for their number, for which you need its
/// permission cloudwatch:GetMetricStatistics. In observe mode, where duplicates are processed all the same, WOULD SKIP counts
/// them here too.
#[derive(Debug, Args)]
pub(crate) struct Stats {
    /// Of this source only
    #[arg(long, value_parser = source_name)]
    source: Option<SourceName>,
    /// Received since: 2026-07-01T14:10Z, 2026-07-01, or 24h for a day ago
    #[arg(long, value_name = "TIME", value_parser = when::parse, default_value = "24h")]
    since: Micros,
    /// Received before
    #[arg(long, value_name = "TIME", value_parser = when::parse)]
    until: Option<Micros>,
    /// A line for each type
    #[arg(long)]
    by_type: bool,
}

const HEAD: [&str; 18] = [
    "SOURCE",
    "TYPE",
    "ACCEPTED",
    "DUPLICATES",
    "RATE",
    "REPLAYED",
    "SPILLED",
    "WOULD SKIP",
    "SKIP RATE",
    "APPLIED",
    "STALE",
    "IGNORED",
    "WAITING",
    "FAILED",
    "DEAD",
    "TRIES",
    "LAG P50",
    "P95 / P99",
];

/// A row with what the metrics add to it.
#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    row: StatsRow,
    duplicates: Option<u64>,
    /// Of all deliveries of events.
    duplicate_rate: Option<f64>,
}

pub(crate) async fn run(arguments: Stats, session: &mut Session) -> Result<Ended> {
    let mut reach = session.reach().await?;
    let Stats { source, since, until, by_type } = arguments;
    let rows = reach.ask(commands::Stats { source: source.clone(), since: Some(since), until, by_type }).await?;
    let sources: Vec<&str> = rows.iter().map(|row| row.source.as_str()).collect();
    let counts = match (&reach, &session.options.stack) {
        // The metric does not tell types apart.
        (_, _) if by_type => None,
        (Reach::Function(function), Some(stack)) => {
            let until = until.unwrap_or_else(now);
            match duplicates::count(&function.aws, &session.env, stack, &sources, since, until).await {
                Ok(counts) => Some(counts),
                Err(error) => {
                    session.terminal.warn(&format!("duplicates are not shown: {}", error_chain(error.as_ref())));
                    None
                }
            }
        }
        (Reach::Here(_) | Reach::Function(_), _) => {
            let where_they_are = "CloudWatch has their number, as the metric `duplicate`, and --stack shows it here";
            session.terminal.note(&format!("duplicates leave no trace in the ledger: {where_they_are}"));
            None
        }
    };
    let shown: Vec<Shown> = rows.into_iter().map(|row| Shown::new(row, counts.as_ref())).collect();
    if session.terminal.json {
        shown.iter().try_for_each(|row| session.terminal.json(row))?;
        return Ok(Ended::Done);
    }
    if shown.is_empty() {
        session.terminal.note(&format!("{} received nothing since {}", name(source.as_ref()), when::show(since)));
        return Ok(Ended::Done);
    }
    let mut table = Table::new(&HEAD);
    for Shown { row, duplicates, duplicate_rate } in &shown {
        let unless_none = |n: u64| if n == 0 { Cell::new("") } else { Cell::number(n) };
        let percent = |rate: f64| Cell::number(format!("{:.1} %", rate * 100.0));
        let would_skip = (row.would_skip > 0).then(|| rate(row.would_skip, row.accepted));
        let tries = row.attempts_mean.map(|mean| format!("{mean:.2} (max {})", row.attempts_max)).unwrap_or_default();
        let tail = row.lag_p95_ms.zip(row.lag_p99_ms).map(|(p95, p99)| format!("{} / {}", lag(p95), lag(p99)));
        table.row([
            Cell::new(&row.source),
            Cell::new(row.event_type.as_deref().unwrap_or_default()),
            Cell::number(row.accepted),
            duplicates.map_or_else(|| Cell::new(""), Cell::number),
            duplicate_rate.map_or_else(|| Cell::new(""), percent),
            unless_none(row.replayed),
            unless_none(row.spilled),
            unless_none(row.would_skip),
            would_skip.map_or_else(|| Cell::new(""), percent),
            unless_none(row.applied),
            unless_none(row.stale),
            unless_none(row.ignored),
            unless_none(row.waiting),
            unless_none(row.failed),
            unless_none(row.dead_letter),
            Cell::new(tries),
            Cell::number(row.lag_p50_ms.map(lag).unwrap_or_default()),
            Cell::new(tail.unwrap_or_default()),
        ]);
    }
    table.lines(session.terminal.paint).iter().try_for_each(|line| session.terminal.line(line))?;
    Ok(Ended::Done)
}

impl Shown {
    fn new(row: StatsRow, counts: Option<&BTreeMap<String, u64>>) -> Self {
        let duplicates = counts.map(|counts| counts.get(&row.source).copied().unwrap_or(0));
        let duplicate_rate = duplicates.map(|duplicates| rate(duplicates, row.accepted));
        Self { row, duplicates, duplicate_rate }
    }
}

fn rate(again: u64, first: u64) -> f64 {
    again as f64 / (first + again).max(1) as f64
}

fn lag(ms: f64) -> String {
    match ms {
        ms if ms < 1_000.0 => format!("{ms:.0} ms"),
        ms if ms < 120_000.0 => format!("{:.1} s", ms / 1_000.0),
        ms if ms < 7_200_000.0 => format!("{:.0} min", ms / 60_000.0),
        ms => format!("{:.1} h", ms / 3_600_000.0),
    }
}
