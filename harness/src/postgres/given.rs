//! Databases of our own on the server that `DATABASE_URL` names; nothing else there is touched.
//! They are dropped when their owner ends, in whatever way, by a `psql` that waits for that.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, bail};
use tokio_postgres::Config;
use tokio_postgres::config::Host;

use super::{execute, installation};

/// `$1` is psql and `$2` what it runs when standard input closes.
const AT_THE_END: &str = r#"
trap : HUP INT TERM
while read -r _; do :; done
printf '%s\n' "$2" | "$1" --no-psqlrc --quiet
"#;

#[derive(Debug)]
pub(super) struct Given {
    url: String,
    config: Config,
    /// What the names of our databases start with.
    prefix: String,
    cleaner: Child,
}

impl Given {
    pub(super) fn start(url: &str) -> anyhow::Result<Self> {
        let config: Config =
            url.parse().context("DATABASE_URL is not a Postgres URL such as postgres://user@host/database")?;
        execute(url, "SELECT 1").context(
            "cannot use the Postgres of DATABASE_URL: start it, correct the URL, or unset it and a server is started here",
        )?;
        let unique = tempfile::Builder::new().rand_bytes(8).prefix("").tempdir()?;
        let unique = unique.path().file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
        let prefix = format!("hookledger_{unique}");
        let cleaner = cleaner(&config, &prefix)?;
        Ok(Self { url: url.into(), config, prefix, cleaner })
    }

    pub(super) fn port(&self) -> u16 {
        self.config.get_ports().first().copied().unwrap_or(5432)
    }

    pub(super) fn create_database(&self, name: &str) -> anyhow::Result<String> {
        let name = format!("{}_{name}", self.prefix);
        execute(&self.url, &format!("CREATE DATABASE \"{name}\"")).context(
            "cannot make a database on the Postgres of DATABASE_URL: its user needs `ALTER USER … CREATEDB`, or unset the URL",
        )?;
        let (before, query) = self.url.split_once('?').map_or((self.url.as_str(), None), |(url, query)| (url, Some(query)));
        let scheme = before.find("://").context("DATABASE_URL is not a URL: write it as postgres://user@host/database")? + 3;
        let server = before[scheme..].find('/').map_or(before, |slash| &before[..scheme + slash]);
        Ok(format!("{server}/{name}{}", query.map(|query| format!("?{query}")).unwrap_or_default()))
    }
}

impl Drop for Given {
    fn drop(&mut self) {
        drop(self.cleaner.stdin.take());
        let _reaped = self.cleaner.wait();
    }
}

fn cleaner(config: &Config, prefix: &str) -> anyhow::Result<Child> {
    let sql = format!(
        "SELECT format('DROP DATABASE IF EXISTS %I WITH (FORCE)', datname) FROM pg_database \
         WHERE starts_with(datname, '{prefix}_') \\gexec"
    );
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(name)) => name.clone(),
        Some(Host::Unix(folder)) => folder.to_string_lossy().into_owned(),
        None => bail!("DATABASE_URL names no host"),
    };
    let mut shell = Command::new("sh");
    shell.args(["-c", AT_THE_END, "cleaner"]).arg(installation::psql()?).arg(sql);
    // By the environment, because arguments show in the machine's list of processes.
    shell.env("PGHOST", host);
    let password = config.get_password().map(String::from_utf8_lossy);
    let port = config.get_ports().first().map(u16::to_string);
    for (name, value) in [
        ("PGPORT", port.as_deref()),
        ("PGUSER", config.get_user()),
        ("PGPASSWORD", password.as_deref()),
        ("PGDATABASE", config.get_dbname()),
    ] {
        if let Some(value) = value {
            shell.env(name, value);
        }
    }
    shell.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().context("start sh")
}
