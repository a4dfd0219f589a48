//! The worker in batches of ten, beside one that takes one event after the other, a Python Lambda that does so, and the same
//! statements without any worker.

mod database_alone;

use anyhow::{Context, ensure};
use bytes::Bytes;
use hookledger_core::{ClaimMode, VerifiedEvent};
use hookledger_harness::lambda::Function;
use serde_json::{Value, json};
use tokio_postgres::Client;

use crate::database::ledger;
use crate::deliveries::{body, new_id};
use crate::events::event_with_body;
use crate::load::{Run, warm};
use crate::report::{Cell, Limit, Report, Table, Target};
use crate::spread::Spread;
use crate::stage::{Stage, Way};

/// Messages of a batch: an event source mapping's default.
pub(crate) const BATCH: usize = 10;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// How often everything is measured
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Batches in a round
    #[arg(long, default_value_t = 100)]
    batches: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { rounds: 7, batches: 100 }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subject {
    Hookledger,
    OneByOne,
    Python,
}

/// A value a round, for one event.
#[derive(Default)]
struct Measured {
    wall_us: Vec<f64>,
    cpu_us: Vec<f64>,
    /// Of the server's.
    commits_a_batch: Vec<f64>,
}

impl Subject {
    const ALL: [Self; 3] = [Self::Hookledger, Self::OneByOne, Self::Python];

    fn name(self) -> &'static str {
        match self {
            Self::Hookledger => "hookledger",
            Self::OneByOne => "one event after the other, in Rust",
            Self::Python => "Python Lambda",
        }
    }

    fn function(self, stage: &Stage) -> anyhow::Result<Function> {
        let port = stage.postgres.port();
        match self {
            Self::Hookledger => stage.built("worker", Way::Plain, port, 1),
            Self::OneByOne => stage.built("one-by-one", Way::Plain, port, 1),
            Self::Python => stage.python("worker", 1),
        }
    }

    /// Makes `count` new events that wait for their worker.
    async fn claim(self, stage: &Stage, count: usize) -> anyhow::Result<Vec<String>> {
        let ids: Vec<String> = (0..count).map(|_| new_id()).collect();
        match self {
            Self::Hookledger | Self::OneByOne => claim(stage, &ids).await?,
            Self::Python => {
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

pub(crate) async fn run(options: &Options) -> anyhow::Result<Report> {
    let stage = Stage::start().await?;
    let mut measured: Vec<(Subject, Measured)> = Subject::ALL.map(|subject| (subject, Measured::default())).into();
    let mut alone = Vec::new();
    for round in 0..options.rounds {
        for turn in 0..measured.len() {
            let index = (round + turn) % Subject::ALL.len();
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
            let cells =
                vec![spread(&measured.cpu_us, 0), spread(&measured.wall_us, 0), spread(&measured.commits_a_batch, 2)];
            (subject.name().to_owned(), cells)
        })
        .collect();
    rows.push(("the same statements by pgbench".to_owned(), vec![Cell::None, spread(alone, 0), Cell::None]));
    let table = Table {
        title: format!("batches of {BATCH}, one environment: an event's share"),
        head: vec!["CPU µs", "time µs", "commits a batch"],
        rows,
    };
    let of = |subject: Subject| measured.iter().find(|(other, _)| *other == subject).map(|(_, measured)| measured);
    let mut targets = Vec::new();
    if let (Some(ours), Some(rust), Some(python)) = (of(Subject::Hookledger), of(Subject::OneByOne), of(Subject::Python)) {
        let ratio = |a: &[f64], b: &[f64]| Spread::of_ratios(a, b).median;
        let commits = Spread::of(ours.commits_a_batch.iter().copied()).median;
        targets = vec![
            ("events per CPU second against the Python Lambda", ratio(&python.cpu_us, &ours.cpu_us), Limit::AtLeast, 5.0),
            ("events a second against one after the other", ratio(&rust.wall_us, &ours.wall_us), Limit::AtLeast, 2.0),
            ("events a second against pgbench", ratio(alone, &ours.wall_us), Limit::AtLeast, 0.8),
            ("commits a batch", commits, Limit::AtMost, 2.1),
        ];
    }
    let targets =
        targets.into_iter().map(|(what, value, kind, limit)| Target { what: what.to_owned(), limit, value, kind }).collect();
    let notes = vec![format!("{} rounds by turns of {} batches each.", options.rounds, options.batches)];
    Report { name: "worker", tables: vec![table], targets, notes }
}
