//! Cold start: what can be opened is opened here, at once.

use anyhow::Result;
use hookledger_queue::{Client, Queue};
use hookledger_runtime::{DatabaseSettings, Env, Queues, load_sources, open_ledger, retention};

use crate::sweep::{SWEEP_WITHIN, Sweeper};

impl Sweeper {
    pub async fn start(env: &Env) -> Result<Self> {
        let sqs = Client::of_function();
        let (sources, queues) = (load_sources(env)?, Queues::read(env)?);
        let (ledger, sqs) = tokio::join!(open_ledger(DatabaseSettings::read(env)?, SWEEP_WITHIN), sqs);
        let sqs = sqs?;
        Ok(Self {
            ledger: ledger?,
            queue: Queue::new(sqs.clone(), queues.event),
            spill: queues.spill.map(|url| Queue::new(sqs, url)),
            sources,
            retention: retention(env)?,
        })
    }
}
