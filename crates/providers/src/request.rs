//! A delivery as it came in. The last thing that is not yet trusted.

use bytes::Bytes;
use http::{HeaderMap, Method};

#[derive(Debug, Clone)]
pub struct SignedRequest {
    pub method: Method,
    /// Without a stage prefix.
    pub path: String,
    /// As received, still percent-encoded, without the question mark.
    pub query: Option<String>,
    pub headers: HeaderMap,
    /// The bytes as received: what was signed, never a re-serialised form of it.
    pub body: Bytes,
}
