//! What providers send, at the receiver's boundary: status, body and rows, each as its provider's documents say.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod batches;
mod confirmation;
mod fetched;
mod handshakes;
mod host;
mod keys;
mod scene;
mod single;
mod sns;
