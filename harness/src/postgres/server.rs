//! A server of our own: made by initdb, run under a watchdog.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, bail};
use tempfile::TempDir;

use super::{PostgresOptions, execute, installation};
use crate::place::free_port;
use crate::wait::until;
use crate::watchdog::{Service, ServiceOptions, Signal};

const START_BOUND: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) struct Server {
    // Dropped in this order: the service ends before its folder goes.
    service: Service,
    data: Data,
    port: u16,
}

/// What outlives a restart.
#[derive(Debug)]
struct Data {
    folder: TempDir,
    bin: PathBuf,
    user: Option<(u32, u32)>,
}

impl Server {
    pub(super) fn start(options: &PostgresOptions) -> anyhow::Result<Self> {
        let data = Data::make(options)?;
        let mut port = free_port()?;
        let mut service = data.serve(port)?;
        while let Err(error) = wait_until_ready(&mut service, port) {
            // Another process may have taken the port since it was found free.
            if !service.last_words().contains("could not bind") {
                return Err(error);
            }
            std::fs::remove_file(service.log())?;
            port = free_port()?;
            service = data.serve(port)?;
        }
        Ok(Self { service, data, port })
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn create_database(&self, name: &str) -> anyhow::Result<String> {
        execute(&url(self.port, "postgres"), &format!("CREATE DATABASE \"{name}\""))?;
        Ok(url(self.port, name))
    }

    pub(super) fn stop(&mut self) {
        self.service.stop();
    }

    pub(super) fn crash(&mut self) -> anyhow::Result<()> {
        self.service.signal(Signal::Quit)?;
        self.service.stop();
        Ok(())
    }

    pub(super) fn restart(&mut self) -> anyhow::Result<()> {
        self.service.stop();
        self.service = self.data.serve(self.port)?;
        wait_until_ready(&mut self.service, self.port)
    }
}

impl Data {
    fn make(options: &PostgresOptions) -> anyhow::Result<Self> {
        let user = installation::unprivileged_user()?;
        let folder = tempfile::Builder::new().prefix("hookledger-postgres-").tempdir().context("make a temporary folder")?;
        if let Some((uid, gid)) = user {
            chown(folder.path(), Some(uid), Some(gid)).context("give the data folder to PostgreSQL's user")?;
        }
        let bin = match options.embedded {
            true => installation::embedded(folder.path(), user)?,
            false => installation::programs(folder.path(), user)?,
        };
        let data = Self { bin, user, folder };
        data.initdb()?;
        data.configure(&settings(options))?;
        Ok(data)
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn initdb(&self) -> anyhow::Result<()> {
        let mut initdb = Command::new(self.bin.join("initdb"));
        initdb.args(["--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync", "--pgdata"]);
        initdb.arg(self.path()).current_dir(self.folder.path());
        // A service, so that the folder goes even if we are killed before the server runs.
        let mut initdb = Service::start(&initdb, &self.options(&self.log()))?;
        if !initdb.succeeds(START_BOUND) {
            bail!("PostgreSQL refuses to make a data folder: {}", initdb.last_words().trim());
        }
        Ok(())
    }

    /// In the file, because nothing can change later what a command line has set.
    fn configure(&self, settings: &[(String, String)]) -> anyhow::Result<()> {
        let line = |(name, value): &(String, String)| format!("{name} = '{}'\n", value.replace('\'', "''"));
        let lines: String = settings.iter().map(line).collect();
        let mut file = OpenOptions::new().append(true).open(self.path().join("postgresql.conf"))?;
        Ok(file.write_all(lines.as_bytes())?)
    }

    fn serve(&self, port: u16) -> anyhow::Result<Service> {
        let mut postgres = Command::new(self.bin.join("postgres"));
        postgres.arg("-D").arg(self.path()).args(["-p", &port.to_string()]).current_dir(self.folder.path());
        Service::start(&postgres, &self.options(&self.log()))
    }

    fn options<'a>(&'a self, log: &'a Path) -> ServiceOptions<'a> {
        // "Fast": sessions are ended, not waited for.
        ServiceOptions { log, stop_with: Signal::Interrupt, folder: Some(self.folder.path()), user: self.user }
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }
}

fn settings(options: &PostgresOptions) -> Vec<(String, String)> {
    let durable = if options.durable { "on" } else { "off" };
    let ours = [
        ("listen_addresses", "127.0.0.1"),
        ("unix_socket_directories", ""),
        ("fsync", durable),
        ("synchronous_commit", durable),
        ("full_page_writes", durable),
        ("max_connections", "200"),
    ];
    let ours = ours.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
    ours.chain(options.settings.iter().cloned()).collect()
}

fn wait_until_ready(service: &mut Service, port: u16) -> anyhow::Result<()> {
    until("PostgreSQL to answer", START_BOUND, || {
        if service.ended(Duration::ZERO) {
            bail!("PostgreSQL ended as it started:\n{}", service.last_words());
        }
        Ok(execute(&url(port, "postgres"), "SELECT 1").is_ok())
    })
}

fn url(port: u16, database: &str) -> String {
    format!("postgres://postgres@127.0.0.1:{port}/{database}")
}
