//! The receiver's Lambda function.

use anyhow::Result;
use hookledger_runtime::{Env, init_telemetry, serve_and_finish};
use receiver::{GatewayEvent, NotARequest, Receiver, Unfinished};
use tokio::sync::Mutex;

#[tokio::main(flavor = "local")]
async fn main() -> Result<()> {
    let env = Env::process();
    init_telemetry(&env)?;
    let receiver = Mutex::new(Receiver::start(&env).await?);
    let handler = async move |event: &[u8]| {
        let GatewayEvent { request, form } = GatewayEvent::read(event)?;
        let (response, unfinished) = receiver.lock().await.receive(request).await;
        Ok::<_, NotARequest>((form.answer(response), unfinished.map(Unfinished::finish)))
    };
    Ok(serve_and_finish(&env, handler).await?)
}
