//! Lists of ledger rows, for people. Invariant: a list is read in pages by key, so that it ends, shows no row twice, and can be
//! taken up again wherever it was broken off.

use hookledger_core::{EventId, Micros, Outcome, SourceName, Status, Via};
use serde::{Deserialize, Serialize};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::error::LedgerError;
use crate::ledger::{Ledger, Param};
use crate::rows::key_of;

/// Rows in one page: as JSON they stay well below the 6 MB that Lambda lets an answer have.
pub const PAGE_ROWS_MAX: u32 = 1000;

/// Which rows are meant: those that fulfil all of it. The default is every row.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EventFilter {
    pub source: Option<SourceName>,
    /// Quick to find only with a source.
    pub event_id: Option<EventId>,
    /// `*` stands for any characters.
    pub event_type: Option<String>,
    /// Any of them; empty is any at all.
    pub status: Vec<Status>,
    pub outcome: Option<Outcome>,
    pub object_kind: Option<String>,
    pub object_id: Option<String>,
    /// First received at or after this.
    pub since: Option<Micros>,
    /// First received before this.
    pub until: Option<Micros>,
    /// A part of the last error, in either case.
    pub error: Option<String>,
}

impl EventFilter {
    /// Whether settled events are meant too, which are as many as there ever were: only a time narrows them down. The others
    /// have indexes of their own.
    pub fn includes_settled(&self) -> bool {
        self.status.is_empty() || self.status.contains(&Status::Settled)
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    #[default]
    NewestFirst,
    OldestFirst,
}

/// Where a page ended. Times are RFC 3339 in UTC with microseconds, here and in all that is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    pub received_at: String,
    pub source: SourceName,
    pub event_id: EventId,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventRow {
    pub source: SourceName,
    pub event_id: EventId,
    pub event_type: String,
    pub status: Status,
    pub outcome: Option<Outcome>,
    pub attempts: u32,
    pub via: Via,
    pub account: Option<String>,
    pub object_kind: Option<String>,
    pub object_id: Option<String>,
    pub received_at: String,
    pub settled_at: Option<String>,
    pub next_attempt_at: Option<String>,
    pub last_error: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventPage {
    pub events: Vec<EventRow>,
    /// Where the next page begins, if there is one.
    pub next: Option<Position>,
}

macro_rules! utc {
    ($column:literal) => {
        concat!("to_char(", $column, " AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')")
    };
}
pub(crate) use utc;

/// The columns of [`event_row`].
pub(crate) const COLUMNS: &str = concat!(
    "e.source, e.event_id, e.event_type, e.status, e.outcome, e.attempts, e.via, e.account, e.object_kind, e.object_id, ",
    utc!("e.received_at"),
    " AS received, ",
    utc!("e.settled_at"),
    " AS settled, ",
    utc!("e.next_attempt_at"),
    " AS next_attempt, e.last_error"
);

/// [`EventFilter`] as [`Matches`] gives its values, `$1` to `$12`.
pub(crate) const MATCHES: &str = "
    ($1::text IS NULL OR e.source = $1)
    AND ($2::text IS NULL OR e.event_type LIKE $2)
    AND (cardinality($3::text[]) = 0 OR e.status = ANY ($3))
    AND ($4::text IS NULL OR e.outcome = $4)
    AND ($5::text IS NULL OR e.object_kind = $5)
    AND ($6::text IS NULL OR e.object_id = $6)
    AND ($12::text IS NULL OR e.event_id = $12)
    AND ($7::int8 IS NULL OR e.received_at >= 'epoch'::timestamptz + $7 * interval '1 microsecond')
    AND ($8::int8 IS NULL OR e.received_at < 'epoch'::timestamptz + $8 * interval '1 microsecond')
    AND ($9::text IS NULL OR e.last_error ILIKE $9)
    -- The statuses imply these two. They are said so that the partial indexes can serve, one of them or both.
    AND (NOT $10::bool OR e.settled_at IS NULL OR ($11::bool AND e.settled_at IS NOT NULL AND e.outcome IS NULL))
    AND (NOT $11::bool OR (e.settled_at IS NOT NULL AND e.outcome IS NULL) OR ($10::bool AND e.settled_at IS NULL))";

/// The values of [`MATCHES`].
pub(crate) struct Matches<'a> {
    filter: &'a EventFilter,
    source: Option<&'a str>,
    event_id: Option<&'a str>,
    event_type: Option<String>,
    status: Vec<&'static str>,
    outcome: Option<&'static str>,
    error: Option<String>,
    /// Where neither is said, it may be any event.
    unsettled: bool,
    dead_letters: bool,
}

impl<'a> Matches<'a> {
    pub(crate) fn of(filter: &'a EventFilter) -> Self {
        let asked_for =
            |statuses: &[Status]| !filter.includes_settled() && filter.status.iter().any(|s| statuses.contains(s));
        Self {
            filter,
            source: filter.source.as_ref().map(SourceName::as_str),
            event_id: filter.event_id.as_ref().map(EventId::as_str),
            event_type: filter.event_type.as_deref().map(|glob| like(glob).replace('*', "%")),
            status: filter.status.iter().map(|status| status.as_str()).collect(),
            outcome: filter.outcome.map(Outcome::as_str),
            error: filter.error.as_deref().map(|part| format!("%{}%", like(part))),
            unsettled: asked_for(&[Status::Claimed, Status::Processing, Status::Failed]),
            dead_letters: asked_for(&[Status::DeadLetter]),
        }
    }

    pub(crate) fn params(&self) -> Vec<Param<'_>> {
        vec![
            (&self.source as _, Type::TEXT),
            (&self.event_type as _, Type::TEXT),
            (&self.status as _, Type::TEXT_ARRAY),
            (&self.outcome as _, Type::TEXT),
            (&self.filter.object_kind as _, Type::TEXT),
            (&self.filter.object_id as _, Type::TEXT),
            (&self.filter.since as _, Type::INT8),
            (&self.filter.until as _, Type::INT8),
            (&self.error as _, Type::TEXT),
            (&self.unsettled as _, Type::BOOL),
            (&self.dead_letters as _, Type::BOOL),
            (&self.event_id as _, Type::TEXT),
        ]
    }
}

/// Text that `LIKE` takes as it stands.
fn like(text: &str) -> String {
    text.replace('\\', r"\\").replace('%', r"\%").replace('_', r"\_")
}

impl Ledger {
    /// A page of up to `rows` (at most [`PAGE_ROWS_MAX`]) that follow `after` in the order of their receipt.
    pub async fn list_events(
        &mut self,
        filter: &EventFilter,
        order: Order,
        after: Option<&Position>,
        rows: u32,
    ) -> Result<EventPage, LedgerError> {
        let (follows, direction) = match order {
            Order::NewestFirst => ("<", "DESC"),
            Order::OldestFirst => (">", "ASC"),
        };
        let sql = format!(
            "SELECT {COLUMNS} FROM webhook_event e WHERE {MATCHES}
             AND ($13::text IS NULL OR (e.received_at, e.source, e.event_id) {follows} ($13::timestamptz, $14, $15))
             ORDER BY e.received_at {direction}, e.source {direction}, e.event_id {direction} LIMIT $16"
        );
        let matches = Matches::of(filter);
        let limit = i64::from(rows.clamp(1, PAGE_ROWS_MAX));
        let (at, source, id) = position(after);
        let mut params = matches.params();
        params.extend([
            (&at as _, Type::TEXT),
            (&source as _, Type::TEXT),
            (&id as _, Type::TEXT),
            (&limit as _, Type::INT8),
        ]);
        let answer = self.query("list events", &sql, &params).await?;
        let events = answer.rows.iter().map(event_row).collect::<Result<Vec<_>, _>>()?;
        let full = i64::try_from(events.len()) == Ok(limit);
        let next = events.last().filter(|_| full).map(Position::of);
        Ok(EventPage { events, next })
    }
}

impl Position {
    pub fn of(row: &EventRow) -> Self {
        Self { received_at: row.received_at.clone(), source: row.source.clone(), event_id: row.event_id.clone() }
    }
}

pub(crate) fn position(after: Option<&Position>) -> (Option<&str>, Option<&str>, Option<&str>) {
    (after.map(|p| p.received_at.as_str()), after.map(|p| p.source.as_str()), after.map(|p| p.event_id.as_str()))
}

pub(crate) fn event_row(row: &Row) -> Result<EventRow, LedgerError> {
    let key = key_of(row)?;
    Ok(EventRow {
        source: key.source,
        event_id: key.event_id,
        event_type: row.get("event_type"),
        status: row.get::<_, &str>("status").parse()?,
        outcome: row.get::<_, Option<&str>>("outcome").map(str::parse).transpose()?,
        attempts: u32::try_from(row.get::<_, i32>("attempts")).unwrap_or(0),
        via: row.get::<_, &str>("via").parse()?,
        account: row.get("account"),
        object_kind: row.get("object_kind"),
        object_id: row.get("object_id"),
        received_at: row.get("received"),
        settled_at: row.get("settled"),
        next_attempt_at: row.get("next_attempt"),
        last_error: row.get("last_error"),
    })
}
