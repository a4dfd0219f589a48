//! `hookledger completions SHELL`.

use anyhow::Result;
use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::arguments::Arguments;
use crate::ended::Ended;
use crate::session::Session;

/// Print a completion script for your shell
///
/// For bash: `hookledger completions bash > /etc/bash_completion.d/hookledger`.
#[derive(Debug, Args)]
pub(crate) struct Completions {
    shell: Shell,
}

pub(crate) fn run(arguments: &Completions, session: &mut Session) -> Result<Ended> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "hookledger", &mut script);
    session.terminal.raw(&script)?;
    Ok(Ended::Done)
}
