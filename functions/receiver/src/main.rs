//! The receiver's Lambda function.

use std::convert::Infallible;
use std::sync::Arc;

use anyhow::Result;
use hookledger_runtime::{Env, init_telemetry};
use lambda_http::{run, service_fn};
use receiver::{Answered, Receiver};
use tokio::sync::Mutex;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let env = Env::process();
    init_telemetry(&env)?;
    let receiver = Arc::new(Mutex::new(Receiver::start(&env).await?));
    let handler = service_fn(|request| {
        let receiver = receiver.clone();
        async move { Ok::<_, Infallible>(Answered(receiver.lock().await.receive(request).await)) }
    });
    run(handler).await.map_err(anyhow::Error::from_boxed)
}
