//! A queue that costs nothing: it takes what it is sent and keeps none of it, so that an emulator's speed isn't what is
//! measured. Answers as SQS does (docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference), digests included, which SDKs
//! check.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hookledger_harness::http::{Answer, Request, serve};
use md5::{Digest, Md5};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

pub(crate) struct Queue {
    port: u16,
    counted: Arc<Counted>,
    _server: JoinSet<()>,
}

#[derive(Default)]
struct Counted {
    calls: AtomicU64,
    messages: AtomicU64,
    bytes: AtomicU64,
}

impl Queue {
    pub(crate) async fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let (port, counted) = (listener.local_addr()?.port(), Arc::<Counted>::default());
        let (mut server, counts) = (JoinSet::new(), counted.clone());
        server.spawn(serve(listener, move |request| {
            let answer = counts.answer(&request);
            async move { Some(answer) }
        }));
        Ok(Self { port, counted, _server: server })
    }

    pub(crate) fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub(crate) fn url(&self) -> String {
        format!("{}/000000000000/events", self.endpoint())
    }

    /// Calls and messages so far.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.counted.calls.load(Ordering::Relaxed), self.counted.messages.load(Ordering::Relaxed))
    }

    /// Of all requests so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.counted.bytes.load(Ordering::Relaxed)
    }
}

impl Counted {
    fn answer(&self, request: &Request) -> Answer {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(length(request) as u64, Ordering::Relaxed);
        let action = request.header("x-amz-target").unwrap_or_default().rsplit('.').next().unwrap_or_default();
        let sent: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let answer = match action {
            "SendMessage" => taken(&sent["MessageBody"]),
            "SendMessageBatch" => {
                let entries = sent["Entries"].as_array().map(Vec::as_slice).unwrap_or_default();
                json!({ "Failed": [], "Successful": entries.iter().map(taken_of_batch).collect::<Vec<_>>() })
            }
            _ => return Answer::new(400, r#"{"__type":"com.amazonaws.sqs#UnsupportedOperation"}"#),
        };
        let messages = answer["Successful"].as_array().map_or(1, Vec::len);
        self.messages.fetch_add(messages as u64, Ordering::Relaxed);
        Answer::new(200, answer.to_string()).header("content-type", "application/x-amz-json-1.0")
    }
}

/// On the wire, where it has nothing that it need not have.
fn length(request: &Request) -> usize {
    let first = request.method.len() + request.target.len() + "  HTTP/1.1\r\n".len();
    let header = |(name, value): &(String, String)| name.len() + ": ".len() + value.len() + "\r\n".len();
    first + request.headers.iter().map(header).sum::<usize>() + "\r\n".len() + request.body.len()
}

fn taken(body: &Value) -> Value {
    let digest = hex::encode(Md5::digest(body.as_str().unwrap_or_default()));
    json!({ "MD5OfMessageBody": digest, "MessageId": "00000000-0000-4000-8000-000000000000" })
}

fn taken_of_batch(entry: &Value) -> Value {
    let mut answer = taken(&entry["MessageBody"]);
    answer["Id"] = entry["Id"].clone();
    answer
}
