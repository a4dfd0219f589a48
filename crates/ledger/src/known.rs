//! Which events were claimed already, for counting what is missing without claiming it.

use hookledger_core::{EventId, SourceName};
use tokio_postgres::types::Type;

use crate::error::LedgerError;
use crate::ledger::Ledger;

const KNOWN: &str = "SELECT source, event_id FROM webhook_event WHERE source = $1 AND event_id = ANY ($2)";

impl Ledger {
    /// Those of `event_ids` that the ledger has, in any order.
    pub async fn known(&mut self, source: &SourceName, event_ids: &[EventId]) -> Result<Vec<EventId>, LedgerError> {
        let ids: Vec<&str> = event_ids.iter().map(EventId::as_str).collect();
        let params = [(&source.as_str() as _, Type::TEXT), (&ids as _, Type::TEXT_ARRAY)];
        let answer = self.query("look events up", KNOWN, &params).await?;
        answer.rows.iter().map(|row| Ok(crate::rows::key_of(row)?.event_id)).collect()
    }
}
