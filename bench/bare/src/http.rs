//! Just enough of an HTTP/1.1 client: one connection, one request at a time. Invariant: an answer is whole before anybody sees it.

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};

use anyhow::{Context, ensure};
use httparse::{EMPTY_HEADER, Header, Status};

const HEADERS_MAX: usize = 16;
/// At first; a longer answer is given room.
const BUFFER_BYTES: usize = 16 << 10;

pub(crate) struct Peer {
    stream: TcpStream,
    buffer: Vec<u8>,
}

pub(crate) struct Answer<'a> {
    pub(crate) status: u16,
    headers: [Header<'a>; HEADERS_MAX],
    pub(crate) body: &'a [u8],
}

pub(crate) fn connect(address: impl ToSocketAddrs) -> anyhow::Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

impl Peer {
    pub(crate) fn connect(address: &str) -> anyhow::Result<Self> {
        let stream = connect(address).with_context(|| format!("connect to {address}"))?;
        Ok(Self { stream, buffer: vec![0; BUFFER_BYTES] })
    }

    /// One write, and as many reads as it takes: one, where the answer was sent as one.
    pub(crate) fn ask(&mut self, request: &[u8]) -> anyhow::Result<Answer<'_>> {
        self.stream.write_all(request)?;
        let mut filled = 0;
        while Answer::parse(&self.buffer[..filled])?.is_none() {
            if filled == self.buffer.len() {
                self.buffer.resize(2 * filled, 0);
            }
            let length = self.stream.read(&mut self.buffer[filled..])?;
            ensure!(length > 0, "the connection ended before an answer");
            filled += length;
        }
        Answer::parse(&self.buffer[..filled])?.context("an answer is not whole")
    }
}

impl<'a> Answer<'a> {
    /// `None` where there is more to come.
    fn parse(bytes: &'a [u8]) -> anyhow::Result<Option<Self>> {
        let mut headers = [EMPTY_HEADER; HEADERS_MAX];
        let mut head = httparse::Response::new(&mut headers);
        let Status::Complete(length) = head.parse(bytes)? else { return Ok(None) };
        let mut answer = Self { status: head.code.unwrap_or_default(), headers, body: &[] };
        let body_bytes: usize = answer.header("content-length").context("an answer has no length")?.parse()?;
        let Some(body) = bytes.get(length..length + body_bytes) else { return Ok(None) };
        answer.body = body;
        Ok(Some(answer))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&'a str> {
        let header = self.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name))?;
        std::str::from_utf8(header.value).ok()
    }
}
