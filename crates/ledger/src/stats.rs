//! What became of events, counted. A duplicate leaves no trace in the ledger, except in observe mode.

use hookledger_core::{Micros, SourceName};
use serde::{Deserialize, Serialize};
use tokio_postgres::types::Type;

use crate::error::LedgerError;
use crate::ledger::Ledger;

/// The events of one source, or of one type of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StatsRow {
    pub source: String,
    /// `None` where types are not told apart.
    pub event_type: Option<String>,
    pub accepted: u64,
    pub replayed: u64,
    pub spilled: u64,
    /// Duplicates that enforce mode would have skipped; counted in observe mode only.
    pub would_skip: u64,
    pub applied: u64,
    pub stale: u64,
    pub ignored: u64,
    /// Claimed or in processing.
    pub waiting: u64,
    pub failed: u64,
    pub dead_letter: u64,
    /// Of the settled ones.
    pub attempts_mean: Option<f64>,
    pub attempts_max: u32,
    /// From receipt to settlement, in milliseconds.
    pub lag_p50_ms: Option<f64>,
    pub lag_p95_ms: Option<f64>,
    pub lag_p99_ms: Option<f64>,
}

const STATS: &str = "
SELECT e.source, kind.event_type, count(*) AS accepted,
       count(*) FILTER (WHERE e.via = 'replay') AS replayed,
       count(*) FILTER (WHERE e.via = 'spill') AS spilled,
       sum(e.would_skip)::int8 AS would_skip,
       count(*) FILTER (WHERE e.outcome = 'applied') AS applied,
       count(*) FILTER (WHERE e.outcome = 'stale') AS stale,
       count(*) FILTER (WHERE e.outcome = 'ignored') AS ignored,
       count(*) FILTER (WHERE e.status IN ('claimed', 'processing')) AS waiting,
       count(*) FILTER (WHERE e.status = 'failed') AS failed,
       count(*) FILTER (WHERE e.status = 'dead_letter') AS dead_letter,
       (avg(e.attempts) FILTER (WHERE e.status = 'settled'))::float8 AS attempts_mean,
       max(e.attempts) AS attempts_max,
       percentile_cont(ARRAY[0.5, 0.95, 0.99]) WITHIN GROUP (ORDER BY lag.ms) AS lags
FROM webhook_event e
CROSS JOIN LATERAL (SELECT CASE WHEN $4::bool THEN e.event_type END AS event_type) AS kind
-- NULL, which percentiles leave out, unless it is settled.
CROSS JOIN LATERAL (SELECT CASE WHEN e.status = 'settled'
    THEN extract(epoch FROM e.settled_at - e.received_at)::float8 * 1000 END AS ms) AS lag
WHERE ($1::text IS NULL OR e.source = $1)
  AND ($2::int8 IS NULL OR e.received_at >= 'epoch'::timestamptz + $2 * interval '1 microsecond')
  AND ($3::int8 IS NULL OR e.received_at < 'epoch'::timestamptz + $3 * interval '1 microsecond')
GROUP BY e.source, kind.event_type
ORDER BY e.source, accepted DESC, kind.event_type";

impl Ledger {
    /// Events first received within `since` and `until`, a row for each source, or for each of its types.
    pub async fn stats(
        &mut self,
        source: Option<&SourceName>,
        since: Option<Micros>,
        until: Option<Micros>,
        by_type: bool,
    ) -> Result<Vec<StatsRow>, LedgerError> {
        let source = source.map(SourceName::as_str);
        let params =
            [(&source as _, Type::TEXT), (&since as _, Type::INT8), (&until as _, Type::INT8), (&by_type as _, Type::BOOL)];
        let answer = self.query("count events", STATS, &params).await?;
        Ok(answer.rows.iter().map(stats_row).collect())
    }
}

fn stats_row(row: &tokio_postgres::Row) -> StatsRow {
    let count = |column: &str| u64::try_from(row.get::<_, i64>(column)).unwrap_or(0);
    let lags: Vec<Option<f64>> = row.get::<_, Option<Vec<Option<f64>>>>("lags").unwrap_or_default();
    let lag = |at: usize| lags.get(at).copied().flatten();
    StatsRow {
        source: row.get("source"),
        event_type: row.get("event_type"),
        accepted: count("accepted"),
        replayed: count("replayed"),
        spilled: count("spilled"),
        would_skip: count("would_skip"),
        applied: count("applied"),
        stale: count("stale"),
        ignored: count("ignored"),
        waiting: count("waiting"),
        failed: count("failed"),
        dead_letter: count("dead_letter"),
        attempts_mean: row.get("attempts_mean"),
        attempts_max: u32::try_from(row.get::<_, i32>("attempts_max")).unwrap_or(0),
        lag_p50_ms: lag(0),
        lag_p95_ms: lag(1),
        lag_p99_ms: lag(2),
    }
}
