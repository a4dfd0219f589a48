//! The sweeper's Lambda function.

use std::convert::Infallible;

use anyhow::Result;
use hookledger_runtime::{Env, init_telemetry, serve};
use sweeper::Sweeper;
use tokio::sync::Mutex;

#[tokio::main(flavor = "local")]
async fn main() -> Result<()> {
    let env = Env::process();
    init_telemetry(&env)?;
    let sweeper = Mutex::new(Sweeper::start(&env).await?);
    // Whatever called it: there is but one thing to do.
    let handler = async move |_: &[u8]| {
        sweeper.lock().await.run().await;
        Ok::<_, Infallible>(())
    };
    Ok(serve(&env, handler).await?)
}
