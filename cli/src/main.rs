//! `hookledger`, the operator's command.

use std::process::ExitCode;

use clap::Parser;
use hookledger_cli::{Arguments, run};
use hookledger_runtime::Env;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    run(Arguments::parse(), Env::process()).await
}
