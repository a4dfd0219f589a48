//! The operator's Lambda function.

use hookledger_runtime::{Env, error_chain, init_telemetry};
use lambda_runtime::{LambdaEvent, run, service_fn};
use operator::{Invocation, invoked};

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    init_telemetry(&Env::process())?;
    let handler = service_fn(async |event: LambdaEvent<Invocation>| {
        invoked(event.payload).await.map_err(|error| error_chain(error.as_ref()))
    });
    run(handler).await.map_err(anyhow::Error::from_boxed)
}
