//! The parts start, do what is asked of them, and leave nothing behind.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
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
        let text = answers?.into_iter().rev().find_map(|answer| {
            let SimpleQueryMessage::Row(row) = answer else { return None };
            row.get(0).map(str::to_owned)
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
    let owner = Owner::start("").unwrap();
    let url = owner.url.clone();
    let folder = ask(&url, "SHOW data_directory").unwrap();
    drop(owner);
    until("the server to stop", SOON, || Ok(ask(&url, "SELECT ''").is_err())).unwrap();
    until("its folder to go", SOON, || Ok(!Path::new(&folder).exists())).unwrap();
}

/// Its folder is there before the server is.
#[test]
fn nothing_is_left_of_an_owner_that_is_killed_while_its_server_is_made() {
    let folder = tempfile::tempdir().unwrap();
    // PostgreSQL's user has to get in.
    fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
    let entries = || fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    let mut owner = Command::new(env!("CARGO_BIN_EXE_hookledger-postgres"));
    let mut owner = owner.env("TMPDIR", folder.path()).env("DATABASE_URL", "").stdout(Stdio::null()).spawn().unwrap();
    until("initdb to be at work", SOON, || Ok(entries().iter().any(|entry| entry.join("data").exists()))).unwrap();
    owner.kill().unwrap();
    owner.wait().unwrap();
    until("its folder to go", SOON, || Ok(entries().is_empty())).unwrap();
}

#[test]
fn on_the_server_of_database_url_only_databases_come_and_go() {
    let server = Postgres::options().own().start().unwrap();
    let owner = Owner::start(&server.url()).unwrap();
    let database = ask(&owner.url, "SELECT current_database()").unwrap();
    assert!(database.starts_with("hookledger_") && owner.url.contains(&format!(":{}/", server.port())), "{}", owner.url);
    drop(owner);
    let still_there = format!("SELECT count(*) FROM pg_database WHERE datname = '{database}'");
    until("the database to be dropped", SOON, || Ok(ask(&server.url(), &still_there)? == "0")).unwrap();
}

/// A process that owns a Postgres.
struct Owner {
    process: Child,
    url: String,
}

impl Owner {
    fn start(database_url: &str) -> std::io::Result<Self> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hookledger-postgres"));
        let process = command.env("DATABASE_URL", database_url).stdout(Stdio::piped()).spawn()?;
        let mut owner = Self { process, url: String::new() };
        if let Some(output) = &mut owner.process.stdout {
            BufReader::new(output).read_line(&mut owner.url)?;
        }
        owner.url.truncate(owner.url.trim_end().len());
        Ok(owner)
    }
}

impl Drop for Owner {
    /// By SIGKILL: it has no chance to clean up.
    fn drop(&mut self) {
        let _killed = self.process.kill();
        let _reaped = self.process.wait();
    }
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
