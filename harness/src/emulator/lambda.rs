//! A function of the emulator that is really served elsewhere, and what invokes it with a queue's messages.

use serde_json::json;

use super::Emulator;

/// A zip archive with nothing in it, in base64: the code of a function that runs elsewhere.
const EMPTY_ZIP: &str = "UEsFBgAAAAAAAAAAAAAAAAAAAAAAAA==";

impl Emulator {
    /// A function whose invocations are sent to `invocations_url`, such as
    /// `http://127.0.0.1:9000/2015-03-31/functions/worker/invocations` of `cargo lambda watch`.
    pub async fn create_function(&self, name: &str, invocations_url: &str, timeout_s: u32) -> anyhow::Result<()> {
        let request = json!({
            "FunctionName": name, "Runtime": "provided.al2023", "Handler": "bootstrap", "Timeout": timeout_s,
            "Role": format!("arn:aws:iam::000000000000:role/{name}"), "Code": { "ZipFile": EMPTY_ZIP },
            "Environment": { "Variables": { "MINISTACK_LAMBDA_PROXY_URL": invocations_url } },
        });
        self.rest("lambda", "/2015-03-31/functions", &request).await.map(drop)
    }

    /// Feeds a queue's messages to a function, by at most `batch_size`, and retries only those that it reports as failed.
    pub async fn create_event_source_mapping(&self, function: &str, queue_url: &str, batch_size: u32) -> anyhow::Result<()> {
        let request = json!({
            "FunctionName": function, "EventSourceArn": self.queue_arn(queue_url).await?, "Enabled": true,
            "BatchSize": batch_size, "FunctionResponseTypes": ["ReportBatchItemFailures"],
        });
        self.rest("lambda", "/2015-03-31/event-source-mappings", &request).await.map(drop)
    }
}
