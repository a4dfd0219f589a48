//! The event queue: keys of ledger rows out. Invariant: [`Queue::enqueue`] accounts for every key it was given, as sent
//! or as failed; the ledger is the outbox, so that what failed is sent again from there.

use std::sync::Arc;

use aws_sdk_sqs::error::{DisplayErrorContext, SdkError};
use aws_sdk_sqs::types::{QueueAttributeName, SendMessageBatchRequestEntry};
use hookledger_aws::{ATTEMPT_MAX, OPERATION_MAX};
use hookledger_core::EventRef;
use tokio::time::{Instant, timeout, timeout_at};

use crate::client::Client;
use crate::send::Sender;

/// Messages in one call: a limit of SQS.
pub(crate) const BATCH_MAX: usize = 10;

/// The event queue, or any other queue whose depth is asked.
#[derive(Clone)]
pub struct Queue {
    pub(crate) client: Client,
    pub(crate) url: String,
    sender: Option<Arc<Sender>>,
}

/// What became of the keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Enqueued {
    pub sent: usize,
    /// With what SQS or the network said.
    pub failed: Vec<(EventRef, String)>,
}

/// What decides how often a message is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueSettings {
    pub visibility_s: Option<u64>,
    /// After so many receives it goes to the dead-letter queue.
    pub receives_max: Option<u64>,
}

#[derive(Debug, thiserror::Error)]
#[error("cannot read the depth of queue {url}")]
pub struct DepthError {
    url: String,
    #[source]
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Queue {
    pub fn new(client: Client, queue_url: String) -> Self {
        let sender = Sender::new(&client.aws, &queue_url).map(Arc::new);
        Self { client, url: queue_url, sender }
    }

    /// Whether `arn` is this queue's, by the name that both end in.
    pub fn has_arn(&self, arn: &str) -> bool {
        let name = arn.rsplit(':').next().unwrap_or_default();
        !name.is_empty() && self.url.rsplit('/').next() == Some(name)
    }

    /// One key costs one `SendMessage`, more cost a `SendMessageBatch` for each ten. Once a call did not get through, the
    /// rest counts as failed untried: with the network gone, each further call would cost its whole time limit.
    pub async fn enqueue(&self, keys: &[EventRef]) -> Enqueued {
        let mut result = Enqueued::default();
        let mut unreachable: Option<String> = None;
        for batch in keys.chunks(BATCH_MAX) {
            if let Some(why) = &unreachable {
                result.fail(batch, why);
                continue;
            }
            let sent = match batch {
                [key] => self.send(key).await,
                _ => self.send_batch(batch, &mut result).await,
            };
            match sent {
                Ok(count) => result.sent += count,
                Err(failure) => {
                    result.fail(batch, &failure.why);
                    unreachable = failure.unreachable.then_some(failure.why);
                }
            }
        }
        result
    }

    /// Messages waiting, by SQS's own estimate; those in flight and delayed are not counted.
    pub async fn depth(&self) -> Result<u64, DepthError> {
        let name = QueueAttributeName::ApproximateNumberOfMessages;
        let asked = self.client.sdk.get_queue_attributes().queue_url(&self.url).attribute_names(name.clone()).send().await;
        let failed = |source| DepthError { url: self.url.clone(), source };
        let answer = asked.map_err(|e| failed(Some(e.into())))?;
        let depth = answer.attributes().and_then(|attributes| attributes.get(&name)).ok_or_else(|| failed(None))?;
        depth.parse().map_err(|e: std::num::ParseIntError| failed(Some(e.into())))
    }

    /// What the queue is set to; `None` for what it does not say.
    pub async fn settings(&self) -> Result<QueueSettings, DepthError> {
        let asked = self.client.sdk.get_queue_attributes().queue_url(&self.url).attribute_names(QueueAttributeName::All);
        let answer = asked.send().await.map_err(|e| DepthError { url: self.url.clone(), source: Some(e.into()) })?;
        let text = |name: &QueueAttributeName| answer.attributes().and_then(|all| all.get(name)).map(String::as_str);
        let redrive: Option<serde_json::Value> =
            text(&QueueAttributeName::RedrivePolicy).and_then(|policy| serde_json::from_str(policy).ok());
        // SQS writes it as a number or as text, as it was set.
        let receives = redrive.as_ref().map(|policy| &policy["maxReceiveCount"]);
        let receives = receives.and_then(|count| count.as_u64().or_else(|| count.as_str()?.parse().ok()));
        Ok(QueueSettings {
            visibility_s: text(&QueueAttributeName::VisibilityTimeout).and_then(|seconds| seconds.parse().ok()),
            receives_max: receives,
        })
    }

    async fn send(&self, key: &EventRef) -> Result<usize, Failure> {
        let body = body(key)?;
        let deadline = Instant::now() + OPERATION_MAX;
        if let Some(sender) = &self.sender
            && let Ok(Ok(())) = timeout(ATTEMPT_MAX, sender.send(&self.url, &body)).await
        {
            return Ok(1);
        }
        // The key may be on the queue by now. Twice is no harm.
        // In a box, as every call of the SDK on the way of a delivery: the future is large, seldom needed, and would be moved with each.
        let again = Box::pin(self.client.sdk.send_message().queue_url(&self.url).message_body(body).send());
        timeout_at(deadline, again).await.map_err(|elapsed| Failure { why: elapsed.to_string(), unreachable: true })??;
        Ok(1)
    }

    /// Adds what SQS refused one by one to `result`, and returns how many it took.
    async fn send_batch(&self, keys: &[EventRef], result: &mut Enqueued) -> Result<usize, Failure> {
        let mut call = self.client.sdk.send_message_batch().queue_url(&self.url);
        for (index, key) in keys.iter().enumerate() {
            let entry = SendMessageBatchRequestEntry::builder().id(index.to_string()).message_body(body(key)?);
            call = call.entries(entry.build().map_err(|e| Failure::refused(e.to_string()))?);
        }
        let answer = Box::pin(call.send()).await?;
        let taken = |id: &str| answer.successful().iter().any(|entry| entry.id() == id);
        for (index, key) in keys.iter().enumerate().filter(|(index, _)| !taken(&index.to_string())) {
            let refused = answer.failed().iter().find(|entry| entry.id() == index.to_string());
            let why = refused.map(|e| format!("{}: {}", e.code(), e.message().unwrap_or_default()));
            result.failed.push((key.clone(), why.unwrap_or_else(|| "not mentioned in the answer".to_owned())));
        }
        Ok(answer.successful().len())
    }
}

impl Enqueued {
    fn fail(&mut self, keys: &[EventRef], why: &str) {
        self.failed.extend(keys.iter().map(|key| (key.clone(), why.to_owned())));
    }
}

/// Why a whole call failed.
struct Failure {
    why: String,
    /// SQS did not answer at all.
    unreachable: bool,
}

impl Failure {
    fn refused(why: String) -> Self {
        Self { why, unreachable: false }
    }
}

impl<E, R> From<SdkError<E, R>> for Failure
where
    E: std::error::Error + 'static,
    R: std::fmt::Debug,
{
    fn from(error: SdkError<E, R>) -> Self {
        let unreachable = matches!(error, SdkError::TimeoutError(_) | SdkError::DispatchFailure(_));
        Self { why: DisplayErrorContext(&error).to_string(), unreachable }
    }
}

/// The key as JSON. SQS refuses U+FFFE and U+FFFF, which an event id may have, so they are escaped; outside of strings
/// JSON has neither.
fn body(key: &EventRef) -> Result<String, Failure> {
    let json = serde_json::to_string(key).map_err(|e| Failure::refused(e.to_string()))?;
    match json.contains(['\u{fffe}', '\u{ffff}']) {
        false => Ok(json),
        true => Ok(json.replace('\u{fffe}', r"\ufffe").replace('\u{ffff}', r"\uffff")),
    }
}
