//! Calls to AWS's services over TLS: which server is believed, and that nothing is sent to another.

#![expect(clippy::unwrap_used, reason = "what the tests share ends them as they would themselves")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hookledger_aws::Roots;
use hookledger_core::{EventId, EventRef, SourceName};
use hookledger_queue::{Client, Enqueued, Queue};
use native_tls::Identity;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_native_tls::TlsAcceptor;

use crate::tls::certificate::{Authority, Validity};

/// Says that a message was taken, to every request on every connection.
struct Sqs {
    port: u16,
    requests: Arc<AtomicUsize>,
    /// Of them, those that the SDK has sent, which sends what could not be sent without it.
    by_the_sdk: Arc<AtomicUsize>,
    _listening: JoinSet<()>,
}

impl Sqs {
    async fn start(identity: Identity) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (requests, by_the_sdk) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let (counted, counted_of_sdk) = (requests.clone(), by_the_sdk.clone());
        let acceptor = TlsAcceptor::from(native_tls::TlsAcceptor::new(identity).unwrap());
        let mut listening = JoinSet::new();
        listening.spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                // One that does not believe the certificate goes away.
                let Ok(mut stream) = acceptor.accept(stream).await else { continue };
                let mut request = [0; 8192];
                while let Ok(read @ 1..) = stream.read(&mut request).await {
                    counted.fetch_add(1, Ordering::Relaxed);
                    let is_of_sdk = String::from_utf8_lossy(&request[..read]).contains("aws-sdk-rust");
                    counted_of_sdk.fetch_add(usize::from(is_of_sdk), Ordering::Relaxed);
                    let body = r#"{"MessageId":"m","MD5OfMessageBody":"d"}"#;
                    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/x-amz-json-1.0\r\ncontent-length:";
                    stream.write_all(format!("{head} {}\r\n\r\n{body}", body.len()).as_bytes()).await.unwrap();
                }
            }
        });
        Self { port, requests, by_the_sdk, _listening: listening }
    }

    /// Sends one key at a time.
    async fn sent(&self, keys: usize, roots: &Roots) -> Enqueued {
        let endpoint = format!("https://localhost:{}", self.port);
        let queue = Queue::new(Client::new(crate::queue::aws(&endpoint, roots)), format!("{endpoint}/0/q"));
        let mut all = Enqueued::default();
        for n in 0..keys {
            let key =
                EventRef { source: SourceName::new("stripe").unwrap(), event_id: EventId::new(format!("evt_{n}")).unwrap() };
            let one = queue.enqueue(&[key]).await;
            all.sent += one.sent;
            all.failed.extend(one.failed);
        }
        all
    }
}

#[tokio::test]
async fn a_queue_is_reached_under_the_authority_that_is_named() {
    let authority = Authority::new();
    let sqs = Sqs::start(authority.issue("localhost", Validity::UntilTomorrow)).await;
    let sent = sqs.sent(3, &Roots::Pem(authority.pem())).await;
    assert_eq!(sent, Enqueued { sent: 3, failed: vec![] });
    let counts = [&sqs.requests, &sqs.by_the_sdk].map(|count| count.load(Ordering::Relaxed));
    assert_eq!(counts, [3, 0]);
}

#[tokio::test]
async fn nothing_is_sent_to_a_server_that_cannot_prove_its_name() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    for (identity, roots) in [
        (authority.issue("localhost", Validity::UntilTomorrow), Roots::Amazon),
        (authority.issue("localhost", Validity::UntilTomorrow), Roots::System),
        (authority.issue("localhost", Validity::UntilTomorrow), Roots::Pem(stranger.pem())),
        (authority.issue("localhost", Validity::Expired), Roots::Pem(authority.pem())),
        (authority.issue("sqs.eu-west-1.amazonaws.com", Validity::UntilTomorrow), Roots::Pem(authority.pem())),
    ] {
        let sqs = Sqs::start(identity).await;
        let enqueued = sqs.sent(1, &roots).await;
        assert_eq!((enqueued.sent, enqueued.failed.len()), (0, 1), "{roots:?}");
        assert!(enqueued.failed[0].1.contains("certificate"), "{}", enqueued.failed[0].1);
        assert_eq!(sqs.requests.load(Ordering::Relaxed), 0, "{roots:?}");
    }
}
