//! What the functions run on, and the functions: ours, the floor, and what people would run instead.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::ensure;
use hookledger_harness::deployment::{STRIPE_SECRET, own_variables};
use hookledger_harness::lambda::{Function, FunctionOptions};
use hookledger_harness::{Emulator, Postgres, Redis};
use hookledger_ledger::STATEMENTS;
use tempfile::TempDir;
use tokio_postgres::Client;

use crate::contenders::Contender;
use crate::database::{migrated, server, turn_on_tls};
use crate::sqs::Queue;

const SOURCES: &str = "[stripe]\nprovider = \"stripe\"\nsecrets = [\"env:STRIPE_WEBHOOK_SECRET\"]\n";
const SEED_TABLE: &str = include_str!("../python/seed.sql");
/// Of all functions. Nothing here takes memory from them.
const MEMORY_MB: u32 = 512;

/// Dropped in this order: what uses something ends before it.
pub(crate) struct Stage {
    pub(crate) queue: Queue,
    pub(crate) sql: Client,
    pub(crate) url: String,
    pub(crate) postgres: Postgres,
    variables: Vec<(String, String)>,
    certificate: PathBuf,
    redis: Option<Redis>,
    /// Of what functions print: in memory where that can be, as on Lambda it goes into a pipe and not to a disk.
    printed: TempDir,
    folder: TempDir,
}

/// How a function gets to Postgres.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Plain,
    Tls,
}

impl Stage {
    /// With what `contenders` need, which is installed now if it is not there.
    pub(crate) async fn start(contenders: &[Contender]) -> anyhow::Result<Self> {
        contenders.iter().try_for_each(|contender| contender.install().map(drop))?;
        let redis = contenders.contains(&Contender::Powertools).then(|| Redis::start("")).transpose()?;
        let postgres = server().start()?;
        let url = postgres.url();
        let sql = migrated(&url).await?;
        sql.batch_execute(SEED_TABLE).await?;
        let folder = tempfile::Builder::new().prefix("hookledger-bench-").tempdir()?;
        let memory =
            Some(Path::new("/dev/shm")).filter(|memory| memory.is_dir()).map_or_else(std::env::temp_dir, Path::to_owned);
        let printed = tempfile::Builder::new().prefix("hookledger-bench-").tempdir_in(memory)?;
        let (sources, certificate) = (folder.path().join("sources.toml"), folder.path().join("server.crt"));
        fs::write(&sources, SOURCES)?;
        fs::write(&certificate, turn_on_tls(&sql).await?)?;
        let queue = Queue::start().await?;
        let mut variables: Vec<(String, String)> = [
            ("QUEUE_URL", queue.url()),
            ("AWS_ENDPOINT_URL", queue.endpoint()),
            ("SOURCES_FILE", sources.display().to_string()),
            ("STRIPE_WEBHOOK_SECRET", STRIPE_SECRET.to_owned()),
            // For the bare exchanges, which know nothing of the ledger.
            ("CLAIM_STATEMENT", STATEMENTS.claim.to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        variables.extend(Emulator::CREDENTIALS.map(|(name, value)| (name.to_owned(), value.to_owned())));
        Ok(Self { queue, sql, url, postgres, variables, certificate, redis, printed, folder })
    }

    /// A function of this repository's, built in release.
    pub(crate) fn built(&self, name: &str, way: Way, port: u16, environments: usize) -> anyhow::Result<Function> {
        self.function(name, built(name)?, self.variables_of(name, way, port), environments)
    }

    /// The same under a command line that runs it and looks at it; without TLS, and with one environment.
    pub(crate) fn built_under(&self, command: &str, name: &str) -> anyhow::Result<Function> {
        let bootstrap = self.new_folder()?.join("bootstrap");
        executable(&bootstrap, &format!("#!/bin/sh\nexec {command} {}\n", built(name)?.display()))?;
        self.function(name, bootstrap, self.variables_of(name, Way::Plain, self.postgres.port()), 1)
    }

    /// Which is gone when the stage is.
    pub(crate) fn new_folder(&self) -> anyhow::Result<PathBuf> {
        Ok(tempfile::tempdir_in(self.folder.path())?.keep())
    }

    /// What is run instead of our function of that name.
    pub(crate) fn instead(
        &self,
        contender: Contender,
        name: &str,
        port: u16,
        environments: usize,
    ) -> anyhow::Result<Function> {
        let (installed, bootstrap) = (contender.install()?, self.new_folder()?.join("bootstrap"));
        let task_root = installed.task_root.display().to_string();
        let (command, handler) = (installed.command, contender.handler(name));
        executable(&bootstrap, &format!("#!/bin/sh\ncd {task_root} && exec {command} {handler}\n"))?;
        let mut variables = self.variables(port);
        variables.push(("LAMBDA_TASK_ROOT".to_owned(), task_root.clone()));
        variables.push(("PYTHONPATH".to_owned(), task_root));
        let redis = self.redis.as_ref().map(|redis| ("REDIS_URL".to_owned(), format!("redis://127.0.0.1:{}", redis.port())));
        variables.extend(redis);
        self.function(&format!("{contender:?}-{name}"), bootstrap, variables, environments)
    }

    /// Of a function of this repository's.
    fn variables_of(&self, name: &str, way: Way, port: u16) -> Vec<(String, String)> {
        let way = match way {
            Way::Plain => ("DATABASE_TLS".to_owned(), "disable".to_owned()),
            Way::Tls => ("DATABASE_CA_FILE".to_owned(), self.certificate.display().to_string()),
        };
        self.variables(port).into_iter().chain(own_variables(name)).chain([way]).collect()
    }

    fn variables(&self, port: u16) -> Vec<(String, String)> {
        let url = self.url.replacen(&format!(":{}/", self.postgres.port()), &format!(":{port}/"), 1);
        [self.variables.as_slice(), &[("DATABASE_URL".to_owned(), url)]].concat()
    }

    fn function(
        &self,
        name: &str,
        program: PathBuf,
        variables: Vec<(String, String)>,
        environments: usize,
    ) -> anyhow::Result<Function> {
        let logs = tempfile::tempdir_in(self.printed.path())?.keep();
        let (name, timeout) = (name.to_owned(), Duration::from_secs(30));
        Function::new(FunctionOptions { name, program, variables, environments, timeout, memory_mb: MEMORY_MB, logs })
    }
}

fn executable(file: &Path, script: &str) -> anyhow::Result<()> {
    fs::write(file, script)?;
    Ok(fs::set_permissions(file, fs::Permissions::from_mode(0o755))?)
}

/// Beside this program, where `cargo xtask bench` has it built.
fn built(name: &str) -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe()?.with_file_name(name);
    ensure!(program.exists(), "{} is not built: `cargo xtask bench` does it", program.display());
    Ok(program)
}
