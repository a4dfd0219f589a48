//! What can be typed.

use clap::{Args, Parser, Subcommand};

use crate::backfill::BackfillCommand;
use crate::completions::Completions;
use crate::doctor::Doctor;
use crate::events::EventsCommand;
use crate::object::ObjectCommand;
use crate::providers::Providers;
use crate::prune::Prune;
use crate::replay::ReplayCommand;
use crate::sign::Sign;
use crate::verify::Verify;

/// See, retry and replay webhook events.
///
/// Reaches the ledger either directly, by DATABASE_URL, or through a deployment's operator function in its private network
/// (--stack), for which IAM's permission to invoke that function is all you need.
#[derive(Debug, Parser)]
#[command(name = "hookledger", version, max_term_width = 100, propagate_version = true)]
#[command(after_help = "Exit codes: 0 done, 1 failed or declined, 2 not understood, 3 not found, 4 done in part.")]
pub struct Arguments {
    #[command(flatten)]
    pub(crate) options: Options,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command takes.
#[derive(Debug, Clone, Args)]
pub(crate) struct Options {
    /// The database, postgres://user@host/name; better set as DATABASE_URL, because other users of a machine see arguments
    #[arg(long, global = true, value_name = "URL", hide_default_value = true, help_heading = "Reach")]
    pub(crate) database_url: Option<String>,
    /// A deployment's stack: its operator function runs the command
    #[arg(long, global = true, value_name = "NAME", conflicts_with_all = ["database_url", "function"], help_heading = "Reach")]
    pub(crate) stack: Option<String>,
    /// The operator function itself, by name or ARN
    #[arg(long, global = true, value_name = "ARN", conflicts_with = "database_url", help_heading = "Reach")]
    pub(crate) function: Option<String>,
    /// Answer in JSON: one object, or one to a line where there are many
    #[arg(long, global = true, help_heading = "Output")]
    pub(crate) json: bool,
    /// Go ahead without asking
    #[arg(long, short, global = true, help_heading = "Output")]
    pub(crate) yes: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// See and retry events
    #[command(subcommand)]
    Events(EventsCommand),
    /// See what happened to one object
    #[command(subcommand)]
    Object(ObjectCommand),
    /// Fetch what was missed, or process again what is stored
    #[command(subcommand)]
    Replay(ReplayCommand),
    Prune(Prune),
    /// Apply the migrations that the database does not have yet
    ///
    /// Safe to run at any time and from several places at once. Needs the database itself, not a pooler in transaction mode.
    Migrate,
    #[command(subcommand)]
    BackfillVersions(BackfillCommand),
    Doctor(Doctor),
    Sign(Sign),
    Verify(Verify),
    Providers(Providers),
    Completions(Completions),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn no_two_arguments_of_a_command_have_one_name() {
        Arguments::command().debug_assert();
    }
}
