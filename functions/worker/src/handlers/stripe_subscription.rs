//! The worked example: keeps the table `subscription` as Stripe's `customer.subscription.*` events say.
//!
//! It just writes what the event carries. That an older event does not overwrite a newer one, and that a deleted
//! subscription is not resurrected, is the version guard's doing, before this is called.

use hookledger_core::{Event, HandlerError, Lifecycle, Outcome};
use hookledger_ledger::Transaction;
use serde::Deserialize;
use tokio_postgres::types::Type;

#[derive(Deserialize)]
struct Body {
    data: Data,
}

#[derive(Deserialize)]
struct Data {
    object: Subscription,
}

/// Fields of Stripe's subscription object (docs.stripe.com/api/subscriptions/object).
#[derive(Deserialize)]
struct Subscription {
    id: String,
    status: String,
    items: Items,
}

#[derive(Deserialize)]
struct Items {
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    price: Price,
}

#[derive(Deserialize)]
struct Price {
    id: String,
}

const UPSERT: &str = "
INSERT INTO subscription (subscription_id, plan, state, version) VALUES ($1, $2, $3, $4)
ON CONFLICT (subscription_id) DO UPDATE SET plan = excluded.plan, state = excluded.state, version = excluded.version";

pub(crate) async fn apply(transaction: &Transaction<'_>, event: &Event) -> Result<Outcome, HandlerError> {
    let subscription = event.json::<Body>()?.data.object;
    let plan = subscription.items.data.into_iter().next().map(|item| item.price.id);
    let plan = plan.ok_or_else(|| HandlerError::permanent("the subscription has no item"))?;
    let state = match event.lifecycle {
        Lifecycle::Deleted => "canceled".to_owned(),
        Lifecycle::Created | Lifecycle::Updated => subscription.status,
    };
    let version = event.version.unwrap_or(event.received_at);
    // Typed, so that it is one round trip and leaves no prepared statement behind on a pooled connection.
    let params = [
        (&subscription.id as _, Type::TEXT),
        (&plan as _, Type::TEXT),
        (&state as _, Type::TEXT),
        (&version as _, Type::INT8),
    ];
    transaction.query_typed(UPSERT, &params).await?;
    Ok(Outcome::Applied)
}
