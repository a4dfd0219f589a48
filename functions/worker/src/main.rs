//! The worker's Lambda function.

use anyhow::Result;
use hookledger_runtime::{Env, init_telemetry, serve};
use tokio::sync::Mutex;
use worker::Worker;

#[tokio::main(flavor = "local")]
async fn main() -> Result<()> {
    let env = Env::process();
    init_telemetry(&env)?;
    let worker = Mutex::new(Worker::start(&env).await?);
    let handler = async move |event: &[u8]| {
        let batch = serde_json::from_slice(event).map_err(|error| format!("the event is no batch of SQS's: {error}"))?;
        Ok::<_, String>(worker.lock().await.batch(batch).await)
    };
    Ok(serve(&env, handler).await?)
}
