//! What there is to judge a run by: what the sender knows, and what the database says.

use hookledger_harness::subscription::{Effect, SubscriptionEvent, effects};
use tokio_postgres::Client;

use super::plan::Plan;
use super::send::Sent;

/// Gathered when everything has finished.
pub(super) struct Evidence {
    /// All events that were sent, and whether any delivery of each was answered with 200.
    pub(super) sent: Vec<(SubscriptionEvent, bool)>,
    pub(super) rows: Vec<Row>,
    /// In the order in which they were committed.
    pub(super) effects: Vec<Effect>,
    pub(super) subscriptions: Vec<Subscription>,
}

/// A ledger row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) event_id: String,
    pub(super) status: String,
    pub(super) outcome: Option<String>,
    pub(super) attempts: i32,
    pub(super) via: String,
}

/// A business row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Subscription {
    pub(super) id: String,
    pub(super) plan: String,
    pub(super) version: i64,
}

impl Evidence {
    pub(super) async fn gather(database: &Client, plan: &Plan, sent: &Sent) -> anyhow::Result<Self> {
        let rows = database.query("SELECT event_id, status, outcome, attempts, via FROM webhook_event", &[]).await?;
        let subscriptions = database.query("SELECT subscription_id, plan, version FROM subscription", &[]).await?;
        let acknowledged = |place| sent.acknowledged.contains(&place);
        Ok(Self {
            sent: plan.events.iter().cloned().enumerate().map(|(place, event)| (event, acknowledged(place))).collect(),
            rows: rows
                .iter()
                .map(|row| {
                    let (event_id, status, outcome) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
                    Ok(Row { event_id, status, outcome, attempts: row.try_get(3)?, via: row.try_get(4)? })
                })
                .collect::<anyhow::Result<_>>()?,
            effects: effects(database).await?,
            subscriptions: subscriptions
                .iter()
                .map(|row| Ok(Subscription { id: row.try_get(0)?, plan: row.try_get(1)?, version: row.try_get(2)? }))
                .collect::<anyhow::Result<_>>()?,
        })
    }

    /// How many rows are settled with this outcome.
    pub(super) fn settled_as(&self, outcome: &str) -> usize {
        self.rows.iter().filter(|row| row.outcome.as_deref() == Some(outcome)).count()
    }

    pub(super) fn spilled(&self) -> usize {
        self.rows.iter().filter(|row| row.via == "spill").count()
    }

    pub(super) fn tried_again(&self) -> usize {
        self.rows.iter().filter(|row| row.attempts > 1).count()
    }

    pub(super) fn dead_letters(&self) -> usize {
        self.rows.iter().filter(|row| row.status == "dead_letter").count()
    }
}
