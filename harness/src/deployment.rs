//! hookledger as it is deployed, from the built functions: receiver, worker and sweeper as Lambda runs them, two queues with
//! their mappings, and everything that a function calls behind a proxy that can fail.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, ensure};
use tempfile::TempDir;
use tokio_postgres::{Client, NoTls};

use crate::built::built;
use crate::emulator::Emulator;
use crate::faults::{PostgresProxy, SqsProxy};
use crate::lambda::{Function, FunctionOptions, Mapping};

/// What a sender signs with.
pub const STRIPE_SECRET: &str = "whsec_of_the_harness_0123456789";

/// What a function has in its environment that the others have not, as in the template.
const OWN_VARIABLES: [(&str, &[(&str, &str)]); 1] =
    [("receiver", &[("SSL_CERT_FILE", "/dev/null"), ("DATABASE_PREPARED_STATEMENTS", "on")])];

const SOURCES: &str = "[stripe]\nprovider = \"stripe\"\nsecrets = [\"env:STRIPE_WEBHOOK_SECRET\"]\n";

/// The function's times, as in the template.
const RECEIVER_TIMEOUT: Duration = Duration::from_secs(10);
const WORKER_TIMEOUT: Duration = Duration::from_secs(30);
const SWEEPER_TIMEOUT: Duration = Duration::from_secs(50);
const MEMORY_MB: u32 = 512;

/// Dropped in this order: what uses something ends before it.
pub struct Deployment {
    pub receiver: Arc<Function>,
    pub worker: Arc<Function>,
    pub sweeper: Arc<Function>,
    /// From the event queue to the worker. Nothing moves unless it is polled.
    pub events: Mapping,
    /// From the spill queue to the worker.
    pub spill: Mapping,
    pub postgres: PostgresProxy,
    pub sqs: SqsProxy,
    /// Of the database itself, not through the proxy.
    pub database_url: String,
    pub queue_url: String,
    pub spill_url: String,
    _folder: TempDir,
}

/// What a deployment can be told.
#[derive(Debug, Clone)]
pub struct DeploymentOptions {
    /// Variables of all functions, after those that say where things are.
    pub variables: Vec<(String, String)>,
    pub receivers: usize,
    pub workers: usize,
    /// After which a message that was not deleted comes back. Production has 180; a crash is made up for sooner with less.
    pub visibility_s: u32,
}

impl Default for DeploymentOptions {
    fn default() -> Self {
        Self { variables: Vec::new(), receivers: 2, workers: 2, visibility_s: 1 }
    }
}

impl DeploymentOptions {
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }
}

impl Deployment {
    /// Migrates the empty database at `database_url`, on 127.0.0.1, and makes queues of its own in `emulator`. Functions start
    /// when they are invoked. Needs a tokio runtime that goes on while it is used: one with several threads.
    pub async fn start(database_url: &str, emulator: Arc<Emulator>, options: DeploymentOptions) -> anyhow::Result<Self> {
        // Within the emulator's, whose watchdog removes it if we are killed.
        let folder = tempfile::Builder::new().prefix("functions-").tempdir_in(emulator.folder())?;
        let sources = folder.path().join("sources.toml");
        std::fs::write(&sources, SOURCES)?;
        migrate(database_url)?;
        let config: tokio_postgres::Config = database_url.parse()?;
        let port = *config.get_ports().first().context("the database's URL names no port")?;
        let postgres = PostgresProxy::start(port).await?;
        let sqs = SqsProxy::start(&emulator.endpoint()).await?;
        let (queue_url, spill_url) = create_queues(&emulator, options.visibility_s).await?;
        let mut variables: Vec<(String, String)> = [
            ("DATABASE_URL", database_url.replacen(&format!(":{port}/"), &format!(":{}/", postgres.port()), 1)),
            ("DATABASE_TLS", "disable".to_owned()),
            ("QUEUE_URL", queue_url.clone()),
            ("SPILL_QUEUE_URL", spill_url.clone()),
            ("AWS_ENDPOINT_URL", sqs.endpoint()),
            ("SOURCES_FILE", sources.display().to_string()),
            ("STRIPE_WEBHOOK_SECRET", STRIPE_SECRET.to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        variables.extend(Emulator::CREDENTIALS.map(|(name, value)| (name.to_owned(), value.to_owned())));
        variables.extend(options.variables);
        let function = |name: &str, environments, timeout| {
            let (program, logs) = (built(name)?, folder.path().join("logs"));
            let variables = variables.iter().cloned().chain(own_variables(name)).collect();
            let (name, memory_mb) = (name.to_owned(), MEMORY_MB);
            let function = FunctionOptions { name, program, variables, environments, timeout, memory_mb, logs };
            anyhow::Ok(Arc::new(Function::new(function)?))
        };
        let worker = function("worker", options.workers, WORKER_TIMEOUT)?;
        Ok(Self {
            receiver: function("receiver", options.receivers, RECEIVER_TIMEOUT)?,
            events: Mapping::new(emulator.clone(), &queue_url, worker.clone()).await?,
            spill: Mapping::new(emulator, &spill_url, worker.clone()).await?,
            worker,
            sweeper: function("sweeper", 1, SWEEPER_TIMEOUT)?,
            postgres,
            sqs,
            database_url: database_url.to_owned(),
            queue_url,
            spill_url,
            _folder: folder,
        })
    }

    /// A client of the database itself, for looking and for turning back the clock. Its connection ends with it.
    pub async fn database(&self) -> anyhow::Result<Client> {
        connect(&self.database_url).await
    }

    /// What all functions have written so far.
    pub fn output(&self) -> String {
        [&self.receiver, &self.worker, &self.sweeper].map(|function| function.output()).concat()
    }
}

/// What the template gives `function` besides what all have, but for what depends on the stack.
pub fn own_variables(function: &str) -> impl Iterator<Item = (String, String)> {
    let of = OWN_VARIABLES.iter().filter(move |(known, _)| *known == function);
    of.flat_map(|(_, variables)| *variables).map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
}

#[expect(clippy::disallowed_methods, reason = "the connection is driven beside its client; nothing freezes this process")]
async fn connect(database_url: &str) -> anyhow::Result<Client> {
    let (client, connection) = tokio_postgres::connect(database_url, NoTls).await.context("connect to Postgres")?;
    // It ends with the client, and its error is told to whoever asks something of the client.
    drop(tokio::spawn(connection));
    Ok(client)
}

fn migrate(database_url: &str) -> anyhow::Result<()> {
    let mut migrate = Command::new(built("hookledger")?);
    migrate.arg("migrate").env("DATABASE_URL", database_url).env("DATABASE_TLS", "disable");
    let output = migrate.output().context("run hookledger migrate")?;
    ensure!(output.status.success(), "the migrations fail: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(())
}

async fn create_queues(emulator: &Emulator, visibility_s: u32) -> anyhow::Result<(String, String)> {
    static COUNT: AtomicUsize = AtomicUsize::new(1);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let visibility_s = visibility_s.to_string();
    let attributes = [("VisibilityTimeout", visibility_s.as_str())];
    let events = emulator.create_queue(&format!("events-{number}"), &attributes).await?;
    let spill = emulator.create_queue(&format!("spill-{number}"), &attributes).await?;
    Ok((events, spill))
}

/// As if so many seconds had passed for all rows that wait for something: received, sent, leased and failed that much earlier.
///
/// Payloads are found by their row's `received_at`, so they move with it. What a worker holds locked is left alone.
const TURN_BACK: &str = "
WITH waiting AS (
    SELECT source, event_id, received_at FROM webhook_event WHERE settled_at IS NULL FOR UPDATE SKIP LOCKED
),
payload AS (
    UPDATE webhook_payload p SET received_at = p.received_at - make_interval(secs => $1)
    FROM waiting w WHERE p.source = w.source AND p.event_id = w.event_id AND p.received_at = w.received_at
)
UPDATE webhook_event e
SET received_at = e.received_at - make_interval(secs => $1), requeued_at = e.requeued_at - make_interval(secs => $1),
    lease_until = e.lease_until - make_interval(secs => $1), next_attempt_at = e.next_attempt_at - make_interval(secs => $1)
FROM waiting w WHERE e.source = w.source AND e.event_id = w.event_id";

/// Turns back the clock of what is unsettled, so that nobody waits for minutes; returns how many rows it touched.
pub async fn turn_back(database: &Client, seconds: u32) -> anyhow::Result<u64> {
    database.execute(TURN_BACK, &[&f64::from(seconds)]).await.context("turn back the ledger's clock")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The variables of a function in the template whose value is written there, and not made of the stack's. The harness's way to the
    /// database has no pooler on it.
    fn written(function: &str) -> Vec<(String, String)> {
        let template = include_str!("../../infra/template.yaml");
        let name = format!("FunctionName: !Sub ${{AWS::StackName}}-{function}\n");
        let (_, resource) = template.split_once(&name).unwrap();
        let resource = resource.split("\n\n").next().unwrap();
        let variables = resource.split_once("        Variables:\n").map_or("", |(_, variables)| variables);
        let pairs = variables.lines().map(str::trim).filter(|line| !line.starts_with('#'));
        let pairs = pairs.filter_map(|line| line.split_once(": ")).filter_map(|(name, value)| {
            let directly = value.strip_prefix("!If [ReachesDatabaseItself, '").and_then(|rest| rest.split('\'').next());
            Some((name, directly.or_else(|| (!value.starts_with('!')).then_some(value))?))
        });
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    #[test]
    fn a_function_has_the_variables_that_the_template_gives_it() {
        for function in ["receiver", "worker", "sweeper"] {
            assert_eq!(own_variables(function).collect::<Vec<_>>(), written(function), "{function}");
        }
        assert_eq!(written("operator"), [("DATABASE_AUTH".to_owned(), "password".to_owned())]);
    }
}
