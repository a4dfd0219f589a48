//! What a function says to Lambda: the receiver's program, against a Runtime API that does as it is told.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::VecDeque;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use hookledger_harness::http::{Answer, Request, serve};
use hookledger_harness::{Emulator, built, free_port};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::process::{Child, Command};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Gives out `events`, and answers what is posted with the next of `statuses`.
struct RuntimeApi {
    address: String,
    posts: mpsc::UnboundedReceiver<Request>,
    _server: JoinSet<()>,
}

impl RuntimeApi {
    async fn start(events: &[Value], statuses: &[u16]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (told, posts) = mpsc::unbounded_channel();
        let numbered = events.iter().map(Value::to_string).enumerate();
        let events: Arc<Mutex<VecDeque<_>>> = Arc::new(Mutex::new(numbered.collect()));
        let statuses: Arc<Mutex<VecDeque<_>>> = Arc::new(Mutex::new(statuses.to_vec().into()));
        let mut server = JoinSet::new();
        server.spawn(serve(listener, move |request| {
            let (told, events, statuses) = (told.clone(), events.clone(), statuses.clone());
            async move {
                if request.method == "GET" {
                    let event = events.lock().unwrap().pop_front();
                    // When there is no more, it lets the function wait, as Lambda does.
                    let Some((number, event)) = event else { return std::future::pending().await };
                    let answer =
                        Answer::new(200, event).header("lambda-runtime-aws-request-id", format!("request-{number}"));
                    let answer = answer.header("lambda-runtime-invocation-id", format!("invocation-{number}"));
                    return Some(answer.header("lambda-runtime-deadline-ms", "4102444800000"));
                }
                told.send(request).unwrap();
                Some(Answer::new(statuses.lock().unwrap().pop_front().unwrap(), "{}"))
            }
        }));
        Self { address, posts, _server: server }
    }

    /// The receiver, without a database: its health can be asked all the same. `address` is where it looks for this.
    fn receiver(&self, address: &str) -> Child {
        let nowhere = free_port().unwrap();
        let mut command = Command::new(built("receiver").unwrap());
        command.env_clear().envs(Emulator::CREDENTIALS);
        command.env("DATABASE_URL", format!("postgres://u@127.0.0.1:{nowhere}/d")).env("DATABASE_TLS", "disable");
        command.env("QUEUE_URL", format!("http://127.0.0.1:{nowhere}/0/q"));
        command.env("STRIPE_WEBHOOK_SECRET", "s").env("GITHUB_WEBHOOK_SECRET", "s");
        command.env("AWS_LAMBDA_RUNTIME_API", address).env("AWS_LAMBDA_FUNCTION_NAME", "receiver");
        command.env("AWS_LAMBDA_FUNCTION_VERSION", "1").env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "128");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true).spawn().unwrap()
    }

    async fn posted(&mut self) -> Request {
        self.posts.recv().await.unwrap()
    }
}

fn health() -> Value {
    let context = json!({ "http": { "method": "GET", "path": "/health" } });
    json!({ "version": "2.0", "rawPath": "/health", "rawQueryString": "", "headers": {}, "requestContext": context, "isBase64Encoded": false })
}

fn is_ours(request: &Request) -> bool {
    request.header("user-agent").unwrap().starts_with("hookledger/")
}

#[tokio::test]
async fn an_answer_goes_to_lambda_with_the_ids_of_its_event() {
    let mut api = RuntimeApi::start(&[health(), health()], &[202, 202]).await;
    let _receiver = api.receiver(&api.address);
    for number in 0..2 {
        let answer = api.posted().await;
        assert!(is_ours(&answer));
        assert_eq!(answer.target, format!("/2018-06-01/runtime/invocation/request-{number}/response"));
        assert_eq!(answer.header("lambda-runtime-invocation-id"), Some(&*format!("invocation-{number}")));
        let body: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(body["body"], r#"{"status":"ok"}"#);
    }
}

/// By which ours is held against the runtime's own.
#[tokio::test]
async fn an_answer_that_lambda_does_not_take_is_sent_once_more_by_the_runtime_and_is_the_same() {
    let mut api = RuntimeApi::start(&[health(), health()], &[500, 202, 202]).await;
    let _receiver = api.receiver(&api.address);
    let (ours, again, next) = (api.posted().await, api.posted().await, api.posted().await);
    assert!(is_ours(&ours) && !is_ours(&again) && is_ours(&next));
    let without_agent = |request: &Request| {
        let mut headers = request.headers.clone();
        headers.retain(|(name, _)| name != "user-agent");
        headers.sort();
        headers
    };
    assert_eq!(without_agent(&ours), without_agent(&again));
    assert_eq!((&ours.method, &ours.target, &ours.body), (&again.method, &again.target, &again.body));
    assert_eq!(next.target, "/2018-06-01/runtime/invocation/request-1/response");
}

#[tokio::test]
async fn an_event_that_is_no_request_is_reported_and_the_next_is_answered() {
    let mut api = RuntimeApi::start(&[json!("no request"), health()], &[202, 202]).await;
    let _receiver = api.receiver(&api.address);
    let report = api.posted().await;
    assert_eq!(report.target, "/2018-06-01/runtime/invocation/request-0/error");
    assert_eq!(report.header("lambda-runtime-invocation-id"), Some("invocation-0"));
    let diagnostic: Value = serde_json::from_slice(&report.body).unwrap();
    assert_eq!(diagnostic["errorType"], "NotARequest");
    assert_eq!(api.posted().await.target, "/2018-06-01/runtime/invocation/request-1/response");
}

#[tokio::test]
async fn the_runtime_api_s_address_may_be_a_url_with_a_path() {
    let mut api = RuntimeApi::start(&[health()], &[202]).await;
    let _receiver = api.receiver(&format!("http://{}/.rt/receiver", api.address));
    let answer = api.posted().await;
    assert!(is_ours(&answer));
    assert_eq!(answer.target, "/.rt/receiver/2018-06-01/runtime/invocation/request-0/response");
}
