//! The steps of a command as they happen, on standard error: what is being done, and how long it took.

use std::io::{Write, stderr};
use std::time::{Duration, Instant};

use crate::{interrupt, paint};

const WIDTH: usize = 46;

/// Does one step and tells about it. One that prints lines of its own is a [`loud_step`].
pub(crate) fn step<T>(title: &str, work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    let paint = paint::stderr();
    if paint.terminal {
        // Written over when it is done.
        eprint!("  {} {title} …", paint.dim("·"));
        let _shown_later = stderr().flush();
    }
    let start = Instant::now();
    let done = work();
    clear_line();
    tell(title, start, done.is_ok());
    done
}

/// As [`step`], for work whose own output is worth seeing.
pub(crate) fn loud_step<T>(title: &str, work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    eprintln!("  {} {title} …", paint::stderr().dim("·"));
    let start = Instant::now();
    let done = work();
    tell(title, start, done.is_ok());
    done
}

/// A line within a step or between steps.
pub(crate) fn note(text: &str) {
    clear_line();
    eprintln!("  {}", paint::stderr().dim(text));
}

/// A duration as people read it: `0.04 s`, `12.3 s`, `3 min 05 s`.
pub(crate) fn seconds(duration: Duration) -> String {
    let s = duration.as_secs_f64();
    if s < 9.995 {
        format!("{s:.2} s")
    } else if s < 59.95 {
        format!("{s:.1} s")
    } else {
        format!("{} min {:02} s", s as u64 / 60, s as u64 % 60)
    }
}

/// Takes away the announcement of a step that goes on.
fn clear_line() {
    if paint::stderr().terminal {
        eprint!("\r\x1b[K");
    }
}

/// That a step has ended.
pub(crate) fn tell(title: &str, start: Instant, succeeded: bool) {
    interrupt::wait_if_stopping();
    let paint = paint::stderr();
    let mark = if succeeded { paint.green("✓") } else { paint.red("✗") };
    let dots = ".".repeat(WIDTH.saturating_sub(title.chars().count()).max(3));
    eprintln!("  {mark} {title} {} {:>7}", paint.dim(&dots), seconds(start.elapsed()));
}
