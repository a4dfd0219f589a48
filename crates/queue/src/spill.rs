//! The spill queue: whole events while the database cannot be reached. Invariant: what was spilled can be read back by
//! [`read_message`](crate::read_message) as the same event with its first `received_at`.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use hookledger_core::{Micros, NotASpilledEvent, VerifiedEvent, to_spill};

use crate::client::Client;

/// Largest message that SQS takes, in bytes. Base64 makes four of three, so the gzip may have 786,432.
pub const SPILL_BYTES_MAX: usize = 1 << 20;

/// A queue of its own, encrypted, that only the receiver may send to.
#[derive(Clone)]
pub struct SpillQueue {
    client: Client,
    url: String,
}

/// The event is neither in the ledger nor spilled: the sender has to try again.
#[derive(Debug, thiserror::Error)]
pub enum SpillError {
    #[error("a spilled event of {bytes} bytes is larger than SQS takes")]
    TooLarge { bytes: usize },
    #[error("cannot write an event down for the spill queue")]
    Encode(#[from] NotASpilledEvent),
    #[error("cannot compress an event for the spill queue")]
    Compress(#[from] std::io::Error),
    #[error("cannot send an event to the spill queue")]
    Send(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl SpillQueue {
    pub fn new(client: Client, queue_url: String) -> Self {
        Self { client, url: queue_url }
    }

    /// Returns once SQS has the event. Being two attempts at most, it can leave two copies: the claim makes them one.
    pub async fn spill(&self, event: &VerifiedEvent, received_at: Micros) -> Result<(), SpillError> {
        let body = pack(event, received_at)?;
        let sent = Box::pin(self.client.sdk.send_message().queue_url(&self.url).message_body(body).send());
        sent.await.map(drop).map_err(|e| SpillError::Send(e.into()))
    }
}

fn pack(event: &VerifiedEvent, received_at: Micros) -> Result<String, SpillError> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(&to_spill(event, received_at)?)?;
    let body = STANDARD.encode(gzip.finish()?);
    if body.len() > SPILL_BYTES_MAX { Err(SpillError::TooLarge { bytes: body.len() }) } else { Ok(body) }
}
