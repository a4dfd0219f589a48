//! A worker and the batches it is given.

use aws_lambda_events::sqs::SqsEvent;
use hookledger_core::{ClaimMode, EventRef};
use hookledger_providers::Sources;
use hookledger_queue::Queue;
use hookledger_runtime::{Env, Hint, Https};
use serde_json::json;
use worker::{Route, Worker};

use crate::ground::{Ground, key};

pub(super) const SOURCES: &str = r#"
[stripe]
provider = "stripe"
secrets = ["env:STRIPE_WEBHOOK_SECRET"]
"#;

impl Ground {
    pub(crate) fn worker(&self, routes: &'static [Route]) -> Worker {
        self.worker_of(routes, Vec::new())
    }

    pub(super) fn worker_of(&self, routes: &'static [Route], queues: Vec<Queue>) -> Worker {
        Worker {
            ledger: self.another(),
            sources: Sources::parse(SOURCES).unwrap(),
            routes,
            queues,
            claim_mode: ClaimMode::Enforce,
            https: Https::new(),
            hint: Hint::read(&Env::new(|_| None)).unwrap(),
        }
    }
}

pub(crate) fn message(id: &str, body: &str) -> serde_json::Value {
    json!({
        "messageId": id, "receiptHandle": format!("handle-{id}"), "body": body, "attributes": {}, "messageAttributes": {},
        "md5OfBody": "", "eventSource": "aws:sqs", "eventSourceARN": "arn:aws:sqs:eu-west-1:000000000000:events",
        "awsRegion": "eu-west-1"
    })
}

pub(crate) fn batch_of(messages: &[serde_json::Value]) -> SqsEvent {
    serde_json::from_value(json!({ "Records": messages })).unwrap()
}

fn body(key: &EventRef) -> String {
    serde_json::to_string(key).unwrap()
}

/// Gives the events to the worker and returns the ids of those whose messages come back.
pub(super) async fn deliver(worker: &mut Worker, ids: &[&str]) -> Vec<String> {
    let messages: Vec<_> = ids.iter().map(|id| message(id, &body(&key(id)))).collect();
    let response = worker.batch(batch_of(&messages)).await;
    response.batch_item_failures.into_iter().map(|failure| failure.item_identifier).collect()
}
