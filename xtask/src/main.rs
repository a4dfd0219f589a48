//! The repository's own commands, as `cargo xtask …`. One file per command.
//!
//! Invariant: Ctrl-C, a kill and every failure stop what a command started.

mod bench;
mod chaos;
mod demo;
mod deploy_local;
mod dev;
mod fuzz;
mod interrupt;
mod paint;
mod progress;
mod stage;
mod test;

use std::process::ExitCode;

use clap::Parser;

/// The development commands of hookledger.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Command {
    /// Measure: whether the ledger slows with its history, what worker and receiver cost, side by side with what is run instead
    Bench(bench::Arguments),
    /// Send signed events while everything fails, then look whether any was lost, done twice or done in the wrong order
    Chaos(chaos::Arguments),
    /// Start everything, send a story of webhooks, show what became of each
    Demo(demo::Arguments),
    /// Start everything and keep it running, with hot reload and logs, until Ctrl-C
    Dev,
    /// Deploy the templates onto the AWS emulator, deliver, update, take down
    DeployLocal,
    /// Fuzz what reads deliveries: headers, every provider's definition, identity
    Fuzz(fuzz::Arguments),
    /// Every check: format, lints, docs, tests, and a short run of the fuzzers
    Test(test::Arguments),
}

fn main() -> ExitCode {
    let command = Command::parse();
    let done = interrupt::stop_everything_on_a_signal().and_then(|()| match command {
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Chaos(arguments) => chaos::run(&arguments),
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Dev => dev::run(),
        Command::DeployLocal => deploy_local::run(),
        Command::Fuzz(arguments) => fuzz::run(&arguments),
        Command::Test(arguments) => test::run(&arguments),
    });
    interrupt::wait_if_stopping();
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\n{} {error:#}", paint::stderr().red("error:"));
            ExitCode::FAILURE
        }
    }
}
