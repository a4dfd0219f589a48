//! A real Redis: a server of its own on a loopback port, which keeps nothing on disk. Invariant: it ends with its owner, also when
//! that is killed.

use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::Context;
use tempfile::TempDir;

use crate::place::free_port;
use crate::preflight::mend;
use crate::wait::until;
use crate::watchdog::{Service, ServiceOptions, Signal};

const PLACES: [&str; 3] = ["/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"];

#[derive(Debug)]
pub struct Redis {
    // Dropped in this order: the server ends before its folder goes.
    service: Service,
    _folder: TempDir,
    port: u16,
}

impl Redis {
    /// An empty password is none.
    pub fn start(password: &str) -> anyhow::Result<Self> {
        Self::start_on(free_port()?, password)
    }

    pub fn start_on(port: u16, password: &str) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let mut server = Command::new(program("redis-server")?);
        server.args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--requirepass", password]);
        server.args(["--port", &port.to_string()]).current_dir(folder.path());
        let log = folder.path().join("log");
        let options = ServiceOptions { log: &log, stop_with: Signal::Terminate, folder: Some(folder.path()), user: None };
        let service = Service::start(&server, &options)?;
        let redis = Self { service, _folder: folder, port };
        until("redis-server to listen", Duration::from_secs(20), || Ok(TcpStream::connect(("127.0.0.1", port)).is_ok()))
            .with_context(|| redis.service.last_words())?;
        Ok(redis)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its keys are gone.
    pub fn stop(&mut self) {
        self.service.stop();
    }

    /// The answer of Redis's own client, without the line's end.
    pub fn ask(&self, words: &[&str]) -> anyhow::Result<String> {
        let mut client = Command::new(program("redis-cli")?);
        let asked = client.args(["-p", &self.port.to_string()]).args(words).output().context("run redis-cli")?;
        Ok(String::from_utf8(asked.stdout)?.trim().to_owned())
    }
}

fn program(name: &str) -> anyhow::Result<PathBuf> {
    let found = PLACES.iter().map(|place| PathBuf::from(place).join(name)).find(|path| path.exists());
    found.with_context(|| format!("`{name}` is not installed; {}", mend("redis-server", "brew install redis")))
}
