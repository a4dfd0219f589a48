//! How many instructions one warm request takes: a figure that another load on the machine does not move, kept in
//! bench/baseline.json, so that a change of the code which costs more is seen before it is measured in time.
//!
//! Invariant: only warm requests are counted, twice as many in two halves, and halves that differ are an error and not a figure.
//! Counted are user-space instructions of the release build as valgrind's processor executes them, which has no SHA
//! instructions: hashing counts for more than it takes on a processor that does.

mod baseline;
mod callgrind;

use anyhow::ensure;
use bytes::Bytes;
use hookledger_harness::lambda::Function;

use crate::deliveries::{delivery, new_id};
use crate::load::{Check, is_200};
use crate::stage::Stage;
use crate::worker::{BATCH, all_settled, claim, payload};
use callgrind::Counter;

pub(crate) use baseline::{check, keep};

/// Before counting: connections are open, caches are filled, lists have grown to their size.
const WARM_UP: usize = 40;
/// Of each of two halves.
const REQUESTS: usize = 200;
const BATCHES: usize = 40;
/// Duplicates follow their event at once: one that comes later than the queue should take is sent again, which is another request.
const DUPLICATES_AT_ONCE: usize = 20;
/// Between the halves, as a part.
const UNSTEADY: f64 = 0.01;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Request {
    Floor,
    Bare,
    New,
    Duplicate,
    Batch,
}

/// Instructions of one request, by its name.
type Counts = std::collections::BTreeMap<String, u64>;

impl Request {
    const ALL: [Self; 5] = [Self::Floor, Self::Bare, Self::New, Self::Duplicate, Self::Batch];

    fn name(self) -> &'static str {
        match self {
            Self::Floor => "a function that answers 200",
            Self::Bare => "the bare exchanges of a new event",
            Self::New => "receiver, a new event",
            Self::Duplicate => "receiver, a duplicate",
            Self::Batch => "worker, a batch of ten",
        }
    }

    fn function(self) -> &'static str {
        match self {
            Self::Floor => "answer200",
            Self::Bare => "bare",
            Self::New | Self::Duplicate => "receiver",
            Self::Batch => "worker",
        }
    }

    fn answers(self) -> Check {
        match self {
            Self::Floor | Self::Bare | Self::New | Self::Duplicate => is_200,
            Self::Batch => all_settled,
        }
    }

    /// Sends `count` of it, and none but those.
    async fn send(self, stage: &Stage, function: &Function, count: usize) -> anyhow::Result<()> {
        match self {
            Self::Floor | Self::Bare | Self::New => self.invoke(function, (0..count).map(|_| delivery(&new_id()))).await,
            Self::Duplicate => {
                for sent in (0..count).step_by(DUPLICATES_AT_ONCE) {
                    let ids: Vec<String> = (sent..count.min(sent + DUPLICATES_AT_ONCE)).map(|_| new_id()).collect();
                    claim(stage, &ids).await?;
                    self.invoke(function, ids.iter().map(|id| delivery(id))).await?;
                }
                Ok(())
            }
            Self::Batch => {
                let ids: Vec<String> = (0..count * BATCH).map(|_| new_id()).collect();
                claim(stage, &ids).await?;
                self.invoke(function, ids.chunks(BATCH).map(payload)).await
            }
        }
    }

    async fn invoke(self, function: &Function, payloads: impl Iterator<Item = Bytes>) -> anyhow::Result<()> {
        for payload in payloads {
            let response = function.invoke(payload).await?;
            ensure!((self.answers())(&response.payload), "{} answers {}", self.name(), response.payload);
        }
        Ok(())
    }

    async fn count(self, stage: &Stage) -> anyhow::Result<u64> {
        let requests = if self == Self::Batch { BATCHES } else { REQUESTS };
        let counter = Counter::start(stage, self.function())?;
        self.send(stage, counter.function(), WARM_UP).await?;
        counter.take()?;
        let mut halves = [0.0; 2];
        for half in &mut halves {
            self.send(stage, counter.function(), requests).await?;
            *half = counter.take()? as f64 / requests as f64;
        }
        let [first, second] = halves;
        let apart = (second / first - 1.0).abs();
        ensure!(apart <= UNSTEADY, "{} takes {first:.0} instructions first and {second:.0} then", self.name());
        Ok(f64::midpoint(first, second).round() as u64)
    }
}

async fn count_all() -> anyhow::Result<Counts> {
    // The same ids in every run.
    fastrand::seed(1);
    let stage = Stage::start(&[]).await?;
    let mut counts = Counts::new();
    for request in Request::ALL {
        let count = request.count(&stage).await?;
        eprintln!("  {}: {count}", request.name());
        counts.insert(request.name().to_owned(), count);
    }
    Ok(counts)
}
