//! The whole of hookledger on this machine: Postgres, the AWS emulator, queues, functions.

use std::thread;

use anyhow::ensure;
use hookledger_harness::{
    Emulator, Postgres, Watch, block_on, cargo, free_port, preflight, run_for_output, run_to_end, venv_with_progress,
};

use crate::progress::{loud_step, note, step};

/// Six times the worker's time limit, so that a message is not given to a second one while the first still works.
const VISIBILITY_S: &str = "180";
/// Well above an event's five attempts: the dead letter queue is for faults of the infrastructure.
const RECEIVES_MAX: u32 = 20;
const WORKER_TIMEOUT_S: u32 = 30;
const BATCH_SIZE: u32 = 10;

/// Everything that runs. Dropped in this order: what uses something ends before it.
pub(crate) struct Stage {
    pub(crate) watch: Watch,
    _emulator: Emulator,
    _postgres: Postgres,
    pub(crate) database_url: String,
    /// What to type for a look into the database.
    pub(crate) psql: String,
    pub(crate) queue_url: String,
    pub(crate) dlq_url: String,
}

impl Stage {
    /// Prepares and starts it all. `variables` are the functions' settings besides those that say where things are, and
    /// `serve` is how the functions are served.
    pub(crate) fn start(variables: &[(String, String)], serve: Serve) -> anyhow::Result<Self> {
        step("this machine has what it takes", preflight::all)?;
        step("tools in target/venv", || venv_with_progress(note))?;
        // Before what takes minutes: a Postgres that refuses is told at once.
        let (postgres, emulator) = step("PostgreSQL and the AWS emulator", || {
            thread::scope(|scope| {
                let postgres = scope.spawn(Postgres::start);
                let emulator = Emulator::start();
                Ok((postgres.join().unwrap_or_else(|_| anyhow::bail!("starting PostgreSQL panicked"))?, emulator?))
            })
        })?;
        loud_step("functions built", build)?;
        let database_url = postgres.url();
        step("tables migrated", || migrate(&database_url))?;
        let queues = step("queues, with dead letters", || block_on(create_queues(&emulator)))?;
        let endpoint = emulator.endpoint();
        let places = [
            ("DATABASE_URL", database_url.as_str()),
            ("DATABASE_TLS", "disable"),
            ("QUEUE_URL", &queues.event),
            ("SPILL_QUEUE_URL", &queues.spill),
            ("AWS_ENDPOINT_URL", &endpoint),
        ];
        let variables: Vec<_> =
            places.into_iter().chain(variables.iter().map(|(name, value)| (name.as_str(), value.as_str()))).collect();
        let watch = step("functions under cargo lambda watch", || serve(&variables, free_port()?))?;
        step("queues feed the worker", || block_on(feed_the_worker(&emulator, &watch, &queues)))?;
        Ok(Self {
            watch,
            psql: postgres.psql()?,
            _emulator: emulator,
            _postgres: postgres,
            database_url,
            queue_url: queues.event,
            dlq_url: queues.dlq,
        })
    }
}

/// [`Watch::start`] or [`Watch::start_and_reload`].
pub(crate) type Serve = fn(&[(&str, &str)], u16) -> anyhow::Result<Watch>;

struct Queues {
    event: String,
    dlq: String,
    spill: String,
}

/// Exactly what `cargo lambda watch` will ask for, `cargo run --bin …` in the root, so that it finds all built: naming
/// packages would choose other features of shared dependencies, and build those a second time.
fn build() -> anyhow::Result<()> {
    let mut build = cargo();
    build.args(["build", "--bin", "receiver", "--bin", "worker", "--bin", "hookledger"]);
    ensure!(run_to_end(&build)?.success(), "the functions do not build: cargo says why above");
    Ok(())
}

fn migrate(database_url: &str) -> anyhow::Result<()> {
    let mut migrate = cargo();
    migrate.args(["run", "--quiet", "--bin", "hookledger", "--", "migrate"]);
    migrate.env("DATABASE_URL", database_url).env("DATABASE_TLS", "disable").env("RUST_BACKTRACE", "0");
    let output = run_for_output(&migrate)?;
    ensure!(output.status.success(), "the migrations fail: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(())
}

async fn create_queues(emulator: &Emulator) -> anyhow::Result<Queues> {
    let attributes = [("VisibilityTimeout", VISIBILITY_S)];
    let (event, dlq) = emulator.create_queue_with_dlq("hookledger-events", RECEIVES_MAX, &attributes).await?;
    let (spill, _) = emulator.create_queue_with_dlq("hookledger-spill", RECEIVES_MAX, &attributes).await?;
    Ok(Queues { event, dlq, spill })
}

async fn feed_the_worker(emulator: &Emulator, watch: &Watch, queues: &Queues) -> anyhow::Result<()> {
    emulator.create_function("worker", &watch.invocations_url("worker"), WORKER_TIMEOUT_S).await?;
    for queue in [&queues.event, &queues.spill] {
        emulator.create_event_source_mapping("worker", queue, BATCH_SIZE).await?;
    }
    Ok(())
}
