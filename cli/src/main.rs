//! `hookledger`, the operator's command.

mod migrate;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// Looks after a hookledger deployment's ledger.
#[derive(Parser)]
#[command(name = "hookledger", version, about, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Apply the migrations that the database does not have yet. Safe to run at any time and from several places at once.
    Migrate,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    match Arguments::parse().command {
        Command::Migrate => migrate::migrate().await,
    }
}
