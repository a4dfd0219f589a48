//! A handler that panics, and what is finished after an answer, as Lambda sees them. This program is both, the test and, started by it, the
//! function, because `lambda_runtime` takes its settings from a process's environment only.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::PathBuf;
use std::time::Duration;

use hookledger_harness::lambda::{Function, FunctionOptions, InvokeError};
use hookledger_runtime::{Env, serve_and_finish};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::sleep;

const LOOK_EVERY: Duration = Duration::from_millis(5);

#[tokio::main(flavor = "local")]
async fn main() {
    let env = Env::process();
    if env.optional("AWS_LAMBDA_RUNTIME_API").unwrap().is_some() {
        serve_and_finish(&env, does_as_it_is_told).await.unwrap();
    } else {
        a_panic_is_reported_and_the_next_event_is_answered().await;
        an_answer_does_not_wait_for_what_is_unfinished_and_the_next_event_does().await;
        a_panic_after_the_answer_changes_nothing().await;
    }
}

/// To finish an event that names a file is to wait for it.
async fn does_as_it_is_told(event: &[u8]) -> Result<(&'static str, Option<impl Future<Output = ()> + use<>>), String> {
    let event: Value = serde_json::from_slice(event).unwrap();
    assert_ne!(event, "panic", "as asked");
    let file = event["file"].as_str().map(PathBuf::from);
    let to_finish = async move {
        assert_ne!(event, "panic later", "as asked");
        while file.as_ref().is_some_and(|file| !file.exists()) {
            sleep(LOOK_EVERY).await;
        }
    };
    Ok(("answered", Some(to_finish)))
}

struct Ground {
    // Dropped in this order.
    function: Function,
    folder: TempDir,
}

fn ground() -> Ground {
    let folder = tempfile::tempdir().unwrap();
    let function = Function::new(FunctionOptions {
        name: "doll".into(),
        program: std::env::current_exe().unwrap(),
        variables: Vec::new(),
        environments: 1,
        timeout: Duration::from_secs(60),
        memory_mb: 128,
        logs: folder.path().join("logs"),
    });
    Ground { function: function.unwrap(), folder }
}

impl Ground {
    async fn answers(&self, event: &Value) {
        assert_eq!(self.function.invoke(event.to_string()).await.unwrap().payload, r#""answered""#);
    }

    async fn rests(&self) {
        self.function.at_rest(Duration::from_secs(60)).await.unwrap();
    }
}

async fn a_panic_is_reported_and_the_next_event_is_answered() {
    let ground = ground();
    ground.answers(&json!("first")).await;
    let Err(InvokeError::FunctionError(report)) = ground.function.invoke(r#""panic""#).await else { panic!("no error") };
    let report: Value = serde_json::from_str(&report).unwrap();
    assert!(report["errorMessage"].as_str().unwrap().contains("as asked"), "{report}");
    ground.answers(&json!("next")).await;
    assert_eq!(ground.function.started(), 1);
}

/// If the answer waited, it would not come: the file is made after it.
async fn an_answer_does_not_wait_for_what_is_unfinished_and_the_next_event_does() {
    let ground = ground();
    for name in ["of an event that the runtime fetched", "of another"] {
        let file = ground.folder.path().join(name);
        ground.answers(&json!({ "file": file })).await;
        for _ in 0..20 {
            sleep(LOOK_EVERY).await;
            assert_eq!(ground.function.busy(), 1, "the next event is asked for before all is done");
        }
        std::fs::write(file, "").unwrap();
        ground.rests().await;
    }
    assert_eq!(ground.function.started(), 1);
}

async fn a_panic_after_the_answer_changes_nothing() {
    let ground = ground();
    for event in ["panic later", "next"] {
        ground.answers(&json!(event)).await;
        ground.rests().await;
    }
    assert_eq!(ground.function.started(), 1);
    assert!(ground.function.output().contains("as asked"));
}
