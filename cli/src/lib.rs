//! The operator's command as a library: what can be typed, where it runs, and how an answer looks.
//!
//! Invariants: nothing that changes data happens without a yes; secrets come from the environment or a prompt; what a provider
//! or a database wrote reaches a terminal without its control characters.

mod arguments;
mod aws;
mod backfill;
mod completions;
mod delivery;
mod doctor;
mod ended;
mod events;
mod filter;
mod json_text;
mod migrate;
mod object;
mod providers;
mod prune;
mod reach;
mod replay;
mod session;
mod sign;
mod table;
mod terminal;
mod verify;
mod when;

use std::process::ExitCode;

use hookledger_runtime::Env;

pub use arguments::Arguments;

use arguments::Command;
use session::Session;

/// Runs a command to its end and says how it ended: 0 done, 1 failed, 2 not understood, 3 not found, 4 done in part.
pub async fn run(arguments: Arguments, env: Env) -> ExitCode {
    let (options, command) = (arguments.options, arguments.command);
    let mut session = Session::new(options, env);
    let ended = match command {
        Command::Events(command) => events::run(command, &mut session).await,
        Command::Object(command) => object::run(command, &mut session).await,
        Command::Replay(command) => replay::run(command, &mut session).await,
        Command::Prune(arguments) => prune::run(&arguments, &mut session).await,
        Command::BackfillVersions(command) => backfill::run(command, &mut session).await,
        Command::Doctor(arguments) => doctor::run(arguments, &mut session).await,
        Command::Sign(arguments) => sign::run(arguments, &mut session).await,
        Command::Verify(arguments) => verify::run(&arguments, &mut session),
        Command::Providers(arguments) => providers::run(&arguments, &mut session),
        Command::Migrate => migrate::run(&mut session).await,
        Command::Completions(arguments) => completions::run(&arguments, &mut session),
    };
    ended::exit_code(ended)
}
