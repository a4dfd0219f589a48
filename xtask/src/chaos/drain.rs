//! After the traffic: everything that waits gets its turn, with the ledger's clock turned back so that nobody waits minutes.
//!
//! What is turned back is only what rows wait for, and only while no worker is busy: `received_at`, `requeued_at`,
//! `lease_until` and `next_attempt_at` of rows that are not settled.

use std::time::{Duration, Instant};

use hookledger_harness::deployment::{Deployment, turn_back};
use tokio::time::sleep;

use super::send::Sender;

/// Without anything being settled.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Longer than the sweeper's longest wait, so that whatever waits is due.
const TURN_BACK_S: u32 = 3601;

const UNFINISHED: &str = "SELECT count(*) FROM webhook_event WHERE settled_at IS NULL";
const FINISHED: &str = "SELECT count(*) FROM webhook_event WHERE settled_at IS NOT NULL";
const KNOWN: &str = "SELECT count(*) FROM webhook_event WHERE event_id = ANY ($1)";

/// Whether all of it finished.
pub(super) async fn drain(sender: &Sender, hookledger: &Deployment) -> anyhow::Result<bool> {
    while sender.under_way() > 0 {
        sleep(LOOK_EVERY).await;
    }
    let acknowledged = sender.acknowledged_ids();
    let database = hookledger.database().await?;
    let count = async |sql: &str| anyhow::Ok(database.query_one(sql, &[]).await?.try_get::<_, i64>(0)?);
    let (mut finished, mut since) = (-1, Instant::now());
    while since.elapsed() < PATIENCE {
        let known: i64 = database.query_one(KNOWN, &[&acknowledged]).await?.try_get(0)?;
        // What is acknowledged and has no row yet is in the spill queue, and comes from there.
        if count(UNFINISHED).await? == 0 && known as usize == acknowledged.len() {
            return Ok(true);
        }
        if hookledger.worker.busy() == 0 {
            turn_back(&database, TURN_BACK_S).await?;
            let _swept = hookledger.sweeper.invoke("{}").await;
        }
        let now = count(FINISHED).await?;
        if now != finished {
            (finished, since) = (now, Instant::now());
        }
        sleep(LOOK_EVERY).await;
    }
    Ok(false)
}
