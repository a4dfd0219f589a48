//! The history of one object: every event of it, in the order of the provider's versions.

use hookledger_core::{Lifecycle, Micros, ObjectKey, SourceName};
use serde::{Deserialize, Serialize};
use tokio_postgres::types::Type;

use crate::error::LedgerError;
use crate::events::{COLUMNS, EventRow, event_row};
use crate::ledger::Ledger;

/// More events of one object than anybody reads.
const EVENTS_MAX: i64 = 2000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct History {
    /// The event whose state is in force, if the guard knows the object.
    pub in_force: Option<InForce>,
    /// The newest of them if there are more than 2000.
    pub events: Vec<ObjectEvent>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InForce {
    pub event_id: String,
    /// Microseconds since 1970 by the provider's clock.
    pub version: Micros,
    pub deleted: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectEvent {
    pub row: EventRow,
    pub version: Option<Micros>,
    pub lifecycle: Lifecycle,
}

const IN_FORCE: &str = "
SELECT event_id, version, deleted FROM webhook_object WHERE source = $1 AND account = $2 AND kind = $3 AND object_id = $4";

impl Ledger {
    /// Reads the ledger's rows from `since` on: no index leads from an object to its events.
    pub async fn history(
        &mut self,
        source: &SourceName,
        object: &ObjectKey,
        since: Option<Micros>,
    ) -> Result<History, LedgerError> {
        let sql = format!(
            "SELECT * FROM (
                SELECT {COLUMNS}, e.version, e.lifecycle, e.received_at FROM webhook_event e
                WHERE e.source = $1 AND e.account = $2 AND e.object_kind = $3 AND e.object_id = $4
                AND ($5::int8 IS NULL OR e.received_at >= 'epoch'::timestamptz + $5 * interval '1 microsecond')
                ORDER BY e.version DESC NULLS LAST, e.received_at DESC, e.event_id DESC LIMIT $6
             ) AS newest ORDER BY version NULLS FIRST, received_at, event_id"
        );
        let source = source.as_str();
        let mut params = vec![
            (&source as _, Type::TEXT),
            (&object.account as _, Type::TEXT),
            (&object.kind as _, Type::TEXT),
            (&object.id as _, Type::TEXT),
        ];
        let in_force = self.query("read an object", IN_FORCE, &params).await?;
        params.extend([(&since as _, Type::INT8), (&EVENTS_MAX as _, Type::INT8)]);
        let events = self.query("read an object's events", &sql, &params).await?;
        Ok(History {
            in_force: in_force.rows.first().map(|row| InForce {
                event_id: row.get("event_id"),
                version: row.get("version"),
                deleted: row.get("deleted"),
            }),
            events: events
                .rows
                .iter()
                .map(|row| {
                    let lifecycle = row.get::<_, &str>("lifecycle").parse()?;
                    Ok(ObjectEvent { row: event_row(row)?, version: row.get("version"), lifecycle })
                })
                .collect::<Result<_, LedgerError>>()?,
        })
    }
}
