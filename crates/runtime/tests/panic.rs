//! A handler that panics: Lambda is told, and the environment goes on with the next event. This program is both, the test and, started by
//! it, the function, because `lambda_runtime` takes its settings from a process's environment only.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::Duration;

use hookledger_harness::lambda::{Function, FunctionOptions, InvokeError};
use hookledger_runtime::{Env, serve};
use serde_json::Value;

#[tokio::main(flavor = "local")]
async fn main() {
    let env = Env::process();
    if env.optional("AWS_LAMBDA_RUNTIME_API").unwrap().is_some() {
        let handler = async |event: &[u8]| if event == b"1" { panic!("as asked") } else { Ok::<_, String>("answered") };
        serve(&env, handler).await.unwrap();
    } else {
        a_panic_is_reported_and_the_next_event_is_answered().await;
    }
}

async fn a_panic_is_reported_and_the_next_event_is_answered() {
    let logs = tempfile::tempdir().unwrap();
    let function = Function::new(FunctionOptions {
        name: "panics".into(),
        program: std::env::current_exe().unwrap(),
        variables: Vec::new(),
        environments: 1,
        timeout: Duration::from_secs(60),
        memory_mb: 128,
        logs: logs.path().to_owned(),
    })
    .unwrap();
    for event in ["0", "1", "2"] {
        let answer = function.invoke(event).await;
        if event == "1" {
            let Err(InvokeError::FunctionError(report)) = answer else { panic!("it did not fail: {answer:?}") };
            let report: Value = serde_json::from_str(&report).unwrap();
            assert_eq!(report["errorMessage"], "Lambda panicked: as asked");
        } else {
            assert_eq!(answer.unwrap().payload, r#""answered""#);
        }
    }
    assert_eq!(function.started(), 1);
}
