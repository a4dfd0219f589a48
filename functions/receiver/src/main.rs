//! The receiver's Lambda function.

use std::rc::Rc;

use anyhow::Result;
use hookledger_runtime::{Env, init_telemetry, on_a_task};
use lambda_http::lambda_runtime::Runtime;
use lambda_http::{LambdaEvent, service_fn};
use receiver::{GatewayEvent, NotARequest, Receiver, Unread};
use tokio::sync::Mutex;

#[tokio::main(flavor = "local")]
async fn main() -> Result<()> {
    let env = Env::process();
    init_telemetry(&env)?;
    let receiver = Rc::new(Mutex::new(Receiver::start(&env).await?));
    let unread = Unread::default();
    let layer = unread.clone();
    let handler = service_fn(move |_: LambdaEvent<()>| {
        let (event, receiver) = (GatewayEvent::read(&unread.take()), receiver.clone());
        // In a box, because the runtime moves what it is given from hand to hand.
        Box::pin(async move {
            let GatewayEvent { request, form } = event.inspect_err(|error| tracing::error!("{error}"))?;
            Ok::<_, NotARequest>(form.answer(receiver.lock().await.receive(request).await))
        })
    });
    // Without the layer that `run` adds: its span would be part of no line that is printed.
    on_a_task(Runtime::new(handler).layer(layer).run()).await.map_err(anyhow::Error::from_boxed)
}
