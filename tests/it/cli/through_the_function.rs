//! The same commands by way of the operator function: the built function under a Runtime API, behind Lambda's own API.

use std::sync::Arc;
use std::time::Duration;

use hookledger_harness::built;
use hookledger_harness::http::{Answer, Request, serve};
use hookledger_harness::lambda::{Function, FunctionOptions, InvokeError};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::scene::Cli;
use crate::ground::Ground;

const PATH: &str = "/2015-03-31/functions/hooks-operator%3Alive/invocations";

/// Lambda's Invoke, for one function.
async fn invoke(function: Arc<Function>, request: Request) -> Option<Answer> {
    let signed = request.header("authorization").is_some_and(|value| value.contains("/eu-west-1/lambda/aws4_request"));
    if !signed || request.target != PATH || request.method != "POST" {
        return Some(Answer::new(403, r#"{"message":"no such function for you"}"#));
    }
    Some(match function.invoke(request.body).await {
        Ok(response) => Answer::new(200, response.payload),
        Err(InvokeError::FunctionError(text)) => Answer::new(200, text).header("x-amz-function-error", "Unhandled"),
        Err(InvokeError::Crashed | InvokeError::TimedOut) => Answer::new(500, "{}"),
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stack_s_operator_function_runs_the_same_commands() {
    let mut ground = Ground::new("cli_function").await;
    ground.dead_letter("evt_1", "boom").await;
    let logs = tempfile::tempdir().unwrap();
    let function = Function::new(FunctionOptions {
        name: "operator".into(),
        program: built("operator").unwrap(),
        variables: vec![("DATABASE_URL".into(), ground.url.clone()), ("DATABASE_TLS".into(), "disable".into())],
        environments: 1,
        timeout: Duration::from_secs(60),
        memory_mb: 128,
        logs: logs.path().to_owned(),
    });
    let function = Arc::new(function.unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let mut server = JoinSet::new();
    let behind = function.clone();
    server.spawn(serve(listener, move |request| invoke(behind.clone(), request)));

    let cli = Cli::with(&[
        ("AWS_ENDPOINT_URL_LAMBDA", &endpoint),
        ("AWS_REGION", "eu-west-1"),
        ("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"),
        ("AWS_SECRET_ACCESS_KEY", "example"),
    ]);
    let here = Cli::on(&ground);
    for question in ["events list --json", "events show evt_1 --json", "events stats --json"] {
        let there = cli.run(&format!("--stack hooks {question}")).await.ok();
        assert_eq!(there.out, here.run(question).await.ok().out, "{question}");
    }
    let done = cli.run("--stack hooks events retry evt_1 --yes").await.ok();
    assert!(done.out.contains("1 event re-armed"), "{done:?}");
    ground.check_read("SELECT detail FROM webhook_audit", r#"("asked for by alice (was dead_letter)")"#).await;
    assert!(!function.output().contains("evt_1"), "the record repeats what was asked: {}", function.output());

    let other = cli.run("--stack other events list").await;
    assert_eq!(other.code, 1);
    assert!(other.err.contains("no such function for you"), "{other:?}");
    assert_eq!(cli.run("--stack hooks migrate").await.code, 2);
    let nobody = Cli::with(&[("AWS_ENDPOINT_URL_LAMBDA", &endpoint), ("AWS_REGION", "eu-west-1"), ("HOME", "/nowhere")]);
    assert!(nobody.run("--stack hooks events list").await.err.contains("AWS_PROFILE"));
}
