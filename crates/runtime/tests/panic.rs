//! A handler that panics: Lambda is told, and the environment goes on with the next event. This program is both, the test and, started by
//! it, the function, because `lambda_runtime` takes its settings from a process's environment only.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hookledger_harness::http::{Answer, Request, serve as serve_http};
use hookledger_runtime::{Env, serve};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

const RUNTIME_API: &str = "AWS_LAMBDA_RUNTIME_API";

#[tokio::main(flavor = "local")]
async fn main() {
    let env = Env::process();
    if env.optional(RUNTIME_API).unwrap().is_some() {
        let handler = async |event: &[u8]| if event == b"1" { panic!("as asked") } else { Ok::<_, String>("answered") };
        serve(&env, handler).await.unwrap();
    } else {
        a_panic_is_reported_and_the_next_event_is_answered().await;
    }
}

async fn a_panic_is_reported_and_the_next_event_is_answered() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut function = Command::new(std::env::current_exe().unwrap());
    function.env(RUNTIME_API, listener.local_addr().unwrap().to_string()).env("AWS_LAMBDA_FUNCTION_NAME", "panics");
    function.env("AWS_LAMBDA_FUNCTION_VERSION", "1").env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "128");
    let _function = function.stderr(Stdio::null()).stdout(Stdio::null()).kill_on_drop(true).spawn().unwrap();

    let (told, mut posts) = mpsc::unbounded_channel();
    let mut server = JoinSet::new();
    server.spawn(serve_http(listener, move |request| answer(request, told.clone())));
    for (event, is_reported) in [(0, false), (1, true), (2, false)] {
        let post: Request = timeout(Duration::from_secs(60), posts.recv()).await.unwrap().unwrap();
        let what = if is_reported { "error" } else { "response" };
        assert_eq!(post.target, format!("/2018-06-01/runtime/invocation/request-{event}/{what}"));
        let body: Value = serde_json::from_slice(&post.body).unwrap();
        if is_reported {
            assert_eq!(body["errorMessage"], "Lambda panicked: as asked");
        } else {
            assert_eq!(body, "answered");
        }
    }
}

/// Gives out one number after the other, up to 2.
async fn answer(request: Request, told: mpsc::UnboundedSender<Request>) -> Option<Answer> {
    static EVENTS: AtomicUsize = AtomicUsize::new(0);
    if request.method == "POST" {
        told.send(request).unwrap();
        return Some(Answer::new(202, "{}"));
    }
    let event = EVENTS.fetch_add(1, Ordering::SeqCst);
    if event > 2 {
        return std::future::pending().await;
    }
    let answer = Answer::new(200, event.to_string()).header("lambda-runtime-aws-request-id", format!("request-{event}"));
    Some(answer.header("lambda-runtime-deadline-ms", "4102444800000"))
}
