//! A migrated ledger on a Postgres of our own, which is as durable as in production.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use hookledger_core::Secret;
use hookledger_harness::{Postgres, PostgresOptions};
use hookledger_ledger::{DatabaseConfig, Ledger, Tls, connect, migrate};
use tokio::process::Command;
use tokio_postgres::Client;

/// A small server's: the rest of the memory caches files.
const SHARED_BUFFERS: &str = "1GB";

/// Durable; otherwise PostgreSQL's defaults, and memory as a small server has it.
pub(crate) fn server() -> PostgresOptions {
    // Room for generating rows without a checkpoint every few seconds.
    Postgres::options().durable().set("shared_buffers", SHARED_BUFFERS).set("max_wal_size", "8GB")
}

pub(crate) fn config(url: &str) -> anyhow::Result<DatabaseConfig> {
    Ok(DatabaseConfig { url: Secret::new(url).context("an empty URL")?, tls: Tls::Disable })
}

/// A client of a database that has the ledger's tables.
pub(crate) async fn migrated(url: &str) -> anyhow::Result<Client> {
    let mut client = connect(&config(url)?).await?;
    migrate(&mut client).await?;
    Ok(client)
}

pub(crate) fn ledger(url: &str) -> anyhow::Result<Ledger> {
    Ok(Ledger::new(config(url)?, Duration::from_secs(60)))
}

/// A certificate for 127.0.0.1 that is its own authority. The server makes it, because its key has to be its own.
const CERTIFICATE: &str = "
COPY (SELECT) TO PROGRAM 'openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=127.0.0.1 \
 -addext subjectAltName=IP:127.0.0.1 -keyout server.key -out server.crt 2>/dev/null && chmod 600 server.key';";

/// Has the server speak TLS too from now on, and gives the certificate that proves who it is.
pub(crate) async fn turn_on_tls(client: &Client) -> anyhow::Result<String> {
    client.batch_execute(CERTIFICATE).await.context("make a certificate with openssl")?;
    client.batch_execute("ALTER SYSTEM SET ssl = on").await?;
    client.batch_execute("SELECT pg_reload_conf()").await?;
    Ok(client.query_one("SELECT pg_read_file('server.crt')", &[]).await?.get(0))
}

/// What a commit waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Commits {
    OnDisk,
    NotWaitedFor,
}

impl Commits {
    /// For all sessions, those that are open too, from their next statement on.
    pub(crate) async fn set(self, client: &Client) -> anyhow::Result<()> {
        let value = match self {
            Self::OnDisk => "on",
            Self::NotWaitedFor => "off",
        };
        client.batch_execute(&format!("ALTER SYSTEM SET synchronous_commit = {value}")).await?;
        client.batch_execute("SELECT pg_reload_conf()").await?;
        // The server's main process tells the sessions of it, when it gets to it.
        let deadline = Instant::now() + Duration::from_secs(5);
        loop {
            let set: String = client.query_one("SHOW synchronous_commit", &[]).await?.get(0);
            if set == value {
                return Ok(());
            }
            ensure!(Instant::now() < deadline, "synchronous_commit stays {set}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// What pgbench measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pgbench {
    pub(crate) latency_ms: f64,
    pub(crate) per_second: f64,
}

/// Runs `script` over so many connections for so long. Extended protocol, as the functions speak it.
pub(crate) async fn pgbench(url: &str, script: &str, connections: usize, time: Duration) -> anyhow::Result<Pgbench> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("script.sql");
    std::fs::write(&file, script)?;
    let mut pgbench = Command::new("pgbench");
    let seconds = time.as_secs().max(1).to_string();
    let connections = connections.to_string();
    pgbench.args(["--no-vacuum", "--protocol", "extended", "--time", &seconds, "--client", &connections, "--jobs", "1"]);
    pgbench.arg("--file").arg(&file).arg(url);
    let output = pgbench.output().await.context("run pgbench, which comes with PostgreSQL's client programs")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(output.status.success(), "pgbench fails: {}", String::from_utf8_lossy(&output.stderr).trim());
    let number = |before: &str| -> anyhow::Result<f64> {
        let rest = text.split_once(before).with_context(|| format!("pgbench says nothing of {before}"))?.1;
        Ok(rest.split_whitespace().next().unwrap_or_default().parse()?)
    };
    Ok(Pgbench { latency_ms: number("latency average = ")?, per_second: number("tps = ")? })
}
