//! Ctrl-C and kill: what was started is stopped, then we exit.

use std::io::{Write, stderr};
use std::process::exit;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use anyhow::Context;
use tokio::signal::unix::{SignalKind, signal};

static STOPPING: AtomicBool = AtomicBool::new(false);

/// From now on SIGINT, SIGTERM and SIGHUP stop every service and end the process with 128 plus the signal's number.
pub(crate) fn stop_everything_on_a_signal() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("start a runtime")?;
    let entered = runtime.enter();
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    drop(entered);
    thread::spawn(move || {
        let number = runtime.block_on(async {
            tokio::select! {
                _ = interrupt.recv() => 2,
                _ = terminate.recv() => 15,
                _ = hangup.recv() => 1,
            }
        });
        STOPPING.store(true, Ordering::SeqCst);
        // With the terminal gone nobody hears it, which must not keep us from stopping.
        let _heard = writeln!(stderr(), "\nstopping …");
        hookledger_harness::stop_everything();
        exit(128 + number);
    });
    Ok(())
}

/// Never returns once everything is being stopped: what then fails on the way is no news, and `exit` comes soon.
pub(crate) fn wait_if_stopping() {
    while STOPPING.load(Ordering::SeqCst) {
        thread::park();
    }
}
