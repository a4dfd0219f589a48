//! An event source mapping: takes a queue's messages, invokes a function with them, deletes those that it has done
//! (docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html). With `ReportBatchItemFailures`.
//!
//! Invariant: a message is deleted only if the function answered and did not name it as failed.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Function, InvokeError};
use crate::emulator::Emulator;

const BATCH_MAX: u32 = 10;

pub struct Mapping {
    emulator: Arc<Emulator>,
    function: Arc<Function>,
    queue_url: String,
    queue_arn: String,
}

/// What became of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Polled {
    Nothing,
    /// The function answered.
    Invoked {
        deleted: usize,
        failed: usize,
    },
    /// It did not: all messages come back when their visibility timeout ends.
    NotInvoked(InvokeError),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BatchAnswer {
    #[serde(default)]
    batch_item_failures: Option<Vec<Failure>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Failure {
    item_identifier: String,
}

impl Mapping {
    pub async fn new(emulator: Arc<Emulator>, queue_url: &str, function: Arc<Function>) -> anyhow::Result<Self> {
        let queue_arn = emulator.queue_arn(queue_url).await?;
        Ok(Self { emulator, function, queue_url: queue_url.to_owned(), queue_arn })
    }

    /// One batch of at most ten. Waits up to `wait_s` seconds, at most 20, for a first message.
    pub async fn poll(&self, wait_s: u32) -> anyhow::Result<Polled> {
        let request = json!({
            "QueueUrl": self.queue_url, "MaxNumberOfMessages": BATCH_MAX, "WaitTimeSeconds": wait_s,
            "AttributeNames": ["All"], "MessageAttributeNames": ["All"],
        });
        let received = self.sqs("ReceiveMessage", request).await?;
        let messages = received["Messages"].as_array().map(Vec::as_slice).unwrap_or_default();
        if messages.is_empty() {
            return Ok(Polled::Nothing);
        }
        let records: Vec<Value> = messages.iter().map(|message| self.record(message)).collect();
        let response = match self.function.invoke(json!({ "Records": records }).to_string()).await {
            Ok(response) => response,
            Err(error) => return Ok(Polled::NotInvoked(error)),
        };
        let done = done(messages, &response.payload);
        if !done.is_empty() {
            let entry = |(index, message): (usize, &&Value)| json!({ "Id": index.to_string(), "ReceiptHandle": message["ReceiptHandle"] });
            let entries: Vec<Value> = done.iter().enumerate().map(entry).collect();
            self.sqs("DeleteMessageBatch", json!({ "QueueUrl": self.queue_url, "Entries": entries })).await?;
        }
        Ok(Polled::Invoked { deleted: done.len(), failed: messages.len() - done.len() })
    }

    /// Polls for ever. A queue that does not answer is asked again.
    pub async fn run(&self) {
        loop {
            if self.poll(1).await.is_err() {
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            }
        }
    }

    fn record(&self, message: &Value) -> Value {
        let attributes = message["MessageAttributes"].as_object().into_iter().flatten();
        let attributes: Map<String, Value> = attributes
            .map(|(name, value)| {
                let mut attribute = json!({ "dataType": value["DataType"], "stringListValues": [], "binaryListValues": [] });
                attribute["stringValue"] = value["StringValue"].clone();
                (name.clone(), attribute)
            })
            .collect();
        json!({
            "messageId": message["MessageId"], "receiptHandle": message["ReceiptHandle"], "body": message["Body"],
            "md5OfBody": message["MD5OfBody"], "attributes": message["Attributes"], "messageAttributes": attributes,
            "eventSource": "aws:sqs", "eventSourceARN": self.queue_arn, "awsRegion": "us-east-1",
        })
    }

    async fn sqs(&self, action: &str, request: Value) -> anyhow::Result<Value> {
        self.emulator.json("sqs", "1.0", &format!("AmazonSQS.{action}"), &request).await
    }
}

/// What may be deleted. An answer that is not of the agreed form, or names a message that was not in the batch, fails it all.
fn done<'a>(messages: &'a [Value], answer: &str) -> Vec<&'a Value> {
    let Ok(BatchAnswer { batch_item_failures }) = serde_json::from_str(answer) else { return Vec::new() };
    let failed: Vec<String> = batch_item_failures.unwrap_or_default().into_iter().map(|f| f.item_identifier).collect();
    let is = |message: &Value, id: &String| message["MessageId"] == **id;
    if failed.iter().any(|id| !messages.iter().any(|message| is(message, id))) {
        return Vec::new();
    }
    messages.iter().filter(|message| !failed.iter().any(|id| is(message, id))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(answer: &str, deleted: &[&str]) {
        let messages = [json!({ "MessageId": "a" }), json!({ "MessageId": "b" })];
        let ids: Vec<_> = done(&messages, answer).iter().map(|message| message["MessageId"].as_str().unwrap()).collect();
        assert_eq!(ids, deleted, "{answer}");
    }

    #[test]
    fn what_is_not_named_as_failed_is_deleted() {
        check(r#"{"batchItemFailures":[{"itemIdentifier":"a"}]}"#, &["b"]);
        check(r#"{"batchItemFailures":[]}"#, &["a", "b"]);
        check(r#"{"batchItemFailures":null}"#, &["a", "b"]);
        check("{}", &["a", "b"]);
    }

    #[test]
    fn an_answer_that_makes_no_sense_fails_the_whole_batch() {
        check(r#"{"batchItemFailures":[{"itemIdentifier":"c"}]}"#, &[]);
        check(r#"{"batchItemFailures":[{"itemIdentifier":""}]}"#, &[]);
        check(r#"{"batchItemFailures":[{}]}"#, &[]);
        check("oops", &[]);
    }
}
