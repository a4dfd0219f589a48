//! How often the worker waits for Postgres: it sleeps and wakes for each time, and that is most of what an event costs it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hookledger_core::Lifecycle;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use worker::handlers::ROUTES;

use super::batch::deliver;
use super::order::subscription;
use crate::ground::{Ground, ledger};

/// Carries one connection, and counts how often something is sent after an answer has come.
async fn relay(listener: TcpListener, server_port: u16, exchanges: Arc<AtomicUsize>) -> std::io::Result<()> {
    let (mut client, _) = listener.accept().await?;
    let mut server = TcpStream::connect(("127.0.0.1", server_port)).await?;
    let (mut sent, mut answer, mut is_answered) = (vec![0; 64 << 10], vec![0; 64 << 10], true);
    loop {
        tokio::select! {
            length = client.read(&mut sent) => {
                let length = length?;
                if length == 0 {
                    return Ok(());
                }
                exchanges.fetch_add(usize::from(is_answered), Ordering::SeqCst);
                is_answered = false;
                server.write_all(&sent[..length]).await?;
            }
            length = server.read(&mut answer) => {
                is_answered = true;
                client.write_all(&answer[..length?]).await?;
            }
        }
    }
}

#[tokio::test]
async fn a_batch_takes_three_exchanges_and_one_for_each_statement_of_a_handler() {
    let mut ground = Ground::new("worker_exchanges").await;
    let ids = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
    for (second, id) in (1..).zip(ids) {
        ground.claim(&subscription(id, second, "team", Lifecycle::Updated, "")).await;
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address: tokio_postgres::Config = ground.url.parse().unwrap();
    let (server_port, port) = (address.get_ports()[0], listener.local_addr().unwrap().port());
    let through = ground.url.replace(&format!(":{server_port}/"), &format!(":{port}/"));
    let exchanges = Arc::new(AtomicUsize::new(0));
    let mut carrier = JoinSet::new();
    carrier.spawn(relay(listener, server_port, exchanges.clone()));
    let mut worker = ground.worker(ROUTES);
    worker.ledger = ledger(&through);
    worker.ledger.warm().await.unwrap();
    let before = exchanges.load(Ordering::SeqCst);
    assert_eq!(deliver(&mut worker, &ids).await, [""; 0]);
    // To lease, to begin and guard, to settle and commit.
    assert_eq!(exchanges.load(Ordering::SeqCst) - before, 3 + ids.len());
    ground.check_read("SELECT outcome, count(*) FROM webhook_event GROUP BY 1", "(applied,10)").await;
}
