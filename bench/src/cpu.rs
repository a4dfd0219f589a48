//! What a process costs, whatever else the machine is doing meanwhile.

use std::fs;
use std::time::Duration;

use anyhow::Context;

/// Processor time of a process, all its threads that live, to the nanosecond.
pub(crate) fn time(pid: u32) -> anyhow::Result<Duration> {
    let tasks = format!("/proc/{pid}/task");
    let mut sum = Duration::ZERO;
    for task in fs::read_dir(&tasks).with_context(|| format!("read {tasks}"))? {
        let file = task?.path().join("schedstat");
        // A thread may end between the look and the reading.
        let Ok(text) = fs::read_to_string(&file) else { continue };
        let nanos = text.split(' ').next().and_then(|first| first.parse().ok());
        sum += Duration::from_nanos(nanos.with_context(|| format!("{} has another form", file.display()))?);
    }
    Ok(sum)
}

pub(crate) fn time_of_all(pids: &[u32]) -> anyhow::Result<Duration> {
    pids.iter().map(|pid| time(*pid)).sum()
}

/// The most memory that a process ever had, in megabytes.
pub(crate) fn peak_memory_mb(pid: u32) -> anyhow::Result<f64> {
    let file = format!("/proc/{pid}/status");
    let text = fs::read_to_string(&file).with_context(|| format!("read {file}"))?;
    let kilobytes =
        text.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse::<f64>().ok());
    Ok(kilobytes.with_context(|| format!("{file} has no VmHWM"))? / 1024.0)
}
