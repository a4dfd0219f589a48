//! The receiver beside what it is compared to: the floors, what people run instead, and the database and the hash alone. All get
//! the same signed deliveries of two kilobytes, by turns.

mod floors;
mod tables;
mod targets;
mod traffic;
mod work;

use std::time::Duration;

use bytes::Bytes;
use hookledger_harness::lambda::Function;

use crate::contenders::Contender;
use crate::cpu::{self, Others, Shares};
use crate::database::Commits;
use crate::deliveries::{delivery, new_id};
use crate::load::{Cold, Run, cold, is_200, warm, warm_up};
use crate::report::Report;
use crate::stage::{Stage, Way};
use floors::Floors;
use traffic::Traffic;

/// Environments in the second of two measurements.
const MANY: usize = 8;

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// How often everything is measured
    #[arg(long, default_value_t = 11)]
    rounds: usize,
    /// Requests of a run with one environment; with eight there are three times as many
    #[arg(long, default_value_t = 600)]
    requests: usize,
    /// Cold starts
    #[arg(long, default_value_t = 15)]
    starts: usize,
}

impl Options {
    pub(crate) const USUAL: Self = Self { rounds: 11, requests: 600, starts: 15 };
    pub(crate) const QUICK: Self = Self { rounds: 1, requests: 100, starts: 1 };
}

/// What is measured of functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Subject {
    Answer200,
    /// The receiver's exchanges, and nothing else that can be left out.
    Bare,
    BareTls,
    Hookledger,
    HookledgerTls,
    /// Events that were claimed a moment ago.
    Duplicates,
    Python,
    Powertools,
    Node,
}

/// All that was measured of a subject, a value a round.
#[derive(Default)]
struct Measured {
    cold: Vec<Cold>,
    one: Vec<Run>,
    many: Vec<(Run, Shares)>,
    /// The same where commits are not waited for, so that the disk has no part in it.
    many_not_waiting: Vec<(Run, Shares)>,
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
    const ALL: [Self; 9] = [
        Self::Answer200,
        Self::Bare,
        Self::BareTls,
        Self::Hookledger,
        Self::HookledgerTls,
        Self::Duplicates,
        Self::Python,
        Self::Powertools,
        Self::Node,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Answer200 => "a function that answers 200",
            Self::Bare => "the bare exchanges",
            Self::BareTls => "the bare exchanges, TLS to Postgres",
            Self::Hookledger => "hookledger",
            Self::HookledgerTls => "hookledger, TLS to Postgres",
            Self::Duplicates => "hookledger, duplicates",
            Self::Python => "Python Lambda",
            Self::Powertools => "Python Lambda behind Powertools",
            Self::Node => "Node.js Lambda",
        }
    }

    fn contender(self) -> Option<Contender> {
        match self {
            Self::Answer200 | Self::Bare | Self::BareTls | Self::Hookledger | Self::HookledgerTls | Self::Duplicates => None,
            Self::Python => Some(Contender::Python),
            Self::Powertools => Some(Contender::Powertools),
            Self::Node => Some(Contender::Node),
        }
    }

    fn function(self, stage: &Stage, environments: usize) -> anyhow::Result<Function> {
        self.function_over(stage, stage.postgres.port(), environments)
    }

    /// One that finds Postgres at `port`.
    fn function_over(self, stage: &Stage, port: u16, environments: usize) -> anyhow::Result<Function> {
        match self {
            Self::Answer200 => stage.built("answer200", Way::Plain, port, environments),
            Self::Bare => stage.built("bare", Way::Plain, port, environments),
            Self::BareTls => stage.built("bare", Way::Tls, port, environments),
            Self::Hookledger | Self::Duplicates => stage.built("receiver", Way::Plain, port, environments),
            Self::HookledgerTls => stage.built("receiver", Way::Tls, port, environments),
            Self::Python => stage.instead(Contender::Python, "receiver", port, environments),
            Self::Powertools => stage.instead(Contender::Powertools, "receiver", port, environments),
            Self::Node => stage.instead(Contender::Node, "receiver", port, environments),
        }
    }
}

pub(crate) async fn run(options: &Options, without: &[Contender]) -> anyhow::Result<Report> {
    let contenders = Contender::all_without(without);
    let stage = Stage::start(&contenders).await?;
    let mut ready = Vec::new();
    for subject in Subject::ALL {
        if subject.contender().is_none_or(|contender| contenders.contains(&contender)) {
            let (one, many) = (subject.function(&stage, 1)?, subject.function(&stage, MANY)?);
            ready.push(Ready { subject, one, many, measured: Measured::default() });
        }
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
            measure(&stage, &mut ready[index], options.requests).await?;
        }
        floors.measure(&stage).await?;
        eprintln!("  round {} of {}", round + 1, options.rounds);
    }
    for ready in &mut ready {
        let pids = ready.one.process_ids().into_iter().chain(ready.many.process_ids());
        ready.measured.memory_mb = pids.map(cpu::peak_memory_mb).collect::<Result<_, _>>()?;
    }
    let mut traffic = Vec::new();
    for ready in &ready {
        traffic.push((ready.subject, Traffic::of(ready.subject, &stage).await?));
    }
    work::is_the_same(&traffic)?;
    Ok(tables::report(&ready, &floors, &traffic, options))
}

async fn measure(stage: &Stage, ready: &mut Ready, requests: usize) -> anyhow::Result<()> {
    let (one, _) = measure_one(stage, ready.subject, &ready.one, 1, requests).await?;
    ready.measured.one.push(one);
    ready.measured.many.push(measure_one(stage, ready.subject, &ready.many, MANY, 3 * requests).await?);
    Commits::NotWaitedFor.set(&stage.sql).await?;
    ready.measured.many_not_waiting.push(measure_one(stage, ready.subject, &ready.many, MANY, 3 * requests).await?);
    Commits::OnDisk.set(&stage.sql).await
}

async fn measure_one(
    stage: &Stage,
    subject: Subject,
    function: &Function,
    at_once: usize,
    requests: usize,
) -> anyhow::Result<(Run, Shares)> {
    let ids: Vec<String> = (0..requests).map(|_| new_id()).collect();
    let payloads: Vec<Bytes> = ids.iter().map(|id| delivery(id)).collect();
    if subject == Subject::Duplicates {
        warm(function, payloads.clone(), at_once, is_200).await?;
    }
    let before = Others::look(&stage.sql).await?;
    let run = warm(function, payloads, at_once, is_200).await?;
    Ok((run, Others::look(&stage.sql).await?.since(&before, requests)))
}

/// Long enough for a steady rate, short enough to take turns.
const PGBENCH_TIME: Duration = Duration::from_secs(1);
