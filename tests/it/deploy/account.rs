//! An AWS account before a first deployment, in the emulator, and what people do with it.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use hookledger_core::Secret;
use hookledger_harness::{Application, Emulator, Postgres, Stack};
use hookledger_ledger::{DatabaseConfig, Tls, connect};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_postgres::Client;

use super::delivery::{Delivery, SECRETS, SOURCES, stripe};
use crate::tls::certificate::{Authority, Validity};
use crate::tls::front::Front;

const SETTLED_WITHIN: Duration = Duration::from_secs(120);

/// It has a database that is reached by TLS, and the secrets that a person makes first.
pub(crate) struct Account {
    pub(crate) emulator: Emulator,
    pub(crate) database: Client,
    database_secret: String,
    /// Of the role that functions have with `DatabaseAuth=iam`.
    pub(crate) iam_url: String,
    ca_pem: String,
    source_secret: String,
    http: reqwest::Client,
    _front: Front,
    _postgres: Postgres,
    _sources: TempDir,
}

impl Account {
    pub(crate) async fn new() -> anyhow::Result<Self> {
        // A deployment makes a role, which all databases of a server share.
        let postgres = Postgres::options().own().start()?;
        let direct = postgres.url();
        let parsed: tokio_postgres::Config = direct.parse()?;
        let authority = Authority::new();
        let identity = authority.issue("localhost", Validity::UntilTomorrow);
        let front = Front::start(&format!("127.0.0.1:{}", postgres.port()), Some(identity)).await;
        let (user, dbname) = (parsed.get_user().context("a user")?, parsed.get_dbname().context("a database")?);
        let place = format!("localhost:{}/{dbname}?hostaddr=127.0.0.1", front.port());

        let sources = tempfile::tempdir()?;
        let file = sources.path().join("sources.toml");
        fs::write(&file, SOURCES)?;
        // The emulator's functions get its environment. A deployment of one's own has its sources compiled in.
        let emulator = Emulator::options().authorize().variable("SOURCES_FILE", &file.display().to_string()).start()?;
        Ok(Self {
            database: connect(&DatabaseConfig { url: Secret::new(direct)?, tls: Tls::Disable }).await?,
            database_secret: secret(&emulator, "hookledger/database", &format!("postgres://{user}:any@{place}")).await?,
            iam_url: format!("postgres://hookledger_app@{place}"),
            source_secret: secret(&emulator, "hookledger/webhooks", SECRETS).await?,
            ca_pem: String::from_utf8(authority.pem())?,
            emulator,
            http: reqwest::Client::new(),
            _front: front,
            _postgres: postgres,
            _sources: sources,
        })
    }

    /// By `sam deploy`.
    pub(crate) async fn deploy(
        &self,
        stack: &str,
        application: &Application,
        changes: &[(&str, &str)],
    ) -> anyhow::Result<Stack> {
        let architecture = if cfg!(target_arch = "aarch64") { "arm64" } else { "x86_64" };
        let mut parameters = vec![
            ("DatabaseMode", "existing"),
            ("DatabaseSecretArn", self.database_secret.as_str()),
            ("DatabaseCaPem", self.ca_pem.as_str()),
            ("SourceSecretArns", self.source_secret.as_str()),
            ("Architecture", architecture),
        ];
        parameters.retain(|(name, _)| changes.iter().all(|(changed, _)| changed != name));
        parameters.extend(changes);
        self.emulator.sam_deploy(stack, &application.template(), &parameters).await
    }

    /// Posts to the stack's API, and gives status and answer.
    pub(crate) async fn deliver(&self, stack: &Stack, delivery: &Delivery) -> anyhow::Result<(u16, Value)> {
        let mut call = self.call(stack, delivery)?;
        for (name, value) in delivery.headers() {
            call = call.header(name, value);
        }
        let response = call.send().await?;
        Ok((response.status().as_u16(), serde_json::from_str(&response.text().await?).unwrap_or_default()))
    }

    /// Delivers an event of Stripe's, and sees it through.
    #[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
    pub(crate) async fn sees_applied(&self, stack: &Stack, event_id: &str) {
        let (status, answer) = self.deliver(stack, &stripe(event_id)).await.unwrap();
        assert_eq!((status, &answer["outcome"]), (200, &json!("accepted")), "{answer}\n{}", self.emulator.last_words());
        assert_eq!(self.settled(&format!("event_id = '{event_id}'")).await.unwrap(), "applied");
    }

    /// Posts what no provider signed, as `hookledger replay` does.
    pub(crate) async fn replay(&self, stack: &Stack, delivery: &Delivery, token: &str) -> anyhow::Result<u16> {
        let call = self.call(stack, delivery)?.header("content-type", "application/json").header("x-replay-token", token);
        Ok(call.send().await?.status().as_u16())
    }

    fn call(&self, stack: &Stack, delivery: &Delivery) -> anyhow::Result<reqwest::RequestBuilder> {
        let endpoint = stack.outputs.get("ApiEndpoint").context("the stack has no ApiEndpoint")?;
        let host = endpoint.split("//").nth(1).context("an ApiEndpoint without a host")?;
        let call = self.http.post(format!("{}/webhooks/{}", self.emulator.endpoint(), delivery.source));
        Ok(call.header("host", host).body(delivery.body.clone()))
    }

    /// The outcome of the event that a condition in SQL names, once it has one.
    pub(crate) async fn settled(&self, event: &str) -> anyhow::Result<String> {
        let start = Instant::now();
        loop {
            let row = format!("SELECT status, outcome, last_error FROM webhook_event WHERE {event}");
            let row = self.database.query_one(&row, &[]).await.with_context(|| format!("no event with {event}"))?;
            match row.get::<_, Option<String>>("outcome") {
                Some(outcome) => return Ok(outcome),
                None if start.elapsed() > SETTLED_WITHIN => {
                    let (status, error) = (row.get::<_, String>("status"), row.get::<_, Option<String>>("last_error"));
                    bail!("{event} is still {status}: {error:?}; the emulator's last words:\n{}", self.emulator.last_words())
                }
                None => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    }

    /// What a function has written to its log so far, as far as it is JSON.
    pub(crate) async fn records(&self, function: &str) -> anyhow::Result<Vec<Value>> {
        let request = json!({"logGroupName": format!("/aws/lambda/{function}")});
        let answer = self.emulator.json("logs", "1.1", "Logs_20140328.FilterLogEvents", &request).await?;
        let messages = answer["events"].as_array().into_iter().flatten().filter_map(|event| event["message"].as_str());
        Ok(messages.filter_map(|message| serde_json::from_str(message).ok()).collect())
    }

    pub(crate) async fn count(&self, from: &str) -> i64 {
        let count = self.database.query_one(&format!("SELECT count(*) FROM {from}"), &[]).await;
        count.map_or(-1, |row| row.get(0))
    }
}

/// The application, as the emulator can run it.
pub(crate) fn application(version: &str) -> anyhow::Result<Application> {
    let application = Application::package(version)?;
    // The emulator enforces it, and speaks HTTP: its queues would answer nobody.
    application.edit("{'aws:SecureTransport': false}", "{'aws:SecureTransport': true}")?;
    Ok(application)
}

pub(crate) async fn secret(emulator: &Emulator, name: &str, text: &str) -> anyhow::Result<String> {
    let request = json!({"Name": name, "SecretString": text, "ClientRequestToken": "00000000-0000-4000-8000-000000000000"});
    let created = emulator.json("secretsmanager", "1.1", "secretsmanager.CreateSecret", &request).await?;
    Ok(created["ARN"].as_str().context("a secret without an ARN")?.to_owned())
}
