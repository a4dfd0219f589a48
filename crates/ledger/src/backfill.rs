//! Teaching the version guard what a business table knows already: without it, the first event of each object counts as the
//! newest, however old it is.
//!
//! Invariants: a version is only ever raised, so a backfill may run again, and while events come in; a row without a version is
//! never taken for one of version 0, which any event would be newer than.

use hookledger_core::SourceName;
use serde::{Deserialize, Serialize};
use tokio_postgres::types::Type;

use crate::error::LedgerError;
use crate::ledger::Ledger;

const ROWS_MAX: i64 = 1000;

/// Which table, and where in it the guard's key and version stand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackfillFrom {
    pub source: SourceName,
    pub account: String,
    pub kind: String,
    /// With its schema, if need be: `billing.subscription`.
    pub table: String,
    pub id_column: String,
    pub version_column: String,
    pub unit: VersionUnit,
}

/// What the version column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VersionUnit {
    /// A `timestamp with time zone`, or one without, which is read as UTC.
    Timestamp,
    /// A number since 1970.
    Seconds,
    Milliseconds,
    Microseconds,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackfillBatch {
    pub rows: u64,
    /// The guard did not know these objects: any event of theirs would have been taken for the newest.
    pub unguarded: u64,
    /// The guard had an older version, so that an event between the two would have been taken for newer.
    pub behind: u64,
    /// The guard had this version or a newer one.
    pub guarded: u64,
    /// Ids of rows that say no version, or one before 1970; they are left alone.
    pub refused: Vec<String>,
    /// The last id, if there may be more.
    pub next: Option<String>,
}

impl VersionUnit {
    fn micros_of(self, column: &str) -> String {
        match self {
            // The zone of a session does not matter: a value without one is read as UTC, and one with it is an instant.
            Self::Timestamp => format!(
                "(extract(epoch FROM CASE WHEN pg_typeof({column}) = 'timestamp'::regtype
                    THEN {column}::timestamp AT TIME ZONE 'UTC' ELSE {column}::timestamptz END) * 1000000)::int8"
            ),
            Self::Seconds => format!("({column} * 1000000)::int8"),
            Self::Milliseconds => format!("({column} * 1000)::int8"),
            Self::Microseconds => format!("({column})::int8"),
        }
    }
}

impl Ledger {
    /// One batch of rows with an id after `after`. Without `writes` it only tells.
    pub async fn backfill(
        &mut self,
        from: &BackfillFrom,
        after: Option<&str>,
        writes: bool,
    ) -> Result<BackfillBatch, LedgerError> {
        let table: Vec<String> = from.table.split('.').map(quoted).collect();
        let (table, id) = (table.join("."), quoted(&from.id_column));
        let micros = from.unit.micros_of(&format!("t.{}", quoted(&from.version_column)));
        let sql = format!(
            "WITH batch AS (
                SELECT t.{id}::text AS object_id, {micros} AS version FROM {table} t
                WHERE $4::text IS NULL OR t.{id}::text > $4 ORDER BY t.{id}::text LIMIT $5
            ),
            -- Before the write: this is what the guard knew.
            known AS (
                SELECT b.object_id, b.version, o.version AS guarded, o.deleted FROM batch b
                LEFT JOIN webhook_object o ON o.source = $1 AND o.account = $2 AND o.kind = $3 AND o.object_id = b.object_id
            ),
            written AS (
                INSERT INTO webhook_object AS stored (source, account, kind, object_id, version, deleted, event_id, tied_event_ids)
                SELECT $1, $2, $3, object_id, version, false, 'backfill', ARRAY['backfill'] FROM batch
                WHERE $6::bool AND version > 0
                ON CONFLICT (source, account, kind, object_id) DO UPDATE
                SET version = excluded.version, event_id = 'backfill', tied_event_ids = ARRAY['backfill']
                -- Deleted is for ever.
                WHERE stored.version < excluded.version AND NOT stored.deleted
            )
            SELECT object_id, version > 0 AS usable, guarded IS NOT NULL AS known,
                   guarded < version AND NOT deleted AS behind FROM known ORDER BY object_id"
        );
        let params = [
            (&from.source.as_str() as _, Type::TEXT),
            (&from.account as _, Type::TEXT),
            (&from.kind as _, Type::TEXT),
            (&after as _, Type::TEXT),
            (&ROWS_MAX as _, Type::INT8),
            (&writes as _, Type::BOOL),
        ];
        let answer = self.query("backfill versions", &sql, &params).await?;
        let mut batch = BackfillBatch { rows: answer.rows.len() as u64, ..BackfillBatch::default() };
        for row in &answer.rows {
            let usable = row.get::<_, Option<bool>>("usable") == Some(true);
            match (usable, row.get("known"), row.get::<_, Option<bool>>("behind") == Some(true)) {
                (false, _, _) => batch.refused.push(row.get("object_id")),
                (true, false, _) => batch.unguarded += 1,
                (true, true, true) => batch.behind += 1,
                (true, true, false) => batch.guarded += 1,
            }
        }
        let full = i64::try_from(answer.rows.len()) == Ok(ROWS_MAX);
        batch.next = answer.rows.last().filter(|_| full).map(|row| row.get("object_id"));
        Ok(batch)
    }
}

/// A name as Postgres takes it, whatever stands in it.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_end_the_statement() {
        assert_eq!(quoted(r#"a"; DROP TABLE b; --"#), r#""a""; DROP TABLE b; --""#);
    }
}
