//! The providers, from outside: vectors, identities, malformed input.

#![expect(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod delivery;
mod docs;
mod explaining;
mod identity;
mod malformed;
mod mutation;
mod own;
mod signing;
mod sources;
mod told;
mod vector;
mod vectors;
