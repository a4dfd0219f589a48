//! Erasing a customer's data. Invariants: ledger rows stay, because they are what keeps an event from being processed twice;
//! a payload that an unsettled event still needs stays too, and is counted; every payload that goes has an audit row of the
//! same statement, which does not repeat the data.

use hookledger_core::{Micros, SourceName};
use serde::{Deserialize, Serialize};
use tokio_postgres::types::Type;

use crate::error::LedgerError;
use crate::ledger::Ledger;

/// Payloads that are looked at in one statement: each is parsed as JSON.
const SCANNED_MAX: i64 = 2000;

/// Which payloads are meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PurgeFilter {
    pub source: SourceName,
    /// Where in the body the value stands.
    pub pointer: Pointer,
    /// The value, as text.
    pub equals: String,
    /// First received at or after this.
    pub since: Option<Micros>,
    /// First received before this.
    pub until: Option<Micros>,
}

/// A JSON pointer (RFC 6901), such as `/data/object/customer`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pointer(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a JSON pointer begins with a slash, such as /data/object/customer")]
pub struct InvalidPointer;

impl TryFrom<String> for Pointer {
    type Error = InvalidPointer;
    fn try_from(text: String) -> Result<Self, InvalidPointer> {
        if text.starts_with('/') && !text.contains('\0') { Ok(Self(text)) } else { Err(InvalidPointer) }
    }
}

impl std::str::FromStr for Pointer {
    type Err = InvalidPointer;
    fn from_str(text: &str) -> Result<Self, InvalidPointer> {
        Self::try_from(text.to_owned())
    }
}

impl From<Pointer> for String {
    fn from(pointer: Pointer) -> String {
        pointer.0
    }
}

impl Pointer {
    fn path(&self) -> Vec<String> {
        self.0.split('/').skip(1).map(|step| step.replace("~1", "/").replace("~0", "~")).collect()
    }
}

/// Where a batch ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PurgePosition {
    pub event_id: String,
    pub received_at: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PurgeBatch {
    pub scanned: u64,
    /// Ids of the events whose payload went, or would go.
    pub purged: Vec<String>,
    /// Not settled, so their payload is still needed.
    pub held: Vec<String>,
    pub next: Option<PurgePosition>,
}

const PURGE: &str = "
WITH scanned AS (
    SELECT p.source, p.event_id, p.received_at, p.body FROM webhook_payload p
    WHERE p.source = $1
      AND ($2::text IS NULL OR (p.received_at, p.event_id) > ($3::timestamptz, $2))
      AND ($4::int8 IS NULL OR p.received_at >= 'epoch'::timestamptz + $4 * interval '1 microsecond')
      AND ($5::int8 IS NULL OR p.received_at < 'epoch'::timestamptz + $5 * interval '1 microsecond')
    -- As the primary key stands.
    ORDER BY p.received_at, p.event_id LIMIT $6
),
matching AS (
    SELECT s.source, s.event_id, s.received_at FROM scanned s WHERE webhook_body_as_json(s.body) #>> $7::text[] = $8
),
-- Locked, so that none can become unsettled between the look and the deletion. SKIP LOCKED: what a worker holds is not settled.
settled AS (
    SELECT e.source, e.event_id, e.received_at FROM webhook_event e JOIN matching m USING (source, event_id, received_at)
    WHERE e.status = 'settled'
    FOR UPDATE OF e SKIP LOCKED
),
purged AS (
    DELETE FROM webhook_payload p USING settled s
    WHERE $9::bool AND p.source = s.source AND p.event_id = s.event_id AND p.received_at = s.received_at
    RETURNING p.source, p.event_id
),
audited AS (
    INSERT INTO webhook_audit (action, source, event_id, detail) SELECT 'purged', source, event_id, $10 FROM purged
)
SELECT s.event_id, to_char(s.received_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"') AS received,
       m.event_id IS NOT NULL AS matches, t.event_id IS NOT NULL AS settled
FROM scanned s
LEFT JOIN matching m USING (source, event_id, received_at)
LEFT JOIN settled t USING (source, event_id, received_at)
ORDER BY s.received_at, s.event_id";

impl Ledger {
    /// One batch of payloads after `after`. Without `deletes` it only tells. `detail` says who asks and why; it must not
    /// repeat the data.
    pub async fn purge(
        &mut self,
        filter: &PurgeFilter,
        after: Option<&PurgePosition>,
        deletes: bool,
        detail: &str,
    ) -> Result<PurgeBatch, LedgerError> {
        let path = filter.pointer.path();
        let (after_id, after_at) = (after.map(|p| &p.event_id), after.map(|p| &p.received_at));
        let params = [
            (&filter.source.as_str() as _, Type::TEXT),
            (&after_id as _, Type::TEXT),
            (&after_at as _, Type::TEXT),
            (&filter.since as _, Type::INT8),
            (&filter.until as _, Type::INT8),
            (&SCANNED_MAX as _, Type::INT8),
            (&path as _, Type::TEXT_ARRAY),
            (&filter.equals as _, Type::TEXT),
            (&deletes as _, Type::BOOL),
            (&detail as _, Type::TEXT),
        ];
        let answer = self.query("purge payloads", PURGE, &params).await?;
        let mut batch = PurgeBatch { scanned: answer.rows.len() as u64, ..PurgeBatch::default() };
        for row in &answer.rows {
            let event_id: String = row.get("event_id");
            match (row.get("matches"), row.get("settled")) {
                (true, true) => batch.purged.push(event_id),
                (true, false) => batch.held.push(event_id),
                (false, _) => {}
            }
        }
        let full = i64::try_from(answer.rows.len()) == Ok(SCANNED_MAX);
        batch.next = answer
            .rows
            .last()
            .filter(|_| full)
            .map(|row| PurgePosition { event_id: row.get("event_id"), received_at: row.get("received") });
        Ok(batch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_is_a_path_of_unescaped_steps() {
        let path = |text: &str| text.parse::<Pointer>().map(|pointer| pointer.path());
        assert_eq!(path("/data/object/customer").unwrap(), ["data", "object", "customer"]);
        assert_eq!(path("/a~1b/~0/0").unwrap(), ["a/b", "~", "0"]);
        assert_eq!(path("data"), Err(InvalidPointer));
        assert_eq!(path(""), Err(InvalidPointer));
    }
}
