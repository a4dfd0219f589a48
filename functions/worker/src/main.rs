//! The worker's Lambda function.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use aws_lambda_events::sqs::SqsEvent;
use hookledger_queue::{Queue, client};
use hookledger_runtime::{DatabaseSettings, Env, Hint, Queues, claim_mode, init_logs, load_sources, open_ledger};
use lambda_runtime::{LambdaEvent, run, service_fn};
use tokio::sync::Mutex;
use worker::{Worker, handlers::ROUTES};

/// For one operation on the ledger, a second try included.
const ANSWER_WITHIN: Duration = Duration::from_secs(4);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let env = Env::process();
    init_logs(&env)?;
    let worker = Arc::new(Mutex::new(start(&env).await?));
    let handler = service_fn(|event: LambdaEvent<SqsEvent>| {
        let worker = worker.clone();
        async move { Ok::<_, Infallible>(worker.lock().await.batch(event.payload).await) }
    });
    run(handler).await.map_err(anyhow::Error::from_boxed)
}

async fn start(env: &Env) -> Result<Worker> {
    let (sources, queues) = (load_sources(env)?, Queues::read(env)?);
    let (ledger, sqs) = tokio::join!(open_ledger(DatabaseSettings::read(env)?, ANSWER_WITHIN), client());
    let urls = std::iter::once(queues.event).chain(queues.spill);
    Ok(Worker {
        ledger: ledger?,
        sources,
        routes: ROUTES,
        queues: urls.map(|url| Queue::new(sqs.clone(), url)).collect(),
        claim_mode: claim_mode(env)?,
        hint: Hint::read(env)?,
    })
}
