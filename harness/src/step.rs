//! Programs that are run to their end, such as a build. They, too, end with us.

use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, ExitStatus, Output, Stdio};

use anyhow::Context;

use crate::watchdog::in_shell;

const SCRIPT: &str = include_str!("step.sh");

/// Runs `command` with our output and no input. Its process group is its own: killing us, or a Ctrl-C, ends all of it.
pub fn run_to_end(command: &Command) -> anyhow::Result<ExitStatus> {
    let (mut step, _owner) = start(command, Stdio::inherit)?;
    step.wait().with_context(|| format!("wait for {}", command.get_program().display()))
}

/// As [`run_to_end`], and gives what it wrote.
pub fn run_for_output(command: &Command) -> anyhow::Result<Output> {
    let (step, _owner) = start(command, Stdio::piped)?;
    step.wait_with_output().with_context(|| format!("wait for {}", command.get_program().display()))
}

/// The step, and the end of its pipe that must not be dropped before the step's own end: waiting for a child closes what it has.
fn start(command: &Command, output: fn() -> Stdio) -> anyhow::Result<(Child, Option<ChildStdin>)> {
    let mut shell = in_shell(SCRIPT, &[], command);
    shell.process_group(0).stdin(Stdio::piped()).stdout(output()).stderr(output());
    let mut step = shell.spawn().with_context(|| format!("start {}", command.get_program().display()))?;
    let owner = step.stdin.take();
    Ok((step, owner))
}
