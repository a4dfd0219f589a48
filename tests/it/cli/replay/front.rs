//! A deployment whose receiver can be posted to: HTTP on one side, the built function on the other.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use hookledger_harness::deployment::{Deployment, DeploymentOptions};
use hookledger_harness::http::{Answer, Request, serve};
use hookledger_harness::lambda::Function;
use hookledger_harness::lambda::api_gateway::{HttpRequest, deliver};
use hookledger_harness::{Emulator, Postgres};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_postgres::Client;

use crate::cli::scene::Cli;

/// The harness's, and others.
const SOURCES: &str = r#"
[stripe]
provider = "stripe"
secrets = ["env:STRIPE_WEBHOOK_SECRET"]
[github]
provider = "github"
secrets = ["env:WEBHOOK_SECRET"]
[paddle]
provider = "paddle"
secrets = ["env:WEBHOOK_SECRET"]
[shopify]
provider = "shopify"
secrets = ["env:WEBHOOK_SECRET"]
"#;
const ANY: usize = 1 << 20;
pub(crate) const TOKEN: &str = "a replay token of more than thirty-two bytes";

/// So many posts are let through; others wait.
type Gate = Arc<Mutex<Arc<Semaphore>>>;

pub(crate) struct Front {
    pub(crate) url: String,
    pub(crate) hookledger: Deployment,
    pub(crate) sql: Client,
    gate: Gate,
    /// So many of the next posts are answered 503.
    pub(crate) refusals: Arc<AtomicUsize>,
    pub(crate) folder: tempfile::TempDir,
    pub(crate) servers: JoinSet<()>,
}

impl Front {
    pub(crate) async fn new(name: &str) -> Self {
        let url = Postgres::shared().unwrap().database(&format!("replay_{name}")).unwrap();
        let emulator = emulator();
        let folder = tempfile::tempdir().unwrap();
        let sources = folder.path().join("sources.toml");
        std::fs::write(&sources, SOURCES).unwrap();
        let options = DeploymentOptions { receivers: 4, ..DeploymentOptions::default() }
            .variable("REPLAY_TOKEN", TOKEN)
            .variable("SOURCES_FILE", &sources.display().to_string())
            .variable("WEBHOOK_SECRET", "a secret that no test signs with");
        let hookledger = Deployment::start(&url, emulator, options).await.unwrap();
        let sql = hookledger.database().await.unwrap();
        let (gate, refusals) = (Gate::new(Mutex::new(Arc::new(Semaphore::new(ANY)))), Arc::new(AtomicUsize::new(0)));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let mut servers = JoinSet::new();
        let behind = (hookledger.receiver.clone(), gate.clone(), refusals.clone());
        servers.spawn(serve(listener, move |request| pass(behind.clone(), request)));
        Self { url, hookledger, sql, gate, refusals, folder, servers }
    }

    /// With what a replay needs in its environment, and the ledger for a dry run.
    pub(crate) fn cli(&self) -> Cli {
        Cli::with(&[
            ("DATABASE_URL", &self.hookledger.database_url),
            ("DATABASE_TLS", "disable"),
            ("REPLAY_TOKEN", TOKEN),
            ("STRIPE_API_KEY", super::fake_stripe::KEY),
            ("SOURCES_FILE", &self.path("sources.toml")),
        ])
    }

    /// Only so many posts from now on. Those that wait are dropped, as those of a sender that died are.
    pub(crate) fn let_through(&self, posts: usize) {
        std::mem::replace(&mut *self.gate.lock().unwrap(), Arc::new(Semaphore::new(posts))).close();
    }

    pub(crate) fn let_all_through(&self) {
        self.let_through(ANY);
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// Puts these events into the ledger as settled long ago.
    pub(crate) async fn settled(&self, ids: &[String]) {
        let mut ledger = crate::ground::ledger(&self.hookledger.database_url);
        for ids in ids.chunks(500) {
            let events: Vec<_> = ids.iter().map(|id| crate::ground::event(id)).collect();
            ledger.claim(&events, hookledger_core::ClaimMode::Enforce).await.unwrap();
        }
        let settle =
            "UPDATE webhook_event SET status = 'settled', outcome = 'applied', settled_at = received_at, attempts = 1";
        self.sql.batch_execute(settle).await.unwrap();
    }

    /// Waits until a replay has noted so many answers.
    pub(crate) async fn until_answered(&self, checkpoint: &str, answers: usize) {
        let noted = || std::fs::read_to_string(checkpoint).unwrap_or_default().matches("{\"answered\"").count();
        let all_noted = async {
            while noted() < answers {
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(std::time::Duration::from_secs(60), all_noted).await.unwrap();
    }

    pub(crate) async fn count(&self, condition: &str) -> i64 {
        let sql = format!("SELECT count(*) FROM webhook_event WHERE {condition}");
        self.sql.query_one(&sql, &[]).await.unwrap().get(0)
    }
}

pub(crate) fn emulator() -> Arc<Emulator> {
    static EMULATOR: OnceLock<Arc<Emulator>> = OnceLock::new();
    EMULATOR.get_or_init(|| Arc::new(Emulator::start().unwrap())).clone()
}

async fn pass((receiver, gate, refusals): (Arc<Function>, Gate, Arc<AtomicUsize>), request: Request) -> Option<Answer> {
    let semaphore = gate.lock().unwrap().clone();
    semaphore.acquire().await.ok()?.forget();
    let refuses = refusals.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
    if refuses {
        return Some(Answer::new(503, "{}").header("retry-after", "0"));
    }
    let method = if request.method == "GET" { "GET" } else { "POST" };
    let request = HttpRequest { method, path: request.target, headers: request.headers, body: request.body };
    let answer = deliver(&receiver, &request).await;
    Some(Answer::new(answer.status, answer.body))
}
