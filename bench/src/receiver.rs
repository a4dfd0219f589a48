//! The receiver beside what it is compared to: the floor, a Python Lambda, and the database and the hash alone. All get the same
//! signed deliveries of two kilobytes, by turns.

mod floors;
mod tables;

use std::time::Duration;

use anyhow::{Context, ensure};
use bytes::Bytes;
use hookledger_harness::lambda::Function;

use crate::cpu;
use crate::deliveries::{delivery, new_id};
use crate::load::{Cold, Run, cold, is_200, warm};
use crate::report::Report;
use crate::stage::{Stage, Way};
use crate::wire::Wire;
use floors::Floors;

/// Environments in the second of two measurements.
const MANY: usize = 8;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// How often everything is measured
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Requests of a run with one environment; with eight there are three times as many
    #[arg(long, default_value_t = 1_000)]
    requests: usize,
    /// Cold starts
    #[arg(long, default_value_t = 7)]
    starts: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { rounds: 7, requests: 1_000, starts: 7 }
    }
}

/// What is measured of functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Subject {
    Answer200,
    Hookledger,
    HookledgerTls,
    /// Events that were claimed a moment ago.
    Duplicates,
    Python,
}

/// All that was measured of a subject, a value a round.
#[derive(Default)]
struct Measured {
    cold: Vec<Cold>,
    one: Vec<Run>,
    many: Vec<Run>,
    memory_mb: Vec<f64>,
}

/// A subject's environments.
struct Ready {
    subject: Subject,
    one: Function,
    many: Function,
    measured: Measured,
}

impl Subject {
    const ALL: [Self; 5] = [Self::Answer200, Self::Hookledger, Self::HookledgerTls, Self::Duplicates, Self::Python];

    fn name(self) -> &'static str {
        match self {
            Self::Answer200 => "a function that answers 200",
            Self::Hookledger => "hookledger",
            Self::HookledgerTls => "hookledger, TLS to Postgres",
            Self::Duplicates => "hookledger, duplicates",
            Self::Python => "Python Lambda",
        }
    }

    fn function(self, stage: &Stage, environments: usize) -> anyhow::Result<Function> {
        let port = stage.postgres.port();
        match self {
            Self::Answer200 => stage.built("answer200", Way::Plain, port, environments),
            Self::Hookledger | Self::Duplicates => stage.built("receiver", Way::Plain, port, environments),
            Self::HookledgerTls => stage.built("receiver", Way::Tls, port, environments),
            Self::Python => stage.python("receiver", environments),
        }
    }
}

pub(crate) async fn run(options: &Options) -> anyhow::Result<Report> {
    let stage = Stage::start().await?;
    let mut ready = Vec::new();
    for subject in Subject::ALL {
        let (one, many) = (subject.function(&stage, 1)?, subject.function(&stage, MANY)?);
        ready.push(Ready { subject, one, many, measured: Measured::default() });
    }
    for _ in 0..options.starts {
        for ready in &mut ready {
            let fresh = ready.subject.function(&stage, 1)?;
            ready.measured.cold.push(cold(&fresh, delivery(&new_id()), is_200).await?);
        }
    }
    eprintln!("  {} cold starts of each", options.starts);
    for ready in &ready {
        warm_up(&ready.one, 1).await?;
        warm_up(&ready.many, MANY).await?;
    }
    let mut floors = Floors::default();
    for round in 0..options.rounds {
        for turn in 0..ready.len() {
            let index = (round + turn) % ready.len();
            measure(&mut ready[index], options.requests).await?;
        }
        floors.measure(&stage).await?;
        eprintln!("  round {} of {}", round + 1, options.rounds);
    }
    for ready in &mut ready {
        let pids = ready.one.process_ids().into_iter().chain(ready.many.process_ids());
        ready.measured.memory_mb = pids.map(cpu::peak_memory_mb).collect::<Result<_, _>>()?;
    }
    let traffic = traffic(&stage).await?;
    Ok(tables::report(&ready, &floors, &traffic, options))
}

/// Every environment is there and has done what it does the first time only.
async fn warm_up(function: &Function, environments: usize) -> anyhow::Result<()> {
    let payloads = || (0..environments).map(|_| delivery(&new_id()));
    for _ in 0..100 {
        futures_util::future::try_join_all(payloads().map(|payload| function.invoke(payload)))
            .await
            .with_context(|| format!("warm up {}: {}", function.name(), function.output()))?;
    }
    ensure!(function.process_ids().len() == environments, "{} has not {environments} environments", function.name());
    Ok(())
}

async fn measure(ready: &mut Ready, requests: usize) -> anyhow::Result<()> {
    for (function, at_once, requests) in [(&ready.one, 1, requests), (&ready.many, MANY, 3 * requests)] {
        let ids: Vec<String> = (0..requests).map(|_| new_id()).collect();
        let payloads: Vec<Bytes> = ids.iter().map(|id| delivery(id)).collect();
        if ready.subject == Subject::Duplicates {
            warm(function, payloads.clone(), at_once, is_200).await?;
        }
        let run = warm(function, payloads, at_once, is_200).await?;
        if at_once == 1 { &mut ready.measured.one } else { &mut ready.measured.many }.push(run);
    }
    Ok(())
}

/// What one request of the receiver's takes on the wire.
struct Traffic {
    round_trips: f64,
    sent_bytes: f64,
    received_bytes: f64,
    queue_calls: f64,
}

async fn traffic(stage: &Stage) -> anyhow::Result<Traffic> {
    const REQUESTS: usize = 200;
    let wire = Wire::start(stage.postgres.port()).await?;
    let function = stage.built("receiver", Way::Plain, wire.port(), 1)?;
    cold(&function, delivery(&new_id()), is_200).await?;
    let (before, (calls, _)) = (wire.traffic(), stage.queue.counts());
    warm(&function, (0..REQUESTS).map(|_| delivery(&new_id())).collect(), 1, is_200).await?;
    let (after, (calls_after, _)) = (wire.traffic(), stage.queue.counts());
    let each = |count: u64| count as f64 / REQUESTS as f64;
    Ok(Traffic {
        round_trips: each(after.round_trips - before.round_trips),
        sent_bytes: each(after.sent_bytes - before.sent_bytes),
        received_bytes: each(after.received_bytes - before.received_bytes),
        queue_calls: each(calls_after - calls),
    })
}

/// Long enough for a steady rate, short enough to take turns.
const PGBENCH_TIME: Duration = Duration::from_secs(1);
