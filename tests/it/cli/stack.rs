//! A stack's operator function: the built function under a Runtime API, behind Lambda's own API.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hookledger_harness::http::{Answer, Request, serve};
use hookledger_harness::lambda::{Function, FunctionOptions, InvokeError};
use hookledger_harness::{Emulator, built};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::scene::Cli;

const PATH: &str = "/2015-03-31/functions/hooks-operator%3Alive/invocations";

/// `--stack hooks`.
pub(crate) struct Stack {
    pub(crate) function: Arc<Function>,
    pub(crate) endpoint: String,
    /// So many of the next answers are lost on their way back.
    pub(crate) losses: Arc<AtomicUsize>,
    _server: JoinSet<()>,
    _logs: tempfile::TempDir,
}

impl Stack {
    pub(crate) async fn start(database_url: &str) -> Self {
        let logs = tempfile::tempdir().unwrap();
        let function = Function::new(FunctionOptions {
            name: "operator".into(),
            program: built("operator").unwrap(),
            variables: vec![("DATABASE_URL".into(), database_url.to_owned()), ("DATABASE_TLS".into(), "disable".into())],
            environments: 1,
            timeout: Duration::from_secs(60),
            memory_mb: 128,
            logs: logs.path().to_owned(),
        });
        let function = Arc::new(function.unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let mut server = JoinSet::new();
        let losses = Arc::new(AtomicUsize::new(0));
        let behind = (function.clone(), losses.clone());
        server.spawn(serve(listener, move |request| answer(behind.clone(), request)));
        Self { function, endpoint, losses, _server: server, _logs: logs }
    }

    /// Somebody who may invoke it, and has no database.
    pub(crate) fn cli(&self) -> Cli {
        let nowhere = Cli::with(&[("AWS_ENDPOINT_URL_LAMBDA", &self.endpoint)]);
        Emulator::CREDENTIALS.iter().fold(nowhere, |cli, (name, value)| cli.and(name, *value))
    }
}

async fn answer((function, losses): (Arc<Function>, Arc<AtomicUsize>), request: Request) -> Option<Answer> {
    let answer = invoke(&function, request).await;
    let is_lost = losses.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
    (!is_lost).then_some(answer)
}

/// Lambda's Invoke, for one function.
async fn invoke(function: &Function, request: Request) -> Answer {
    let signed = request.header("authorization").is_some_and(|value| value.contains("/us-east-1/lambda/aws4_request"));
    if !signed || request.target != PATH || request.method != "POST" {
        return Answer::new(403, r#"{"message":"no such function for you"}"#);
    }
    match function.invoke(request.body).await {
        Ok(response) => Answer::new(200, response.payload),
        Err(InvokeError::FunctionError(text)) => Answer::new(200, text).header("x-amz-function-error", "Unhandled"),
        Err(InvokeError::Crashed | InvokeError::TimedOut) => Answer::new(500, "{}"),
    }
}
