//! The arguments that choose events, the same in every command that has some.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use hookledger_core::{Micros, Outcome, SourceName, Status, UnknownWord};
use hookledger_ledger::EventFilter;

use crate::when;

const STATUSES: [&str; 5] = ["claimed", "processing", "failed", "settled", "dead_letter"];
const OUTCOMES: [&str; 3] = ["applied", "stale", "ignored"];

/// How far back is looked where nobody says. A ledger keeps its rows for ever, and a question about all of them could take
/// minutes.
pub(crate) const LOOK_BACK_DAYS: i64 = 30;

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Filter {
    /// Of this source only
    #[arg(long, value_parser = source_name)]
    pub(crate) source: Option<SourceName>,
    /// Of this type only; * stands for anything: invoice.*
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) event_type: Option<String>,
    /// In this state only; may be given several times
    #[arg(long, value_delimiter = ',', value_parser = PossibleValuesParser::new(STATUSES).try_map(status))]
    pub(crate) status: Vec<Status>,
    /// Settled with this outcome
    #[arg(long, value_parser = PossibleValuesParser::new(OUTCOMES).try_map(outcome))]
    pub(crate) outcome: Option<Outcome>,
    /// About this object
    #[arg(long, value_name = "KIND/ID", value_parser = object)]
    pub(crate) object: Option<(String, String)>,
    /// Received since: 2026-07-01T14:10Z, 2026-07-01, or 24h for a day ago
    #[arg(long, value_name = "TIME", value_parser = when::parse)]
    pub(crate) since: Option<Micros>,
    /// Received before
    #[arg(long, value_name = "TIME", value_parser = when::parse)]
    pub(crate) until: Option<Micros>,
    /// With this in the last error
    #[arg(long, value_name = "TEXT")]
    pub(crate) error: Option<String>,
}

impl From<Filter> for EventFilter {
    fn from(filter: Filter) -> Self {
        let (object_kind, object_id) = filter.object.unzip();
        Self {
            source: filter.source,
            event_id: None,
            event_type: filter.event_type,
            status: filter.status,
            outcome: filter.outcome,
            object_kind,
            object_id,
            since: filter.since,
            until: filter.until,
            error: filter.error,
        }
    }
}

pub(crate) fn source_name(text: &str) -> Result<SourceName, String> {
    SourceName::new(text).map_err(|error| error.to_string())
}

fn status(word: String) -> Result<Status, UnknownWord> {
    word.parse()
}

fn outcome(word: String) -> Result<Outcome, UnknownWord> {
    word.parse()
}

/// Only the first slash divides: an id may have some.
fn object(text: &str) -> Result<(String, String), String> {
    match text.split_once('/') {
        Some((kind, id)) if !kind.is_empty() && !id.is_empty() => Ok((kind.to_owned(), id.to_owned())),
        Some(_) | None => Err("an object is its kind and its id: subscription/sub_123".to_owned()),
    }
}
