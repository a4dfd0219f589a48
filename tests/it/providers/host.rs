//! The web servers of providers, played on this machine under their own names, and what was asked of them.
//!
//! Whoever wants to connect to a name says so (CONNECT) before TLS begins, so that a test sees every connection that would
//! have been made, also to names that are played by nobody.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex};

use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use hookledger_aws::{Connector, Roots};
use hookledger_runtime::Https;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_native_tls::TlsAcceptor;

use crate::tls::certificate::{Authority, Validity};

#[derive(Clone)]
pub(super) enum Reply {
    Body(Vec<u8>),
    Status(u16),
    Redirect(&'static str),
    /// More than anybody wants to read.
    Endless,
    /// A byte now and then.
    Drip,
    Silence,
}

pub(super) struct Hosts {
    port: u16,
    authority: Authority,
    played: Arc<Played>,
    _listening: JoinSet<()>,
}

struct Played {
    names: HashMap<String, TlsAcceptor>,
    reply: Mutex<Reply>,
    asked: Mutex<Vec<String>>,
}

impl Hosts {
    pub(super) async fn start(names: &[&str], reply: Reply) -> Self {
        Self::with(names, reply, Validity::UntilTomorrow).await
    }

    pub(super) async fn with(names: &[&str], reply: Reply, validity: Validity) -> Self {
        let authority = Authority::new();
        let acceptor = |name: &&str| {
            let identity = authority.issue(name, validity);
            ((*name).to_owned(), TlsAcceptor::from(native_tls::TlsAcceptor::new(identity).unwrap()))
        };
        let names = names.iter().map(acceptor).collect();
        let played = Arc::new(Played { names, reply: Mutex::new(reply), asked: Mutex::default() });
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut listening = JoinSet::new();
        listening.spawn(accept(listener, played.clone()));
        Self { port, authority, played, _listening: listening }
    }

    /// The client of the functions, but for the way it takes and whom it trusts.
    pub(super) fn https(&self) -> Https {
        Self::client(self.port, self.authority.pem())
    }

    /// As [`Hosts::https`], for one that does not know the authority.
    pub(super) fn https_of_a_stranger(&self) -> Https {
        Self::client(self.port, Authority::new().pem())
    }

    fn client(port: u16, ca_pem: Vec<u8>) -> Https {
        Https::over(move || {
            let tunnel = Tunnel::new(format!("http://127.0.0.1:{port}").parse().unwrap(), HttpConnector::new());
            Connector::without_reuse_over(tunnel, &Roots::Pem(ca_pem)).map(SharedHttpConnector::new)
        })
    }

    pub(super) fn reply(&self, reply: Reply) {
        *self.played.reply.lock().unwrap() = reply;
    }

    /// What was asked since the last time: `CONNECT name:port` for each connection, then `METHOD name/path body`.
    pub(super) fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.played.asked.lock().unwrap())
    }
}

async fn accept(listener: TcpListener, played: Arc<Played>) {
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        connections.spawn(serve(client, played.clone()));
    }
}

async fn serve(mut client: TcpStream, played: Arc<Played>) -> io::Result<()> {
    let (line, _) = read_request(&mut client).await?;
    let target = line.split(' ').nth(1).unwrap_or_default().to_owned();
    played.asked.lock().unwrap().push(format!("CONNECT {target}"));
    let name = target.strip_suffix(":443").unwrap_or_default();
    let Some(acceptor) = played.names.get(name) else {
        return client.write_all(b"HTTP/1.1 502 Bad Gateway\r\n\r\n").await;
    };
    client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
    let mut client = acceptor.accept(client).await.map_err(io::Error::other)?;
    let (line, body) = read_request(&mut client).await?;
    let mut words = line.split(' ');
    let (method, address) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    // Through a tunnel the whole address is written.
    let path = address.strip_prefix("https://").and_then(|address| address.strip_prefix(name)).unwrap_or(address);
    played.asked.lock().unwrap().push(format!("{method} {name}{path} {body}").trim_end().to_owned());
    let reply = played.reply.lock().unwrap().clone();
    answer(&mut client, reply).await?;
    client.shutdown().await
}

async fn answer(client: &mut (impl AsyncWrite + Unpin), reply: Reply) -> io::Result<()> {
    match reply {
        Reply::Body(body) => {
            client.write_all(format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len()).as_bytes()).await?;
            client.write_all(&body).await
        }
        Reply::Status(status) => {
            client.write_all(format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\n\r\n").as_bytes()).await
        }
        Reply::Redirect(to) => {
            client.write_all(format!("HTTP/1.1 302 X\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n").as_bytes()).await
        }
        Reply::Endless => {
            client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
            loop {
                client.write_all(&[b'x'; 4096]).await?;
            }
        }
        Reply::Drip => {
            client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
            loop {
                client.write_all(b"x").await?;
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
        }
        Reply::Silence => std::future::pending().await,
    }
}

/// The request's first line, and its body.
async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<(String, String)> {
    let mut read = Vec::new();
    let end = loop {
        if let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(&mut read).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    };
    let head = String::from_utf8_lossy(&read[..end]).into_owned();
    let length =
        head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
    while read.len() < end + length.unwrap_or(0) {
        if stream.read_buf(&mut read).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok((head.lines().next().unwrap_or_default().to_owned(), String::from_utf8_lossy(&read[end..]).into_owned()))
}
