//! Cold start: what can be opened is opened here, at once.

use std::time::Duration;

use anyhow::Result;
use hookledger_queue::{Client, Queue};
use hookledger_runtime::{DatabaseSettings, Env, Hint, Https, Queues, claim_mode, load_sources, open_ledger};

use crate::batch::Worker;
use crate::handlers::ROUTES;

/// For one operation on the ledger, a second try included.
const ANSWER_WITHIN: Duration = Duration::from_secs(4);

impl Worker {
    pub async fn start(env: &Env) -> Result<Self> {
        let sqs = Client::of_function();
        let (sources, queues) = (load_sources(env)?, Queues::read(env)?);
        let (ledger, sqs) = tokio::join!(open_ledger(DatabaseSettings::read(env)?, ANSWER_WITHIN), sqs);
        let sqs = sqs?;
        let urls = std::iter::once(queues.event).chain(queues.spill);
        Ok(Self {
            ledger: ledger?,
            sources,
            routes: ROUTES,
            queues: urls.map(|url| Queue::new(sqs.clone(), url)).collect(),
            claim_mode: claim_mode(env)?,
            hint: Hint::read(env)?,
            https: Https::new(),
        })
    }
}
