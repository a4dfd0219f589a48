//! Claiming: the first of all deliveries of an event makes its row, every other one finds it there.
//!
//! How a row is claimed, and when a duplicate asks for its event to be queued again, is in `webhook_claim`
//! (`migrations/V1__ledger.sql`): one call, one round trip, one commit, whatever is found.

use hookledger_core::{Claim, ClaimMode, EventRef, Status, VerifiedEvent};
use serde::Serializer as _;
use serde_json::Serializer;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::error::LedgerError;
use crate::ledger::{Answer, Ledger};
use crate::rows::Keys;

/// How long a row may wait for the queue, or in it, before a duplicate sends its id again.
const QUEUE_PATIENCE_S: f64 = 30.0;

/// Types are given with the parameters and not in the text, which Postgres parses and plans for every delivery.
pub(crate) const CLAIM: &str = "SELECT webhook_claim($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)";

/// The same for each event of a delivery, one after the other.
const CLAIM_EACH: &str = "
SELECT webhook_claim(source, event_id, event_type, account, kind, object_id, version, lifecycle, via, received, headers, body, $13, $14)
FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
     AS e (source, event_id, event_type, account, kind, object_id, version, lifecycle, via, received, headers, body)";

const IS_SETTLED: &str = "SELECT FROM webhook_event WHERE source = $1 AND event_id = $2 AND status = 'settled'";

impl Ledger {
    /// One look by the primary key, for when a duplicate is expected: cheaper than a claim that comes to nothing.
    pub async fn is_settled(&mut self, key: &EventRef) -> Result<bool, LedgerError> {
        let params = [(&key.source.as_str() as _, Type::TEXT), (&key.event_id.as_str() as _, Type::TEXT)];
        Ok(!self.query("look an event up", IS_SETTLED, &params).await?.rows.is_empty())
    }

    /// One round trip and one commit. The answers stand in the order of `events`; the first of two equal ids in one delivery is
    /// the one that counts.
    pub async fn claim(&mut self, events: &[VerifiedEvent], mode: ClaimMode) -> Result<Vec<Claim>, LedgerError> {
        let observe = match mode {
            ClaimMode::Enforce => false,
            ClaimMode::Observe => true,
        };
        if let [event] = events {
            let answer = self.call_for_one(event, observe).await?;
            return answer.rows.iter().map(|row| claim_of(row, answer.second_try)).collect();
        }
        let mut order: Vec<(usize, &VerifiedEvent)> = events.iter().enumerate().collect();
        // In the order of their keys, so that two deliveries of the same events cannot deadlock.
        order.sort_by(|(_, one), (_, other)| key(one).cmp(&key(other)));
        order.dedup_by(|(_, later), (_, first)| key(later) == key(first));
        let mut claims = vec![Claim::Duplicate { status: Status::Claimed, requeue: false }; events.len()];
        let answer = Box::pin(self.call_for_each(&order, observe)).await?;
        for ((at, _), row) in order.into_iter().zip(&answer.rows) {
            if let Some(claim) = claims.get_mut(at) {
                *claim = claim_of(row, answer.second_try)?;
            }
        }
        Ok(claims)
    }

    async fn call_for_one(&mut self, event: &VerifiedEvent, observe: bool) -> Result<Answer, LedgerError> {
        let identity = event.identity();
        let object = identity.object.as_ref();
        let params = [
            (&event.source().as_str() as _, Type::TEXT),
            (&identity.event_id.as_str() as _, Type::TEXT),
            (&identity.event_type as _, Type::TEXT),
            (&object.map(|o| &o.account) as _, Type::TEXT),
            (&object.map(|o| &o.kind) as _, Type::TEXT),
            (&object.map(|o| &o.id) as _, Type::TEXT),
            (&identity.version as _, Type::INT8),
            (&identity.lifecycle.as_str() as _, Type::TEXT),
            (&event.via().as_str() as _, Type::TEXT),
            (&event.received_at() as _, Type::INT8),
            (&headers_as_json(event.headers()) as _, Type::TEXT),
            (&&event.body()[..] as _, Type::BYTEA),
            (&QUEUE_PATIENCE_S as _, Type::FLOAT8),
            (&observe as _, Type::BOOL),
        ];
        self.claim_by("claim an event", CLAIM, &params).await
    }

    async fn call_for_each(&mut self, order: &[(usize, &VerifiedEvent)], observe: bool) -> Result<Answer, LedgerError> {
        let events = || order.iter().map(|(_, event)| *event);
        let keys = Keys::of(events().map(|e| (e.source(), &e.identity().event_id)));
        let event_types: Vec<&str> = events().map(|e| e.identity().event_type.as_str()).collect();
        let objects = || events().map(|e| e.identity().object.as_ref());
        let accounts: Vec<Option<&str>> = objects().map(|o| o.map(|o| o.account.as_str())).collect();
        let kinds: Vec<Option<&str>> = objects().map(|o| o.map(|o| o.kind.as_str())).collect();
        let ids: Vec<Option<&str>> = objects().map(|o| o.map(|o| o.id.as_str())).collect();
        let versions: Vec<Option<i64>> = events().map(|e| e.identity().version).collect();
        let lifecycles: Vec<&str> = events().map(|e| e.identity().lifecycle.as_str()).collect();
        let vias: Vec<&str> = events().map(|e| e.via().as_str()).collect();
        let received: Vec<Option<i64>> = events().map(VerifiedEvent::received_at).collect();
        let headers: Vec<String> = events().map(|e| headers_as_json(e.headers())).collect();
        let bodies: Vec<&[u8]> = events().map(|e| &e.body()[..]).collect();
        let params = [
            (&keys.sources as _, Type::TEXT_ARRAY),
            (&keys.event_ids as _, Type::TEXT_ARRAY),
            (&event_types as _, Type::TEXT_ARRAY),
            (&accounts as _, Type::TEXT_ARRAY),
            (&kinds as _, Type::TEXT_ARRAY),
            (&ids as _, Type::TEXT_ARRAY),
            (&versions as _, Type::INT8_ARRAY),
            (&lifecycles as _, Type::TEXT_ARRAY),
            (&vias as _, Type::TEXT_ARRAY),
            (&received as _, Type::INT8_ARRAY),
            (&headers as _, Type::TEXT_ARRAY),
            (&bodies as _, Type::BYTEA_ARRAY),
            (&QUEUE_PATIENCE_S as _, Type::FLOAT8),
            (&observe as _, Type::BOOL),
        ];
        self.query("claim an event", CLAIM_EACH, &params).await
    }
}

fn key(event: &VerifiedEvent) -> (&str, &str) {
    (event.source().as_str(), event.identity().event_id.as_str())
}

/// What `webhook_claim` says.
fn claim_of(row: &Row, second_try: bool) -> Result<Claim, LedgerError> {
    let found: &str = row.get(0);
    if found == "new" {
        return Ok(Claim::New);
    }
    let (status, requeue) = match found.strip_suffix(" requeue") {
        Some(status) => (status.parse()?, true),
        None => (found.parse()?, false),
    };
    if second_try && status == Status::Claimed {
        // The first try made the row, and its answer was lost.
        return Ok(Claim::New);
    }
    // A first try that took effect has asked already, and its answer was lost.
    Ok(Claim::Duplicate { status, requeue: requeue || second_try })
}

/// A name that is there twice has its last value: so `jsonb` takes it.
fn headers_as_json(headers: &[(String, String)]) -> String {
    let mut json = Vec::new();
    // It cannot fail: keys are texts, and nothing is read from elsewhere.
    let _ = Serializer::new(&mut json).collect_map(headers.iter().map(|(name, value)| (name, value)));
    String::from_utf8(json).unwrap_or_default()
}
