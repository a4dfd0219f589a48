//! Plays a plan: its deliveries, and its faults among them. When it ends, nothing fails any more.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use fastrand::Rng;
use hookledger_harness::Postgres;
use hookledger_harness::deployment::Deployment;
use hookledger_harness::faults::{PostgresFault, SqsFault};
use hookledger_harness::lambda::Function;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::sleep;

use super::plan::{Fault, Plan, Round};
use super::send::Sender;
use crate::progress::note;

/// For the deliveries of a round to be answered, once.
const ROUND_BOUND: Duration = Duration::from_secs(120);
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Longer than the receiver waits for the queue.
const QUEUE_DELAY: Duration = Duration::from_millis(1200);
/// As long as the receiver waits for the database, so that the silence outlasts some of its claims.
const SILENCE_MIN: Duration = Duration::from_millis(1500);
/// In a round that kills.
const KILLS: u32 = 4;
/// How far into an environment's work it is killed. A delivery takes a few milliseconds, a batch some more.
const INTO_ITS_WORK_US_MAX: u64 = 10_000;

/// Gives how often each fault happened. The sender may still be delivering again when this returns.
pub(super) async fn play(
    plan: &Plan,
    sender: &Arc<Sender>,
    hookledger: &Arc<Deployment>,
    postgres: &Arc<Mutex<Postgres>>,
) -> anyhow::Result<BTreeMap<Fault, u64>> {
    let mut happened = BTreeMap::new();
    let mut deliveries = JoinSet::new();
    let mut begun = 0;
    for (number, round) in plan.rounds.iter().enumerate() {
        let trouble = trouble(round, hookledger, postgres);
        let traffic = async {
            for (event, gap) in &round.deliveries {
                sleep(*gap).await;
                let (sender, event) = (sender.clone(), *event);
                deliveries.spawn(async move { sender.deliver(event).await });
            }
        };
        let (times, ()) = tokio::join!(trouble, traffic);
        *happened.entry(round.fault).or_insert(0) += times?;
        begun += round.deliveries.len();
        answered(sender, begun).await?;
        if number % 100 == 99 {
            note(&format!("{} of {} faults", number + 1, plan.rounds.len()));
        }
    }
    // The rest goes on by itself, and `drain` waits for it.
    deliveries.detach_all();
    Ok(happened)
}

/// So that the plan does not run ahead of what it is to trouble.
async fn answered(sender: &Sender, begun: usize) -> anyhow::Result<()> {
    let start = Instant::now();
    while sender.first_answers() < begun {
        if start.elapsed() > ROUND_BOUND {
            bail!("{} deliveries were not answered at all", begun - sender.first_answers());
        }
        sleep(LOOK_EVERY).await;
    }
    Ok(())
}

/// One fault, for as long as it lasts; how often it happened.
async fn trouble(round: &Round, hookledger: &Deployment, postgres: &Arc<Mutex<Postgres>>) -> anyhow::Result<u64> {
    let Deployment { receiver, worker, sweeper, postgres: proxy, sqs, .. } = hookledger;
    sleep(round.lasts / 2).await;
    let queue = async |fault| {
        sqs.set(fault);
        sleep(round.lasts).await;
        sqs.set(SqsFault::None);
        Ok(1)
    };
    let database = async |fault, lasts| {
        proxy.set(fault);
        sleep(lasts).await;
        proxy.set(PostgresFault::None);
        Ok(1)
    };
    let mut rng = Rng::with_seed(round.choice);
    match round.fault {
        Fault::ReceiversKilled => Ok(kill(receiver, round.lasts, &mut rng).await),
        Fault::WorkersKilled => Ok(kill(worker, round.lasts, &mut rng).await),
        Fault::SweeperKilled => Ok(kill(sweeper, round.lasts, &mut rng).await),
        Fault::ReceiverKilledAtItsAnswer => Ok(kill_at_answers(receiver, round.lasts).await),
        Fault::WorkerKilledAtItsAnswer => Ok(kill_at_answers(worker, round.lasts).await),
        Fault::SocketsCut => {
            proxy.cut();
            Ok(1)
        }
        Fault::CommitAnswerLost => {
            proxy.lose_commit_answers(KILLS as usize);
            sleep(round.lasts).await;
            Ok(u64::from(KILLS) - proxy.lose_commit_answers(0) as u64)
        }
        Fault::PostgresRefuses => {
            // Those that are connected would not notice.
            proxy.set(PostgresFault::Refuse);
            proxy.cut();
            database(PostgresFault::Refuse, round.lasts).await
        }
        Fault::BothRefuse => {
            proxy.set(PostgresFault::Refuse);
            proxy.cut();
            let done = queue(SqsFault::Refuse).await;
            proxy.set(PostgresFault::None);
            done
        }
        Fault::PostgresSilent => database(PostgresFault::BlackHole, SILENCE_MIN + round.lasts).await,
        Fault::PostgresStopped => {
            let (postgres, lasts) = (postgres.clone(), round.lasts);
            let crash = move || {
                let mut postgres = postgres.lock().unwrap_or_else(PoisonError::into_inner);
                postgres.kill_now()?;
                std::thread::sleep(lasts / 2);
                postgres.restart()
            };
            spawn_blocking(crash).await.context("stopping Postgres panicked")??;
            Ok(1)
        }
        Fault::QueueRefuses => queue(SqsFault::Refuse).await,
        Fault::QueueDelays => queue(SqsFault::Delay(QUEUE_DELAY)).await,
        Fault::QueueRepeats => queue(SqsFault::Repeat).await,
        Fault::QueueLosesAnswers => queue(SqsFault::DropAnswer).await,
    }
}

/// Kills environments that are at work, some way into it; an idle one where none gets to work.
async fn kill(function: &Function, lasts: Duration, rng: &mut Rng) -> u64 {
    let mut killed = 0;
    for _ in 0..KILLS {
        let start = Instant::now();
        while function.busy() == 0 && start.elapsed() < lasts / KILLS {
            sleep(Duration::from_millis(1)).await;
        }
        sleep(Duration::from_micros(rng.u64(..INTO_ITS_WORK_US_MAX))).await;
        killed += u64::from(function.kill(rng.usize(..)));
    }
    killed
}

async fn kill_at_answers(function: &Function, lasts: Duration) -> u64 {
    function.crash_at_answers(KILLS as usize);
    sleep(lasts).await;
    u64::from(KILLS) - function.crash_at_answers(0) as u64
}
