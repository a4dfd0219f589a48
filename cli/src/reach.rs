//! Where a command runs: here, with the database at hand, or in a deployment's operator function. Both run the same code.

pub(crate) mod function;

use anyhow::Result;
use hookledger_commands::{Command, Place};

use self::function::Function;

pub(crate) enum Reach {
    Here(Box<Place>),
    Function(Function),
}

impl Reach {
    pub(crate) async fn ask<C: Command>(&mut self, command: C) -> Result<C::Answer> {
        match self {
            Self::Here(place) => Ok(command.run(place).await?),
            Self::Function(function) => function.ask(command).await,
        }
    }

    /// Whether events that are asked for again are sent at once, as far as it is known here.
    pub(crate) fn sends(&self) -> bool {
        match self {
            Self::Here(place) => place.queue.is_some(),
            Self::Function(_) => true,
        }
    }
}
