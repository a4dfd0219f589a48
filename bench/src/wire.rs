//! What goes over the wire to Postgres: a way there that counts.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

pub(crate) struct Wire {
    port: u16,
    counts: Arc<Counts>,
    _server: JoinSet<()>,
}

#[derive(Default)]
struct Counts {
    sent: AtomicU64,
    received: AtomicU64,
    turns: AtomicU64,
}

/// So far.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Traffic {
    pub(crate) sent_bytes: u64,
    pub(crate) received_bytes: u64,
    /// How often something was sent after something was received.
    pub(crate) round_trips: u64,
}

impl Wire {
    /// A port of 127.0.0.1 that leads to `to`.
    pub(crate) async fn start(to: u16) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let (port, counts) = (listener.local_addr()?.port(), Arc::<Counts>::default());
        let (mut server, counted) = (JoinSet::new(), counts.clone());
        server.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                // Whoever breaks off is not ours to mourn.
                let counts = counted.clone();
                connections.spawn(async move { drop(relay(client, to, &counts).await) });
            }
        });
        Ok(Self { port, counts, _server: server })
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn traffic(&self) -> Traffic {
        let Counts { sent, received, turns } = &*self.counts;
        let [sent_bytes, received_bytes, round_trips] = [sent, received, turns].map(|count| count.load(Ordering::Relaxed));
        Traffic { sent_bytes, received_bytes, round_trips }
    }
}

async fn relay(client: TcpStream, to: u16, counts: &Counts) -> std::io::Result<()> {
    let server = TcpStream::connect(("127.0.0.1", to)).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let ((mut from_client, mut to_client), (mut from_server, mut to_server)) = (client.into_split(), server.into_split());
    let answered = AtomicBool::new(true);
    let there = async {
        let mut chunk = vec![0; 64 << 10];
        loop {
            let length = from_client.read(&mut chunk).await?;
            if length == 0 {
                return to_server.shutdown().await;
            }
            counts.sent.fetch_add(length as u64, Ordering::Relaxed);
            counts.turns.fetch_add(answered.swap(false, Ordering::Relaxed).into(), Ordering::Relaxed);
            to_server.write_all(&chunk[..length]).await?;
        }
    };
    let back = async {
        let mut chunk = vec![0; 64 << 10];
        loop {
            let length = from_server.read(&mut chunk).await?;
            if length == 0 {
                return to_client.shutdown().await;
            }
            counts.received.fetch_add(length as u64, Ordering::Relaxed);
            answered.store(true, Ordering::Relaxed);
            to_client.write_all(&chunk[..length]).await?;
        }
    };
    tokio::try_join!(there, back).map(drop)
}
