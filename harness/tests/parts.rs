//! The parts start, do what is asked of them, and leave nothing behind.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use hookledger_harness::{Emulator, Postgres, block_on, until};
use tokio_postgres::{NoTls, SimpleQueryMessage};

const SOON: Duration = Duration::from_secs(20);

/// The first column of the last row that `sql` gives, as text.
fn ask(url: &str, sql: &str) -> anyhow::Result<String> {
    block_on(async {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
        let work = async move { client.simple_query(sql).await };
        let (answers, connection) = tokio::join!(work, connection);
        connection?;
        let text = answers?.into_iter().rev().find_map(|answer| match answer {
            SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
            _ => None,
        });
        Ok(text.unwrap_or_default())
    })
}

fn listens(port: u16) -> bool {
    std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
}

#[test]
fn databases_of_one_server_are_apart_and_end_with_it() {
    let postgres = Postgres::options().own().start().unwrap();
    let other = postgres.database("other").unwrap();
    assert_eq!(ask(&postgres.url(), "SELECT current_database()").unwrap(), "hookledger");
    assert_eq!(ask(&other, "SELECT current_database()").unwrap(), "other");
    let folder = ask(&other, "SHOW data_directory").unwrap();
    let port = postgres.port();
    drop(postgres);
    assert!(!listens(port));
    assert!(!Path::new(&folder).exists());
}

#[test]
fn what_was_committed_survives_a_crash_of_the_server() {
    let mut postgres = Postgres::options().durable().start().unwrap();
    ask(&postgres.url(), "CREATE TABLE t AS SELECT 'kept' AS c").unwrap();
    postgres.kill_now().unwrap();
    assert!(!listens(postgres.port()));
    postgres.restart().unwrap();
    assert_eq!(ask(&postgres.url(), "SELECT c FROM t").unwrap(), "kept");
    postgres.restart().unwrap();
    postgres.stop().unwrap();
    assert!(!listens(postgres.port()));
}

#[test]
fn the_wheels_server_works_without_one_on_the_machine() {
    let postgres = Postgres::options().embedded().start().unwrap();
    assert!(ask(&postgres.url(), "SHOW server_version").unwrap().starts_with("18."));
}

#[test]
fn nothing_outlives_an_owner_that_is_killed() {
    let mut owner =
        Command::new(env!("CARGO_BIN_EXE_hookledger-postgres")).stdout(Stdio::piped()).spawn().expect("start the owner");
    let mut url = String::new();
    BufReader::new(owner.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let folder = ask(url.trim(), "SHOW data_directory").unwrap();
    // SIGKILL: it has no chance to clean up.
    owner.kill().unwrap();
    owner.wait().unwrap();
    until("the server to stop", SOON, || Ok(ask(url.trim(), "SELECT ''").is_err())).unwrap();
    until("its folder to go", SOON, || Ok(!Path::new(&folder).exists())).unwrap();
}

#[test]
fn the_emulator_queues_and_redrives() {
    let emulator = Emulator::start().unwrap();
    block_on(async {
        let (queue, dlq) = emulator.create_queue_with_dlq("events", 1, &[("VisibilityTimeout", "0")]).await?;
        emulator.send(&queue, "one").await?;
        let first = emulator.receive(&queue, 5).await?;
        assert_eq!((first[0].body.as_str(), first[0].receive_count), ("one", 1));
        assert!(emulator.receive(&queue, 0).await?.is_empty());
        let dead = emulator.receive(&dlq, 5).await?;
        assert_eq!(dead[0].body, "one");
        emulator.delete(&dlq, &dead[0].receipt_handle).await?;
        assert_eq!(emulator.queue_attributes(&queue).await?["VisibilityTimeout"], "0");
        Ok(())
    })
    .unwrap();
    let port = emulator.port();
    drop(emulator);
    assert!(!listens(port));
}
