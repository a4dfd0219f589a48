//! Queues: the SQS actions that tests and the demo need.

use std::collections::BTreeMap;

use anyhow::Context;
use serde_json::{Value, json};

use super::Emulator;

/// A received message.
#[derive(Debug, Clone)]
pub struct Message {
    pub body: String,
    pub receipt_handle: String,
    /// Message attributes by name, values as text.
    pub attributes: BTreeMap<String, String>,
    /// How often it was received, this time included.
    pub receive_count: u32,
}

impl Emulator {
    /// Creates a queue and gives its URL. `attributes` are SQS's own, such as `("VisibilityTimeout", "180")`, in seconds.
    pub async fn create_queue(&self, name: &str, attributes: &[(&str, &str)]) -> anyhow::Result<String> {
        let attributes: BTreeMap<_, _> = attributes.iter().copied().collect();
        let queue = self.sqs("CreateQueue", json!({ "QueueName": name, "Attributes": attributes })).await?;
        text(&queue, "QueueUrl")
    }

    /// Creates a queue, `<name>-dlq`, and the redrive between them. Gives the URLs of both.
    pub async fn create_queue_with_dlq(
        &self,
        name: &str,
        max_receive_count: u32,
        attributes: &[(&str, &str)],
    ) -> anyhow::Result<(String, String)> {
        let dlq = self.create_queue(&format!("{name}-dlq"), &[("MessageRetentionPeriod", "1209600")]).await?;
        let redrive =
            json!({ "deadLetterTargetArn": self.queue_arn(&dlq).await?, "maxReceiveCount": max_receive_count }).to_string();
        let attributes = [attributes, &[("RedrivePolicy", redrive.as_str())]].concat();
        Ok((self.create_queue(name, &attributes).await?, dlq))
    }

    pub async fn send(&self, queue_url: &str, body: &str) -> anyhow::Result<()> {
        self.sqs("SendMessage", json!({ "QueueUrl": queue_url, "MessageBody": body })).await.map(drop)
    }

    /// At most ten messages. Waits up to `wait_s` seconds, at most 20, for a first one.
    pub async fn receive(&self, queue_url: &str, wait_s: u32) -> anyhow::Result<Vec<Message>> {
        let request = json!({
            "QueueUrl": queue_url, "MaxNumberOfMessages": 10, "WaitTimeSeconds": wait_s,
            "AttributeNames": ["All"], "MessageAttributeNames": ["All"],
        });
        let answer = self.sqs("ReceiveMessage", request).await?;
        answer["Messages"].as_array().into_iter().flatten().map(read_message).collect()
    }

    pub async fn delete(&self, queue_url: &str, receipt_handle: &str) -> anyhow::Result<()> {
        self.sqs("DeleteMessage", json!({ "QueueUrl": queue_url, "ReceiptHandle": receipt_handle })).await.map(drop)
    }

    /// The queue's own attributes, all of them.
    pub async fn queue_attributes(&self, queue_url: &str) -> anyhow::Result<BTreeMap<String, String>> {
        let answer = self.sqs("GetQueueAttributes", json!({ "QueueUrl": queue_url, "AttributeNames": ["All"] })).await?;
        serde_json::from_value(answer["Attributes"].clone()).context("read a queue's attributes")
    }

    pub async fn queue_arn(&self, queue_url: &str) -> anyhow::Result<String> {
        self.queue_attributes(queue_url).await?.remove("QueueArn").context("the queue has no ARN")
    }

    async fn sqs(&self, action: &str, request: Value) -> anyhow::Result<Value> {
        self.json("sqs", "1.0", &format!("AmazonSQS.{action}"), &request).await
    }
}

fn read_message(message: &Value) -> anyhow::Result<Message> {
    let attributes = message["MessageAttributes"].as_object().into_iter().flatten();
    Ok(Message {
        body: text(message, "Body")?,
        receipt_handle: text(message, "ReceiptHandle")?,
        attributes: attributes
            .map(|(name, value)| (name.clone(), value["StringValue"].as_str().unwrap_or_default().to_owned()))
            .collect(),
        receive_count: message["Attributes"]["ApproximateReceiveCount"].as_str().unwrap_or("1").parse()?,
    })
}

fn text(value: &Value, field: &str) -> anyhow::Result<String> {
    Ok(value[field].as_str().with_context(|| format!("SQS answers without {field}"))?.to_owned())
}
