//! Measurements, run by `cargo xtask bench`, which builds this and what it measures in release.
//!
//! Invariant: what is compared is measured in one run, by turns, so that a machine that is busy with something else is so for
//! both; what is printed is a median with its spread.

mod cpu;
mod database;
mod deliveries;
mod events;
mod growth;
mod instructions;
mod load;
mod receiver;
mod report;
mod spread;
mod sqs;
mod stage;
mod wire;
mod worker;

use std::process::ExitCode;

use clap::Parser;
use report::Report;

/// How fast hookledger is, side by side with what it is compared to.
#[derive(Parser)]
#[command(name = "cargo xtask bench", bin_name = "cargo xtask bench", args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    what: Option<What>,
    /// Count the instructions of warm requests, and say what changed since bench/baseline.json (three minutes)
    #[arg(long, conflicts_with = "baseline")]
    check: bool,
    /// Count the instructions of warm requests into bench/baseline.json
    #[arg(long)]
    baseline: bool,
    /// Print the result for a program
    #[arg(long, global = true)]
    json: bool,
}

#[derive(clap::Subcommand)]
enum What {
    /// Whether the ledger gets slower with its history: ten million rows against ten thousand
    Growth(growth::Options),
    /// What the receiver costs, beside a function that does nothing, a Python Lambda, and the database alone
    Receiver(receiver::Options),
    /// What the worker costs, beside one event after the other, a Python Lambda, and the database alone
    Worker(worker::Options),
    /// All of them with their defaults
    All,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\nerror: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    if arguments.check {
        return runtime.block_on(instructions::check());
    }
    if arguments.baseline {
        return runtime.block_on(instructions::keep());
    }
    let reports = runtime.block_on(async {
        Ok::<_, anyhow::Error>(match arguments.what.as_ref().unwrap_or(&What::All) {
            What::Growth(options) => vec![growth::run(options).await?],
            What::Receiver(options) => vec![receiver::run(options).await?],
            What::Worker(options) => vec![worker::run(options).await?],
            What::All => vec![
                receiver::run(&receiver::Options::default()).await?,
                worker::run(&worker::Options::default()).await?,
                growth::run(&growth::Options::default()).await?,
            ],
        })
    })?;
    if arguments.json {
        println!(
            "{:#}",
            reports.iter().map(|report| (report.name.to_owned(), report.json())).collect::<serde_json::Value>()
        );
    } else {
        reports.iter().for_each(|report| println!("{report}"));
    }
    reports.iter().try_for_each(Report::verdict)
}
