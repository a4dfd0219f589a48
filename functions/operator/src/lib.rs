//! The operator: runs next to the database what a deployment needs there, as a custom resource of its stack, and what an
//! operator asks by `hookledger --stack`. Whoever may invoke this function, as IAM says, may ask.
//!
//! Invariant: CloudFormation gets one answer to each request, whatever fails; without one it would wait until its own limit.

mod answer;
mod command;
mod migrations;
mod request;

use std::io::stdout;

use anyhow::Result;
use hookledger_runtime::{Record, error_chain};
use serde::Deserialize;
use serde_json::Value;

pub use command::Asked;
pub use request::{Kind, Request};

/// What this function is invoked with.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum Invocation {
    Command(Asked),
    Resource(Request),
}

/// The answer to a command; CloudFormation gets its own by another way.
pub async fn invoked(invocation: Invocation) -> Result<Value> {
    match invocation {
        // Boxed: as one, the two are deeper than the compiler follows.
        Invocation::Command(asked) => Box::pin(command::run(asked)).await,
        Invocation::Resource(request) => Box::pin(operate(request)).await.map(|()| Value::Null),
    }
}

/// Does what is asked and tells CloudFormation. An error means that it could not be told: Lambda then asks again, which does
/// no harm.
pub async fn operate(request: Request) -> Result<()> {
    let mut record = Record::new("operator");
    record.field("request", request.kind.as_str());
    let done = match request.kind {
        Kind::Create | Kind::Update => migrations::apply().await,
        // The data outlives the stack.
        Kind::Delete => Ok(Vec::new()),
    };
    match &done {
        Ok(applied) => record.field("migrations.applied", applied.join(" ")),
        Err(error) => record.field("error", error_chain(error.as_ref())),
    };
    record.emit(&mut stdout().lock());
    answer::send(&request, done).await
}
