//! Questions that change nothing.

use hookledger_core::{EventId, EventRef, Lifecycle, Micros, ObjectKey, Outcome, SourceName, Status};
use hookledger_ledger::{EventDetail, EventFilter, EventPage, EventRow, InForce, Order, Position, StatsRow};
use serde::{Deserialize, Serialize};

use crate::place::Place;
use crate::{Command, CommandError};

/// A page of events.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct List {
    pub filter: EventFilter,
    pub order: Order,
    pub after: Option<Position>,
    pub rows: u32,
}

/// One event with all there is of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Show {
    pub key: EventRef,
}

/// Which of these events the ledger has.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Known {
    pub source: SourceName,
    pub event_ids: Vec<EventId>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Stats {
    pub source: Option<SourceName>,
    pub since: Option<Micros>,
    pub until: Option<Micros>,
    pub by_type: bool,
}

/// Every event of one object.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct History {
    pub source: SourceName,
    pub object: ObjectKey,
    pub since: Option<Micros>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ObjectHistory {
    pub in_force: Option<InForce>,
    /// In the order of their versions.
    pub events: Vec<HistoryEvent>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HistoryEvent {
    #[serde(flatten)]
    pub row: EventRow,
    /// Microseconds since 1970 by the provider's clock.
    pub version: Option<Micros>,
    pub lifecycle: String,
    pub in_force: bool,
    /// What decided about it.
    pub why: String,
}

impl Command for List {
    const NAME: &'static str = "events.list";
    type Answer = EventPage;
    async fn run(self, place: &mut Place) -> Result<EventPage, CommandError> {
        Ok(place.ledger.list_events(&self.filter, self.order, self.after.as_ref(), self.rows).await?)
    }
}

impl Command for Show {
    const NAME: &'static str = "events.show";
    type Answer = Option<EventDetail>;
    async fn run(self, place: &mut Place) -> Result<Option<EventDetail>, CommandError> {
        Ok(place.ledger.show_event(&self.key).await?)
    }
}

impl Command for Known {
    const NAME: &'static str = "events.known";
    type Answer = Vec<EventId>;
    async fn run(self, place: &mut Place) -> Result<Vec<EventId>, CommandError> {
        Ok(place.ledger.known(&self.source, &self.event_ids).await?)
    }
}

impl Command for Stats {
    const NAME: &'static str = "events.stats";
    type Answer = Vec<StatsRow>;
    async fn run(self, place: &mut Place) -> Result<Vec<StatsRow>, CommandError> {
        Ok(place.ledger.stats(self.source.as_ref(), self.since, self.until, self.by_type).await?)
    }
}

impl Command for History {
    const NAME: &'static str = "object.history";
    type Answer = ObjectHistory;
    async fn run(self, place: &mut Place) -> Result<ObjectHistory, CommandError> {
        let history = place.ledger.history(&self.source, &self.object, self.since).await?;
        let in_force = history.in_force;
        let events = history.events.into_iter().map(|event| {
            let is_in_force = in_force.as_ref().is_some_and(|o| o.event_id == event.row.event_id.as_str());
            let why =
                why(event.row.status, event.row.outcome, event.version, event.lifecycle, is_in_force, in_force.as_ref());
            HistoryEvent {
                row: event.row,
                version: event.version,
                lifecycle: event.lifecycle.as_str().to_owned(),
                in_force: is_in_force,
                why,
            }
        });
        Ok(ObjectHistory { events: events.collect(), in_force })
    }
}

/// As far as the rows tell it: the guard leaves no note of its own.
fn why(
    status: Status,
    outcome: Option<Outcome>,
    version: Option<Micros>,
    lifecycle: Lifecycle,
    is_in_force: bool,
    in_force: Option<&InForce>,
) -> String {
    match (status, outcome) {
        (Status::Settled, Some(Outcome::Stale)) => match (version, in_force) {
            (_, Some(o)) if o.deleted && lifecycle != Lifecycle::Deleted => {
                format!("the object was deleted by {}, and stays so", o.event_id)
            }
            (Some(v), Some(o)) if v == o.version => {
                format!("of the same version as {}, which was found to be the newer", o.event_id)
            }
            (Some(v), Some(o)) if v < o.version => {
                format!("older than {}, or than one that was applied before it", o.event_id)
            }
            (_, _) => "a newer version was there already".to_owned(),
        },
        (Status::Settled, Some(Outcome::Applied)) if is_in_force => "the newest: its state is in force".to_owned(),
        (Status::Settled, Some(Outcome::Applied)) if version.is_none() => {
            "carries no version, so it was not compared".to_owned()
        }
        (Status::Settled, Some(Outcome::Applied)) => "the newest when it was applied".to_owned(),
        (Status::Settled, Some(Outcome::Ignored)) => "no handler had anything to do with it".to_owned(),
        (Status::Claimed | Status::Processing, _) => "not processed yet".to_owned(),
        (Status::Failed, _) => "failed, and will be tried again".to_owned(),
        (Status::DeadLetter, _) => "given up; see its last error".to_owned(),
        (Status::Settled, None) => "settled".to_owned(),
    }
}
