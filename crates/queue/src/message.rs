//! What a message's body says. Invariant: each body is exactly one of the two forms, told by its first byte.
//!
//! A reference is a JSON object and begins with `{`; a spilled event is base64, whose alphabet has no `{`. The body tells
//! rather than a message attribute, because a body is what every tool shows, and what survives being moved by hand from a
//! dead-letter queue.

use std::io::Read;

use aws_lambda_events::sqs::SqsMessage;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use hookledger_core::{EventRef, VerifiedEvent, from_spill};

/// Largest spilled event after decompression, in bytes: more than the 6 MB that Lambda lets a request have. Without a
/// bound, a mebibyte of gzip can grow to a gibibyte.
const UNPACKED_BYTES_MAX: u64 = 8 << 20;

/// A message of either queue; the worker gets both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// The row is in the ledger.
    Ref(EventRef),
    /// The database could not be reached at receive: the event has to be claimed first.
    Spilled(VerifiedEvent),
    /// Nothing that hookledger sent: why, without the body.
    Unreadable(String),
}

pub fn read_message(message: &SqsMessage) -> Message {
    let body = message.body.as_deref().unwrap_or_default();
    let read =
        if body.starts_with('{') { read_ref(body).map(Message::Ref) } else { read_spilled(body).map(Message::Spilled) };
    read.unwrap_or_else(Message::Unreadable)
}

fn read_ref(body: &str) -> Result<EventRef, String> {
    serde_json::from_str(body).map_err(|e| format!("not the key of an event: {e}"))
}

fn read_spilled(body: &str) -> Result<VerifiedEvent, String> {
    let packed = STANDARD.decode(body).map_err(|e| format!("neither a key nor base64: {e}"))?;
    let mut unpacked = Vec::new();
    let mut bounded = GzDecoder::new(packed.as_slice()).take(UNPACKED_BYTES_MAX + 1);
    bounded.read_to_end(&mut unpacked).map_err(|e| format!("not gzip: {e}"))?;
    if unpacked.len() as u64 > UNPACKED_BYTES_MAX {
        return Err(format!("larger than {UNPACKED_BYTES_MAX} bytes when unpacked"));
    }
    from_spill(&unpacked).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn read(body: &str) -> Message {
        let mut message = SqsMessage::default();
        message.body = Some(body.to_owned());
        read_message(&message)
    }

    #[track_caller]
    fn check_unreadable(body: &str, why: &str) {
        match read(body) {
            Message::Unreadable(text) => assert!(text.contains(why), "{text}"),
            other @ (Message::Ref(_) | Message::Spilled(_)) => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_reference_is_read() {
        let Message::Ref(key) = read(r#"{"source":"stripe","event_id":"evt_1"}"#) else { panic!("not a reference") };
        assert_eq!((key.source.as_str(), key.event_id.as_str()), ("stripe", "evt_1"));
    }

    #[test]
    fn a_foreign_body_is_unreadable_and_says_why() {
        check_unreadable("", "not gzip");
        check_unreadable(r#"{"source":"NO","event_id":"evt_1"}"#, "not the key");
        check_unreadable("hello world", "neither a key nor base64");
        check_unreadable("aGVsbG8=", "not gzip");
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(b"{}").unwrap();
        check_unreadable(&STANDARD.encode(gzip.finish().unwrap()), "not a spilled event");
    }

    #[test]
    fn a_decompression_bomb_is_unreadable() {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        std::io::copy(&mut std::io::repeat(0).take(UNPACKED_BYTES_MAX + 1), &mut gzip).unwrap();
        check_unreadable(&STANDARD.encode(gzip.finish().unwrap()), "larger than");
    }

    #[test]
    fn a_message_without_a_body_is_unreadable() {
        assert!(matches!(read_message(&SqsMessage::default()), Message::Unreadable(_)));
    }
}
