//! The claim, over Postgres's protocol (postgresql.org/docs/current/protocol-message-formats.html).
//!
//! Invariant: one write and one answer a claim, and the answer is read to its end. The statement is prepared on the way, with the
//! first one.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use anyhow::{Context, anyhow, bail, ensure};
use bytes::{BufMut, BytesMut};
use openssl::ssl::{Ssl, SslContext, SslMethod, SslStream, SslVerifyMode};
use postgres_protocol::IsNull;
use postgres_protocol::message::{backend, frontend};

use crate::delivery::{Delivery, Event};

/// Of the parameters, oids of pg_type: text, int8, bytea, float8 and bool.
const TYPES: [u32; 14] = [25, 25, 25, 25, 25, 25, 20, 25, 25, 20, 25, 17, 701, 16];

const STATEMENT: &str = "claim";
/// After which a duplicate would ask for its event to be queued again.
const QUEUE_PATIENCE_S: f64 = 30.0;
const OBSERVE: u8 = 0;
const BUFFER_BYTES: usize = 16 << 10;

/// `postgres://user@host:port/database`, its host an address.
pub(crate) struct Place<'a> {
    user: &'a str,
    pub(crate) address: SocketAddr,
    database: &'a str,
}

pub(crate) struct Database<S> {
    stream: S,
    /// What is to be sent.
    out: BytesMut,
    answer: Vec<u8>,
}

impl<'a> Place<'a> {
    pub(crate) fn parse(url: &'a str) -> Option<Self> {
        let (user, rest) = url.strip_prefix("postgres://")?.split_once('@')?;
        let (address, database) = rest.split_once('/')?;
        Some(Self { user, address: address.parse().ok()?, database })
    }
}

/// TLS over `stream`, to a server whose certificate `ca_file` vouches for, and nobody else.
pub(crate) fn secured(mut stream: TcpStream, place: &Place<'_>, ca_file: &str) -> anyhow::Result<SslStream<TcpStream>> {
    let mut request = BytesMut::new();
    frontend::ssl_request(&mut request);
    stream.write_all(&request)?;
    let mut answer = [0];
    stream.read_exact(&mut answer)?;
    ensure!(&answer == b"S", "the database has no TLS");
    let mut context = SslContext::builder(SslMethod::tls_client())?;
    context.set_ca_file(ca_file)?;
    context.set_verify(SslVerifyMode::PEER);
    let mut ssl = Ssl::new(&context.build())?;
    ssl.param_mut().set_ip(place.address.ip())?;
    Ok(ssl.connect(stream)?)
}

impl<S: Read + Write> Database<S> {
    pub(crate) fn open(stream: S, place: &Place<'_>, statement: &str) -> anyhow::Result<Self> {
        let mut database = Self { stream, out: BytesMut::new(), answer: vec![0; BUFFER_BYTES] };
        frontend::startup_message([("user", place.user), ("database", place.database)], &mut database.out)?;
        // An authentication that is asked for, and not granted, would be waited for from both sides.
        database.exchange(|tag, body| {
            let is_asked = tag == backend::AUTHENTICATION_TAG && body != [0; 4];
            if is_asked { Err(anyhow!("the database wants a password")) } else { Ok(()) }
        })?;
        frontend::parse(STATEMENT, statement, TYPES, &mut database.out)?;
        Ok(database)
    }

    /// Whether it was new.
    pub(crate) fn claim(&mut self, event: &Event<'_>, delivery: &Delivery<'_>) -> anyhow::Result<bool> {
        let (object, headers) = (event.object(), delivery.kept_headers());
        let version = (event.created * 1_000_000).to_be_bytes();
        let text = |text| Some(str::as_bytes(text));
        let params = [
            text("stripe"),
            text(event.id),
            text(event.event_type),
            text(""),
            text(object.kind),
            text(object.id),
            Some(&version[..]),
            text("updated"),
            text("webhook"),
            None,
            text(&headers),
            text(&delivery.body),
            Some(&QUEUE_PATIENCE_S.to_be_bytes()),
            Some(&[OBSERVE]),
        ];
        frontend::bind("", STATEMENT, [1], params, write, [1], &mut self.out).map_err(|_| anyhow!("a value is too long"))?;
        frontend::execute("", 0, &mut self.out)?;
        frontend::sync(&mut self.out);
        let mut is_new = None;
        self.exchange(|tag, body| {
            if tag == backend::DATA_ROW_TAG {
                // Behind the number of columns and the length of the only one.
                is_new = body.get(6..).map(|found| found == b"new");
            }
            Ok(())
        })?;
        is_new.context("a claim is answered with no row")
    }

    /// Sends what there is to send, and shows `each` message of the answer, up to the one that says it is over.
    fn exchange(&mut self, mut each: impl FnMut(u8, &[u8]) -> anyhow::Result<()>) -> anyhow::Result<()> {
        self.stream.write_all(&self.out)?;
        self.out.clear();
        let (mut filled, mut at) = (0, 0);
        loop {
            while let Some(header) = backend::Header::parse(&self.answer[at..filled])? {
                let end = at + 1 + usize::try_from(header.len())?;
                let Some(body) = self.answer[..filled].get(at + 5..end) else { break };
                match header.tag() {
                    backend::READY_FOR_QUERY_TAG => return Ok(()),
                    backend::ERROR_RESPONSE_TAG => bail!("the database says {}", String::from_utf8_lossy(body)),
                    tag => each(tag, body)?,
                }
                at = end;
            }
            let length = self.stream.read(&mut self.answer[filled..])?;
            ensure!(length > 0, "the database ended the connection, or says too much");
            filled += length;
        }
    }
}

fn write(value: Option<&[u8]>, out: &mut BytesMut) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
    Ok(match value {
        Some(value) => {
            out.put_slice(value);
            IsNull::No
        }
        None => IsNull::Yes,
    })
}
