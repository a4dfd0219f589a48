//! The sweeper's Lambda function.

use std::convert::Infallible;
use std::sync::Arc;

use anyhow::Result;
use hookledger_runtime::{Env, init_telemetry};
use lambda_runtime::{LambdaEvent, run, service_fn};
use serde::de::IgnoredAny;
use sweeper::Sweeper;
use tokio::sync::Mutex;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let env = Env::process();
    init_telemetry(&env)?;
    let sweeper = Arc::new(Mutex::new(Sweeper::start(&env).await?));
    let handler = service_fn(|_: LambdaEvent<IgnoredAny>| {
        let sweeper = sweeper.clone();
        async move {
            sweeper.lock().await.run().await;
            Ok::<_, Infallible>(())
        }
    });
    run(handler).await.map_err(anyhow::Error::from_boxed)
}
