//! What a tie between events of one version is decided by.

use hookledger_core::{Candidate, Event};

use crate::sources::Source;

/// The object and its previous values as `event` carries them, for [`hookledger_core::newest`].
pub fn candidate(_source: &Source, event: &Event) -> Candidate {
    Candidate { event_id: event.event_id.clone(), lifecycle: event.lifecycle, object: None, previous: None }
}
