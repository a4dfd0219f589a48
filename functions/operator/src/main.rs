//! The operator's Lambda function.

use anyhow::Result;
use hookledger_runtime::{Env, error_chain, init_telemetry, serve};
use operator::invoked;

#[tokio::main(flavor = "local")]
async fn main() -> Result<()> {
    let env = Env::process();
    init_telemetry(&env)?;
    let handler = async |event: &[u8]| {
        let invocation = serde_json::from_slice(event).map_err(|error| format!("the event is no command: {error}"))?;
        invoked(invocation).await.map_err(|error| error_chain(error.as_ref()))
    };
    Ok(serve(&env, handler).await?)
}
