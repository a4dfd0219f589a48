//! How a command ends. Invariant: each way has an exit code of its own, and an error is one sentence on standard error.

use std::io;
use std::process::ExitCode;

use hookledger_runtime::error_chain;

/// The ends that are no error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    Done,
    /// What was asked for is not there.
    NotFound,
    /// Some of it could not be done.
    InPart,
    /// The answer was no.
    Declined,
}

/// What was typed cannot be done as it is.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct BadInput(pub(crate) String);

pub(crate) fn exit_code(ended: anyhow::Result<Ended>) -> ExitCode {
    match ended {
        Ok(Ended::Done) => ExitCode::SUCCESS,
        Ok(Ended::NotFound) => ExitCode::from(3),
        Ok(Ended::InPart) => ExitCode::from(4),
        Ok(Ended::Declined) => ExitCode::from(1),
        // Whoever read the output has seen enough, as `head` has.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hookledger: {}", error_chain(error.as_ref()));
            if error.is::<BadInput>() { ExitCode::from(2) } else { ExitCode::FAILURE }
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
