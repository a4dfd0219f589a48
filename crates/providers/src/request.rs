//! A delivery as it came in. The last thing that is not yet trusted.

use std::borrow::Cow;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method};

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

impl SignedRequest {
    /// The fields of a form body, percent-decoded once; none of any other body.
    pub(crate) fn form(&self) -> Vec<(Cow<'_, str>, Cow<'_, str>)> {
        if self.is_form() { form_urlencoded::parse(&self.body).collect() } else { Vec::new() }
    }

    pub(crate) fn content_type(&self) -> Option<&HeaderValue> {
        self.headers.get(http::header::CONTENT_TYPE)
    }

    /// Whether the body is an HTML form, as its content type says.
    pub(crate) fn is_form(&self) -> bool {
        self.content_type().is_some_and(is_form)
    }
}

pub(crate) fn is_form(content_type: &HeaderValue) -> bool {
    let essence = content_type.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default();
    essence.trim_ascii().eq_ignore_ascii_case(b"application/x-www-form-urlencoded")
}
