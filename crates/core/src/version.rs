//! Which of several events about one object is the newest.
//!
//! Between versions the larger wins. Providers that count in seconds (Stripe, GitHub, Shopify) produce real ties, and
//! deciding them pair by pair is wrong: whether A or C is newer can hang on a B that has not arrived. So a tie is decided
//! over the *set* of all events of that version. The result depends on the set alone and never on the order of arrival,
//! which is what makes every permutation of deliveries end in the same state.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::key::EventId;

/// Microseconds since 1970-01-01 UTC: the finest clock among the providers (Paddle, Slack), without loss in `bigint`.
pub type Micros = i64;

/// How far a provider's clock may be ahead of ours before its version is capped.
pub const FUTURE_TOLERANCE_S: i64 = 300;

/// Where in an object's life an event stands, as far as its type says. The order is the order of the variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Lifecycle {
    Created,
    Updated,
    /// Final: nothing resurrects a deleted object.
    Deleted,
}

impl Lifecycle {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Updated => "updated",
            Self::Deleted => "deleted",
        }
    }
}

impl std::str::FromStr for Lifecycle {
    type Err = crate::state::UnknownWord;
    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word {
            "created" => Ok(Self::Created),
            "updated" => Ok(Self::Updated),
            "deleted" => Ok(Self::Deleted),
            other => Err(crate::state::UnknownWord { what: "lifecycle", word: other.to_owned() }),
        }
    }
}

/// One of the events that share an object and a version.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    pub event_id: EventId,
    pub lifecycle: Lifecycle,
    /// The object as the event carries it.
    pub object: Option<Value>,
    /// What the changed fields were before (Stripe's `previous_attributes`).
    pub previous: Option<Value>,
}

/// The newest of a set of candidates.
#[derive(Debug, PartialEq)]
pub struct Newest<'a> {
    pub candidate: &'a Candidate,
    /// `false` where nothing in the events tells, and the largest event id was taken: fixed, but arbitrary.
    pub resolved: bool,
}

/// `None` only for an empty slice. The order of the slice does not matter.
pub fn newest(candidates: &[Candidate]) -> Option<Newest<'_>> {
    let last_stage = candidates.iter().map(|c| c.lifecycle).max()?;
    let rivals: Vec<&Candidate> = candidates.iter().filter(|c| c.lifecycle == last_stage).collect();
    let unsucceeded: Vec<&Candidate> = rivals
        .iter()
        .copied()
        .filter(|c| !rivals.iter().any(|other| other.event_id != c.event_id && follows(other, c)))
        .collect();
    let (pool, resolved) = match unsucceeded.len() {
        1 => (unsucceeded, true),
        // Everything was succeeded by something: the values went in a circle.
        0 => (rivals, false),
        _ => (unsucceeded, false),
    };
    let candidate = pool.into_iter().max_by(|a, b| a.event_id.cmp(&b.event_id))?;
    Some(Newest { candidate, resolved })
}

/// Whether `later` says that its changed fields had, before, the values that `earlier` carries.
fn follows(later: &Candidate, earlier: &Candidate) -> bool {
    match (&later.previous, &earlier.object) {
        (Some(previous), Some(object)) => previous != &Value::Object(serde_json::Map::new()) && includes(object, previous),
        _ => false,
    }
}

/// Whether every field of `part` stands in `whole` with the same value; nested objects may be partial too.
fn includes(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => {
            part.iter().all(|(key, value)| includes(whole.get(key).unwrap_or(&Value::Null), value))
        }
        (whole, part) => whole == part,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn candidate(id: &str, lifecycle: Lifecycle, object: Value, previous: Value) -> Candidate {
        let previous = (!previous.is_null()).then_some(previous);
        Candidate { event_id: EventId::new(id).unwrap(), lifecycle, object: Some(object), previous }
    }

    fn check(candidates: &mut [Candidate], id: &str, resolved: bool) {
        for _ in 0..candidates.len() {
            candidates.rotate_left(1);
            let newest = newest(candidates).unwrap();
            assert_eq!((newest.candidate.event_id.as_str(), newest.resolved), (id, resolved));
        }
    }

    #[test]
    fn a_later_stage_of_life_wins() {
        use Lifecycle::{Created, Deleted, Updated};
        let mut all = [
            candidate("c", Created, json!({}), Value::Null),
            candidate("b", Updated, json!({}), Value::Null),
            candidate("a", Deleted, json!({}), Value::Null),
        ];
        check(&mut all, "a", true);
        check(&mut all.iter().filter(|c| c.lifecycle != Deleted).cloned().collect::<Vec<_>>(), "b", true);
    }

    #[test]
    fn previous_attributes_chain_updates_whatever_their_ids() {
        let mut chain = [
            candidate("z", Lifecycle::Updated, json!({"plan": "b", "n": 1}), json!({"plan": "a"})),
            candidate("y", Lifecycle::Updated, json!({"plan": "c", "n": 1}), json!({"plan": "b"})),
            candidate("x", Lifecycle::Updated, json!({"plan": "d", "n": 1}), json!({"plan": "c"})),
        ];
        check(&mut chain, "x", true);
        // Without the link between them the ends cannot be told apart: fixed order, and said to be arbitrary.
        check(&mut [chain[0].clone(), chain[2].clone()], "z", false);
    }

    #[test]
    fn nested_previous_values_are_compared_field_by_field() {
        let mut pair = [
            candidate("b", Lifecycle::Updated, json!({"items": {"plan": "p1", "qty": 1}}), Value::Null),
            candidate("a", Lifecycle::Updated, json!({"items": {"plan": "p2", "qty": 1}}), json!({"items": {"plan": "p1"}})),
        ];
        check(&mut pair, "a", true);
    }

    #[test]
    fn a_circle_and_an_empty_previous_resolve_nothing() {
        let mut circle = [
            candidate("a", Lifecycle::Updated, json!({"on": true}), json!({"on": false})),
            candidate("b", Lifecycle::Updated, json!({"on": false}), json!({"on": true})),
        ];
        check(&mut circle, "b", false);
        let mut empty = [
            candidate("a", Lifecycle::Updated, json!({"on": true}), json!({})),
            candidate("b", Lifecycle::Updated, json!({"on": false}), json!({})),
        ];
        check(&mut empty, "b", false);
    }

    #[test]
    fn nothing_has_no_newest() {
        assert_eq!(newest(&[]), None);
    }
}
