//! The queues against an SQS that speaks the real protocol, and against servers that misbehave.

#![expect(clippy::unwrap_used, reason = "what the tests share ends them as they would themselves")]

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::Context;
use aws_lambda_events::sqs::SqsMessage;
use aws_sdk_sqs::config::{Credentials, Region, SharedCredentialsProvider};
use aws_types::SdkConfig;
use bytes::Bytes;
use hookledger_aws::{Aws, Connector, OPERATION_MAX, Roots};
use hookledger_core::{EventId, EventRef, Identity, Lifecycle, Proof, Secret, SourceName, VerifiedEvent, Via};
use hookledger_harness::{Emulator, sign::hmac_sha256};
use hookledger_queue::{Client, Enqueued, Message, Queue, SpillError, SpillQueue, read_message};
use sha2::{Digest, Sha256};

pub(crate) fn client(endpoint: &str) -> Client {
    Client::new(aws(endpoint, &Roots::Amazon))
}

/// As a test's user at an emulator.
pub(crate) fn aws(endpoint: &str, roots: &Roots) -> Aws {
    let credentials = SharedCredentialsProvider::new(Credentials::new("test", "test", None, None, "test"));
    let config = SdkConfig::builder().region(Region::new("us-east-1")).endpoint_url(endpoint);
    Aws::of(config.credentials_provider(credentials).build(), Connector::new(roots).unwrap())
}

fn keys(ids: impl IntoIterator<Item = String>) -> Vec<EventRef> {
    let source = SourceName::new("stripe").unwrap();
    ids.into_iter().map(|id| EventRef { source: source.clone(), event_id: EventId::new(id).unwrap() }).collect()
}

fn read(body: &str) -> Message {
    let mut message = SqsMessage::default();
    message.body = Some(body.to_owned());
    read_message(&message)
}

/// Receives until `count` messages are there, by a bounded number of long polls.
async fn receive(emulator: &Emulator, url: &str, count: usize) -> anyhow::Result<Vec<hookledger_harness::Message>> {
    let mut messages = Vec::new();
    for _ in 0..20 {
        messages.extend(emulator.receive(url, 1).await?);
        if messages.len() >= count {
            return Ok(messages);
        }
    }
    anyhow::bail!("{} of {count} messages arrived", messages.len())
}

#[tokio::test]
async fn every_key_arrives_as_it_was_sent() -> anyhow::Result<()> {
    let emulator = Emulator::start()?;
    let url = emulator.create_queue("events", &[]).await?;
    let queue = Queue::new(client(&emulator.endpoint()), url.clone());
    // SQS refuses U+FFFE and U+FFFF as they are, and everything else here has to be escaped by somebody.
    let odd = ["a\"b\\c", "é🦀", "</x>&amp;", "\u{fffe}\u{ffff}", &"x".repeat(255)].map(str::to_owned);
    let (one, many) = (keys(["alone".to_owned()]), keys(odd.into_iter().chain((0..18).map(|n| format!("evt_{n}")))));
    assert_eq!(queue.enqueue(&[]).await, Enqueued::default());
    assert_eq!(queue.enqueue(&one).await, Enqueued { sent: 1, failed: vec![] });
    assert_eq!(queue.enqueue(&many).await, Enqueued { sent: 23, failed: vec![] });

    let messages = receive(&emulator, &url, 24).await?;
    let arrived: BTreeSet<_> = messages
        .iter()
        .map(|message| match read(&message.body) {
            Message::Ref(key) => key,
            other @ (Message::Spilled(_) | Message::Unreadable(_)) => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(arrived, one.into_iter().chain(many).collect());
    assert!(messages.iter().all(|message| !message.body.contains(['\u{fffe}', '\u{ffff}'])));
    Ok(())
}

#[tokio::test]
async fn a_queue_that_is_not_there_fails_every_key_and_says_why() -> anyhow::Result<()> {
    let emulator = Emulator::start()?;
    let url = format!("{}/000000000000/nowhere", emulator.endpoint());
    let queue = Queue::new(client(&emulator.endpoint()), url);
    for count in [1, 12] {
        let keys = keys((0..count).map(|n| format!("evt_{n}")));
        let enqueued = queue.enqueue(&keys).await;
        assert_eq!(enqueued.sent, 0);
        assert_eq!(enqueued.failed.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>(), keys);
        let why = &enqueued.failed[0].1;
        assert!(why.to_lowercase().contains("queue"), "{why}");
    }
    assert!(queue.depth().await.is_err());
    Ok(())
}

/// Answers every request with `answer`, and never if there is none. Ends with the test's process.
fn server(answer: Option<&'static str>) -> anyhow::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let endpoint = format!("http://{}", listener.local_addr()?);
    std::thread::spawn(move || {
        let mut silent = Vec::new();
        for stream in listener.incoming() {
            let mut reader = BufReader::new(stream?);
            let Some(answer) = answer else {
                silent.push(reader);
                continue;
            };
            let mut length = 0;
            for line in reader.by_ref().lines() {
                let line = line?.to_lowercase();
                length = line.strip_prefix("content-length: ").map_or(length, |n| n.parse().unwrap_or(0));
                if line.is_empty() {
                    break;
                }
            }
            std::io::copy(&mut reader.by_ref().take(length), &mut std::io::sink())?;
            let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/x-amz-json-1.0\r\ncontent-length:";
            write!(reader.get_mut(), "{head} {}\r\n\r\n{answer}", answer.len())?;
        }
        Ok::<_, std::io::Error>(())
    });
    Ok(endpoint)
}

#[tokio::test]
async fn what_sqs_refuses_one_by_one_fails_alone() -> anyhow::Result<()> {
    let endpoint = server(Some(
        r#"{"Successful":[{"Id":"0","MessageId":"m","MD5OfMessageBody":"d"}],
            "Failed":[{"Id":"1","SenderFault":false,"Code":"InternalError","Message":"try again"}]}"#,
    ))?;
    let queue = Queue::new(client(&endpoint), format!("{endpoint}/0/q"));
    let keys = keys(["taken", "refused", "forgotten"].map(str::to_owned));
    let enqueued = queue.enqueue(&keys).await;
    assert_eq!(enqueued.sent, 1);
    let failed: Vec<_> = enqueued.failed.iter().map(|(key, why)| (key.event_id.as_str(), why.as_str())).collect();
    assert_eq!(failed, [("refused", "InternalError: try again"), ("forgotten", "not mentioned in the answer")]);
    Ok(())
}

#[tokio::test]
async fn a_silent_sqs_costs_one_bounded_wait_however_many_keys_there_are() -> anyhow::Result<()> {
    let endpoint = server(None)?;
    let queue = Queue::new(client(&endpoint), format!("{endpoint}/0/q"));
    let start = Instant::now();
    let enqueued = queue.enqueue(&keys((0..100).map(|n| format!("evt_{n}")))).await;
    assert_eq!((enqueued.sent, enqueued.failed.len()), (0, 100));
    assert!(start.elapsed() < OPERATION_MAX + Duration::from_secs(1), "{:?}", start.elapsed());
    Ok(())
}

/// What a server was sent, its header names in lower case.
struct Sent {
    headers: BTreeMap<String, String>,
    body: String,
}

/// Answers one request after another with these statuses, each on a connection of its own, and keeps what was asked. It closes each
/// connection behind its answer, and says so there or does not.
fn recorder(statuses: &'static [u16], says_so: bool) -> anyhow::Result<(String, Arc<Mutex<Vec<Sent>>>)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let endpoint = format!("http://{}", listener.local_addr()?);
    let sent = Arc::new(Mutex::new(Vec::new()));
    let kept = sent.clone();
    std::thread::spawn(move || {
        for (stream, status) in listener.incoming().zip(statuses) {
            let mut reader = BufReader::new(stream?);
            let mut first = String::new();
            reader.read_line(&mut first)?;
            let mut headers = BTreeMap::new();
            for line in reader.by_ref().lines() {
                let line = line?;
                let Some((name, value)) = line.split_once(": ") else { break };
                headers.insert(name.to_lowercase(), value.to_owned());
            }
            let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or_default();
            let mut body = String::new();
            reader.by_ref().take(length).read_to_string(&mut body)?;
            headers.insert("request".to_owned(), first.trim().to_owned());
            kept.lock().unwrap().push(Sent { headers, body });
            let answer = r#"{"MessageId":"m","MD5OfMessageBody":"d"}"#;
            let head = if says_so { "connection: close\r\n" } else { "" };
            let kind = "content-type: application/x-amz-json-1.0";
            write!(
                reader.get_mut(),
                "HTTP/1.1 {status} As Told\r\n{head}{kind}\r\ncontent-length: {}\r\n\r\n{answer}",
                answer.len()
            )?;
        }
        Ok::<_, std::io::Error>(())
    });
    Ok((endpoint, sent))
}

impl Sent {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    /// Checks the signature as AWS describes it (docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html),
    /// with the secret key of [`client`], and returns the names of the headers that are signed.
    fn signed_headers(&self) -> Vec<&str> {
        let authorization = self.header("authorization").strip_prefix("AWS4-HMAC-SHA256 ").unwrap();
        let part =
            |name: &str| authorization.split(", ").find_map(|part| part.strip_prefix(name)?.strip_prefix('=')).unwrap();
        let names: Vec<&str> = part("SignedHeaders").split(';').collect();
        let lines: String = names.iter().map(|name| format!("{name}:{}\n", self.header(name))).collect();
        let body = hex::encode(Sha256::digest(&self.body));
        let canonical = format!("POST\n/\n\n{lines}\n{}\n{body}", part("SignedHeaders"));
        let (_, scope) = part("Credential").split_once('/').unwrap();
        let hash = hex::encode(Sha256::digest(canonical));
        let to_sign = format!("AWS4-HMAC-SHA256\n{}\n{scope}\n{hash}", self.header("x-amz-date"));
        let key = scope.split('/').fold(b"AWS4test".to_vec(), |key, part| hmac_sha256(&key, part.as_bytes()));
        assert_eq!(part("Signature"), hex::encode(hmac_sha256(&key, to_sign.as_bytes())));
        assert!(scope.ends_with("/us-east-1/sqs/aws4_request"), "{scope}");
        names
    }
}

#[tokio::test]
async fn the_one_message_of_an_event_asks_for_what_the_sdk_asks_for() -> anyhow::Result<()> {
    let (endpoint, sent) = recorder(&[200, 200], true)?;
    let queue = format!("{endpoint}/0/q");
    let odd = keys(["a\"b\\c é🦀 </x> \u{fffe}".to_owned()]);
    let enqueued = Queue::new(client(&endpoint), queue.clone()).enqueue(&odd).await;
    assert_eq!(enqueued, Enqueued { sent: 1, failed: vec![] });
    let body: serde_json::Value = serde_json::from_str(&sent.lock().unwrap()[0].body)?;
    let message = body["MessageBody"].as_str().unwrap();
    aws_sdk_sqs::Client::new(&aws(&endpoint, &Roots::Amazon).config)
        .send_message()
        .queue_url(&queue)
        .message_body(message)
        .send()
        .await?;

    let sent = sent.lock().unwrap();
    let [ours, theirs] = &sent[..] else { panic!("{} requests", sent.len()) };
    for name in ["request", "host", "content-type", "x-amz-target", "content-length"] {
        assert_eq!(ours.header(name), theirs.header(name), "{name}");
    }
    assert_eq!(body, serde_json::from_str::<serde_json::Value>(&theirs.body)?);
    theirs.signed_headers();
    for name in ["host", "content-type", "x-amz-date", "x-amz-target"] {
        assert!(ours.signed_headers().contains(&name), "{name}");
    }
    Ok(())
}

#[tokio::test]
async fn a_message_that_is_refused_at_first_is_sent_by_the_sdk() -> anyhow::Result<()> {
    for refused in [&[403, 200], &[500, 200]] {
        let (endpoint, sent) = recorder(refused, true)?;
        let queue = Queue::new(client(&endpoint), format!("{endpoint}/0/q"));
        assert_eq!(queue.enqueue(&keys(["evt_1".to_owned()])).await, Enqueued { sent: 1, failed: vec![] });
        let sent = sent.lock().unwrap();
        assert_eq!((sent.len(), &sent[0].body), (2, &sent[1].body));
    }
    Ok(())
}

#[tokio::test]
async fn a_connection_that_the_queue_closes_is_replaced_and_nothing_is_sent_twice() -> anyhow::Result<()> {
    for says_so in [true, false] {
        let (endpoint, sent) = recorder(&[200; 4], says_so)?;
        let queue = Queue::new(client(&endpoint), format!("{endpoint}/0/q"));
        for n in 1..=4 {
            assert_eq!(queue.enqueue(&keys([format!("evt_{n}")])).await, Enqueued { sent: 1, failed: vec![] });
            let now = sent.lock().unwrap().len();
            assert_eq!(now, n);
        }
        // Until its end has come, a connection looks as if it could be used: then the SDK has to help.
        let unaided = sent.lock().unwrap().iter().filter(|request| request.header("user-agent").is_empty()).count();
        assert!(unaided == 4 || !says_so, "{unaided} of 4 without the SDK");
    }
    Ok(())
}

#[tokio::test]
async fn a_message_comes_back_when_its_visibility_says() -> anyhow::Result<()> {
    let emulator = Emulator::start()?;
    let url = emulator.create_queue("events", &[("VisibilityTimeout", "180")]).await?;
    let queue = Queue::new(client(&emulator.endpoint()), url.clone());
    queue.enqueue(&keys(["a", "b"].map(str::to_owned))).await;
    let first = receive(&emulator, &url, 2).await?;
    assert!(first.iter().all(|message| message.receive_count == 1));

    queue.set_visibility(&first[0].receipt_handle, Duration::ZERO).await?;
    let again = receive(&emulator, &url, 1).await?;
    assert_eq!((again[0].body.as_str(), again[0].receive_count), (first[0].body.as_str(), 2));

    let changes = [(again[0].receipt_handle.clone(), Duration::ZERO), ("no handle".to_owned(), Duration::ZERO)];
    let failed = queue.set_visibilities(&changes).await;
    assert_eq!(failed.iter().map(|(handle, _)| handle.as_str()).collect::<Vec<_>>(), ["no handle"]);
    assert_eq!(receive(&emulator, &url, 1).await?[0].receive_count, 3);

    // Twelve hours and more are cut to what SQS takes.
    queue.set_visibility(&first[1].receipt_handle, Duration::from_secs(86_400)).await?;
    assert!(queue.set_visibility("no handle", Duration::ZERO).await.is_err());
    Ok(())
}

#[tokio::test]
async fn the_depth_is_what_waits() -> anyhow::Result<()> {
    let emulator = Emulator::start()?;
    let url = emulator.create_queue("events", &[]).await?;
    let queue = Queue::new(client(&emulator.endpoint()), url.clone());
    assert_eq!(queue.depth().await?, 0);
    queue.enqueue(&keys((0..3).map(|n| format!("evt_{n}")))).await;
    assert_eq!(queue.depth().await?, 3);
    Ok(())
}

fn event(body: Bytes) -> anyhow::Result<VerifiedEvent> {
    let token = "t".repeat(32);
    let proof = Proof::replay_token(&Secret::new(token.clone())?, token.as_bytes()).context("no proof")?;
    let identity = Identity {
        event_id: EventId::new("evt_1")?,
        event_type: "push".into(),
        object: None,
        version: Some(7),
        lifecycle: Lifecycle::Updated,
    };
    Ok(VerifiedEvent::new(&proof, SourceName::new("github")?, identity, vec![("x".into(), "y".into())], body))
}

/// Bytes that do not compress.
fn noise(length: usize) -> Bytes {
    let mut bytes: Vec<u8> = (0u64..).take(length.div_ceil(32)).flat_map(|n| Sha256::digest(n.to_le_bytes())).collect();
    bytes.truncate(length);
    bytes.into()
}

#[tokio::test]
async fn a_spilled_event_comes_back_whole_with_its_first_time() -> anyhow::Result<()> {
    let emulator = Emulator::start()?;
    let url = emulator.create_queue("spill", &[]).await?;
    let spill = SpillQueue::new(client(&emulator.endpoint()), url.clone());
    // The largest that fits uncompressed, and one of GitHub's that only fits compressed.
    for body in [noise(780_000), Bytes::from(vec![b'{'; 6_000_000])] {
        let event = event(body)?;
        spill.spill(&event, 1_764_489_600_000_001).await?;
        let messages = receive(&emulator, &url, 1).await?;
        emulator.delete(&url, &messages[0].receipt_handle).await?;
        let Message::Spilled(back) = read(&messages[0].body) else { panic!("not a spilled event") };
        assert_eq!((back.via(), back.received_at()), (Via::Spill, Some(1_764_489_600_000_001)));
        assert_eq!((back.key(), back.identity(), back.headers()), (event.key(), event.identity(), event.headers()));
        assert!(back.body() == event.body());
    }
    Ok(())
}

#[tokio::test]
async fn an_event_that_sqs_would_not_take_is_not_sent() -> anyhow::Result<()> {
    // Nobody listens there: a send would fail otherwise.
    let spill = SpillQueue::new(client("http://127.0.0.1:9"), "http://127.0.0.1:9/0/q".into());
    let refused = spill.spill(&event(noise(790_000))?, 0).await;
    assert!(matches!(refused, Err(SpillError::TooLarge { bytes }) if bytes > 1 << 20), "{refused:?}");
    assert!(matches!(spill.spill(&event(noise(10))?, 0).await, Err(SpillError::Send(_))));
    Ok(())
}
