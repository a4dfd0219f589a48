//! The operator: runs next to the database what a deployment needs there, as a custom resource of its stack.
//!
//! Invariant: CloudFormation gets one answer to each request, whatever fails; without one it would wait until its own limit.

mod answer;
mod migrations;
mod request;

use std::io::stdout;

use anyhow::Result;
use hookledger_runtime::{Record, error_chain};

pub use request::{Kind, Request};

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
