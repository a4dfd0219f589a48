//! Between rows and the words of `hookledger_core`.

use bytes::Bytes;
use hookledger_core::{Event, EventId, EventRef, ObjectKey, SourceName};
use tokio_postgres::Row;

use crate::error::LedgerError;

/// Keys as the two array parameters that `unnest` takes.
pub(crate) struct Keys<'a> {
    pub(crate) sources: Vec<&'a str>,
    pub(crate) event_ids: Vec<&'a str>,
}

impl<'a> Keys<'a> {
    pub(crate) fn of(keys: impl Iterator<Item = (&'a SourceName, &'a EventId)>) -> Self {
        let (sources, event_ids) = keys.map(|(source, id)| (source.as_str(), id.as_str())).unzip();
        Self { sources, event_ids }
    }
}

pub(crate) fn key_of(row: &Row) -> Result<EventRef, LedgerError> {
    Ok(EventRef {
        source: SourceName::new(row.get::<_, &str>("source"))?,
        event_id: EventId::new(row.get::<_, &str>("event_id"))?,
    })
}

/// `None` where the payload is gone: retention dropped it before somebody asked for the event again.
pub(crate) fn event_of(key: &EventRef, row: &Row) -> Result<Option<Event>, LedgerError> {
    let Some(body) = row.get::<_, Option<&[u8]>>("body") else { return Ok(None) };
    let EventRef { source, event_id } = key.clone();
    let object = match (row.get("account"), row.get("object_kind"), row.get("object_id")) {
        (Some(account), Some(kind), Some(id)) => Some(ObjectKey { account, kind, id }),
        _ => None,
    };
    let headers: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(row.get::<_, &str>("headers")).unwrap_or_default();
    Ok(Some(Event {
        source,
        event_id,
        event_type: row.get("event_type"),
        object,
        version: row.get("version"),
        lifecycle: row.get::<_, &str>("lifecycle").parse()?,
        via: row.get::<_, &str>("via").parse()?,
        received_at: row.get("received_at_us"),
        headers: headers.into_iter().filter_map(|(name, value)| Some((name, value.as_str()?.to_owned()))).collect(),
        body: Bytes::copy_from_slice(body),
    }))
}
