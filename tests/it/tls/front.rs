//! What stands before a Postgres and does TLS as Postgres does, so that no test depends on how the server was built.

use std::io;

use native_tls::Identity;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_native_tls::TlsAcceptor;

/// Length 8 and the code 1234.5679 (PostgreSQL's message formats, SSLRequest).
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

/// Listens until it is dropped. It lets whoever asks for no TLS through in plain text, like a server that requires none.
pub(crate) struct Front {
    port: u16,
    _listening: JoinSet<()>,
}

impl Front {
    /// `server` is host:port. Without an identity there is no TLS, and an SSLRequest is answered so.
    pub(crate) async fn start(server: &str, identity: Option<Identity>) -> Self {
        let acceptor = identity.map(|identity| TlsAcceptor::from(native_tls::TlsAcceptor::new(identity).unwrap()));
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut listening = JoinSet::new();
        listening.spawn(accept(listener, server.to_owned(), acceptor));
        Self { port, _listening: listening }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }
}

async fn accept(listener: TcpListener, server: String, acceptor: Option<TlsAcceptor>) {
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        connections.spawn(pipe(client, server.clone(), acceptor.clone()));
    }
}

async fn pipe(mut client: TcpStream, server: String, acceptor: Option<TlsAcceptor>) -> io::Result<()> {
    let mut server = TcpStream::connect(server).await?;
    let mut first = [0; SSL_REQUEST.len()];
    client.read_exact(&mut first).await?;
    match acceptor {
        Some(acceptor) if first == SSL_REQUEST => {
            client.write_all(b"S").await?;
            let mut client = acceptor.accept(client).await.map_err(io::Error::other)?;
            copy_bidirectional(&mut client, &mut server).await?;
        }
        None if first == SSL_REQUEST => {
            client.write_all(b"N").await?;
            copy_bidirectional(&mut client, &mut server).await?;
        }
        Some(_) | None => {
            server.write_all(&first).await?;
            copy_bidirectional(&mut client, &mut server).await?;
        }
    }
    Ok(())
}
