//! A command of ours while it runs. Invariant: it ends with its test, also when that panics.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

pub(crate) struct Running(pub(crate) Child);

impl Running {
    /// Its output and its errors are there to be read.
    pub(crate) fn start(command: &mut Command) -> Self {
        Self(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// As Ctrl-C does, and waits for its end.
    pub(crate) fn interrupt(&mut self) -> Option<i32> {
        kill_process(Pid::from_child(&self.0), Signal::INT).unwrap();
        self.0.wait().unwrap().code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _killed = self.0.kill();
        let _reaped = self.0.wait();
    }
}
