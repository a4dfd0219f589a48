//! Where a command runs: here, with the database at hand, or in a deployment's operator function. Both run the same code.
//!
//! Invariant: once the ledger has answered, a connection that breaks ends no command. Every question can be asked twice, so it
//! is asked again, until the database is back or patience has run out.

pub(crate) mod function;

use std::time::Duration;

use anyhow::Result;
use hookledger_commands::{Command, CommandError, Place};
use hookledger_ledger::LedgerError;
use hookledger_runtime::error_chain;
use tokio::time::sleep;

use self::function::Function;

/// Waits between two tries: about a minute in all, which a failover takes.
const WAITS_S: [u64; 6] = [1, 2, 4, 8, 16, 30];

pub(crate) enum Reach {
    Here(Here),
    Function(Box<Function>),
}

pub(crate) struct Here {
    place: Box<Place>,
    /// Before it has, an error is rather a wrong setting than a cut.
    has_answered: bool,
}

impl Reach {
    pub(crate) fn here(place: Place) -> Self {
        Self::Here(Here { place: Box::new(place), has_answered: false })
    }

    pub(crate) async fn ask<C: Command + Clone>(&mut self, command: C) -> Result<C::Answer> {
        match self {
            Self::Here(here) => here.ask(command).await,
            Self::Function(function) => function.ask(command).await,
        }
    }

    /// Whether events that are asked for again are sent at once, as far as it is known here.
    pub(crate) fn sends(&self) -> bool {
        match self {
            Self::Here(here) => here.place.queue.is_some(),
            Self::Function(_) => true,
        }
    }
}

impl Here {
    async fn ask<C: Command + Clone>(&mut self, command: C) -> Result<C::Answer> {
        let mut waits = WAITS_S.into_iter().filter(|_| self.has_answered);
        loop {
            let error = match command.clone().run(&mut self.place).await {
                Ok(answer) => {
                    self.has_answered = true;
                    return Ok(answer);
                }
                Err(error) => error,
            };
            match waits.next() {
                Some(wait) if is_a_cut(&error) => {
                    eprintln!("{}; trying again in {wait} s", error_chain(&error));
                    sleep(Duration::from_secs(wait)).await;
                }
                Some(_) | None => return Err(told(error)),
            }
        }
    }
}

fn told(error: CommandError) -> anyhow::Error {
    let took_too_long = matches!(error, CommandError::Ledger(LedgerError::NoAnswer { .. }));
    let error = anyhow::Error::from(error);
    if took_too_long { error.context("ask for less, with --since or a narrower one") } else { error }
}

fn is_a_cut(error: &CommandError) -> bool {
    matches!(error, CommandError::Ledger(error) if error.is_a_cut())
}
