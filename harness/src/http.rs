//! Just enough of an HTTP/1.1 server for the loopback: what stands in for the Lambda Runtime API and in front of the queue.
//!
//! Written out, because a server from a crate would turn on features of crates that the functions use too, and so be built
//! into what is tested. Invariant: a request is whole before it is answered, and bounded.

use anyhow::{Context, bail, ensure};
use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

const HEAD_BYTES_MAX: usize = 64 << 10;
/// More than the 6 MB that Lambda lets a response have.
const BODY_BYTES_MAX: usize = 16 << 20;
const HEADERS_MAX: usize = 64;

pub struct Request {
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Bytes,
}

pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Bytes,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn closes(&self) -> bool {
        self.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"))
    }
}

impl Answer {
    pub fn new(status: u16, body: impl Into<Bytes>) -> Self {
        Self { status, headers: Vec::new(), body: body.into() }
    }

    pub fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }
}

/// Serves until it is dropped. Where `answer` gives nothing, the connection is closed without a word.
pub async fn serve<F, A>(listener: TcpListener, answer: F)
where
    F: Fn(Request) -> A + Clone + Send + 'static,
    A: Future<Output = Option<Answer>> + Send,
{
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => if let Ok((stream, _)) = accepted {
                let answer = answer.clone();
                // A peer that breaks off, or speaks something else, is its own affair.
                connections.spawn(async move { drop(converse(stream, answer).await) });
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn converse<F, A>(mut stream: TcpStream, answer: F) -> anyhow::Result<()>
where
    F: Fn(Request) -> A,
    A: Future<Output = Option<Answer>>,
{
    stream.set_nodelay(true)?;
    let mut unread = BytesMut::new();
    while let Some(request) = read_request(&mut stream, &mut unread).await? {
        let closes = request.closes();
        let Some(answer) = answer(request).await else { break };
        stream.write_all(&written(&answer)).await?;
        if closes {
            break;
        }
    }
    Ok(())
}

fn written(answer: &Answer) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {} -\r\ncontent-length: {}\r\n", answer.status, answer.body.len());
    for (name, value) in &answer.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    [head.as_bytes(), &answer.body].concat()
}

/// `None` at the end of the connection.
async fn read_request(stream: &mut TcpStream, unread: &mut BytesMut) -> anyhow::Result<Option<Request>> {
    let mut request = loop {
        if let Some(request) = parse_head(unread)? {
            break request;
        }
        ensure!(unread.len() < HEAD_BYTES_MAX, "a request's head is too long");
        if stream.read_buf(unread).await? == 0 {
            return Ok(None);
        }
    };
    if request.header("expect").is_some_and(|value| value.eq_ignore_ascii_case("100-continue")) {
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
    }
    let chunked = request.header("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked"));
    request.body = match request.header("content-length") {
        _ if chunked => read_chunks(stream, unread).await?,
        Some(length) => read_exactly(stream, unread, length.parse().context("content-length")?).await?,
        None => Bytes::new(),
    };
    Ok(Some(request))
}

/// Takes a whole head out of `unread`, or leaves it.
fn parse_head(unread: &mut BytesMut) -> anyhow::Result<Option<Request>> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut head = httparse::Request::new(&mut headers);
    let httparse::Status::Complete(length) = head.parse(unread)? else { return Ok(None) };
    let request = Request {
        method: head.method.unwrap_or_default().to_owned(),
        target: head.path.unwrap_or_default().to_owned(),
        headers: head
            .headers
            .iter()
            .map(|header| (header.name.to_ascii_lowercase(), String::from_utf8_lossy(header.value).into_owned()))
            .collect(),
        body: Bytes::new(),
    };
    unread.advance(length);
    Ok(Some(request))
}

async fn read_exactly(stream: &mut TcpStream, unread: &mut BytesMut, length: usize) -> anyhow::Result<Bytes> {
    ensure!(length <= BODY_BYTES_MAX, "a body is too long");
    while unread.len() < length {
        ensure!(stream.read_buf(unread).await? > 0, "the connection ended within a body");
    }
    Ok(unread.split_to(length).freeze())
}

async fn read_chunks(stream: &mut TcpStream, unread: &mut BytesMut) -> anyhow::Result<Bytes> {
    let mut body = BytesMut::new();
    loop {
        let size = loop {
            match httparse::parse_chunk_size(unread) {
                Ok(httparse::Status::Complete((length, size))) => {
                    unread.advance(length);
                    break usize::try_from(size)?;
                }
                Ok(httparse::Status::Partial) => {
                    ensure!(stream.read_buf(unread).await? > 0, "the connection ended within a body");
                }
                Err(_) => bail!("a chunk's size cannot be read"),
            }
        };
        ensure!(body.len() + size <= BODY_BYTES_MAX, "a body is too long");
        // Trailers, which nobody sends here, would be taken for the next request and refused.
        let chunk = read_exactly(stream, unread, size + 2).await?;
        body.extend_from_slice(&chunk[..size]);
        if size == 0 {
            return Ok(body.freeze());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `bytes`, arriving one by one, are answered with by a server that sends the body back.
    async fn echoed(bytes: &[u8]) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let mut server = JoinSet::new();
        server.spawn(serve(listener, |request| async move {
            (request.target != "/hang-up").then(|| Answer::new(200, request.body))
        }));
        for byte in bytes {
            client.write_all(&[*byte]).await.unwrap();
        }
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn bodies_are_read_by_length_and_by_chunk_over_one_connection() {
        let two = b"POST /a HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi\
            POST /b HTTP/1.1\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
        let answers = "HTTP/1.1 200 -\r\ncontent-length: 2\r\n\r\nhiHTTP/1.1 200 -\r\ncontent-length: 5\r\n\r\nabcde";
        assert_eq!(echoed(two).await, answers);
    }

    #[tokio::test]
    async fn without_an_answer_the_connection_is_closed() {
        assert_eq!(echoed(b"GET /hang-up HTTP/1.1\r\n\r\n").await, "");
    }
}
