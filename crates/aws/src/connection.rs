//! One kept connection to one server, for the exchanges that each event costs: no pool to look in, no URL to take apart, no task beside the
//! caller's, and no headers made and read that nobody looks at.
//!
//! Invariant: a connection is used again only after a whole answer, and a request that may have reached the server is not
//! sent a second time here.

use std::mem;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::Uri;
use httparse::{EMPTY_HEADER, Header};
use hyper::rt::{Read, Write};
use hyper_openssl::client::legacy::HttpsConnector;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tower_service::Service;

use crate::connector::{IDLE_MAX, tcp};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Of an answer of which only the status matters, all that a connection is kept for. A longer one is not read to its end.
const UNREAD_BYTES_MAX: usize = 64 << 10;
const HEAD_BYTES_MAX: usize = 64 << 10;
/// What such an answer usually fits, and what one that is read does.
const STATUS_BYTES_USUAL: usize = 1 << 10;
const ANSWER_BYTES_USUAL: usize = 8 << 10;
const HEADERS_MAX: usize = 32;

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
    /// The first header of this name that is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines =
            std::str::from_utf8(self.bytes.get(..self.head_bytes)?).ok()?.lines().filter_map(|line| line.split_once(':'));
        lines.find_map(|(known, value)| known.eq_ignore_ascii_case(name).then(|| value.trim()))
    }

    pub fn into_body(self) -> Bytes {
        Bytes::from(self.bytes).split_off(self.head_bytes)
    }
}

impl<S: Read + Write + Unpin> Open<S> {
    async fn head(&mut self) -> Result<Head, BoxError> {
        loop {
            if let Some(head) = Head::parse(&self.answer)? {
                return Ok(head);
            }
            if self.answer.len() > HEAD_BYTES_MAX {
                return Err("an answer's head is too long".into());
            }
            self.read_on().await?;
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
            let size = httparse::parse_chunk_size(self.answer.get(at..).unwrap_or_default());
            let httparse::Status::Complete((line_bytes, size)) = size.map_err(|_| "an answer's chunk has no size")? else {
                self.read_on().await?;
                continue;
            };
            let begin = at + line_bytes;
            at = usize::try_from(size)?.checked_add(begin + CRLF.len()).ok_or("an answer's chunk is too long")?;
            self.read_to(at).await?;
            let data = begin..at - CRLF.len();
            if self.answer.get(data.end..at) != Some(CRLF) {
                return Err("an answer's chunk is longer than it says".into());
            }
            self.answer.copy_within(data.clone(), end);
            end += data.len();
            if data.is_empty() {
                self.answer.drain(end..at);
                return Ok(end);
            }
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

struct Head {
    status: u16,
    bytes: usize,
    end: End,
    /// Whether the server lets the connection be used again.
    is_kept: bool,
}

/// Where an answer ends (RFC 9112, section 6.3).
enum End {
    /// After so many bytes.
    At(usize),
    Chunks,
    OfConnection,
}

impl Head {
    /// `None` where there is more to come.
    fn parse(answer: &[u8]) -> Result<Option<Self>, httparse::Error> {
        let mut headers = [EMPTY_HEADER; HEADERS_MAX];
        let mut response = httparse::Response::new(&mut headers);
        let httparse::Status::Complete(bytes) = response.parse(answer)? else { return Ok(None) };
        let status = response.code.unwrap_or_default();
        let closes = text(response.headers, "connection")
            .is_some_and(|options| options.split(',').any(|option| option.trim().eq_ignore_ascii_case("close")));
        let length = text(response.headers, "content-length").and_then(|length| length.parse::<usize>().ok());
        // Beside a transfer encoding a length means nothing.
        let end = match (text(response.headers, "transfer-encoding"), length.and_then(|length| length.checked_add(bytes))) {
            _ if matches!(status, 204 | 304) => End::At(bytes),
            (Some(coding), _) if coding.eq_ignore_ascii_case("chunked") => End::Chunks,
            (None, Some(end)) => End::At(end),
            _ => End::OfConnection,
        };
        let is_kept = response.version == Some(1) && !closes && !matches!(end, End::OfConnection);
        Ok(Some(Self { status, bytes, end, is_kept }))
    }
}

fn text<'a>(headers: &[Header<'a>], name: &str) -> Option<&'a str> {
    let header = headers.iter().find(|header| header.name.eq_ignore_ascii_case(name))?;
    std::str::from_utf8(header.value).ok()
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;
    use tokio::task::JoinHandle;

    use super::*;
    use crate::connector::Connector;
    use crate::roots::Roots;

    const REQUEST: &[u8] = b"POST / HTTP/1.1\r\ncontent-length: 0\r\n\r\n";
    const WHOLE: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";

    /// Answers each request with the next of `answers`, in the pieces that they have, and ends a connection behind what is followed by
    /// nothing. Gives for each connection how many requests it took.
    #[expect(clippy::disallowed_methods, reason = "a server beside the test")]
    async fn server(connections: Vec<Vec<Vec<&'static str>>>) -> (Connection, JoinHandle<Vec<usize>>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let uri = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
        let taken = tokio::spawn(async move {
            let mut taken = Vec::new();
            for answers in connections {
                let (mut stream, _) = listener.accept().await.unwrap();
                taken.push(0);
                for pieces in answers {
                    let mut request = [0; REQUEST.len()];
                    stream.read_exact(&mut request).await.unwrap();
                    assert_eq!(request, REQUEST);
                    *taken.last_mut().unwrap() += 1;
                    for piece in pieces {
                        stream.write_all(piece.as_bytes()).await.unwrap();
                        tokio::task::yield_now().await;
                    }
                }
            }
            taken
        });
        (Connector::new(&Roots::Amazon).unwrap().connection(uri), taken)
    }

    #[tokio::test]
    async fn a_connection_is_kept_behind_a_whole_answer_in_however_many_pieces() {
        let pieces = vec!["HTTP/1.1 503 Slow", " Down\r\ncontent-length:", " 3\r\n", "\r\n", "a", "bc"];
        let (connection, taken) = server(vec![vec![vec![WHOLE], pieces, vec![WHOLE]]]).await;
        for status in [200, 503, 200] {
            assert_eq!(connection.ask(REQUEST).await.unwrap(), status);
        }
        assert_eq!(taken.await.unwrap(), [3]);
    }

    #[tokio::test]
    async fn an_answer_that_ends_in_another_way_counts_and_its_connection_is_not_used_again() {
        for answer in [
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nConnection: close\r\ncontent-length: 2\r\n\r\n{}",
            "HTTP/1.1 200 OK\r\nconnection: keep-alive, Close\r\ncontent-length: 2\r\n\r\n{}",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-length: 12\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
            "HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\n{}",
            "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}HTTP/1.1 500 Not asked for\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 99999999\r\n\r\n",
        ] {
            let (connection, taken) = server(vec![vec![vec![answer]], vec![vec![WHOLE]]]).await;
            for _ in 0..2 {
                assert_eq!(connection.ask(REQUEST).await.unwrap(), 200, "{answer}");
            }
            assert_eq!(taken.await.unwrap(), [1, 1], "{answer}");
        }
    }

    #[tokio::test]
    async fn what_is_no_answer_is_an_error_and_nothing_is_sent_twice() {
        let endless = "HTTP/1.1 200 OK\r\nx: ".to_owned() + &"x".repeat(2 * HEAD_BYTES_MAX);
        for answer in
            ["", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{", "no HTTP\r\n\r\n", endless.leak()]
        {
            let (connection, taken) = server(vec![vec![vec![answer]], vec![vec![WHOLE]]]).await;
            connection.ask(REQUEST).await.unwrap_err();
            assert_eq!(connection.ask(REQUEST).await.unwrap(), 200);
            assert_eq!(taken.await.unwrap(), [1, 1]);
        }
    }

    #[tokio::test]
    async fn a_connection_that_ended_meanwhile_is_replaced() {
        let (connection, taken) = server(vec![vec![vec![WHOLE]], vec![vec![WHOLE]]]).await;
        assert_eq!(connection.ask(REQUEST).await.unwrap(), 200);
        // Until its end has come, it looks as if it could be used.
        while let Some(open) = connection.take() {
            connection.keep(open);
            tokio::task::yield_now().await;
        }
        assert_eq!(connection.ask(REQUEST).await.unwrap(), 200);
        assert_eq!(taken.await.unwrap(), [1, 1]);
    }

    /// Whether the connection is kept is told by how many requests each took.
    async fn check_fetched(pieces: Vec<&'static str>, body: &str, is_kept: bool) {
        let connections =
            if is_kept { vec![vec![pieces.clone(), vec![WHOLE]]] } else { vec![vec![pieces.clone()], vec![vec![WHOLE]]] };
        let (connection, taken) = server(connections).await;
        let answer = connection.fetch(REQUEST).await.unwrap();
        assert_eq!((answer.status, answer.header("x-id"), answer.header("x")), (200, Some("1: 2"), None), "{pieces:?}");
        assert_eq!(answer.into_body(), body, "{pieces:?}");
        assert_eq!(connection.ask(REQUEST).await.unwrap(), 200);
        assert_eq!(taken.await.unwrap(), if is_kept { vec![2] } else { vec![1, 1] }, "{pieces:?}");
    }

    #[tokio::test]
    async fn an_answer_is_read_to_its_end_however_that_is_marked() {
        let long: &str = "x".repeat(1 << 20).leak();
        let head = "HTTP/1.1 200 OK\r\nX-Id: 1: 2\r\n";
        let of = |rest: &str| -> &'static str { format!("{head}{rest}").leak() };
        let chunked = of("Transfer-Encoding: Chunked\r\n\r\n");
        check_fetched(vec![of("content-length: 5\r\n\r\nab"), "c", "de"], "abcde", true).await;
        check_fetched(vec![of("content-length: 1048576\r\n\r\n"), long], long, true).await;
        check_fetched(vec![chunked, "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n"], "abcde", true).await;
        check_fetched(vec![chunked, "3\r", "\na", "bc\r", "\n0\r\n", "\r\n"], "abc", true).await;
        check_fetched(vec![chunked, "100000\r\n", long, "\r\n1\r\na\r\n0\r\n\r\n"], &format!("{long}a"), true).await;
        check_fetched(vec![of("connection: close\r\n\r\na"), "bc"], "abc", false).await;
        check_fetched(vec![of("connection: close\r\ncontent-length: 3\r\n\r\nabc")], "abc", false).await;
        check_fetched(vec![of("content-length: 3\r\n\r\nabcHTTP/1.1 500 Not asked for\r\n\r\n")], "abc", false).await;
        check_fetched(vec![chunked, "1\r\na\r\n0\r\n\r\nHTTP/1.1 500 Not asked for\r\n\r\n"], "a", false).await;
    }

    #[tokio::test]
    async fn an_answer_without_a_body_ends_with_its_head() {
        let (connection, taken) = server(vec![vec![vec!["HTTP/1.1 204 No Content\r\n\r\n"], vec![WHOLE]]]).await;
        let answer = connection.fetch(REQUEST).await.unwrap();
        assert_eq!((answer.status, answer.into_body().len()), (204, 0));
        assert_eq!(connection.fetch(REQUEST).await.unwrap().into_body(), "{}");
        assert_eq!(taken.await.unwrap(), [2]);
    }

    #[tokio::test]
    async fn half_an_answer_is_none() {
        let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        for rest in [
            "",
            "2\r\na",
            "1\r\na\r\n",
            "1\r\nabc0\r\n\r\n",
            "x\r\n\r\n",
            "ffffffffffffffff\r\n",
            "1\r\na\r\n0\r\nx: y\r\n\r\n",
        ] {
            let (connection, _taken) = server(vec![vec![vec![chunked, rest]]]).await;
            assert!(connection.fetch(REQUEST).await.is_err(), "{rest}");
        }
        for answer in ["HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nab", "HTTP/1.1 200 OK\r\n"] {
            let (connection, _taken) = server(vec![vec![vec![answer]]]).await;
            assert!(connection.fetch(REQUEST).await.is_err(), "{answer}");
        }
    }
}
