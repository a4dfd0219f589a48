//! The head of an answer: its status, and where the answer ends. Invariant: where that is not clear, it is not guessed.

use std::mem::MaybeUninit;

use httparse::{Header, ParserConfig};

const HEADERS_MAX: usize = 100;

pub(super) struct Head {
    pub(super) status: u16,
    pub(super) bytes: usize,
    pub(super) end: End,
    /// Whether the server lets the connection be used again.
    pub(super) is_kept: bool,
}

/// Where an answer ends (RFC 9112, section 6.3).
pub(super) enum End {
    /// After so many bytes.
    At(usize),
    Chunks,
    OfConnection,
    /// Marked in a way that is not known here, or against the rules.
    Unclear,
}

impl Head {
    /// `None` where there is more to come.
    pub(super) fn parse(answer: &[u8]) -> Result<Option<Self>, httparse::Error> {
        let mut headers = [const { MaybeUninit::uninit() }; HEADERS_MAX];
        let mut response = httparse::Response::new(&mut []);
        let parsed = ParserConfig::default().parse_response_with_uninit_headers(&mut response, answer, &mut headers)?;
        let httparse::Status::Complete(bytes) = parsed else { return Ok(None) };
        let status = response.code.unwrap_or_default();
        let closes = values(response.headers, "connection").any(|options| {
            options.split(|byte| *byte == b',').any(|option| option.trim_ascii().eq_ignore_ascii_case(b"close"))
        });
        let end = End::read(status, bytes, response.headers);
        let is_kept = response.version == Some(1) && !closes && matches!(end, End::At(_) | End::Chunks);
        Ok(Some(Self { status, bytes, end, is_kept }))
    }
}

impl End {
    fn read(status: u16, head_bytes: usize, headers: &[Header<'_>]) -> Self {
        let mut codings = values(headers, "transfer-encoding");
        let mut lengths = values(headers, "content-length");
        match (codings.next(), lengths.next()) {
            _ if matches!(status, 100..200 | 204 | 304) => Self::At(head_bytes),
            (None, None) => Self::OfConnection,
            // Beside a transfer coding a length means nothing.
            (Some(coding), _) if coding.eq_ignore_ascii_case(b"chunked") && codings.next().is_none() => Self::Chunks,
            (None, Some(length)) if lengths.all(|another| another == length) && length.iter().all(u8::is_ascii_digit) => {
                let body_bytes = std::str::from_utf8(length).ok().and_then(|length| length.parse::<usize>().ok());
                body_bytes.and_then(|bytes| bytes.checked_add(head_bytes)).map_or(Self::Unclear, Self::At)
            }
            _ => Self::Unclear,
        }
    }
}

fn values<'a>(headers: &'a [Header<'a>], name: &'a str) -> impl Iterator<Item = &'a [u8]> {
    headers.iter().filter(move |header| header.name.eq_ignore_ascii_case(name)).map(|header| header.value)
}
