//! The receiver's Lambda function.

use std::convert::Infallible;
use std::sync::Arc;

use anyhow::Result;
use hookledger_runtime::{Env, init_telemetry, on_a_task};
use lambda_http::lambda_runtime::Runtime;
use lambda_http::{LambdaEvent, service_fn};
use receiver::{GatewayEvent, Receiver};
use tokio::sync::Mutex;

#[tokio::main(flavor = "local")]
async fn main() -> Result<()> {
    let env = Env::process();
    init_telemetry(&env)?;
    let receiver = Arc::new(Mutex::new(Receiver::start(&env).await?));
    let handler = service_fn(move |event: LambdaEvent<GatewayEvent>| {
        let receiver = receiver.clone();
        let GatewayEvent { request, form } = event.payload;
        async move { Ok::<_, Infallible>(form.answer(receiver.lock().await.receive(request).await)) }
    });
    // Without the layer that `run` adds: its span would be part of no line that is printed.
    on_a_task(Runtime::new(handler).run()).await.map_err(anyhow::Error::from_boxed)
}
