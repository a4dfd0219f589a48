//! What a process costs, whatever else the machine is doing meanwhile.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use anyhow::Context;
use tokio_postgres::Client;

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

/// What was spent so far by those who are not measured but have to be there: Postgres, and this program, which is sender,
/// Runtime API and queue in one.
pub(crate) struct Others {
    postgres: BTreeMap<u32, Duration>,
    harness: Duration,
}

/// Of one request's time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shares {
    pub(crate) postgres: Duration,
    pub(crate) harness: Duration,
}

impl Others {
    pub(crate) async fn look(sql: &Client) -> anyhow::Result<Self> {
        let processes = sql.query("SELECT pid FROM pg_stat_activity WHERE pid IS NOT NULL", &[]).await?;
        let pids = processes.iter().map(|row| row.get::<_, i32>(0).unsigned_abs());
        // One that ends meanwhile is vacuum's, or somebody's who has left.
        let postgres = pids.filter_map(|pid| Some((pid, time(pid).ok()?))).collect();
        Ok(Self { postgres, harness: time(std::process::id())? })
    }

    /// Each of `requests`' part of what was spent since `earlier`.
    pub(crate) fn since(&self, earlier: &Self, requests: usize) -> Shares {
        let spent =
            |(pid, now): (&u32, &Duration)| now.saturating_sub(earlier.postgres.get(pid).copied().unwrap_or_default());
        let each = |spent: Duration| spent.div_f64(requests.max(1) as f64);
        let postgres: Duration = self.postgres.iter().map(spent).sum();
        Shares { postgres: each(postgres), harness: each(self.harness.saturating_sub(earlier.harness)) }
    }
}
