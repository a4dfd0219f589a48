//! A function: up to so many environments, started when there is something for them to do.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::mem;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use bytes::Bytes;
use tokio::sync::{Notify, Semaphore};
use tokio::time::timeout;

use super::environment::{Environment, Process};
use super::runtime_api::Work;
use super::{InvokeError, Response, locked};

/// How a function is run.
#[derive(Debug, Clone)]
pub struct FunctionOptions {
    pub name: String,
    pub program: PathBuf,
    /// The whole environment of its processes, besides what Lambda sets.
    pub variables: Vec<(String, String)>,
    /// How many environments may be at work at once; who comes then waits.
    pub environments: usize,
    /// What an invocation may take until its answer, after which its environment is killed.
    pub timeout: Duration,
    /// Only told to the function: nothing here takes memory away from it.
    pub memory_mb: u32,
    /// Gets a file with the output of each environment.
    pub logs: PathBuf,
}

pub struct Function {
    options: FunctionOptions,
    slots: Semaphore,
    idle: Mutex<Vec<Running>>,
    live: Arc<Mutex<BTreeMap<usize, Live>>>,
    started: AtomicUsize,
    crashes_at_answer: Arc<AtomicUsize>,
    durations: Arc<Mutex<Vec<Duration>>>,
    /// Told when an environment asks for another event.
    rested: Arc<Notify>,
}

/// An environment that stays in the list of the living until it is dropped.
struct Running {
    environment: Environment,
    number: usize,
    busy: Arc<AtomicBool>,
    live: Arc<Mutex<BTreeMap<usize, Live>>>,
}

struct Live {
    process: Process,
    busy: Arc<AtomicBool>,
}

impl Function {
    pub fn new(options: FunctionOptions) -> anyhow::Result<Self> {
        fs::create_dir_all(&options.logs).context("make a folder for a function's output")?;
        Ok(Self {
            slots: Semaphore::new(options.environments),
            options,
            idle: Mutex::default(),
            live: Arc::default(),
            started: AtomicUsize::new(0),
            crashes_at_answer: Arc::default(),
            durations: Arc::default(),
            rested: Arc::default(),
        })
    }

    pub fn name(&self) -> &str {
        &self.options.name
    }

    /// Needs a tokio runtime that goes on while an answer is waited for.
    pub async fn invoke(&self, payload: impl Into<Bytes>) -> Result<Response, InvokeError> {
        let _slot = self.slots.acquire().await.map_err(|_| InvokeError::Crashed)?;
        let mut running = match self.take_idle() {
            Some(running) => running,
            None => self.start().await.map_err(|error| InvokeError::FunctionError(format!("{error:#}")))?,
        };
        running.busy.store(true, Ordering::SeqCst);
        let result = running.environment.invoke(payload.into(), self.options.timeout).await;
        match &result {
            Ok(_) | Err(InvokeError::FunctionError(_)) => locked(&self.idle).push(running),
            Err(InvokeError::Crashed | InvokeError::TimedOut) => drop(running),
        }
        result
    }

    /// Kills one environment by SIGKILL, one at work if there is any; `choice` says which of them. `false` if none lives.
    pub fn kill(&self, choice: usize) -> bool {
        let live = locked(&self.live);
        let alive = || live.values().filter(|one| !one.process.is_over());
        let busy: Vec<_> = alive().filter(|one| one.busy.load(Ordering::SeqCst)).collect();
        let candidates = if busy.is_empty() { alive().collect() } else { busy };
        let Some(victim) = candidates.get(choice % candidates.len().max(1)) else { return false };
        victim.process.kill();
        true
    }

    /// How many environments are at work. One is, also after its answer, until it asks for another event.
    pub fn busy(&self) -> usize {
        locked(&self.live).values().filter(|one| !one.process.is_over() && one.busy.load(Ordering::SeqCst)).count()
    }

    /// Until none is at work, for so long at most.
    pub async fn at_rest(&self, within: Duration) -> anyhow::Result<()> {
        // One that ends does not say so.
        const LOOK_AGAIN: Duration = Duration::from_millis(10);
        let start = Instant::now();
        loop {
            let mut rested = pin!(self.rested.notified());
            rested.as_mut().enable();
            if self.busy() == 0 {
                return Ok(());
            }
            ensure!(start.elapsed() < within, "{} does not ask for another event: {}", self.name(), self.output());
            let _too_long = timeout(LOOK_AGAIN, rested).await;
        }
    }

    /// The next `n` answers are lost: when the function gives one, it is killed, and whoever invoked it sees a
    /// crash. Returns how many were still to be lost before this was called.
    pub fn crash_at_answers(&self, n: usize) -> usize {
        self.crashes_at_answer.swap(n, Ordering::SeqCst)
    }

    /// What Lambda bills: how long each invocation took from its event to the question for the next, of all that have ended since this
    /// was asked last.
    pub fn take_durations(&self) -> Vec<Duration> {
        mem::take(&mut locked(&self.durations))
    }

    /// The processes that live, for looking at what they cost.
    pub fn process_ids(&self) -> Vec<u32> {
        locked(&self.live).values().filter(|one| !one.process.is_over()).map(|one| one.process.id()).collect()
    }

    /// How many environments were started so far.
    pub fn started(&self) -> usize {
        self.started.load(Ordering::SeqCst)
    }

    /// What all its environments have written, dead ones too.
    pub fn output(&self) -> String {
        let read = |number| fs::read(self.log(number)).unwrap_or_default();
        let all: Vec<u8> = (1..=self.started()).flat_map(read).collect();
        String::from_utf8_lossy(&all).into_owned()
    }

    /// One that is still at work after its answer comes last, because an event waits for it. Lambda would start another.
    fn take_idle(&self) -> Option<Running> {
        let mut idle = locked(&self.idle);
        // What has ended since its answer is replaced.
        idle.retain(|running| !running.environment.process.is_over());
        let at_rest = idle.iter().rposition(|running| !running.busy.load(Ordering::SeqCst));
        (!idle.is_empty()).then(|| idle.remove(at_rest.unwrap_or(0)))
    }

    async fn start(&self) -> anyhow::Result<Running> {
        let number = self.started.fetch_add(1, Ordering::SeqCst) + 1;
        let log = File::options().create(true).append(true).open(self.log(number)).context("open a function's log")?;
        let busy = Arc::<AtomicBool>::default();
        let work = Work { busy: busy.clone(), durations: self.durations.clone(), rested: self.rested.clone() };
        let environment = Environment::start(&self.options, log, self.crashes_at_answer.clone(), work).await?;
        locked(&self.live).insert(number, Live { process: environment.process.clone(), busy: busy.clone() });
        Ok(Running { environment, number, busy, live: self.live.clone() })
    }

    fn log(&self, number: usize) -> PathBuf {
        self.options.logs.join(format!("{}-{number}.log", self.options.name))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        locked(&self.live).remove(&self.number);
    }
}
