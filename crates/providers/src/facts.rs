//! A delivery, opened as far as its definition asks.

use std::borrow::Cow;

use crate::request::SignedRequest;
use hookledger_json::Fields;

/// What a definition looks for in JSON: in the whole body, and in each event of a body that carries several.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wanted {
    pub(crate) root: Fields,
    pub(crate) item: Fields,
}

/// What is known of a delivery, or of one event in it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Facts<'a> {
    pub(crate) request: &'a SignedRequest,
    pub(crate) form: &'a Form<'a>,
    pub(crate) xml: &'a str,
    pub(crate) root: &'a [Option<&'a str>],
    pub(crate) item: &'a [Option<&'a str>],
    /// When it was received, in Unix seconds.
    pub(crate) now_s: i64,
}

/// The fields of a form body, percent-decoded once; empty for any other body.
pub(crate) type Form<'a> = Vec<(Cow<'a, str>, Cow<'a, str>)>;

impl<'a> Facts<'a> {
    /// What is known before the body is opened.
    pub(crate) fn unopened(request: &'a SignedRequest, now_s: i64) -> Self {
        Self { request, form: const { &Vec::new() }, xml: "", root: &[], item: &[], now_s }
    }
}
