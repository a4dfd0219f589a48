//! The functions under `cargo lambda watch`, on a loopback port: invoked as on AWS, rebuilt when their code changes.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use tempfile::TempDir;

use crate::cargo::cargo_lambda;
use crate::emulator::Emulator;
use crate::wait::{block_on, until};
use crate::watchdog::{Service, ServiceOptions, Signal};

/// Long enough to build the functions from nothing on two cores.
const START_BOUND: Duration = Duration::from_secs(45 * 60);

/// Running functions.
#[derive(Debug)]
pub struct Watch {
    // Dropped in this order: the service ends before its folder goes.
    service: Service,
    _folder: TempDir,
    port: u16,
}

impl Watch {
    /// Serves the functions, as they are now, on `port` with `variables` and the emulator's credentials in their environment.
    /// Returns when the receiver answers `GET /health`; the worker starts with its first invocation.
    pub fn start(variables: &[(&str, &str)], port: u16) -> anyhow::Result<Self> {
        Self::start_with(&["--ignore-changes"], variables, port)
    }

    /// As [`start`](Self::start); each function is built and started again when its code is saved.
    pub fn start_and_reload(variables: &[(&str, &str)], port: u16) -> anyhow::Result<Self> {
        Self::start_with(&[], variables, port)
    }

    fn start_with(arguments: &[&str], variables: &[(&str, &str)], port: u16) -> anyhow::Result<Self> {
        let folder =
            tempfile::Builder::new().prefix("hookledger-functions-").tempdir().context("make a temporary folder")?;
        let env_file = write_env_file(folder.path(), variables)?;
        let mut watch = cargo_lambda()?;
        watch.args(["watch", "--color", "never", "--invoke-address", "127.0.0.1"]);
        watch.args(["--invoke-port", &port.to_string()]).arg("--env-file").arg(env_file).args(arguments);
        watch.env("NO_COLOR", "1");
        let options = ServiceOptions {
            log: &folder.path().join("log"),
            stop_with: Signal::Terminate,
            folder: Some(folder.path()),
            user: None,
        };
        let service = Service::start(&watch, &options)?;
        let mut watch = Self { service, _folder: folder, port };
        watch.wait_until_healthy()?;
        Ok(watch)
    }

    /// Where `/webhooks/{source}` and `/health` are.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Where a function is invoked with an event as AWS would: the body of a POST.
    pub fn invocations_url(&self, function: &str) -> String {
        format!("{}/2015-03-31/functions/{function}/invocations", self.url())
    }

    /// The file that gets the output of `cargo lambda watch` and of the functions.
    pub fn log(&self) -> &Path {
        self.service.log()
    }

    /// Whether it has ended by itself.
    pub fn ended(&mut self) -> bool {
        self.service.ended(Duration::ZERO)
    }

    pub fn stop(&mut self) {
        self.service.stop();
    }

    fn wait_until_healthy(&mut self) -> anyhow::Result<()> {
        let url = format!("{}/health", self.url());
        until("the receiver to answer GET /health", START_BOUND, || {
            if self.service.ended(Duration::ZERO) {
                bail!("cargo lambda watch ended as it started:\n{}", self.service.last_words());
            }
            Ok(block_on(async { Ok(reqwest::get(&url).await?.status()) }).is_ok_and(|status| status == 200))
        })
    }
}

/// Secrets are among the variables, so only the owner may read the file.
fn write_env_file(folder: &Path, variables: &[(&str, &str)]) -> anyhow::Result<PathBuf> {
    let mut text = String::new();
    for (name, value) in Emulator::CREDENTIALS.iter().chain(variables) {
        ensure!(!value.contains(['"', '\n']), "the value of {name} cannot be written into an environment file");
        writeln!(text, "{name}=\"{value}\"")?;
    }
    let file = folder.join("functions.env");
    fs::write(&file, text)?;
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600))?;
    Ok(file)
}
