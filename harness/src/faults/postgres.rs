//! A TCP proxy before Postgres. It knows one thing of what it carries: how a COMMIT looks.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Context;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// The simple query that ends a transaction, with the zero that ends its text.
const COMMIT: &[u8] = b"COMMIT\0";
/// What the server calls the end of one that was to be committed, in its answer.
const ENDS: [&[u8]; 2] = [b"COMMIT\0", b"ROLLBACK\0"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PostgresFault {
    None,
    /// A new connection is closed at once; those that exist go on.
    Refuse,
    /// Nothing is answered any more, on new connections and on old ones. When this ends, they all end.
    BlackHole,
}

pub struct PostgresProxy {
    port: u16,
    orders: Arc<Orders>,
    _server: JoinSet<()>,
}

struct Orders {
    server_port: u16,
    fault: watch::Sender<PostgresFault>,
    /// Goes up when every socket is to be closed.
    cuts: watch::Sender<usize>,
    commits_to_lose: AtomicUsize,
}

impl PostgresProxy {
    /// Needs a tokio runtime that goes on while it is used.
    pub async fn start(server_port: u16) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.context("listen before Postgres")?;
        let port = listener.local_addr()?.port();
        let (fault, cuts) = (watch::Sender::new(PostgresFault::None), watch::Sender::new(0));
        let orders = Arc::new(Orders { server_port, fault, cuts, commits_to_lose: AtomicUsize::new(0) });
        let mut server = JoinSet::new();
        server.spawn(accept(listener, orders.clone()));
        Ok(Self { port, orders, _server: server })
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn set(&self, fault: PostgresFault) {
        if self.orders.fault.send_replace(fault) == PostgresFault::BlackHole {
            self.cut();
        }
    }

    /// Closes every socket there is now.
    pub fn cut(&self) {
        self.orders.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// The next `n` COMMITs reach the server and are obeyed, but their answers are lost and the connections with them. Returns
    /// how many were still to be lost before this was called.
    pub fn lose_commit_answers(&self, n: usize) -> usize {
        self.orders.commits_to_lose.swap(n, Ordering::SeqCst)
    }
}

async fn accept(listener: TcpListener, orders: Arc<Orders>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => if let Ok((client, _)) = accepted {
                connections.spawn(connection(client, orders.clone()));
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn connection(client: TcpStream, orders: Arc<Orders>) {
    let mut cuts = orders.cuts.subscribe();
    let fault = *orders.fault.borrow();
    match fault {
        PostgresFault::Refuse => {}
        PostgresFault::BlackHole => drop(cuts.changed().await),
        PostgresFault::None => {
            tokio::select! {
                _ = cuts.changed() => {}
                // However it ended, both sides are closed now.
                _ = relay(client, &orders) => {}
            }
        }
    }
}

async fn relay(mut client: TcpStream, orders: &Orders) -> std::io::Result<()> {
    let mut server = TcpStream::connect(("127.0.0.1", orders.server_port)).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (mut from_client, mut to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    let there = async {
        let mut chunk = vec![0; 64 << 10];
        loop {
            let length = from_client.read(&mut chunk).await?;
            let is_black = *orders.fault.borrow() == PostgresFault::BlackHole;
            match &chunk[..length] {
                [] => return Ok(false),
                _ if is_black => std::future::pending().await,
                sent => to_server.write_all(sent).await?,
            }
            if chunk[..length].windows(COMMIT.len()).any(|window| window == COMMIT) && orders.take_commit() {
                return std::io::Result::Ok(true);
            }
        }
    };
    let back = async {
        tokio::select! {
            copied = copy(&mut from_server, &mut to_client) => copied.map(drop),
            () = orders.turned_black() => std::future::pending().await,
        }
    };
    let lose_the_answer = tokio::select! {
        // In this order, so that no answer to a COMMIT slips through.
        biased;
        lose_the_answer = there => lose_the_answer?,
        done = back => return done,
    };
    if lose_the_answer {
        let mut answers = Vec::new();
        // The one to the COMMIT, which may be behind others: the server has committed. A transaction that had failed is none.
        while !ENDS.iter().any(|end| answers.windows(end.len()).any(|window| window == *end)) {
            if from_server.read_buf(&mut answers).await? == 0 {
                break;
            }
        }
    }
    Ok(())
}

impl Orders {
    async fn turned_black(&self) {
        let mut fault = self.fault.subscribe();
        let _black = fault.wait_for(|fault| *fault == PostgresFault::BlackHole).await;
    }

    fn take_commit(&self) -> bool {
        let one_less = |n: usize| n.checked_sub(1);
        self.commits_to_lose.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less).is_ok()
    }
}
