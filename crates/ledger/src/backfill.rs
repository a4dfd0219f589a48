//! Teaching the version guard what a business table or the provider knows already: without it, the first event of each object
//! counts as the newest, however old it is.
//!
//! Invariants: a version is only ever raised, so a backfill may run again, and while events come in; an object without a version
//! is never taken for one of version 0, which any event would be newer than, nor one of the future for the newest, which would
//! freeze it.

use hookledger_core::{Micros, ObjectKey, SourceName};
use serde::{Deserialize, Serialize};
use tokio_postgres::types::Type;

use crate::error::LedgerError;
use crate::ledger::{Ledger, Param};

/// Objects of a table in one statement.
const ROWS_MAX: i64 = 1000;
/// The latest version that is believed: [`FUTURE_TOLERANCE_S`](hookledger_core::FUTURE_TOLERANCE_S) ahead of the database's
/// clock, as an event's.
const LATEST: &str = "(extract(epoch FROM clock_timestamp()) * 1000000)::int8 + 300000000";

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

/// An object as the provider tells of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectVersion {
    pub object: ObjectKey,
    pub version: Micros,
    pub deleted: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackfillBatch {
    pub objects: u64,
    /// The guard did not know these objects: any event of theirs would have been taken for the newest.
    pub unguarded: u64,
    /// The guard had an older version, so that an event between the two would have been taken for newer.
    pub behind: u64,
    /// The guard had this version or a newer one.
    pub guarded: u64,
    /// Ids of objects that have no version, one before 1970, or one of the future; they are left alone.
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
    /// One batch of a table's objects with an id after `after`. It only tells, unless `audit` says who asks it to write.
    pub async fn backfill(
        &mut self,
        from: &BackfillFrom,
        after: Option<&str>,
        audit: Option<&str>,
    ) -> Result<BackfillBatch, LedgerError> {
        let table: Vec<String> = from.table.split('.').map(quoted).collect();
        let (table, id) = (table.join("."), quoted(&from.id_column));
        let micros = from.unit.micros_of(&format!("t.{}", quoted(&from.version_column)));
        // An object may have several rows, of which the newest counts.
        let batch = format!(
            "SELECT $3::text AS account, $4::text AS kind, t.{id}::text AS object_id, max({micros}) AS version, false AS deleted
             FROM {table} t WHERE t.{id} IS NOT NULL AND ($5::text IS NULL OR t.{id}::text > $5) GROUP BY 3 ORDER BY 3 LIMIT $6"
        );
        let params = [
            (&from.source.as_str() as _, Type::TEXT),
            (&audit as _, Type::TEXT),
            (&from.account as _, Type::TEXT),
            (&from.kind as _, Type::TEXT),
            (&after as _, Type::TEXT),
            (&ROWS_MAX as _, Type::INT8),
        ];
        let mut told = self.raise(&batch, &params).await?;
        let full = i64::try_from(told.batch.objects) == Ok(ROWS_MAX);
        told.batch.next = told.last.filter(|_| full);
        Ok(told.batch)
    }

    /// A batch of objects in these versions, each of them once. It only tells, unless `audit` says who asks it to write.
    pub async fn learn(
        &mut self,
        source: &SourceName,
        objects: &[ObjectVersion],
        audit: Option<&str>,
    ) -> Result<BackfillBatch, LedgerError> {
        let batch = "SELECT * FROM unnest($3::text[], $4::text[], $5::text[], $6::int8[], $7::bool[])
                     AS given (account, kind, object_id, version, deleted)";
        let texts = |of: fn(&ObjectKey) -> &str| objects.iter().map(|one| of(&one.object)).collect::<Vec<_>>();
        let (accounts, kinds, ids) = (texts(|o| &o.account), texts(|o| &o.kind), texts(|o| &o.id));
        let versions: Vec<Micros> = objects.iter().map(|one| one.version).collect();
        let deleted: Vec<bool> = objects.iter().map(|one| one.deleted).collect();
        let params = [
            (&source.as_str() as _, Type::TEXT),
            (&audit as _, Type::TEXT),
            (&accounts as _, Type::TEXT_ARRAY),
            (&kinds as _, Type::TEXT_ARRAY),
            (&ids as _, Type::TEXT_ARRAY),
            (&versions as _, Type::INT8_ARRAY),
            (&deleted as _, Type::BOOL_ARRAY),
        ];
        Ok(self.raise(batch, &params).await?.batch)
    }

    /// `batch` gives each object once, and its version; `$1` is the source, and `$2` the audit's words where it is to be written.
    async fn raise(&mut self, batch: &str, params: &[Param<'_>]) -> Result<Told, LedgerError> {
        let sql = format!(
            "WITH batch AS ({batch}),
            judged AS (
                SELECT b.*, coalesce(b.version > 0 AND b.version <= {LATEST}, false) AS usable FROM batch b
            ),
            -- Before the write: this is what the guard knew. Deleted is for ever, so it counts before the version.
            known AS (
                SELECT j.object_id, j.usable, o.object_id IS NOT NULL AS known,
                       coalesce((o.deleted, o.version) < (j.deleted, j.version), false) AS behind
                FROM judged j
                LEFT JOIN webhook_object o
                ON o.source = $1 AND o.account = j.account AND o.kind = j.kind AND o.object_id = j.object_id
            ),
            written AS (
                INSERT INTO webhook_object AS stored (source, account, kind, object_id, version, deleted, event_id, tied_event_ids)
                SELECT $1, account, kind, object_id, version, deleted, 'backfill', ARRAY['backfill'] FROM judged
                WHERE $2::text IS NOT NULL AND usable
                ON CONFLICT (source, account, kind, object_id) DO UPDATE
                SET version = excluded.version, deleted = excluded.deleted, event_id = 'backfill', tied_event_ids = ARRAY['backfill']
                WHERE (stored.deleted, stored.version) < (excluded.deleted, excluded.version)
                RETURNING object_id
            ),
            audited AS (
                INSERT INTO webhook_audit (action, source, event_id, detail)
                SELECT 'backfilled', '', '', $2 || ', ' || count(*) || ' objects' FROM written HAVING count(*) > 0
            )
            SELECT object_id, usable, known, behind FROM known ORDER BY object_id"
        );
        let answer = self.query("backfill versions", &sql, params).await?;
        let mut batch = BackfillBatch { objects: answer.rows.len() as u64, ..BackfillBatch::default() };
        for row in &answer.rows {
            match (row.get("usable"), row.get("known"), row.get("behind")) {
                (false, _, _) => batch.refused.push(row.get("object_id")),
                (true, false, _) => batch.unguarded += 1,
                (true, true, true) => batch.behind += 1,
                (true, true, false) => batch.guarded += 1,
            }
        }
        Ok(Told { batch, last: answer.rows.last().map(|row| row.get("object_id")) })
    }
}

struct Told {
    batch: BackfillBatch,
    last: Option<String>,
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

    #[test]
    fn a_backfill_looks_as_far_ahead_as_the_guard() {
        assert!(LATEST.ends_with(&format!("+ {}", hookledger_core::FUTURE_TOLERANCE_S * 1_000_000)));
    }
}
