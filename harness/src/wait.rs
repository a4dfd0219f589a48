//! Waiting for a state: a condition is polled up to a bound, never slept for.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

const POLL_EVERY: Duration = Duration::from_millis(20);

/// Polls `condition` until it holds. The error names `what` was waited for and for how long.
pub fn until(what: &str, bound: Duration, mut condition: impl FnMut() -> anyhow::Result<bool>) -> anyhow::Result<()> {
    let start = Instant::now();
    while !condition()? {
        if start.elapsed() > bound {
            bail!("gave up waiting for {what} after {} s", bound.as_secs());
        }
        thread::sleep(POLL_EVERY);
    }
    Ok(())
}

/// Runs a future to its end from blocking code, on a thread of its own, so that the caller may itself be inside a runtime.
pub fn block_on<T: Send>(future: impl Future<Output = anyhow::Result<T>> + Send) -> anyhow::Result<T> {
    thread::scope(|scope| {
        let work = scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("start a runtime")?;
            runtime.block_on(future)
        });
        work.join().unwrap_or_else(|_| bail!("a helper thread panicked"))
    })
}
