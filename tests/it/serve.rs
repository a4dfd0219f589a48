//! What a function says to Lambda: the receiver's program, against a Runtime API that does as it is told.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hookledger_harness::http::{Answer, Request, serve};
use hookledger_harness::{Emulator, built, free_port};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::process::{Child, Command};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Gives out `events` in turn, and lets the function wait when there are no more, as Lambda does.
struct RuntimeApi {
    address: String,
    asked: mpsc::UnboundedReceiver<Request>,
    _server: JoinSet<()>,
}

impl RuntimeApi {
    async fn start(events: Vec<Value>) -> Self {
        Self::refusing(events, &[], true).await
    }

    /// Does not take the requests of these numbers, and says so or nothing at all.
    async fn refusing(events: Vec<Value>, refused: &'static [usize], says_so: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (told, asked) = mpsc::unbounded_channel();
        let state = Arc::new(Mutex::new((0.., events.into_iter().enumerate())));
        let mut server = JoinSet::new();
        server.spawn(serve(listener, move |request| {
            let (told, state) = (told.clone(), state.clone());
            async move {
                let is_question = request.method == "GET";
                told.send(request).unwrap();
                let next = {
                    let (numbers, events) = &mut *state.lock().unwrap();
                    if refused.contains(&numbers.next().unwrap()) {
                        return says_so.then(|| Answer::new(503, "{}"));
                    }
                    if !is_question {
                        return Some(Answer::new(202, "{}"));
                    }
                    events.next()
                };
                let Some((number, event)) = next else { return std::future::pending().await };
                let answer = Answer::new(200, event.to_string()).header("lambda-runtime-deadline-ms", "4102444800000");
                let answer = answer.header("lambda-runtime-aws-request-id", format!("request-{number}"));
                Some(answer.header("Lambda-Runtime-Invocation-Id", format!("invocation-{number}")))
            }
        }));
        Self { address, asked, _server: server }
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

    /// The next request, which has to be this one of that event, and whether the function's own code sent it.
    async fn asked(&mut self, what: &str, event: Option<usize>) -> (Request, bool) {
        let request = timeout(Duration::from_secs(60), self.asked.recv()).await.unwrap().unwrap();
        let path = event.map_or_else(|| what.to_owned(), |event| format!("request-{event}/{what}"));
        assert_eq!(request.target, format!("/2018-06-01/runtime/invocation/{path}"));
        let id = event.map(|event| format!("invocation-{event}"));
        assert_eq!(request.header("lambda-runtime-invocation-id"), id.as_deref());
        let is_own = request.header("user-agent").unwrap().starts_with("hookledger/");
        (request, is_own)
    }
}

fn without_agent(request: &Request) -> Vec<(String, String)> {
    let mut headers = request.headers.clone();
    headers.retain(|(name, _)| name != "user-agent");
    headers.sort();
    headers
}

fn health() -> Value {
    let context = json!({ "http": { "method": "GET", "path": "/health" } });
    json!({ "version": "2.0", "rawPath": "/health", "rawQueryString": "", "headers": {}, "requestContext": context })
}

#[tokio::test]
async fn the_runtime_fetches_the_first_event_and_the_function_itself_the_others() {
    let mut api = RuntimeApi::start(vec![health(), health(), health()]).await;
    let _receiver = api.receiver(&api.address);
    let mut questions = Vec::new();
    for number in 0..3 {
        let (question, is_own) = api.asked("next", None).await;
        assert_eq!(is_own, number > 0);
        questions.push(without_agent(&question));
        let (answer, is_own) = api.asked("response", Some(number)).await;
        let body: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!((&body["body"], is_own), (&json!(r#"{"status":"ok"}"#), true));
    }
    assert_eq!(questions[0], questions[1]);
}

/// By which ours is held against the runtime's own: of an event that the runtime fetched, and of one that it did not. Also where Lambda may have
/// taken it, and its answer is lost.
#[tokio::test]
async fn an_answer_that_lambda_does_not_take_is_sent_once_more_by_the_runtime_and_is_the_same() {
    let cases: [(usize, &[usize], bool); 3] = [(0, &[1], true), (1, &[3], true), (1, &[3], false)];
    for (event, refused, says_so) in cases {
        let mut api = RuntimeApi::refusing(vec![health(), health()], refused, says_so).await;
        let _receiver = api.receiver(&api.address);
        for accepted in 0..event {
            api.asked("next", None).await;
            api.asked("response", Some(accepted)).await;
        }
        assert_eq!(api.asked("next", None).await.1, event > 0);
        let (ours, is_own) = api.asked("response", Some(event)).await;
        let (again, is_own_again) = api.asked("response", Some(event)).await;
        assert!(is_own && !is_own_again);
        assert_eq!(without_agent(&ours), without_agent(&again));
        assert_eq!((&ours.method, &ours.body), (&again.method, &again.body));
    }
}

#[tokio::test]
async fn an_event_that_is_no_request_is_reported_and_the_next_is_answered() {
    let mut api = RuntimeApi::start(vec![json!("no request"), health(), json!("nor this"), health()]).await;
    let _receiver = api.receiver(&api.address);
    for (bad, fetched_here) in [(0, false), (2, true)] {
        assert_eq!(api.asked("next", None).await.1, fetched_here);
        let (report, is_own) = api.asked("error", Some(bad)).await;
        let diagnostic: Value = serde_json::from_slice(&report.body).unwrap();
        assert_eq!((&diagnostic["errorType"], is_own), (&json!("NotARequest"), false));
        assert!(!api.asked("next", None).await.1);
        assert!(api.asked("response", Some(bad + 1)).await.1);
    }
}

#[tokio::test]
async fn where_no_event_is_given_the_runtime_asks_again() {
    for says_so in [true, false] {
        let mut api = RuntimeApi::refusing(vec![health(), health()], &[2], says_so).await;
        let _receiver = api.receiver(&api.address);
        assert!(!api.asked("next", None).await.1);
        assert!(api.asked("response", Some(0)).await.1);
        assert!(api.asked("next", None).await.1);
        assert!(!api.asked("next", None).await.1);
        assert!(api.asked("response", Some(1)).await.1);
    }
}

#[tokio::test]
async fn the_runtime_api_s_address_may_be_a_url_with_a_path() {
    let mut api = RuntimeApi::start(vec![health(), health()]).await;
    let _receiver = api.receiver(&format!("http://{}/.rt/receiver", api.address));
    for target in ["next", "request-0/response", "next", "request-1/response"] {
        let request = timeout(Duration::from_secs(60), api.asked.recv()).await.unwrap().unwrap();
        assert_eq!(request.target, format!("/.rt/receiver/2018-06-01/runtime/invocation/{target}"));
    }
}
