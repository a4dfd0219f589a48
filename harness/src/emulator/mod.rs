//! The AWS emulator (ministack) on a free loopback port, and plain HTTP to it: none of the AWS crates, which take minutes
//! to build, and so a client that shares no mistake with the one under test.

mod lambda;
mod sam;
mod sqs;
mod stack;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::Value;
use tempfile::TempDir;

use crate::place::free_port;
use crate::venv::venv;
use crate::wait::until;
use crate::watchdog::{Service, ServiceOptions, Signal};

pub use sqs::Message;
pub use stack::Stack;

const START_BOUND: Duration = Duration::from_secs(60);

/// A running emulator.
#[derive(Debug)]
pub struct Emulator {
    // Dropped in this order: the service ends before its folder goes.
    service: Service,
    folder: TempDir,
    port: u16,
    http: reqwest::Client,
}

/// How an emulator is started.
#[derive(Debug, Clone, Default)]
pub struct EmulatorOptions {
    authorize: bool,
    variables: Vec<(String, String)>,
}

impl EmulatorOptions {
    /// The functions' IAM roles are enforced.
    pub fn authorize(mut self) -> Self {
        self.authorize = true;
        self
    }

    /// An environment variable of the emulator.
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    pub fn start(self) -> anyhow::Result<Emulator> {
        let folder = tempfile::Builder::new().prefix("hookledger-aws-").tempdir().context("make a temporary folder")?;
        let port = free_port()?;
        let endpoint = endpoint(port);
        let mut ministack = Command::new(venv()?.program("ministack"));
        ministack.current_dir(folder.path()).env("BIND_HOST", "127.0.0.1").env("GATEWAY_PORT", port.to_string());
        ministack
            .env("AWS_ENDPOINT_URL", endpoint)
            .env("STATE_DIR", folder.path().join("state"))
            .env("TMPDIR", folder.path());
        ministack.env("AUTH", if self.authorize { "true" } else { "false" });
        ministack.envs(Emulator::CREDENTIALS).envs(self.variables);
        let options = ServiceOptions {
            log: &folder.path().join("log"),
            stop_with: Signal::Terminate,
            folder: Some(folder.path()),
            user: None,
        };
        let mut service = Service::start(&ministack, &options)?;
        until("the AWS emulator to listen", START_BOUND, || {
            if service.ended(Duration::ZERO) {
                bail!("ministack ended as it started:\n{}", service.last_words());
            }
            Ok(std::net::TcpStream::connect(("127.0.0.1", port)).is_ok())
        })?;
        // A connection kept for later would outlive the runtime that drives it, where each call has a runtime of its own.
        let http = reqwest::Client::builder().pool_max_idle_per_host(0).build()?;
        Ok(Emulator { service, folder, port, http })
    }
}

impl Emulator {
    /// What a client of the emulator has in its environment besides `AWS_ENDPOINT_URL`. They are worth nothing elsewhere.
    pub const CREDENTIALS: [(&str, &str); 4] = [
        ("AWS_ACCESS_KEY_ID", "test"),
        ("AWS_SECRET_ACCESS_KEY", "test"),
        ("AWS_REGION", "us-east-1"),
        ("AWS_DEFAULT_REGION", "us-east-1"),
    ];

    pub fn start() -> anyhow::Result<Self> {
        EmulatorOptions::default().start()
    }

    pub fn options() -> EmulatorOptions {
        EmulatorOptions::default()
    }

    /// The value for `AWS_ENDPOINT_URL`.
    pub fn endpoint(&self) -> String {
        endpoint(self.port)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// A folder that is removed with it, also if this process is killed.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The last lines that it logged.
    pub fn last_words(&self) -> String {
        self.service.last_words()
    }

    /// Stops it, for tests of what happens without a queue.
    pub fn stop(&mut self) {
        self.service.stop();
    }

    /// An action of a service that speaks the AWS JSON protocol: `target` is such as `AmazonSQS.SendMessage` or
    /// `secretsmanager.CreateSecret`, `version` is `1.0` or `1.1`.
    pub async fn json(&self, service: &str, version: &str, target: &str, request: &Value) -> anyhow::Result<Value> {
        let call = self.http.post(self.endpoint()).header("x-amz-target", target);
        let call = call.header("content-type", format!("application/x-amz-json-{version}"));
        answer(call.header("authorization", authorization(service)).body(request.to_string()))
            .await
            .context(target.to_owned())
    }

    async fn rest(&self, service: &str, path: &str, request: &Value) -> anyhow::Result<Value> {
        let call = self.http.post(format!("{}{path}", self.endpoint())).header("content-type", "application/json");
        answer(call.header("authorization", authorization(service)).body(request.to_string())).await.context(path.to_owned())
    }
}

async fn answer(call: reqwest::RequestBuilder) -> anyhow::Result<Value> {
    let response = call.send().await?;
    let status = response.status();
    let text = response.text().await?;
    if !status.is_success() {
        bail!("the AWS emulator answers {status}: {text}");
    }
    if text.is_empty() { Ok(Value::Null) } else { Ok(serde_json::from_str(&text)?) }
}

/// The emulator reads service and region out of this header and checks no signature.
fn authorization(service: &str) -> String {
    format!("AWS4-HMAC-SHA256 Credential=test/20250101/us-east-1/{service}/aws4_request, SignedHeaders=host, Signature=0")
}

fn endpoint(port: u16) -> String {
    format!("http://127.0.0.1:{port}")
}
