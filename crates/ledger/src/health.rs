//! What the database says of itself, for whoever looks for a mistake in a deployment.

use tokio_postgres::types::Type;

use crate::error::LedgerError;
use crate::ledger::Ledger;
use crate::migrate::embedded_names;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// Such as `16.4`.
    pub server: String,
    /// Such as `TLSv1.3`; `None` is a connection in the clear.
    pub tls: Option<String>,
    pub user: String,
    /// Microseconds since 1970, by the database's clock.
    pub now: i64,
    /// Of this code, and not applied.
    pub migrations_missing: Vec<String>,
    /// Whether payloads of the next month have a partition of their own.
    pub next_month: bool,
}

const HEALTH: &str = "
SELECT current_setting('server_version') AS server, current_user::text AS db_user,
       (SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid()) AS tls,
       (extract(epoch FROM clock_timestamp()) * 1000000)::int8 AS now_us,
       to_regclass('webhook_payload_' || to_char(now() AT TIME ZONE 'UTC' + interval '1 month', 'YYYYMM')) IS NOT NULL AS next_month,
       to_regclass('refinery_schema_history') IS NOT NULL AS migrated";

const APPLIED: &str = "SELECT 'V' || version || '__' || name AS name FROM refinery_schema_history WHERE $1::bool";

impl Ledger {
    pub async fn health(&mut self) -> Result<Health, LedgerError> {
        let answer = self.query("ask the database how it is", HEALTH, &[]).await?;
        let (mut missing, mut health) = (embedded_names(), None);
        for row in &answer.rows {
            if row.get("migrated") {
                let applied = self.query("read the applied migrations", APPLIED, &[(&true as _, Type::BOOL)]).await?;
                missing.retain(|name| !applied.rows.iter().any(|row| row.get::<_, &str>("name") == name));
            }
            health = Some(Health {
                server: row.get("server"),
                tls: row.get("tls"),
                user: row.get("db_user"),
                now: row.get("now_us"),
                migrations_missing: missing.clone(),
                next_month: row.get("next_month"),
            });
        }
        health.ok_or(LedgerError::NoAnswer { operation: "ask the database how it is" })
    }
}
