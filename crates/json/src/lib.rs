//! Reads what matters out of JSON (RFC 8259), in one pass and without a tree of the rest: a delivery's body, and the event that API
//! Gateway makes of a delivery.
//!
//! Invariant: what is not JSON is refused, wherever the fault stands, as strictly as `serde_json` refuses it.

mod fields;
mod members;
mod scan;
mod scan_scalar;
mod text;

pub use fields::{Fields, Found, Malformed};
pub use members::{items, members};
pub use text::{scalar, text};
