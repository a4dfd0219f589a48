//! One event with all that the ledger has of it: row, payload, and what people did to it.

use hookledger_core::{EventRef, Lifecycle, Micros};
use serde::{Deserialize, Serialize};
use tokio_postgres::types::Type;

use crate::error::LedgerError;
use crate::events::{COLUMNS, EventRow, event_row, utc};
use crate::ledger::Ledger;

/// Bytes of a body that are read for showing it: escaped as JSON they stay below the 6 MB that Lambda lets an answer have.
pub const BODY_BYTES_SHOWN_MAX: i32 = 1 << 20;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventDetail {
    #[serde(flatten)]
    pub row: EventRow,
    /// Microseconds since 1970 by the provider's clock.
    pub version: Option<Micros>,
    pub lifecycle: String,
    pub lease_until: Option<String>,
    pub requeued_at: Option<String>,
    /// Duplicates that were processed all the same, in observe mode.
    pub would_skip: u32,
    /// Those that were kept, names in lower case.
    pub headers: serde_json::Map<String, serde_json::Value>,
    /// `None` where the payload is gone: past retention, or purged.
    pub body_bytes: Option<u64>,
    /// The body's beginning, up to [`BODY_BYTES_SHOWN_MAX`]; bytes that are not UTF-8 are replaced.
    pub body: Option<String>,
    pub audit: Vec<AuditRow>,
}

/// What was done to the row outside of its normal way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditRow {
    pub at: String,
    pub action: String,
    pub detail: String,
}

const AUDIT: &str = concat!(
    "SELECT ",
    utc!("at"),
    " AS done_at, action, detail FROM webhook_audit WHERE source = $1 AND event_id = $2 ORDER BY at LIMIT 1000"
);

impl Ledger {
    /// `None` if no such event was ever claimed.
    pub async fn show_event(&mut self, key: &EventRef) -> Result<Option<EventDetail>, LedgerError> {
        let sql = format!(
            "SELECT {COLUMNS}, e.version, e.lifecycle, e.would_skip, {lease} AS lease, {requeued} AS requeued,
                    p.headers::text AS headers, octet_length(p.body) AS body_bytes, substring(p.body FROM 1 FOR $3) AS body
             FROM webhook_event e
             LEFT JOIN webhook_payload p ON p.source = e.source AND p.event_id = e.event_id AND p.received_at = e.received_at
             WHERE e.source = $1 AND e.event_id = $2",
            lease = utc!("e.lease_until"),
            requeued = utc!("e.requeued_at"),
        );
        let (source, event_id) = (key.source.as_str(), key.event_id.as_str());
        let source = (&source as _, Type::TEXT);
        let event_id = (&event_id as _, Type::TEXT);
        let shown = (&BODY_BYTES_SHOWN_MAX as _, Type::INT4);
        let answer = self.query("show an event", &sql, &[source.clone(), event_id.clone(), shown]).await?;
        let Some(row) = answer.rows.first() else { return Ok(None) };
        let audit = self.query("read an event's audit", AUDIT, &[source, event_id]).await?;
        let lifecycle: Lifecycle = row.get::<_, &str>("lifecycle").parse()?;
        let headers = row.get::<_, Option<&str>>("headers").and_then(|text| serde_json::from_str(text).ok());
        Ok(Some(EventDetail {
            row: event_row(row)?,
            version: row.get("version"),
            lifecycle: lifecycle.as_str().to_owned(),
            lease_until: row.get("lease"),
            requeued_at: row.get("requeued"),
            would_skip: u32::try_from(row.get::<_, i32>("would_skip")).unwrap_or(0),
            headers: headers.unwrap_or_default(),
            body_bytes: row.get::<_, Option<i32>>("body_bytes").and_then(|n| u64::try_from(n).ok()),
            body: row.get::<_, Option<&[u8]>>("body").map(|bytes| String::from_utf8_lossy(bytes).into_owned()),
            audit: audit
                .rows
                .iter()
                .map(|row| AuditRow { at: row.get("done_at"), action: row.get("action"), detail: row.get("detail") })
                .collect(),
        }))
    }
}
