//! Measurements, run by `cargo xtask bench`, which builds this and what it measures in release.
//!
//! Invariant: what is compared is measured in one run, by turns, so that a machine that is busy with something else is so for
//! both; what is printed is a median with its spread.

mod chart;
mod contenders;
mod cost;
mod cpu;
mod database;
mod deliveries;
mod events;
mod growth;
mod instructions;
mod load;
mod machine;
mod publish;
mod receiver;
mod report;
mod sizes;
mod spread;
mod sqs;
mod stage;
mod storm;
mod wire;
mod worker;

use std::process::ExitCode;

use clap::Parser;
use contenders::Contender;
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
    /// Count the instructions of warm requests into bench/baseline.json and docs/performance.md (three minutes)
    #[arg(long)]
    baseline: bool,
    /// Small numbers in place of all sizes: shows that everything works, and little else
    #[arg(long, global = true)]
    quick: bool,
    /// Leave one out, which this machine cannot install for example; may be said several times
    #[arg(long, global = true, value_enum)]
    without: Vec<Contender>,
    /// Write tables and plots into docs/
    #[arg(long, global = true)]
    docs: bool,
    /// Print the result for a program
    #[arg(long, global = true)]
    json: bool,
}

#[derive(clap::Subcommand)]
enum What {
    /// Whether the ledger gets slower with its history: ten million rows against ten thousand (15 minutes, and 26 GB of
    /// disk)
    Growth(growth::Options),
    /// What the receiver costs, beside a function that does nothing, its exchanges alone, Python and Node.js Lambdas, and the database
    /// alone (10 minutes)
    Receiver(receiver::Options),
    /// What the worker costs, beside one event after the other, Python and Node.js Lambdas, and the database alone (2 minutes)
    Worker(worker::Options),
    /// Whether deliveries of one event, over and over, slow others (3 minutes)
    Storm(storm::Options),
    /// How large the functions' zips are, built for arm64 as for a deployment (15 minutes the first time)
    Sizes(sizes::Options),
    /// All of them with their defaults (half an hour; some minutes with --quick)
    All,
}

fn main() -> ExitCode {
    match run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\nerror: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> anyhow::Result<()> {
    // One thread, and everything a task on it: what wakes another thread takes its time from those who are measured.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(runtime.spawn(ask(arguments)))?
}

async fn ask(arguments: Arguments) -> anyhow::Result<()> {
    if arguments.check {
        return instructions::check().await;
    }
    if arguments.baseline {
        return publish::publish(&[instructions::keep().await?]);
    }
    let what = arguments.what.as_ref().unwrap_or(&What::All);
    let mut reports = measure(what, arguments.quick, &arguments.without).await?;
    reports.extend(cost::report(&reports));
    if arguments.json {
        println!(
            "{:#}",
            reports.iter().map(|report| (report.name.to_owned(), report.json())).collect::<serde_json::Value>()
        );
    } else {
        reports.iter().for_each(|report| println!("{report}"));
    }
    if arguments.docs {
        publish::publish(&reports)?;
    }
    reports.iter().try_for_each(Report::verdict)
}

impl What {
    /// On two cores, once everything is built.
    fn takes(&self) -> &'static str {
        match self {
            Self::Growth(_) => "growth: about 15 minutes, and 26 GB of disk",
            Self::Receiver(_) => "receiver: about 10 minutes",
            Self::Worker(_) => "worker: about 2 minutes",
            Self::Storm(_) => "storm: about 3 minutes",
            Self::Sizes(_) => "sizes: about 15 minutes the first time",
            Self::All => "all of them: about half an hour, and 26 GB of disk",
        }
    }
}

async fn measure(what: &What, quick: bool, without: &[Contender]) -> anyhow::Result<Vec<Report>> {
    if !quick {
        eprintln!("{}", what.takes());
    }
    Ok(match what {
        What::Growth(options) => vec![growth::run(if quick { &growth::Options::QUICK } else { options }).await?],
        What::Receiver(options) => {
            vec![receiver::run(if quick { &receiver::Options::QUICK } else { options }, without).await?]
        }
        What::Worker(options) => vec![worker::run(if quick { &worker::Options::QUICK } else { options }, without).await?],
        What::Sizes(options) => vec![sizes::run(options)?],
        What::Storm(options) => vec![storm::run(if quick { &storm::Options::QUICK } else { options }).await?],
        What::All => {
            let all = [
                What::Receiver(receiver::Options::USUAL),
                What::Worker(worker::Options::USUAL),
                What::Storm(storm::Options::USUAL),
                What::Growth(growth::Options::USUAL),
            ];
            let mut reports = Vec::new();
            for one in &all {
                reports.extend(Box::pin(measure(one, quick, without)).await?);
            }
            reports
        }
    })
}
