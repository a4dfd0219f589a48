//! Invokes functions as fast as they answer, and says what that took.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use bytes::Bytes;
use futures_util::future::try_join_all;
use futures_util::stream::{FuturesUnordered, TryStreamExt as _};
use hookledger_harness::lambda::Function;
use hookledger_harness::lambda::api_gateway::answer;

use crate::cost::billed_ms;
use crate::cpu;
use crate::deliveries::{delivery, new_id};
use crate::spread::{micros, quantile};

/// For what a function does after its last answer.
const AT_REST_WITHIN: Duration = Duration::from_secs(10);

/// Of one run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    pub(crate) p50_us: f64,
    pub(crate) p90_us: f64,
    pub(crate) p99_us: f64,
    pub(crate) per_second: f64,
    /// Processor time of the function's processes for one invocation.
    pub(crate) cpu_us: f64,
    /// What Lambda would bill for one invocation, with the memory of infra/template.yaml.
    pub(crate) billed_ms: f64,
}

impl Run {
    /// What the function would do with a processor to itself: the rate without the share of whatever else the machine does.
    pub(crate) fn per_cpu_second(&self) -> f64 {
        1e6 / self.cpu_us
    }
}

/// What a new environment takes, in milliseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cold {
    /// From the start of the process to its first request for an event.
    pub(crate) init_ms: f64,
    /// From the start of the process to its first answer.
    pub(crate) first_ms: f64,
}

/// Whether an answer is as it must be; what it says if not.
pub(crate) type Check = fn(&str) -> bool;

/// API Gateway would answer with 200.
pub(crate) fn is_200(payload: &str) -> bool {
    answer(payload).is_some_and(|answer| answer.status == 200)
}

/// One invocation of a function that has no environment yet, and all that it does.
pub(crate) async fn cold(function: &Function, payload: Bytes, check: Check) -> anyhow::Result<Cold> {
    let start = Instant::now();
    let response = function.invoke(payload).await.with_context(|| function.output())?;
    let first_ms = start.elapsed().as_secs_f64() * 1e3;
    ensure!(check(&response.payload), "{} answers {}", function.name(), response.payload);
    let init = response.init.context("the environment was not new")?;
    function.at_rest(AT_REST_WITHIN).await?;
    Ok(Cold { init_ms: init.as_secs_f64() * 1e3, first_ms })
}

/// Starts `environments`, one after the other, so that none waits for its turn longer than an environment may take to start; then
/// each does what it does the first time only.
pub(crate) async fn warm_up(function: &Function, environments: usize) -> anyhow::Result<()> {
    const TIMES: usize = 100;
    for at_once in (1..environments).chain([environments; TIMES]) {
        // Those that are there take one each, and the last starts another.
        let invoked = (0..at_once).map(|_| function.invoke(delivery(&new_id())));
        try_join_all(invoked).await.with_context(|| format!("warm up {}: {}", function.name(), function.output()))?;
    }
    ensure!(function.process_ids().len() == environments, "{} has not {environments} environments", function.name());
    Ok(())
}

/// Hands over all of `payloads`, `at_once` at a time, to environments that are there already.
pub(crate) async fn warm(function: &Function, payloads: Vec<Bytes>, at_once: usize, check: Check) -> anyhow::Result<Run> {
    let (count, pids) = (payloads.len(), function.process_ids());
    ensure!(pids.len() == at_once, "{} environments live instead of {at_once}", pids.len());
    let queue = Mutex::new(payloads);
    function.at_rest(AT_REST_WITHIN).await?;
    function.take_durations();
    let before = cpu::time_of_all(&pids)?;
    let start = Instant::now();
    // Each is polled when it is woken, and not all of them when one is: that would be most of what the harness does.
    let senders: FuturesUnordered<_> = (0..at_once).map(|_| send(function, &queue, check)).collect();
    let took: Vec<_> = senders.try_collect().await?;
    function.at_rest(AT_REST_WITHIN).await?;
    let wall = start.elapsed();
    let spent = cpu::time_of_all(&pids)?.saturating_sub(before);
    let (mut took, durations) = (took.concat(), function.take_durations());
    ensure!(durations.len() == count, "{} of {count} invocations have ended", durations.len());
    let billed_ms = billed_ms(&durations, spent.div_f64(count.max(1) as f64));
    let mut at = |part| micros(quantile(&mut took, part));
    Ok(Run {
        p50_us: at(0.5),
        p90_us: at(0.9),
        p99_us: at(0.99),
        per_second: count as f64 / wall.as_secs_f64(),
        cpu_us: micros(spent) / count as f64,
        billed_ms,
    })
}

async fn send(function: &Function, queue: &Mutex<Vec<Bytes>>, check: Check) -> anyhow::Result<Vec<Duration>> {
    let mut took = Vec::new();
    loop {
        let next = queue.lock().unwrap_or_else(std::sync::PoisonError::into_inner).pop();
        let Some(payload) = next else { return Ok(took) };
        let response = function.invoke(payload).await.with_context(|| function.output())?;
        took.push(response.took);
        ensure!(check(&response.payload), "{} answers {}", function.name(), response.payload);
    }
}
