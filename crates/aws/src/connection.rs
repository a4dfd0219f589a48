//! One kept connection to one server, for the exchanges that each event costs: no pool to look in, no URL to take apart, no task beside the
//! caller's, and no headers made and read that nobody looks at.
//!
//! Invariant: a connection is used again only after a whole answer, and a request that may have reached the server is not
//! sent a second time here.

mod head;

use std::mem;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::Uri;
use hyper::rt::{Read, Write};
use hyper_openssl::client::legacy::HttpsConnector;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tower_service::Service;

use self::head::{End, Head};
use crate::connector::{IDLE_MAX, tcp};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Of an answer of which only the status matters, all that a connection is kept for. A longer one is not read to its end.
const UNREAD_BYTES_MAX: usize = 64 << 10;
const HEAD_BYTES_MAX: usize = 64 << 10;
/// What such an answer usually fits, and what one that is read does.
const STATUS_BYTES_USUAL: usize = 1 << 10;
const ANSWER_BYTES_USUAL: usize = 8 << 10;
/// One between chunks.
const LINE_BYTES_MAX: usize = 8 << 10;

/// A server, and the connection to it when there is one. Two calls at a time have one each; the last to end is kept.
pub struct Connection<C: Service<Uri> = HttpsConnector<HttpConnector>> {
    connector: C,
    server: Uri,
    kept: Mutex<Option<Kept<C::Response>>>,
}

struct Kept<S> {
    open: Open<S>,
    used: Instant,
}

struct Open<S> {
    stream: TokioIo<S>,
    /// What was read of an answer.
    answer: Vec<u8>,
}

/// Never one of TLS: to a server within the same machine.
pub type PlainConnection = Connection<HttpConnector>;

impl PlainConnection {
    pub fn plain(server: Uri) -> Self {
        Self::new(tcp(), server)
    }
}

impl<C> Connection<C>
where
    C: Service<Uri, Response: Read + Write + Unpin, Error: Into<BoxError>> + Clone,
{
    pub(crate) fn new(connector: C, server: Uri) -> Self {
        Self { connector, server, kept: Mutex::new(None) }
    }

    /// Sends `request`, a whole one of HTTP/1.1 (RFC 9112) as it goes over the wire, and gives the status of its answer. Whoever gives
    /// up waiting gives the connection up with it.
    pub async fn ask(&self, request: &[u8]) -> Result<u16, BoxError> {
        let mut open = self.sent(request, STATUS_BYTES_USUAL).await?;
        let head = open.head().await?;
        if let (true, End::At(end)) = (head.is_kept, head.end)
            && end <= UNREAD_BYTES_MAX
        {
            open.read_to(end).await?;
            if open.answer.len() == end {
                self.keep(open);
            }
        }
        Ok(head.status)
    }

    /// As [`Connection::ask`], and gives the whole answer, however long it is.
    pub async fn fetch(&self, request: &[u8]) -> Result<Answer, BoxError> {
        let mut open = self.sent(request, ANSWER_BYTES_USUAL).await?;
        let head = open.head().await?;
        let end = match head.end {
            End::At(end) => {
                open.read_to(end).await?;
                end
            }
            End::Chunks => open.join_chunks(head.bytes).await?,
            End::OfConnection => {
                while open.read().await? > 0 {}
                open.answer.len()
            }
            End::Unclear => return Err("an answer does not say where it ends".into()),
        };
        let is_whole = open.answer.len() == end;
        let mut bytes = mem::take(&mut open.answer);
        bytes.truncate(end);
        if head.is_kept && is_whole {
            self.keep(open);
        }
        Ok(Answer { status: head.status, head_bytes: head.bytes, bytes })
    }

    async fn sent(&self, request: &[u8], usual: usize) -> Result<Open<C::Response>, BoxError> {
        let mut open = match self.take() {
            Some(open) => open,
            None => Box::pin(self.open()).await?,
        };
        open.answer.clear();
        open.answer.reserve(usual);
        open.stream.write_all(request).await?;
        Ok(open)
    }

    /// The one that was kept, unless it is old or the server has ended it.
    fn take(&self) -> Option<Open<C::Response>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let Kept { mut open, used } = kept;
        let is_silent = open.read().now_or_never().is_none();
        (used.elapsed() < IDLE_MAX && is_silent).then_some(open)
    }

    fn keep(&self, open: Open<C::Response>) {
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(Kept { open, used: Instant::now() });
    }

    async fn open(&self) -> Result<Open<C::Response>, BoxError> {
        let stream = TokioIo::new(self.connector.clone().call(self.server.clone()).await.map_err(Into::into)?);
        Ok(Open { stream, answer: Vec::new() })
    }
}

/// A whole answer.
pub struct Answer {
    pub status: u16,
    head_bytes: usize,
    bytes: Vec<u8>,
}

impl Answer {
    /// The first header of this name, if it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.bytes.get(..self.head_bytes)?.split(|byte| *byte == b'\n');
        let value = lines.find_map(|line| {
            let (known, value) = line.split_at_checked(name.len())?;
            known.eq_ignore_ascii_case(name.as_bytes()).then(|| value.strip_prefix(b":")).flatten()
        })?;
        std::str::from_utf8(value).ok().map(str::trim)
    }

    pub fn into_body(self) -> Bytes {
        Bytes::from(self.bytes).split_off(self.head_bytes)
    }
}

impl<S: Read + Write + Unpin> Open<S> {
    async fn head(&mut self) -> Result<Head, BoxError> {
        loop {
            match Head::parse(&self.answer)? {
                // Not the answer yet (RFC 9110, section 15.2).
                Some(head) if (100..200).contains(&head.status) => drop(self.answer.drain(..head.bytes)),
                Some(head) => return Ok(head),
                None if self.answer.len() > HEAD_BYTES_MAX => return Err("an answer's head is too long".into()),
                None => self.read_on().await?,
            }
        }
    }

    /// At least so many bytes.
    async fn read_to(&mut self, end: usize) -> Result<(), BoxError> {
        while self.answer.len() < end {
            self.read_on().await?;
        }
        Ok(())
    }

    /// Takes a body out of its chunks (RFC 9112, section 7.1), in place, and gives its end. What follows the last chunk stands behind it.
    async fn join_chunks(&mut self, head_bytes: usize) -> Result<usize, BoxError> {
        let (mut end, mut at) = (head_bytes, head_bytes);
        loop {
            let line = self.line(at).await?;
            let size =
                chunk_size(self.answer.get(line.clone()).unwrap_or_default()).ok_or("an answer's chunk has no size")?;
            at = line.end + CRLF.len();
            if size == 0 {
                break;
            }
            let data = at..at.checked_add(size).ok_or("an answer's chunk is too long")?;
            at = data.end.saturating_add(CRLF.len());
            self.read_to(at).await?;
            if self.answer.get(data.end..at) != Some(CRLF) {
                return Err("an answer's chunk is longer than it says".into());
            }
            self.answer.copy_within(data, end);
            end += size;
        }
        // Fields may follow, and an empty line does.
        loop {
            let line = self.line(at).await?;
            at = line.end + CRLF.len();
            if line.is_empty() {
                self.answer.drain(end..at);
                return Ok(end);
            }
        }
    }

    /// The one that begins at `at`, without its end, which stands behind it.
    async fn line(&mut self, at: usize) -> Result<Range<usize>, BoxError> {
        loop {
            let rest = self.answer.get(at..).unwrap_or_default();
            if let Some(bytes) = rest.windows(CRLF.len()).position(|two| two == CRLF) {
                return Ok(at..at + bytes);
            }
            if rest.len() > LINE_BYTES_MAX {
                return Err("a line between an answer's chunks is too long".into());
            }
            self.read_on().await?;
        }
    }

    async fn read_on(&mut self) -> Result<(), BoxError> {
        if self.read().await? == 0 {
            return Err("the server ended the connection before its answer was whole".into());
        }
        Ok(())
    }

    async fn read(&mut self) -> std::io::Result<usize> {
        self.stream.read_buf(&mut self.answer).await
    }
}

const CRLF: &[u8] = b"\r\n";

/// In hexadecimal digits, behind which extensions may stand.
fn chunk_size(line: &[u8]) -> Option<usize> {
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let (size, rest) = line.split_at_checked(digits)?;
    let is_over = matches!(rest.trim_ascii_start().first(), None | Some(b';'));
    usize::from_str_radix(std::str::from_utf8(size).ok()?, 16).ok().filter(|_| is_over)
}

#[cfg(test)]
mod tests;
