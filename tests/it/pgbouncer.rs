//! PgBouncer in transaction mode, where each transaction of a client may meet another session of the server, and each session
//! another client next. So nothing may be left in a session: no prepared statement, no setting.

#![expect(clippy::unwrap_used, reason = "what the tests share ends them as they would themselves")]

use std::os::unix::fs::MetadataExt;
use std::process::Command;
use std::time::Duration;

use bytes::Bytes;
use hookledger_core::{
    Claim, ClaimMode, Event, EventId, EventRef, Identity, Lifecycle, ObjectKey, Outcome, Proof, Secret, Settlement,
    SourceName, Status, VerifiedEvent,
};
use hookledger_harness::{Postgres, Service, ServiceOptions, Signal, free_port, setting, until};
use hookledger_ledger::{ConnectError, DatabaseConfig, Fenced, Grant, Guard, Lease, Ledger, Tie, Tls, connect, migrate};
use tempfile::TempDir;
use tokio::task::JoinSet;
use tokio_postgres::{Client, SimpleQueryMessage};

const PASSWORD: &str = "correct-horse";
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// A migrated database, and the bouncer before it.
struct Bouncer {
    // Dropped in this order.
    _service: Service,
    _folder: TempDir,
    _postgres: Postgres,
    port: u16,
}

impl Bouncer {
    async fn start(sessions: u32) -> Self {
        // Its users log in to the server without a password, which a server of `DATABASE_URL` need not allow.
        let postgres = Postgres::options().own().start().unwrap();
        let mut direct = connect(&config(&postgres.url())).await.unwrap();
        migrate(&mut direct).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let port = free_port().unwrap();
        let service = serve(&folder, port, postgres.port(), sessions);
        Self { _service: service, _folder: folder, _postgres: postgres, port }
    }

    fn config(&self, password: &str) -> DatabaseConfig {
        config(&format!("postgres://postgres:{password}@127.0.0.1:{}/hookledger", self.port))
    }

    fn ledger(&self) -> Ledger {
        Ledger::new(self.config(PASSWORD), ANSWER_WITHIN)
    }
}

fn serve(folder: &TempDir, port: u16, server_port: u16, sessions: u32) -> Service {
    let (settings, users) = (folder.path().join("pgbouncer.ini"), folder.path().join("users.txt"));
    std::fs::write(&users, format!("\"postgres\" \"{PASSWORD}\"\n")).unwrap();
    let text = format!(
        "[databases]
        * = host=127.0.0.1 port={server_port}
        [pgbouncer]
        listen_addr = 127.0.0.1
        listen_port = {port}
        unix_socket_dir =
        auth_type = plain
        auth_file = {users}
        pool_mode = transaction
        default_pool_size = {sessions}
        max_client_conn = 100
        ",
        users = users.display()
    );
    std::fs::write(&settings, text.replace("        ", "")).unwrap();
    let mut pgbouncer = Command::new("pgbouncer");
    pgbouncer.arg(&settings);
    // Debian keeps it where only root's PATH leads.
    pgbouncer.env("PATH", format!("{}:/usr/sbin", setting("PATH").unwrap_or_default()));
    let log = folder.path().join("log");
    let mut options = ServiceOptions { log: &log, stop_with: Signal::Interrupt, folder: None, user: None };
    // It refuses to run as root.
    if std::fs::metadata(&settings).unwrap().uid() == 0 {
        let nobody = (65534, 65534);
        std::os::unix::fs::chown(folder.path(), Some(nobody.0), Some(nobody.1)).unwrap();
        options.user = Some(nobody);
    }
    let mut service = Service::start(&pgbouncer, &options).unwrap();
    until("pgbouncer to listen", ANSWER_WITHIN, || {
        if service.ended(Duration::ZERO) {
            anyhow::bail!("pgbouncer does not run; on Debian, `apt-get install pgbouncer`:\n{}", service.last_words());
        }
        Ok(std::net::TcpStream::connect(("127.0.0.1", port)).is_ok())
    })
    .unwrap();
    service
}

fn config(url: &str) -> DatabaseConfig {
    DatabaseConfig { url: Secret::new(url).unwrap(), tls: Tls::Disable }
}

/// What a session holds that another client would meet. The bouncer itself sets and tracks the parameters of a client's startup
/// message, `application_name` among them.
async fn left_in_the_session(client: &Client) -> Vec<String> {
    let sql = "SELECT 'pid ' || pg_backend_pid()
        UNION ALL SELECT 'prepared ' || name FROM pg_prepared_statements
        UNION ALL SELECT name || ' = ' || setting FROM pg_settings WHERE source = 'session'
        UNION ALL SELECT 'lock ' || objid FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()
        ORDER BY 1";
    let answers = client.simple_query(sql).await.unwrap();
    let first_column = |answer| {
        let SimpleQueryMessage::Row(row) = answer else { return None };
        row.get(0).map(str::to_owned)
    };
    answers.into_iter().filter_map(first_column).collect()
}

fn event(id: &str) -> VerifiedEvent {
    let token = Secret::new("a token").unwrap();
    let proof = Proof::token(&[token], b"a token").unwrap();
    let identity = Identity {
        event_id: EventId::new(id).unwrap(),
        event_type: "thing.updated".into(),
        object: Some(ObjectKey { account: String::new(), kind: "thing".into(), id: id.into() }),
        version: Some(1),
        lifecycle: Lifecycle::Updated,
    };
    VerifiedEvent::new(&proof, SourceName::new("github").unwrap(), identity, vec![], Bytes::from_static(b"{}"))
}

fn leased(grants: Vec<Grant>) -> Vec<Lease> {
    let lease = |grant| {
        let Grant::Leased(lease) = grant else { panic!("{grant:?}") };
        lease
    };
    grants.into_iter().map(lease).collect()
}

#[tokio::test]
async fn the_way_of_an_event_leaves_nothing_in_the_session() {
    let bouncer = Bouncer::start(1).await;
    let watcher = connect(&bouncer.config(PASSWORD)).await.unwrap();
    let (mut receiver, mut worker) = (bouncer.ledger(), bouncer.ledger());
    receiver.ping().await.unwrap();
    worker.ping().await.unwrap();
    let before = left_in_the_session(&watcher).await;

    let events = ["applied", "failing", "swept"].map(event);
    let keys: Vec<EventRef> = events.iter().map(VerifiedEvent::key).collect();
    let claims = receiver.claim(&events, ClaimMode::Enforce).await.unwrap();
    assert_eq!(claims, [Claim::New; 3]);
    let again = worker.claim(&events[..1], ClaimMode::Enforce).await.unwrap();
    assert_eq!(again, [Claim::Duplicate { status: Status::Claimed, requeue: false }]);

    let mut leases = leased(worker.lease_first_attempts(&keys[..2]).await.unwrap());
    let held = receiver.lease_alone(&keys[0], 5).await.unwrap();
    assert!(matches!(held, Grant::HeldElsewhere { .. }), "{held:?}");
    let (failing, applied) = (leases.pop().unwrap(), leases.pop().unwrap());

    let candidate = |_: &Event| unreachable!("no tie");
    let (work, guards) = worker.begin_guarded(&[applied.event.as_ref().unwrap()], &candidate).await.unwrap();
    assert!(matches!(guards[..], [Guard::Newest { tie: Tie::None }]), "{guards:?}");
    let bound = work.transaction().query_typed("SHOW statement_timeout", &[]).await.unwrap();
    assert_eq!(bound[0].get::<_, &str>(0), "15s");
    work.transaction().query_typed("INSERT INTO subscription VALUES ('s', 'plan', 'active', 1)", &[]).await.unwrap();
    assert_eq!(work.settle(vec![(applied, Outcome::Applied)]).await.unwrap().len(), 1);
    let failed = worker.fail(failing, Settlement::RetryIn(Duration::ZERO), "of no interest").await.unwrap();
    assert_eq!(failed, Fenced::Recorded);
    let retried = receiver.lease_alone(&keys[1], 5).await.unwrap();
    receiver.release(leased(vec![retried])).await.unwrap();

    receiver.sweep(&[], 5, 10).await.unwrap();
    let backlog = worker.backlog().await.unwrap();
    assert_eq!((backlog.unsettled, backlog.dead_letters), (2, 0));

    assert_eq!(left_in_the_session(&watcher).await, before);
    assert!(!before.iter().any(|line| line.starts_with("prepared") || line.contains("_timeout")), "{before:?}");
}

#[tokio::test]
async fn work_that_is_dropped_takes_its_bounds_with_it() {
    let bouncer = Bouncer::start(1).await;
    let watcher = connect(&bouncer.config(PASSWORD)).await.unwrap();
    let mut worker = bouncer.ledger();
    worker.ping().await.unwrap();
    let before = left_in_the_session(&watcher).await;
    drop(worker.begin().await.unwrap());
    worker.ping().await.unwrap();
    assert_eq!(left_in_the_session(&watcher).await, before);
}

#[tokio::test]
async fn eight_clients_over_two_sessions_claim_each_event_once() {
    let bouncer = Bouncer::start(2).await;
    let mut clients = JoinSet::new();
    for _ in 0..8 {
        let mut ledger = bouncer.ledger();
        clients.spawn(async move {
            let mut new = 0;
            for id in 0..20 {
                let claims = ledger.claim(&[event(&format!("event {id}"))], ClaimMode::Enforce).await.unwrap();
                new += usize::from(claims == [Claim::New]);
            }
            new
        });
    }
    assert_eq!(clients.join_all().await.into_iter().sum::<usize>(), 20);
}

#[tokio::test]
async fn a_prepared_claim_that_the_session_does_not_know_is_made_without() {
    let bouncer = Bouncer::start(1).await;
    let watcher = connect(&bouncer.config(PASSWORD)).await.unwrap();
    let mut receiver = bouncer.ledger().preparing();
    let mut prepared = Vec::new();
    for n in 0..6 {
        let key = event(&format!("event {n}"));
        assert_eq!(receiver.claim(&[key], ClaimMode::Enforce).await.unwrap(), [Claim::New]);
        let left = left_in_the_session(&watcher).await;
        prepared.push(left.iter().filter(|line| line.starts_with("prepared")).count());
        if n == 2 {
            // What a client sees whose transaction meets another session.
            watcher.batch_execute("DEALLOCATE ALL").await.unwrap();
        }
    }
    assert_eq!(prepared, [0, 1, 1, 0, 0, 0], "the first is unnamed, and after the failure all are");
}

#[tokio::test]
async fn a_wrong_password_is_refused_as_such() {
    let bouncer = Bouncer::start(1).await;
    let error = connect(&bouncer.config("wrong")).await.map(|_| "a connection").unwrap_err();
    assert!(matches!(error, ConnectError::Authentication(_)), "{error:?}");
    let without = config(&format!("postgres://postgres@127.0.0.1:{}/hookledger", bouncer.port));
    let error = connect(&without).await.map(|_| "a connection").unwrap_err();
    assert!(matches!(error, ConnectError::Authentication(_)), "{error:?}");
}
