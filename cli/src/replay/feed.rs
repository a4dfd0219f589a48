//! What a provider still has, page by page. Invariant: a page can be asked for again with its cursor, also by another run.

use anyhow::Result;
use bytes::Bytes;
use hookledger_core::Micros;

/// A delivery as the receiver takes it, except for the signature.
#[derive(Debug, Clone)]
pub(crate) struct Delivery {
    /// Tells it from every other delivery of the replay.
    pub(crate) id: String,
    /// When the event happened, or was delivered, as far as the provider says.
    pub(crate) at: Option<Micros>,
    pub(crate) event_type: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Bytes,
}

pub(crate) struct Page {
    /// In the order in which the provider lists them.
    pub(crate) deliveries: Vec<Delivery>,
    pub(crate) next: Option<String>,
}

pub(crate) trait Feed {
    /// Whether pages begin with the newest delivery. They are then walked through to the end first, and replayed backwards.
    const NEWEST_FIRST: bool;

    /// Tells it from the other feeds of the replay.
    fn name(&self) -> String;

    /// The page at `cursor`; without one, the first.
    fn page(&self, cursor: Option<&str>) -> impl Future<Output = Result<Page>>;
}
