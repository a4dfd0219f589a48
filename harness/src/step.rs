//! Programs that are run to their end, such as a build. They, too, end with us.

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};

use anyhow::Context;

use crate::watchdog::in_shell;

const SCRIPT: &str = include_str!("step.sh");

/// Runs `command` with our output and no input. Its process group is its own: killing us, or a Ctrl-C, ends all of it.
pub fn run_to_end(command: &Command) -> anyhow::Result<ExitStatus> {
    let program = command.get_program().display().to_string();
    let mut shell = in_shell(SCRIPT, &[], command);
    let mut step = shell.process_group(0).stdin(Stdio::piped()).spawn().with_context(|| format!("start {program}"))?;
    // `wait` would close this end, and so kill the step.
    let owner = step.stdin.take();
    let status = step.wait().with_context(|| format!("wait for {program}"));
    drop(owner);
    status
}
