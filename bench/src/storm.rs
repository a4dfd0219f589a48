//! A storm: one event is delivered over and over, as by a provider gone wild, while others arrive at a steady rate. Whether those
//! others get slower.
//!
//! On one machine a storm takes processor time from everybody, whatever the ledger does. So its rate is bounded well below what the
//! machine can do, and a third measurement has the same number of duplicates of as many different events: what a storm costs
//! beyond those is what waiting for one row costs. That row is locked all the while, as by a worker that is busy with the event.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, ensure};
use bytes::Bytes;
use futures_util::future::try_join_all;
use hookledger_harness::lambda::Function;
use tokio::time::{Instant, sleep_until};

use crate::deliveries::{delivery, new_id};
use crate::load::{is_200, warm_up};
use crate::report::{Cell, Limit, Report, Table, Target};
use crate::spread::{Spread, micros, quantile};
use crate::stage::{Stage, Way};

/// Environments for new events, and as many for the storm, so that neither waits for the other's.
const ENVIRONMENTS: usize = 4;

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// How often everything is measured
    #[arg(long, default_value_t = 9)]
    rounds: usize,
    /// How long each measurement takes
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// New events a second
    #[arg(long, default_value_t = 100)]
    rate: u64,
    /// Duplicates a second
    #[arg(long, default_value_t = 100)]
    storm: u64,
}

impl Options {
    pub(crate) const USUAL: Self = Self { rounds: 9, seconds: 5, rate: 100, storm: 100 };
    pub(crate) const QUICK: Self = Self { rounds: 1, seconds: 2, ..Self::USUAL };
}

/// What arrives beside the new events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Beside {
    Nothing,
    OneEvent,
    ManyEvents,
}

/// Of the new events.
#[derive(Debug, Clone, Copy)]
struct Pace {
    per_second: f64,
    p50_us: f64,
    p99_us: f64,
}

impl Beside {
    const ALL: [Self; 3] = [Self::Nothing, Self::OneEvent, Self::ManyEvents];

    fn name(self) -> &'static str {
        match self {
            Self::Nothing => "alone",
            Self::OneEvent => "beside a storm of one event",
            Self::ManyEvents => "beside as many duplicates of different events",
        }
    }

    fn duplicates(self, count: u64) -> Vec<String> {
        let one = new_id();
        match self {
            Self::Nothing => Vec::new(),
            Self::OneEvent => vec![one; count as usize],
            Self::ManyEvents => (0..count).map(|_| new_id()).collect(),
        }
    }
}

pub(crate) async fn run(options: &Options) -> anyhow::Result<Report> {
    let stage = Stage::start(&[]).await?;
    let port = stage.postgres.port();
    let new = stage.built("receiver", Way::Plain, port, ENVIRONMENTS)?;
    let storm = stage.built("receiver", Way::Plain, port, ENVIRONMENTS)?;
    warm_up(&new, ENVIRONMENTS).await?;
    warm_up(&storm, ENVIRONMENTS).await?;
    let mut paces = Beside::ALL.map(|_| Vec::new());
    for round in 0..options.rounds {
        for turn in 0..Beside::ALL.len() {
            let index = (round + turn) % Beside::ALL.len();
            paces[index].push(measure(&stage, &new, &storm, Beside::ALL[index], options).await?);
        }
        eprintln!("  round {} of {}", round + 1, options.rounds);
    }
    Ok(report(&paces, options))
}

async fn measure(
    stage: &Stage,
    new: &Function,
    storm: &Function,
    beside: Beside,
    options: &Options,
) -> anyhow::Result<Pace> {
    let duplicates = beside.duplicates(options.storm * options.seconds);
    let known: BTreeSet<String> = duplicates.iter().cloned().collect();
    let at_work = known.first().cloned();
    at_once(storm, known.into_iter().collect()).await?;
    stage.sql.batch_execute("BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0").await?;
    stage.sql.query("SELECT FROM webhook_event WHERE event_id = $1 FOR UPDATE", &[&at_work]).await?;
    let ids = (0..options.rate * options.seconds).map(|_| new_id()).collect();
    let (start, second) = (Instant::now(), Duration::from_secs(1));
    let (mut took, _) = tokio::try_join!(
        steady(new, ids, second / options.rate as u32),
        steady(storm, duplicates, second / options.storm as u32)
    )?;
    let wall = start.elapsed();
    stage.sql.batch_execute("ROLLBACK").await?;
    let per_second = took.len() as f64 / wall.as_secs_f64();
    let mut at = |part| micros(quantile(&mut took, part));
    Ok(Pace { per_second, p50_us: at(0.5), p99_us: at(0.99) })
}

/// One every `interval`, whether those before it are answered or not, so that slowness shows in the times and not in the number.
async fn steady(function: &Function, ids: Vec<String>, interval: Duration) -> anyhow::Result<Vec<Duration>> {
    let payloads: Vec<Bytes> = ids.iter().map(|id| delivery(id)).collect();
    let start = Instant::now();
    let sent = payloads.into_iter().zip(0_u32..).map(|(payload, turn)| async move {
        sleep_until(start + interval * turn).await;
        let sent = Instant::now();
        deliver(function, payload).await?;
        anyhow::Ok(sent.elapsed())
    });
    try_join_all(sent).await
}

async fn at_once(function: &Function, ids: Vec<String>) -> anyhow::Result<()> {
    try_join_all(ids.iter().map(|id| deliver(function, delivery(id)))).await.map(drop)
}

async fn deliver(function: &Function, payload: Bytes) -> anyhow::Result<()> {
    let response = function.invoke(payload).await.with_context(|| function.output())?;
    ensure!(is_200(&response.payload), "{} answers {}", function.name(), response.payload);
    Ok(())
}

fn report(paces: &[Vec<Pace>; 3], options: &Options) -> Report {
    let [alone, storm, many] = paces;
    let spread = |paces: &[Pace], value: fn(&Pace) -> f64| Spread::of(paces.iter().map(value));
    let ratio = |paces: &[Pace], others: &[Pace], value: fn(&Pace) -> f64| {
        Spread::of(paces.iter().zip(others).map(|(pace, other)| value(pace) / value(other)))
    };
    let row = |(beside, paces): (Beside, &Vec<Pace>)| {
        let cells = vec![
            Cell::Spread(spread(paces, |pace| pace.per_second), 1),
            Cell::Spread(spread(paces, |pace| pace.p50_us), 0),
            Cell::Spread(spread(paces, |pace| pace.p99_us), 0),
            Cell::Spread(ratio(paces, alone, |pace| pace.p50_us), 2),
            Cell::Spread(ratio(paces, alone, |pace| pace.p99_us), 2),
        ];
        (beside.name().to_owned(), cells)
    };
    let table = Table {
        title: "new events at a steady rate".to_owned(),
        head: vec!["events a second", "p50 µs", "p99 µs", "p50 against alone", "p99 against alone"],
        rows: Beside::ALL.into_iter().zip(paces).map(row).collect(),
    };
    let target = |what: &str, value: Spread, kind, limit| Target { what: what.to_owned(), limit, value: value.median, kind };
    let targets = vec![
        target("rate beside a storm of one event", ratio(storm, alone, |pace| pace.per_second), Limit::AtLeast, 0.9),
        target("p50 beside a storm of one event", ratio(storm, alone, |pace| pace.p50_us), Limit::AtMost, 1.1),
        target("p50 against as many of different events", ratio(storm, many, |pace| pace.p50_us), Limit::AtMost, 1.1),
    ];
    let Options { rounds, seconds, rate, storm } = options;
    let notes = vec![format!(
        "{rounds} rounds by turns of {seconds} s: {rate} new events and {storm} duplicates a second, {ENVIRONMENTS} environments for each."
    )];
    Report { name: "storm", tables: vec![table], targets, notes }
}
