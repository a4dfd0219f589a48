//! One kept connection to one server, for the call that each event costs, of which only the status matters: no pool to look in, no
//! URL to take apart, no task beside the caller's, and no headers made and read that nobody looks at.
//!
//! Invariant: a connection is used again only after a whole answer, and a request that may have reached the server is not
//! sent a second time here.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

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

/// Of an answer, all that a connection is kept for. A longer one is not read to its end.
const ANSWER_BYTES_MAX: usize = 64 << 10;
/// What an answer usually fits.
const ANSWER_BYTES_USUAL: usize = 1 << 10;
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
        let mut open = match self.take() {
            Some(open) => open,
            None => Box::pin(self.open()).await?,
        };
        open.stream.write_all(request).await?;
        let (status, is_whole) = open.status().await?;
        if is_whole {
            self.keep(open);
        }
        Ok(status)
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
        Ok(Open { stream, answer: Vec::with_capacity(ANSWER_BYTES_USUAL) })
    }
}

impl<S: Read + Write + Unpin> Open<S> {
    /// And whether the answer was read to its end, after which the connection can be used again.
    async fn status(&mut self) -> Result<(u16, bool), BoxError> {
        self.answer.clear();
        loop {
            if let Some(head) = Head::parse(&self.answer)? {
                match head.bytes {
                    Some(bytes) if self.answer.len() < bytes && bytes <= ANSWER_BYTES_MAX => {}
                    bytes => return Ok((head.status, bytes == Some(self.answer.len()))),
                }
            }
            if self.answer.len() > ANSWER_BYTES_MAX {
                return Err("an answer's head is too long".into());
            }
            if self.read().await? == 0 {
                return Err("the server ended the connection before its answer was whole".into());
            }
        }
    }

    async fn read(&mut self) -> std::io::Result<usize> {
        self.stream.read_buf(&mut self.answer).await
    }
}

struct Head {
    status: u16,
    /// Of the whole answer; `None` where its end is marked in another way, or the connection ends behind it.
    bytes: Option<usize>,
}

impl Head {
    /// `None` where there is more to come.
    fn parse(answer: &[u8]) -> Result<Option<Self>, httparse::Error> {
        let mut headers = [EMPTY_HEADER; HEADERS_MAX];
        let mut response = httparse::Response::new(&mut headers);
        let httparse::Status::Complete(head_bytes) = response.parse(answer)? else { return Ok(None) };
        let closes = text(response.headers, "connection")
            .is_some_and(|options| options.split(',').any(|option| option.trim().eq_ignore_ascii_case("close")));
        // Beside a transfer encoding a length means nothing (RFC 9112, section 6.3).
        let is_encoded = response.headers.iter().any(|header| header.name.eq_ignore_ascii_case("transfer-encoding"));
        let is_kept = response.version == Some(1) && !closes && !is_encoded;
        let body_bytes = text(response.headers, "content-length").and_then(|length| length.parse::<usize>().ok());
        let bytes = body_bytes.filter(|_| is_kept).and_then(|bytes| bytes.checked_add(head_bytes));
        Ok(Some(Self { status: response.code.unwrap_or_default(), bytes }))
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
        let endless = "HTTP/1.1 200 OK\r\nx: ".to_owned() + &"x".repeat(2 * ANSWER_BYTES_MAX);
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
}
