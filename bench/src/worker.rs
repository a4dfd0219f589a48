//! The worker in batches of ten, beside those that take one event after the other, in Rust, Python and Node.js, and the same
//! statements without any worker.

mod database_alone;

use anyhow::{Context, ensure};
use bytes::Bytes;
use hookledger_core::{ClaimMode, VerifiedEvent};
use hookledger_harness::lambda::Function;
use serde_json::{Value, json};
use tokio_postgres::Client;

use crate::contenders::Contender;
use crate::cost;
use crate::database::ledger;
use crate::deliveries::{body, new_id};
use crate::events::event_with_body;
use crate::load::{Run, warm};
use crate::report::{Cell, Limit, Report, Table, Target};
use crate::spread::Spread;
use crate::stage::{Stage, Way};

/// Messages of a batch: an event source mapping's default.
pub(crate) const BATCH: usize = 10;

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// How often everything is measured
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Batches in a round
    #[arg(long, default_value_t = 100)]
    batches: usize,
}

impl Options {
    pub(crate) const USUAL: Self = Self { rounds: 7, batches: 100 };
    pub(crate) const QUICK: Self = Self { rounds: 1, batches: 20 };
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subject {
    Hookledger,
    OneByOne,
    Python,
    Node,
}

/// A value a round, for one event.
#[derive(Default)]
struct Measured {
    wall_us: Vec<f64>,
    cpu_us: Vec<f64>,
    /// Of the server's.
    commits_a_batch: Vec<f64>,
    /// For a whole batch.
    billed_ms: Vec<f64>,
}

impl Subject {
    const ALL: [Self; 4] = [Self::Hookledger, Self::OneByOne, Self::Python, Self::Node];

    fn name(self) -> &'static str {
        match self {
            Self::Hookledger => "hookledger",
            Self::OneByOne => "one event after the other, in Rust",
            Self::Python => "Python Lambda",
            Self::Node => "Node.js Lambda",
        }
    }

    fn contender(self) -> Option<Contender> {
        match self {
            Self::Hookledger | Self::OneByOne => None,
            Self::Python => Some(Contender::Python),
            Self::Node => Some(Contender::Node),
        }
    }

    fn function(self, stage: &Stage) -> anyhow::Result<Function> {
        let port = stage.postgres.port();
        match self {
            Self::Hookledger => stage.built("worker", Way::Plain, port, 1),
            Self::OneByOne => stage.built("one-by-one", Way::Plain, port, 1),
            Self::Python => stage.instead(Contender::Python, "worker", port, 1),
            Self::Node => stage.instead(Contender::Node, "worker", port, 1),
        }
    }

    /// Makes `count` new events that wait for their worker.
    async fn claim(self, stage: &Stage, count: usize) -> anyhow::Result<Vec<String>> {
        let ids: Vec<String> = (0..count).map(|_| new_id()).collect();
        match self {
            Self::Hookledger | Self::OneByOne => claim(stage, &ids).await?,
            Self::Python | Self::Node => {
                let bodies: Vec<String> = ids.iter().map(|id| body(id)).collect();
                let insert = "INSERT INTO seed_event (source, event_id, event_type, payload)
                              SELECT 'stripe', id, 'customer.subscription.updated', body::jsonb FROM unnest($1::text[], $2::text[]) AS e (id, body)";
                stage.sql.execute(insert, &[&ids, &bodies]).await?;
            }
        }
        Ok(ids)
    }
}

/// In the ledger, through its own claim.
pub(crate) async fn claim(stage: &Stage, ids: &[String]) -> anyhow::Result<()> {
    let mut ledger = ledger(&stage.url)?;
    let events: Vec<VerifiedEvent> = ids
        .iter()
        .map(|id| event_with_body(id, &id.replacen("evt", "sub", 1), 1_790_000_000_000_000, body(id).into()))
        .collect::<Result<_, _>>()?;
    for some in events.chunks(100) {
        ledger.claim(some, ClaimMode::Enforce).await?;
    }
    Ok(())
}

pub(crate) async fn run(options: &Options, without: &[Contender]) -> anyhow::Result<Report> {
    let is_there = |contender: Contender| contender != Contender::Powertools && !without.contains(&contender);
    let contenders: Vec<Contender> = Contender::ALL.into_iter().filter(|contender| is_there(*contender)).collect();
    let stage = Stage::start(&contenders).await?;
    let subjects = Subject::ALL.into_iter().filter(|subject| subject.contender().is_none_or(is_there));
    let mut measured: Vec<(Subject, Measured)> = subjects.map(|subject| (subject, Measured::default())).collect();
    let mut alone = Vec::new();
    for round in 0..options.rounds {
        for turn in 0..measured.len() {
            let index = (round + turn) % measured.len();
            let (subject, measured) = &mut measured[index];
            measure(&stage, *subject, options.batches, measured).await?;
        }
        let ids = Subject::Hookledger.claim(&stage, options.batches * BATCH).await?;
        alone.push(database_alone::measure(&stage, &ids).await?);
        eprintln!("  round {} of {}", round + 1, options.rounds);
    }
    Ok(report(&measured, &alone, options))
}

async fn measure(stage: &Stage, subject: Subject, batches: usize, measured: &mut Measured) -> anyhow::Result<()> {
    const WARM_UP: usize = 10;
    let ids = subject.claim(stage, (batches + WARM_UP) * BATCH).await?;
    let mut payloads: Vec<Bytes> = ids.chunks(BATCH).map(payload).collect();
    let function = subject.function(stage)?;
    for payload in payloads.split_off(batches) {
        let response = function.invoke(payload).await.with_context(|| function.output())?;
        ensure!(all_settled(&response.payload), "{} answers {}", subject.name(), response.payload);
    }
    let before = commits(&stage.sql).await?;
    let run: Run = warm(&function, payloads, 1, all_settled).await?;
    let after = commits(&stage.sql).await?;
    measured.commits_a_batch.push((after - before) as f64 / batches as f64);
    measured.wall_us.push(1e6 / run.per_second / BATCH as f64);
    measured.cpu_us.push(run.cpu_us / BATCH as f64);
    measured.billed_ms.push(run.billed_ms);
    Ok(())
}

/// What an event source mapping invokes a worker with.
pub(crate) fn payload(ids: &[String]) -> Bytes {
    let record = |id: &String| {
        json!({
            "messageId": id, "receiptHandle": id, "body": json!({ "source": "stripe", "event_id": id }).to_string(),
            "attributes": { "ApproximateReceiveCount": "1" }, "messageAttributes": {}, "eventSource": "aws:sqs",
            "eventSourceARN": "arn:aws:sqs:us-east-1:000000000000:events", "awsRegion": "us-east-1",
        })
    };
    json!({ "Records": ids.iter().map(record).collect::<Vec<_>>() }).to_string().into()
}

pub(crate) fn all_settled(answer: &str) -> bool {
    serde_json::from_str::<Value>(answer).is_ok_and(|answer| answer["batchItemFailures"] == json!([]))
}

/// So far, of transactions that wrote something: each of them takes a number, and the statistics tell of them only later.
async fn commits(sql: &Client) -> anyhow::Result<i64> {
    let next = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::int8";
    Ok(sql.query_one(next, &[]).await?.get(0))
}

fn report(measured: &[(Subject, Measured)], alone: &[f64], options: &Options) -> Report {
    let spread = |values: &[f64], digits| Cell::Spread(Spread::of(values.iter().copied()), digits);
    let mut rows: Vec<(String, Vec<Cell>)> = measured
        .iter()
        .map(|(subject, measured)| {
            let cells = vec![
                spread(&measured.cpu_us, 0),
                spread(&measured.wall_us, 0),
                spread(&measured.commits_a_batch, 2),
                spread(&measured.billed_ms, 1),
            ];
            (subject.name().to_owned(), cells)
        })
        .collect();
    rows.push(("the same statements by pgbench".to_owned(), vec![Cell::None, spread(alone, 0), Cell::None, Cell::None]));
    let table = Table {
        title: format!("batches of {BATCH}, one environment: an event's share"),
        head: vec!["CPU µs", "time µs", "commits a batch", cost::COLUMN],
        rows,
    };
    let targets = targets(measured, alone);
    let notes = vec![format!(
        "{} rounds by turns of {} batches each. What is billed is a whole batch.",
        options.rounds, options.batches
    )];
    Report { name: "worker", tables: vec![table], targets, notes }
}

/// One that speaks of somebody who was left out is left out too.
fn targets(measured: &[(Subject, Measured)], alone: &[f64]) -> Vec<Target> {
    let of = |subject: Subject| measured.iter().find(|(other, _)| *other == subject).map(|(_, measured)| measured);
    let (Some(ours), Some(rust)) = (of(Subject::Hookledger), of(Subject::OneByOne)) else { return Vec::new() };
    let ratio = |a: &[f64], b: &[f64]| Spread::of_ratios(a, b).median;
    let commits = Spread::of(ours.commits_a_batch.iter().copied()).median;
    let target = |what: &str, value, kind, limit| Target { what: what.to_owned(), limit, value, kind };
    let mut targets = vec![
        target("events a second against one after the other", ratio(&rust.wall_us, &ours.wall_us), Limit::AtLeast, 2.0),
        target("events a second against pgbench", ratio(alone, &ours.wall_us), Limit::AtLeast, 0.8),
        target("commits a batch", commits, Limit::AtMost, 2.1),
    ];
    if let Some(python) = of(Subject::Python) {
        let by_cpu = ratio(&python.cpu_us, &ours.cpu_us);
        targets.push(target("events per CPU second against the Python Lambda", by_cpu, Limit::AtLeast, 5.0));
    }
    targets
}
