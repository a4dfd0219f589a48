//! The sweeper's Lambda function.

use std::convert::Infallible;
use std::sync::Arc;

use anyhow::Result;
use hookledger_queue::{Queue, client};
use hookledger_runtime::{DatabaseSettings, Env, Queues, init_logs, load_sources, open_ledger, retention};
use lambda_runtime::{LambdaEvent, run, service_fn};
use serde::de::IgnoredAny;
use sweeper::{SWEEP_WITHIN, Sweeper};
use tokio::sync::Mutex;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let env = Env::process();
    init_logs(&env)?;
    let sweeper = Arc::new(Mutex::new(start(&env).await?));
    let handler = service_fn(|_: LambdaEvent<IgnoredAny>| {
        let sweeper = sweeper.clone();
        async move {
            sweeper.lock().await.run().await;
            Ok::<_, Infallible>(())
        }
    });
    run(handler).await.map_err(anyhow::Error::from_boxed)
}

async fn start(env: &Env) -> Result<Sweeper> {
    let (sources, queues) = (load_sources(env)?, Queues::read(env)?);
    let (ledger, sqs) = tokio::join!(open_ledger(DatabaseSettings::read(env)?, SWEEP_WITHIN), client());
    Ok(Sweeper {
        ledger: ledger?,
        queue: Queue::new(sqs.clone(), queues.event),
        spill: queues.spill.map(|url| Queue::new(sqs, url)),
        sources,
        retention: retention(env)?,
    })
}
