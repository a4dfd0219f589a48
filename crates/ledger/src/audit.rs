//! Notes of what was done to no event in particular.

use tokio_postgres::types::Type;

use crate::error::LedgerError;
use crate::ledger::Ledger;

const NOTE: &str = "INSERT INTO webhook_audit (action, source, event_id, detail) VALUES ($1, '', '', $2)";

impl Ledger {
    pub async fn note(&mut self, action: &str, detail: &str) -> Result<(), LedgerError> {
        self.query("write an audit row", NOTE, &[(&action as _, Type::TEXT), (&detail as _, Type::TEXT)]).await.map(|_| ())
    }
}
