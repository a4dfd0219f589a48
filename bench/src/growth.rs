//! Whether the ledger gets slower with its history: the same operations against a ledger with many settled rows and one with
//! few, by turns, through crates/ledger.

mod operations;
mod plans;
mod rows;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::Context;
use tokio_postgres::Client;

use crate::database::{ledger, migrated, server};
use crate::report::{Cell, Limit, Report, Table, Target};
use crate::spread::Spread;
use operations::{Cost, Operation, Subject};

/// What the large ledger may take, against the small one.
const RATIO_MAX: f64 = 1.2;
/// Rows that a sweep finds, in both ledgers: the backlog is what a sweep may cost.
const BACKLOG: u32 = 500;

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// Settled rows of the large ledger
    #[arg(long, default_value_t = 10_000_000)]
    rows: u64,
    /// Settled rows of the small ledger
    #[arg(long, default_value_t = 10_000)]
    base: u64,
    /// How many of the newest rows have their payload, in either ledger
    #[arg(long, default_value_t = 200_000)]
    payloads: u64,
    /// How often everything is measured
    #[arg(long, default_value_t = 25)]
    rounds: u32,
    /// Operations of each kind in a round
    #[arg(long, default_value_t = 200)]
    operations: u32,
}

impl Options {
    pub(crate) const USUAL: Self = Self { rows: 10_000_000, base: 10_000, payloads: 200_000, rounds: 25, operations: 200 };
    pub(crate) const QUICK: Self = Self { rows: 100_000, base: 10_000, payloads: 10_000, rounds: 1, operations: 20 };
}

/// A ledger and its size.
struct Side {
    name: &'static str,
    rows: u64,
    generated_in: Duration,
    url: String,
    sql: Client,
}

/// How a commit ends: on the disk, or before it, which shows the work that a slow disk hides.
const COMMITS: [(&str, &str); 2] = [("on disk", "on"), ("not waited for", "off")];

/// What is held to the ratio. The server's processor time beside it leaves out what waits.
const TIME: &str = "time";

/// By operation, kind of commit and ledger: one a round.
type Costs = BTreeMap<(Operation, &'static str, &'static str), Vec<Cost>>;

pub(crate) async fn run(options: &Options) -> anyhow::Result<Report> {
    let mut server = server().set("shared_buffers", &memory_for_the_ledger()?);
    for (name, value) in plans::SETTINGS {
        server = server.set(name, value);
    }
    let postgres = server.start()?;
    let small = Side::make("small", postgres.database("small")?, options.base, options.payloads).await?;
    let large = Side::make("large", postgres.database("large")?, options.rows, options.payloads).await?;
    let mut costs = Costs::new();
    // One connection through all rounds, as an environment has.
    let mut connected = Vec::new();
    for (commits, setting) in COMMITS {
        connected.push((commits, [small.subject(setting).await?, large.subject(setting).await?]));
    }
    for round in 0..options.rounds {
        for (commits, subjects) in &mut connected {
            for operation in Operation::ALL {
                let measured = operation.measure(subjects, options.operations).await?;
                for (cost, side) in measured.into_iter().zip([&small, &large]) {
                    costs.entry((operation, *commits, side.name)).or_default().push(cost);
                }
            }
        }
        eprintln!("  round {} of {}", round + 1, options.rounds);
    }
    let notes = vec![
        small.describe().await?,
        large.describe().await?,
        format!("{} rounds of {} operations each; {BACKLOG} rows to sweep in both.", options.rounds, options.operations),
        plans::of(&large).await?,
    ];
    Ok(report(&costs, &small, &large, notes))
}

/// What PostgreSQL's documentation advises for a server of its own: a quarter of the machine's memory.
fn memory_for_the_ledger() -> anyhow::Result<String> {
    let text = std::fs::read_to_string("/proc/meminfo").context("read how much memory there is")?;
    let total =
        text.lines().find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    Ok(format!("{}MB", total.context("/proc/meminfo has no MemTotal")? / 1024 / 4))
}

fn report(costs: &Costs, small: &Side, large: &Side, notes: Vec<String>) -> Report {
    let (mut tables, mut targets) = (Vec::new(), Vec::new());
    for (commits, _) in COMMITS {
        for (what, value) in [(TIME, (|cost| cost.time) as fn(&Cost) -> f64), ("server's processor time", |cost| cost.cpu)] {
            let title =
                format!("{what} of an operation in µs, the commit {commits}: {} rows against {}", large.rows, small.rows);
            let mut table = Table { title, head: vec!["small", "large", "ratio"], rows: Vec::new() };
            for operation in Operation::ALL {
                let of = |side: &Side| -> Vec<f64> {
                    costs.get(&(operation, commits, side.name)).into_iter().flatten().map(value).collect()
                };
                let ratio = Spread::of_ratios(&of(large), &of(small));
                let medians = [small, large].map(|side| Cell::Spread(Spread::of(of(side)), 0));
                table
                    .rows
                    .push((operation.name().to_owned(), medians.into_iter().chain([Cell::Spread(ratio, 2)]).collect()));
                if operation.is_of_an_event() && what == TIME {
                    let what = format!("{what} of: {}, the commit {commits}", operation.name());
                    targets.push(Target { what, limit: RATIO_MAX, value: ratio.median, kind: Limit::AtMost });
                }
            }
            tables.push(table);
        }
    }
    Report { name: "growth", tables, targets, notes }
}

impl Side {
    async fn make(name: &'static str, url: String, rows: u64, payloads: u64) -> anyhow::Result<Self> {
        let sql = migrated(&url).await?;
        let start = Instant::now();
        rows::generate(&sql, rows, payloads.min(rows), BACKLOG).await?;
        eprintln!("  the {name} ledger has {rows} rows after {:.0} s", start.elapsed().as_secs_f64());
        Ok(Self { name, rows, generated_in: start.elapsed(), url, sql })
    }

    async fn subject(&self, synchronous_commit: &str) -> anyhow::Result<Subject> {
        let mut ledger = ledger(&format!("{}?options=-csynchronous_commit%3D{synchronous_commit}", self.url))?;
        ledger.warm().await?;
        rows::read_all(&mut ledger).await?;
        let newest =
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() ORDER BY backend_start DESC LIMIT 1";
        let pid: i32 = self.sql.query_one(newest, &[]).await?.get(0);
        Ok(Subject { ledger, rows: self.rows, backend_pid: pid.try_into()?, new: Vec::new(), leases: Vec::new() })
    }

    async fn describe(&self) -> anyhow::Result<String> {
        let sizes = "SELECT string_agg(c || ' ' || pg_size_pretty(pg_total_relation_size(c::regclass)), ', ')
                     FROM unnest(ARRAY['webhook_event', 'webhook_event_pkey', 'webhook_object']) AS c";
        let sizes: String = self.sql.query_one(sizes, &[]).await?.get(0);
        let took = self.generated_in.as_secs_f64();
        Ok(format!("{} ledger: {} rows, made in {took:.0} s; {sizes}.", self.name, self.rows))
    }
}
