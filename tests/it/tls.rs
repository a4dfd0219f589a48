//! The connection to Postgres: who is let in by TLS, who is not, and that each failure says what to do about it.

#![expect(clippy::unwrap_used, reason = "what the tests share ends them as they would themselves")]

pub(crate) mod certificate;
pub(crate) mod front;

use std::error::Error;
use std::iter::successors;
use std::time::{Duration, Instant};

use hookledger_core::Secret;
use hookledger_harness::Postgres;
use hookledger_ledger::{CONNECT_TIMEOUT, ConnectError, DatabaseConfig, Tls, connect};
use native_tls::Identity;
use tokio::net::TcpListener;

use certificate::{Authority, Validity};
use front::Front;

const PASSWORD: &str = "hunter2";
const SOON: Duration = Duration::from_secs(10);

/// A database behind a front.
struct Database {
    front: Front,
    user: String,
    name: String,
}

impl Database {
    async fn behind(identity: Option<Identity>) -> Self {
        let url: tokio_postgres::Config = Postgres::shared().unwrap().url().parse().unwrap();
        let server = format!("127.0.0.1:{}", Postgres::shared().unwrap().port());
        let (user, name) = (url.get_user().unwrap().to_owned(), url.get_dbname().unwrap().to_owned());
        Self { front: Front::start(&server, identity).await, user, name }
    }

    /// The name is `localhost`, the address 127.0.0.1.
    fn url(&self, more: &str) -> String {
        let Self { front, user, name } = self;
        format!("postgres://{user}:{PASSWORD}@localhost:{}/{name}?hostaddr=127.0.0.1{more}", front.port())
    }
}

fn config(url: &str, tls: Tls) -> DatabaseConfig {
    DatabaseConfig { url: Secret::new(url).unwrap(), tls }
}

fn trusting(authority: &Authority) -> Tls {
    Tls::VerifyFull { ca_pem: Some(authority.pem()) }
}

async fn answers(config: &DatabaseConfig) -> bool {
    let client = connect(config).await.unwrap();
    client.query_typed("SELECT 1", &[]).await.unwrap().len() == 1
}

/// Why there was no connection. Whatever it was, it does not tell the password.
async fn refusal(config: &DatabaseConfig) -> ConnectError {
    let error = connect(config).await.map(|_| "a connection").unwrap_err();
    let chain = successors(Some(&error as &dyn Error), |&error| error.source());
    for text in chain.map(ToString::to_string).chain([format!("{error:?}"), format!("{config:?}")]) {
        assert!(!text.contains(PASSWORD), "{text}");
    }
    error
}

#[track_caller]
fn is_refused_by_tls(error: &ConnectError, because: &str) {
    let ConnectError::Tls(cause) = error else { panic!("{error:?}") };
    let reason = cause.source().unwrap().to_string();
    assert!(reason.contains(because), "{reason}");
}

#[tokio::test]
async fn a_server_with_a_certificate_of_the_right_authority_is_connected_to() {
    let authority = Authority::new();
    let database = Database::behind(Some(authority.issue("localhost", Validity::UntilTomorrow))).await;
    assert!(answers(&config(&database.url(""), trusting(&authority))).await);
}

#[tokio::test]
async fn one_of_several_authorities_is_enough() {
    let (old, new) = (Authority::new(), Authority::new());
    let database = Database::behind(Some(new.issue("localhost", Validity::UntilTomorrow))).await;
    let tls = Tls::VerifyFull { ca_pem: Some([old.pem(), new.pem()].concat()) };
    assert!(answers(&config(&database.url(""), tls)).await);
}

#[tokio::test]
async fn a_certificate_of_another_authority_is_refused() {
    let database = Database::behind(Some(Authority::new().issue("localhost", Validity::UntilTomorrow))).await;
    let error = refusal(&config(&database.url(""), trusting(&Authority::new()))).await;
    is_refused_by_tls(&error, "certificate verify failed");
}

#[tokio::test]
async fn amazons_roots_vouch_for_nobody_else() {
    let database = Database::behind(Some(Authority::new().issue("localhost", Validity::UntilTomorrow))).await;
    let error = refusal(&config(&database.url(""), Tls::VerifyFull { ca_pem: None })).await;
    is_refused_by_tls(&error, "unable to get local issuer certificate");
}

#[tokio::test]
async fn a_certificate_for_another_host_is_refused() {
    let authority = Authority::new();
    let database = Database::behind(Some(authority.issue("db.example", Validity::UntilTomorrow))).await;
    let error = refusal(&config(&database.url(""), trusting(&authority))).await;
    is_refused_by_tls(&error, "hostname mismatch");
}

#[tokio::test]
async fn an_expired_certificate_is_refused() {
    let authority = Authority::new();
    let database = Database::behind(Some(authority.issue("localhost", Validity::Expired))).await;
    let error = refusal(&config(&database.url(""), trusting(&authority))).await;
    is_refused_by_tls(&error, "certificate has expired");
}

#[tokio::test]
async fn a_server_without_tls_is_refused_whatever_the_url_says() {
    let database = Database::behind(None).await;
    for sslmode in ["", "&sslmode=disable", "&sslmode=prefer", "&sslmode=require"] {
        let error = refusal(&config(&database.url(sslmode), trusting(&Authority::new()))).await;
        is_refused_by_tls(&error, "server does not support TLS");
    }
}

#[tokio::test]
async fn tls_can_be_disabled_but_not_against_the_url() {
    let database = Database::behind(None).await;
    assert!(answers(&config(&database.url(""), Tls::Disable)).await);
    let error = refusal(&config(&database.url("&sslmode=require"), Tls::Disable)).await;
    is_refused_by_tls(&error, "server does not support TLS");
}

#[tokio::test]
async fn an_authority_that_cannot_be_read_is_named_as_the_culprit() {
    let database = Database::behind(None).await;
    for pem in ["", "not a certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
        let tls = Tls::VerifyFull { ca_pem: Some(pem.into()) };
        let error = refusal(&config(&database.url(""), tls)).await;
        assert!(matches!(error, ConnectError::CaCertificates(_)), "{error:?}");
    }
}

#[tokio::test]
async fn a_url_that_cannot_be_read_is_not_quoted() {
    let urls = ["hunter2", "postgres://u:p@h:hunter2/d", "postgres://u:p@h/d?hunter2=1", "postgres:///d?password=hunter2"];
    for url in urls {
        let error = refusal(&config(url, Tls::Disable)).await;
        assert!(matches!(error, ConnectError::Url), "{url}: {error:?}");
    }
}

#[tokio::test]
async fn a_database_that_does_not_exist_is_refused_by_the_server() {
    let mut database = Database::behind(None).await;
    database.name = "no_such_database".into();
    let error = refusal(&config(&database.url(""), Tls::Disable)).await;
    assert!(matches!(error, ConnectError::Refused(_)), "{error:?}");
}

#[tokio::test]
async fn a_server_that_is_full_is_unreachable() {
    let postgres = Postgres::options().own().start().unwrap();
    let other = connect(&config(&postgres.url(), Tls::Disable)).await.unwrap();
    other.batch_execute("CREATE ROLE crowd LOGIN CONNECTION LIMIT 0").await.unwrap();
    let url = format!("postgres://crowd:{PASSWORD}@127.0.0.1:{}/hookledger", postgres.port());
    let error = refusal(&config(&url, Tls::Disable)).await;
    assert!(matches!(error, ConnectError::Unreachable(_)), "{error:?}");
}

#[tokio::test]
async fn a_port_where_nobody_listens_is_unreachable() {
    let port = hookledger_harness::free_port().unwrap();
    let url = format!("postgres://u:{PASSWORD}@127.0.0.1:{port}/d");
    let error = refusal(&config(&url, Tls::Disable)).await;
    assert!(matches!(error, ConnectError::Unreachable(_)), "{error:?}");
}

#[tokio::test]
async fn a_server_that_says_nothing_is_unreachable_after_a_second() {
    let silent = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("postgres://u:{PASSWORD}@127.0.0.1:{}/d", silent.local_addr().unwrap().port());
    for tls in [Tls::Disable, Tls::VerifyFull { ca_pem: None }] {
        let start = Instant::now();
        let error = refusal(&config(&url, tls)).await;
        assert!(matches!(error, ConnectError::Unreachable(_)), "{error:?}");
        assert!(start.elapsed() < CONNECT_TIMEOUT + Duration::from_secs(1));
    }
}

#[tokio::test]
async fn a_session_that_was_terminated_between_two_uses_is_noticed() {
    let database = Database::behind(None).await;
    let config = config(&database.url(""), Tls::Disable);
    let (client, other) = (connect(&config).await.unwrap(), connect(&config).await.unwrap());
    let row = client.query_one("SELECT pg_backend_pid()", &[]).await.unwrap();
    assert!(!client.is_closed());

    let pid: i32 = row.get(0);
    other.query_one("SELECT pg_terminate_backend($1)", &[&pid]).await.unwrap();

    let closed = async {
        while !client.is_closed() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(SOON, closed).await.unwrap();
    assert!(client.query_typed("SELECT 1", &[]).await.unwrap_err().is_closed());
}
