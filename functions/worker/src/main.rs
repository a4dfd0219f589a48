//! The worker's Lambda function.

use std::convert::Infallible;
use std::sync::Arc;

use anyhow::Result;
use aws_lambda_events::sqs::SqsEvent;
use hookledger_runtime::{Env, init_telemetry, on_a_task};
use lambda_runtime::{LambdaEvent, Runtime, service_fn};
use tokio::sync::Mutex;
use worker::Worker;

#[tokio::main(flavor = "local")]
async fn main() -> Result<()> {
    let env = Env::process();
    init_telemetry(&env)?;
    let worker = Arc::new(Mutex::new(Worker::start(&env).await?));
    let handler = service_fn(move |event: LambdaEvent<SqsEvent>| {
        let worker = worker.clone();
        async move { Ok::<_, Infallible>(worker.lock().await.batch(event.payload).await) }
    });
    // Without the layer that `run` adds: its span would be part of no line that is printed.
    on_a_task(Runtime::new(handler).run()).await.map_err(anyhow::Error::from_boxed)
}
