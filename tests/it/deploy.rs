//! The templates deployed onto the AWS emulator, with the functions' IAM roles enforced: real functions, a real database that
//! is reached by TLS, and deliveries through the API.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use hookledger_core::Secret;
use hookledger_harness::{Emulator, Postgres, Stack, package, root, sign};
use hookledger_ledger::{DatabaseConfig, Tls, connect};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_postgres::Client;

use crate::tls::certificate::{Authority, Validity};
use crate::tls::front::Front;

const SETTLED_WITHIN: Duration = Duration::from_secs(60);
const STRIPE_SECRET: &str = "whsec_of_the_deployment";

/// An empty account with a database and the secrets that a person makes before the first deployment.
struct Account {
    emulator: Emulator,
    database: Client,
    database_secret: String,
    ca_pem: String,
    source_secret: String,
    http: reqwest::Client,
    _front: Front,
    _sources: TempDir,
}

impl Account {
    async fn new(name: &str) -> anyhow::Result<Self> {
        let postgres = Postgres::shared()?;
        let direct = postgres.database(name)?;
        let parsed: tokio_postgres::Config = direct.parse()?;
        let authority = Authority::new();
        let identity = authority.issue("localhost", Validity::UntilTomorrow);
        let front = Front::start(&format!("127.0.0.1:{}", postgres.port()), Some(identity)).await;
        let (user, dbname) = (parsed.get_user().context("a user")?, parsed.get_dbname().context("a database")?);
        let url = format!("postgres://{user}:any@localhost:{}/{dbname}?hostaddr=127.0.0.1", front.port());

        let sources = tempfile::tempdir()?;
        let file = sources.path().join("sources.toml");
        fs::write(&file, "[stripe]\nprovider = \"stripe\"\nsecrets = [\"secretsmanager:hookledger/webhooks#stripe\"]\n")?;
        // The emulator's functions get its environment. A deployment of one's own has its sources compiled in.
        let emulator = Emulator::options().authorize().variable("SOURCES_FILE", &file.display().to_string()).start()?;
        Ok(Self {
            database: connect(&DatabaseConfig { url: Secret::new(direct)?, tls: Tls::Disable }).await?,
            database_secret: secret(&emulator, "hookledger/database", &url).await?,
            source_secret: secret(&emulator, "hookledger/webhooks", &json!({"stripe": STRIPE_SECRET}).to_string()).await?,
            ca_pem: String::from_utf8(authority.pem())?,
            emulator,
            http: reqwest::Client::new(),
            _front: front,
            _sources: sources,
        })
    }

    async fn deploy(&self, stack: &str, template: &str, changes: &[(&str, &str)]) -> anyhow::Result<Stack> {
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
        self.emulator.put_stack(stack, template, &parameters).await
    }

    /// Posts to the stack's API as Stripe does, and gives status and answer.
    async fn deliver(&self, stack: &Stack, event: &Value) -> anyhow::Result<(u16, Value)> {
        let endpoint = stack.outputs.get("ApiEndpoint").context("the stack has no ApiEndpoint")?;
        let host = endpoint.split("//").nth(1).context("an ApiEndpoint without a host")?;
        let body = event.to_string();
        let t = hookledger_runtime::now() / 1_000_000;
        let call = self.http.post(format!("{}/webhooks/stripe", self.emulator.endpoint())).header("host", host);
        let call = call.header("stripe-signature", sign::stripe(STRIPE_SECRET, t, body.as_bytes()));
        let response = call.header("content-type", "application/json").body(body).send().await?;
        Ok((response.status().as_u16(), serde_json::from_str(&response.text().await?).unwrap_or_default()))
    }

    async fn settled(&self, event_id: &str) -> anyhow::Result<String> {
        let start = Instant::now();
        loop {
            let row = "SELECT status, outcome, last_error FROM webhook_event WHERE event_id = $1";
            let row = self.database.query_one(row, &[&event_id]).await?;
            match row.get::<_, Option<String>>("outcome") {
                Some(outcome) => return Ok(outcome),
                None if start.elapsed() > SETTLED_WITHIN => {
                    bail!("{event_id} is still {row:?}; the emulator's last words:\n{}", self.emulator.last_words())
                }
                None => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    }

    async fn count(&self, from: &str) -> i64 {
        let count = self.database.query_one(&format!("SELECT count(*) FROM {from}"), &[]).await;
        count.map_or(-1, |row| row.get(0))
    }
}

async fn secret(emulator: &Emulator, name: &str, text: &str) -> anyhow::Result<String> {
    let request = json!({"Name": name, "SecretString": text, "ClientRequestToken": "00000000-0000-4000-8000-000000000000"});
    let created = emulator.json("secretsmanager", "1.1", "secretsmanager.CreateSecret", &request).await?;
    Ok(created["ARN"].as_str().context("a secret without an ARN")?.to_owned())
}

fn subscription(event_id: &str, plan: &str, created: i64) -> Value {
    json!({
        "id": event_id, "object": "event", "type": "customer.subscription.updated", "created": created, "livemode": false,
        "api_version": "2025-01-27.acacia",
        "data": {"object": {
            "id": "sub_deployed", "object": "subscription", "status": "active", "created": created,
            "items": {"object": "list", "data": [{"id": "si_1", "price": {"id": plan, "lookup_key": plan}, "plan": {"id": plan}}]},
            "plan": {"id": plan},
        }},
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deployed_stack_takes_a_signed_event_to_its_effect() {
    let account = Account::new("deployed").await.unwrap();
    let template = package(&account.emulator, "1").await.unwrap();
    let stack = account.deploy("hookledger", &template, &[]).await.unwrap();
    assert_eq!((stack.status.as_str(), stack.failures.as_slice()), ("CREATE_COMPLETE", &[][..]));

    let event = subscription("evt_deployed", "price_gold", 1_700_000_000);
    let (status, answer) = account.deliver(&stack, &event).await.unwrap();
    assert_eq!((status, &answer["outcome"]), (200, &json!("accepted")), "{answer}\n{}", account.emulator.last_words());
    assert_eq!(account.settled("evt_deployed").await.unwrap(), "applied");
    assert_eq!(account.count("subscription WHERE subscription_id = 'sub_deployed' AND plan = 'price_gold'").await, 1);
    let (status, answer) = account.deliver(&stack, &event).await.unwrap();
    assert_eq!((status, &answer["outcome"]), (200, &json!("duplicate")));

    // A role that may not read the sources' secrets gets nothing: the roles are enforced.
    let denied = account.deploy("denied", &template, &[("SourceSecretArns", "")]).await.unwrap();
    assert_eq!(denied.status, "CREATE_COMPLETE");
    let (status, _) = account.deliver(&denied, &subscription("evt_denied", "price_gold", 1_700_000_001)).await.unwrap();
    assert!(status >= 500, "{status}");
    assert_eq!(account.count("webhook_event WHERE event_id = 'evt_denied'").await, 0);

    // One migration behind: the new version of the operator applies it before the update is complete.
    let behind = "DROP TABLE subscription; DELETE FROM refinery_schema_history WHERE version = 2";
    account.database.batch_execute(behind).await.unwrap();
    let template = package(&account.emulator, "2").await.unwrap();
    let stack = account.deploy("hookledger", &template, &[]).await.unwrap();
    assert_eq!((stack.status.as_str(), stack.failures.as_slice()), ("UPDATE_COMPLETE", &[][..]));
    assert_eq!(account.count("subscription").await, 0);

    account.emulator.delete_stack("hookledger").await.unwrap();
    assert_eq!(account.count("webhook_event WHERE status = 'settled'").await, 1, "the data outlives the stack");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_migration_that_fails_takes_the_deployment_back_and_says_why() {
    let account = Account::new("not_deployed").await.unwrap();
    let nowhere = secret(&account.emulator, "hookledger/nowhere", "postgres://nobody:hunter2@localhost/nothing?port=1&x=y");
    let template = package(&account.emulator, "1").await.unwrap();
    let changes = [("DatabaseSecretArn", nowhere.await.unwrap())];
    let changes: Vec<_> = changes.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let stack = account.deploy("hookledger", &template, &changes).await.unwrap();
    assert_eq!(stack.status, "ROLLBACK_COMPLETE");
    let failure = stack.failures.iter().find(|failure| failure.starts_with("Migrations: ")).unwrap();
    assert!(failure.contains("the database URL is not of the form"), "{failure}");
    assert!(!failure.contains("hunter2"), "{failure}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_network_and_database_of_our_own_are_made() {
    let emulator = Emulator::start().unwrap();
    // The emulator keeps no password for a cluster; all else is as it stands.
    let password = secret(&emulator, "rds!cluster", r#"{"username":"hookledger","password":"x"}"#).await.unwrap();
    let template = fs::read_to_string(root().join("infra/database.yaml")).unwrap();
    let template = template.replace("!GetAtt Cluster.MasterUserSecret.SecretArn", &password);
    let parameters = [
        ("MinCapacity", "0.5"),
        ("MaxCapacity", "2"),
        ("MaxConnections", "100"),
        ("HighAvailability", "true"),
        // The emulator has no RDS Proxy.
        ("UseProxy", "false"),
        ("BackupRetentionDays", "14"),
        ("DeletionProtection", "true"),
        ("LogsEndpoint", "true"),
    ];
    let stack = emulator.put_stack("database", &template, &parameters).await.unwrap();
    assert_eq!((stack.status.as_str(), stack.failures.as_slice()), ("CREATE_COMPLETE", &[][..]));
    assert_eq!(stack.outputs["SubnetIds"].split(',').count(), 2);
    assert!(stack.outputs["Host"].ends_with(".rds.amazonaws.com"), "{}", stack.outputs["Host"]);
    assert_eq!(stack.outputs["Host"], stack.outputs["DirectHost"]);
}
