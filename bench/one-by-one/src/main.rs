//! The other way to write a worker, for comparison: one event after the other, each leased in a commit and handled and settled
//! in another. Over the same ledger, with the same handler's statement, without the version guard.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use aws_lambda_events::sqs::{BatchItemFailure, SqsBatchResponse, SqsEvent};
use hookledger_core::{EventRef, Outcome, Secret};
use hookledger_ledger::{DatabaseConfig, Grant, Ledger, Tls};
use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use serde_json::Value;
use tokio::sync::Mutex;
use tokio_postgres::types::Type;

const UPSERT: &str = "
INSERT INTO subscription (subscription_id, plan, state, version) VALUES ($1, $2, $3, $4)
ON CONFLICT (subscription_id) DO UPDATE SET plan = excluded.plan, state = excluded.state, version = excluded.version";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let url = std::env::var_os("DATABASE_URL").and_then(|url| url.into_string().ok()).context("DATABASE_URL is not set")?;
    let config = DatabaseConfig { url: Secret::new(url)?, tls: Tls::Disable };
    let ledger = Arc::new(Mutex::new(Ledger::new(config, Duration::from_secs(4))));
    let handler = service_fn(|event: LambdaEvent<SqsEvent>| {
        let ledger = ledger.clone();
        // Boxed, because the runtime's layers around a future of this depth are too much for the compiler.
        Box::pin(async move { Ok::<_, Error>(batch(&mut *ledger.lock().await, event.payload).await) })
    });
    run(handler).await.map_err(anyhow::Error::from_boxed)
}

async fn batch(ledger: &mut Ledger, batch: SqsEvent) -> SqsBatchResponse {
    let mut response = SqsBatchResponse::default();
    for message in batch.records {
        if process(ledger, message.body.as_deref().unwrap_or_default()).await.is_err() {
            let mut failure = BatchItemFailure::default();
            failure.item_identifier = message.message_id.unwrap_or_default();
            response.batch_item_failures.push(failure);
        }
    }
    response
}

async fn process(ledger: &mut Ledger, message: &str) -> Result<()> {
    let key: EventRef = serde_json::from_str(message)?;
    let Grant::Leased(lease) = ledger.lease_alone(&key, 5).await? else { bail!("not to be leased") };
    let event = lease.event.as_ref().context("no payload")?;
    let body: Value = serde_json::from_slice(&event.body)?;
    let subscription = &body["data"]["object"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (id, plan) = (text(&subscription["id"]), text(&subscription["items"]["data"][0]["price"]["id"]));
    let (status, version) = (text(&subscription["status"]), event.version.unwrap_or(event.received_at));
    let work = ledger.begin().await?;
    let params = [(&id as _, Type::TEXT), (&plan as _, Type::TEXT), (&status as _, Type::TEXT), (&version as _, Type::INT8)];
    work.transaction().query_typed(UPSERT, &params).await?;
    work.settle(vec![(lease, Outcome::Applied)]).await.map_err(|unsettled| unsettled.why)?;
    Ok(())
}
