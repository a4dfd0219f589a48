//! `cargo xtask chaos`: everything real, everything failing, and then a look at whether anything was lost, done twice or done
//! in the wrong order.
//!
//! `plan` draws from the seed what is sent and what goes wrong, `send` and `trouble` do it, `drain` lets everything finish,
//! `check` judges what it finds in the database, `table` shows it. What the seed cannot repeat is the machine's own timing.

mod check;
mod drain;
mod evidence;
mod plan;
mod send;
mod table;
mod trouble;

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use hookledger_harness::deployment::{Deployment, DeploymentOptions};
use hookledger_harness::subscription::record_effects;
use hookledger_harness::{Emulator, Postgres, built, preflight, root, venv_with_progress};
use tokio::task::JoinSet;

use crate::paint;
use crate::progress::{loud_step, note, step, tell};
use check::Violations;
use evidence::Evidence;
use plan::{Fault, Plan};
use send::Sender;

const RECEIVERS: usize = 4;
const WORKERS: usize = 3;
/// Seconds. Production's 180 would leave a crashed worker's messages hidden for longer than a short run takes.
const VISIBILITY_S: u32 = 2;
/// A minute in production.
const SWEEP_EVERY: Duration = Duration::from_secs(2);

/// A handler's write takes up to 20 ms, so that there is a while in which it can be killed, cut off or met by another.
const DAWDLE: &str = "
CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(random() / 50); RETURN new; END $$;
CREATE TRIGGER dawdle BEFORE INSERT OR UPDATE ON subscription FOR EACH ROW EXECUTE FUNCTION dawdle();";

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// How many different events are sent; 100000 is for a release
    #[arg(long, default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    events: u32,
    /// Repeats the plan of an earlier run
    #[arg(long)]
    seed: Option<u64>,
    /// Print the result for a program
    #[arg(long)]
    json: bool,
}

/// What a run shows.
struct Report {
    seed: u64,
    plan: Plan,
    sent: send::Sent,
    faults: BTreeMap<Fault, u64>,
    /// How many environments of receiver, worker and sweeper were started.
    started: [usize; 3],
    evidence: Evidence,
    violations: Violations,
    took: Duration,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    eprintln!("\n{}\n", paint::stderr().bold("hookledger: everything fails, nothing is lost"));
    let start = Instant::now();
    let seed = arguments.seed.unwrap_or_else(|| fastrand::u64(..1 << 32));
    let plan = Plan::new(arguments.events as usize, seed);
    step("this machine has what it takes", preflight::all)?;
    step("tools in target/venv", || venv_with_progress(note))?;
    loud_step("functions built", || built("receiver"))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("start a runtime")?;
    let mut report = runtime.block_on(stage_and_play(seed, plan))?;
    report.took = start.elapsed();
    if arguments.json {
        println!("{:#}", table::json(&report));
    } else {
        print!("\n{}", table::render(&report, paint::stdout()));
    }
    if report.violations.is_empty() {
        return Ok(());
    }
    bail!("{} violations; `{}` repeats the plan", report.violations.count(), table::to_repeat(&report))
}

async fn stage_and_play(seed: u64, plan: Plan) -> anyhow::Result<Report> {
    let postgres = step("PostgreSQL, durable", || Postgres::options().durable().start())?;
    let emulator = Arc::new(step("queues in the AWS emulator", Emulator::start)?);
    let options = DeploymentOptions {
        receivers: RECEIVERS,
        workers: WORKERS,
        visibility_s: VISIBILITY_S,
        ..DeploymentOptions::default()
    };
    let hookledger = Arc::new(Deployment::start(&postgres.url(), emulator, options).await?);
    let postgres = Arc::new(Mutex::new(postgres));
    let database = hookledger.database().await?;
    record_effects(&database).await?;
    database.batch_execute(DAWDLE).await?;
    let sender = Arc::new(Sender::new(hookledger.receiver.clone(), plan.events.clone(), seed));
    let machinery = machinery(&hookledger);
    let told = format!("{} deliveries through {} faults", plan.deliveries(), plan.rounds.len());
    let begun = Instant::now();
    let faults = trouble::play(&plan, &sender, &hookledger, &postgres).await?;
    tell(&told, begun, true);
    let begun = Instant::now();
    let drained = drain::drain(&sender, &hookledger).await?;
    tell("everything finished, the clock turned back", begun, drained);
    drop(machinery);
    let sent = sender.sent();
    let evidence = Evidence::gather(&hookledger.database().await?, &plan, &sent).await?;
    let violations = check::check(&evidence);
    if !violations.is_empty() {
        keep_words(&hookledger)?;
    }
    let started = [&hookledger.receiver, &hookledger.worker, &hookledger.sweeper].map(|function| function.started());
    Ok(Report { seed, plan, sent, faults, started, evidence, violations, took: Duration::ZERO })
}

/// For whoever has to find out why.
fn keep_words(hookledger: &Deployment) -> anyhow::Result<()> {
    let folder = root().join("target/chaos");
    fs::create_dir_all(&folder)?;
    for function in [&hookledger.receiver, &hookledger.worker, &hookledger.sweeper] {
        fs::write(folder.join(format!("{}.log", function.name())), function.output())?;
    }
    note("what the functions wrote is in target/chaos");
    Ok(())
}

/// What AWS does by itself: feeds the queues to the worker, and calls the sweeper. Ends when it is dropped.
fn machinery(hookledger: &Arc<Deployment>) -> JoinSet<()> {
    let mut machinery = JoinSet::new();
    for _ in 0..WORKERS {
        let hookledger = hookledger.clone();
        machinery.spawn(async move { hookledger.events.run().await });
    }
    let (spill, sweeper) = (hookledger.clone(), hookledger.sweeper.clone());
    machinery.spawn(async move { spill.spill.run().await });
    machinery.spawn(async move {
        loop {
            tokio::time::sleep(SWEEP_EVERY).await;
            // One that was killed or failed has the next one after it.
            let _swept = sweeper.invoke("{}").await;
        }
    });
    machinery
}
