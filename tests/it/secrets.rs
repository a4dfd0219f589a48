//! Secrets kept in Secrets Manager: rotated, revoked, and away. Time is given, never waited for.

#![expect(clippy::unwrap_used, reason = "what the tests share ends them as they would themselves")]

use std::ffi::OsString;

use hookledger_aws::Roots;
use hookledger_core::{Micros, Secret};
use hookledger_harness::Emulator;
use hookledger_ledger::Tls;
use hookledger_providers::Sources;
use hookledger_runtime::{
    DatabaseSettings, Env, REFETCH_PAUSE_S, SECRETS_STALE_MAX_S, SecretStore, SecretsError, Vault, error_chain,
};
use serde_json::{Value, json};

const START: Micros = 1_764_489_600_000_000;
const TTL_S: u32 = 300;

fn after(seconds: u32) -> Micros {
    START + Micros::from(seconds) * 1_000_000
}

fn vault(emulator: &Emulator) -> Vault {
    Vault::from(&crate::queue::aws(&emulator.endpoint(), &Roots::Amazon))
}

async fn ask(emulator: &Emulator, action: &str, request: Value) -> anyhow::Result<Value> {
    emulator.json("secretsmanager", "1.1", &format!("secretsmanager.{action}"), &request).await
}

async fn create(emulator: &Emulator, id: &str, text: &str) -> anyhow::Result<()> {
    ask(emulator, "CreateSecret", json!({"Name": id, "SecretString": text})).await.map(drop)
}

async fn rotate(emulator: &Emulator, id: &str, text: &str) -> anyhow::Result<()> {
    ask(emulator, "PutSecretValue", json!({"SecretId": id, "SecretString": text})).await.map(drop)
}

fn env(variables: &'static [(&'static str, &'static str)]) -> Env {
    Env::new(|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value)))
}

/// GitHub's secrets are taken as they are written.
fn sources(secrets: &str) -> anyhow::Result<Sources> {
    Ok(Sources::parse(&format!("[github]\nprovider = \"github\"\nsecrets = [{secrets}]\n"))?)
}

/// A deployment with one source, whose secret is `secretsmanager:hooks#github`.
struct Deployment {
    emulator: Emulator,
    sources: Sources,
    store: SecretStore,
}

impl Deployment {
    async fn start() -> anyhow::Result<Self> {
        let emulator = Emulator::start()?;
        create(&emulator, "hooks", r#"{"github": "first"}"#).await?;
        let sources = sources(r#""secretsmanager:hooks#github""#)?;
        let store = SecretStore::load(&sources, &env(&[]), vault(&emulator), TTL_S, START).await?;
        Ok(Self { emulator, sources, store })
    }

    async fn rotate(&self, text: &str) -> anyhow::Result<()> {
        rotate(&self.emulator, "hooks", &json!({"github": text}).to_string()).await
    }

    /// What verifies, `seconds` after the start.
    async fn live(&self, seconds: u32) -> Result<Vec<String>, SecretsError> {
        Ok(texts(&self.store.secrets_for(self.sources.get("github").unwrap(), after(seconds)).await?))
    }

    /// What a signature that fits nothing brings, `seconds` after the start.
    async fn refetched(&self, seconds: u32) -> Option<Vec<String>> {
        let fetched = self.store.refetch_after_failure(self.sources.get("github").unwrap(), after(seconds)).await;
        fetched.map(|secrets| texts(&secrets))
    }
}

fn texts(secrets: &[Secret]) -> Vec<String> {
    secrets.iter().map(|secret| String::from_utf8(secret.expose().to_vec()).unwrap()).collect()
}

#[tokio::test]
async fn secrets_come_from_the_environment_and_from_secrets_manager() -> anyhow::Result<()> {
    let emulator = Emulator::start()?;
    create(&emulator, "plain", "stored").await?;
    create(&emulator, "hooks", r#"{"github": "keyed", "other": "x"}"#).await?;
    let sources = sources(r#""env:GITHUB", "secretsmanager:plain", "secretsmanager:hooks#github""#)?;
    let store = SecretStore::load(&sources, &env(&[("GITHUB", "given")]), vault(&emulator), TTL_S, START).await?;
    let live = store.secrets_for(sources.get("github").unwrap(), START).await?;
    assert_eq!(texts(&live), ["given", "stored", "keyed"]);
    Ok(())
}

#[tokio::test]
async fn a_missing_or_unusable_secret_stops_the_start_and_is_named() -> anyhow::Result<()> {
    let emulator = Emulator::start()?;
    create(&emulator, "plain", "hunter2").await?;
    create(&emulator, "hooks", r#"{"github": "", "number": 2, "other": "hunter2"}"#).await?;
    for (secret, message) in [
        ("env:GITHUB", "source github has no secret: GITHUB is not set"),
        (
            "secretsmanager:nowhere",
            "source github has no secret: secret nowhere is not available: ResourceNotFoundException",
        ),
        ("secretsmanager:plain#github", "source github: secretsmanager:plain#github has no text under its key"),
        ("secretsmanager:hooks#nothing", "source github: secretsmanager:hooks#nothing has no text under its key"),
        ("secretsmanager:hooks#number", "source github: secretsmanager:hooks#number has no text under its key"),
        ("secretsmanager:hooks#github", "source github: secretsmanager:hooks#github cannot be used"),
        ("secretsmanager:hooks", "source github: secretsmanager:hooks is a JSON object"),
    ] {
        let loaded = SecretStore::load(&sources(&format!("{secret:?}"))?, &env(&[]), vault(&emulator), TTL_S, START).await;
        let said = error_chain(&loaded.err().expect(secret));
        assert!(said.starts_with(message) && !said.contains("hunter2"), "{said}");
    }
    Ok(())
}

#[tokio::test]
async fn old_and_new_are_both_live_while_a_secret_is_rotated() -> anyhow::Result<()> {
    let deployment = Deployment::start().await?;
    assert_eq!(deployment.live(0).await?, ["first"]);
    deployment.rotate("second").await?;
    assert_eq!(deployment.live(TTL_S - 1).await?, ["first"], "cached");
    assert_eq!(deployment.live(TTL_S).await?, ["second", "first"]);
    Ok(())
}

#[tokio::test]
async fn a_secret_that_was_rotated_away_stops_within_the_ttl() -> anyhow::Result<()> {
    let deployment = Deployment::start().await?;
    deployment.rotate("second").await?;
    deployment.rotate("third").await?;
    assert_eq!(deployment.live(TTL_S).await?, ["third", "second"]);
    Ok(())
}

#[tokio::test]
async fn a_deleted_secret_stops_within_the_ttl() -> anyhow::Result<()> {
    let deployment = Deployment::start().await?;
    ask(&deployment.emulator, "DeleteSecret", json!({"SecretId": "hooks", "RecoveryWindowInDays": 7})).await?;
    assert_eq!(deployment.live(TTL_S - 1).await?, ["first"]);
    assert!(matches!(deployment.live(TTL_S).await, Err(SecretsError::Vault { .. })));
    assert!(matches!(deployment.live(TTL_S + 1).await, Err(SecretsError::Pausing { .. })), "not asked at each delivery");
    ask(&deployment.emulator, "RestoreSecret", json!({"SecretId": "hooks"})).await?;
    assert_eq!(deployment.live(TTL_S + REFETCH_PAUSE_S).await?, ["first"]);
    Ok(())
}

#[tokio::test]
async fn a_clock_that_was_set_back_makes_secrets_old() -> anyhow::Result<()> {
    let deployment = Deployment::start().await?;
    deployment.rotate("second").await?;
    let earlier = START - 1;
    let live = deployment.store.secrets_for(deployment.sources.get("github").unwrap(), earlier).await?;
    assert_eq!(texts(&live), ["second", "first"]);
    Ok(())
}

#[tokio::test]
async fn bad_signatures_fetch_at_most_once_a_minute() -> anyhow::Result<()> {
    let deployment = Deployment::start().await?;
    deployment.rotate("second").await?;
    assert_eq!(deployment.refetched(REFETCH_PAUSE_S - 1).await, None);
    assert_eq!(deployment.live(REFETCH_PAUSE_S - 1).await?, ["first"], "nothing was fetched");
    assert_eq!(deployment.refetched(REFETCH_PAUSE_S).await.unwrap(), ["second", "first"]);
    deployment.rotate("third").await?;
    assert_eq!(deployment.refetched(2 * REFETCH_PAUSE_S - 1).await, None);
    assert_eq!(deployment.live(2 * REFETCH_PAUSE_S - 1).await?, ["second", "first"], "nothing was fetched");
    assert_eq!(deployment.refetched(2 * REFETCH_PAUSE_S).await.unwrap(), ["third", "second"]);
    assert_eq!(deployment.refetched(3 * REFETCH_PAUSE_S).await, None, "nothing new");
    Ok(())
}

#[tokio::test]
async fn while_secrets_manager_is_away_the_known_secrets_hold_for_an_hour() -> anyhow::Result<()> {
    let mut deployment = Deployment::start().await?;
    deployment.emulator.stop();
    assert_eq!(deployment.live(TTL_S).await?, ["first"]);
    assert_eq!(deployment.live(TTL_S + 1).await?, ["first"]);
    assert_eq!(deployment.refetched(TTL_S + REFETCH_PAUSE_S).await, None);
    assert_eq!(deployment.live(SECRETS_STALE_MAX_S - 1).await?, ["first"]);
    assert!(matches!(deployment.live(SECRETS_STALE_MAX_S).await, Err(SecretsError::Pausing { .. })));
    let later = SECRETS_STALE_MAX_S + REFETCH_PAUSE_S;
    assert!(matches!(deployment.live(later).await, Err(SecretsError::Vault { .. })));
    Ok(())
}

#[tokio::test]
async fn a_rotation_to_something_unusable_leaves_the_known_secrets() -> anyhow::Result<()> {
    let deployment = Deployment::start().await?;
    rotate(&deployment.emulator, "hooks", "oops").await?;
    assert_eq!(deployment.live(TTL_S).await?, ["first"]);
    assert!(matches!(deployment.live(SECRETS_STALE_MAX_S).await, Err(SecretsError::NoJsonKey { .. })));
    Ok(())
}

#[tokio::test]
async fn secrets_of_the_environment_need_no_secrets_manager_and_do_not_age() -> anyhow::Result<()> {
    let sources = sources(r#""env:GITHUB""#)?;
    let store = SecretStore::load(&sources, &env(&[("GITHUB", "given")]), Vault::new(), TTL_S, START).await?;
    let source = sources.get("github").unwrap();
    assert_eq!(texts(&store.secrets_for(source, after(10 * SECRETS_STALE_MAX_S)).await?), ["given"]);
    assert_eq!(store.refetch_after_failure(source, after(REFETCH_PAUSE_S)).await, None);
    Ok(())
}

#[tokio::test]
async fn the_database_s_credentials_are_read_anew_each_time() -> anyhow::Result<()> {
    let emulator = Emulator::start()?;
    create(&emulator, "db", r#"{"username": "app", "password": "p@ss"}"#).await?;
    let variables = &[("DATABASE_SECRET_ARN", "db"), ("DATABASE_URL", "postgres://db.local/hooks")];
    let settings = DatabaseSettings::read(&env(variables))?;
    let vault = vault(&emulator);
    let config = settings.resolve(&vault).await?;
    assert_eq!(config.url.expose(), b"postgres://app:p%40ss@db.local/hooks");
    assert_eq!(config.tls, Tls::VerifyFull { ca_pem: None });
    rotate(&emulator, "db", r#"{"username": "app", "password": "new"}"#).await?;
    assert_eq!(settings.resolve(&vault).await?.url.expose(), b"postgres://app:new@db.local/hooks");
    Ok(())
}
