//! The receiver's Lambda function.

use std::convert::Infallible;
use std::sync::Arc;

use anyhow::Result;
use hookledger_queue::{Queue, SpillQueue, client};
use hookledger_runtime::{
    DatabaseSettings, Env, Hint, Queues, SecretStore, Vault, claim_mode, init_logs, load_sources, now, open_ledger,
    replay_token, secrets_ttl_s,
};
use lambda_http::{run, service_fn};
use receiver::{CLAIM_WITHIN, Receiver};
use tokio::sync::Mutex;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let env = Env::process();
    init_logs(&env)?;
    let receiver = Arc::new(Mutex::new(start(&env).await?));
    let handler = service_fn(|request| {
        let receiver = receiver.clone();
        async move { Ok::<_, Infallible>(receiver.lock().await.receive(request).await) }
    });
    run(handler).await.map_err(anyhow::Error::from_boxed)
}

/// What can be opened is opened at once: this is the cold start.
async fn start(env: &Env) -> Result<Receiver> {
    let (sources, queues) = (load_sources(env)?, Queues::read(env)?);
    let database = DatabaseSettings::read(env)?;
    let secrets = SecretStore::load(&sources, env, Vault::new(), secrets_ttl_s(env)?, now());
    let (ledger, sqs, secrets) = tokio::join!(open_ledger(database, CLAIM_WITHIN), client(), secrets);
    Ok(Receiver {
        ledger: ledger?,
        queue: Queue::new(sqs.clone(), queues.event),
        spill: queues.spill.map(|url| SpillQueue::new(sqs, url)),
        secrets: secrets?,
        sources,
        replay_token: replay_token(env)?,
        claim_mode: claim_mode(env)?,
        hint: Hint::read(env)?,
    })
}
