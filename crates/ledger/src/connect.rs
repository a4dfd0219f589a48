//! The connection to Postgres. Invariants: it is opened within [`CONNECT_TIMEOUT`] or not at all, a dead peer is noticed
//! within [`PEER_TIMEOUT`], and neither an error nor a `Debug` output shows the URL.

use std::error::Error;
use std::io;
use std::time::Duration;

use futures_util::FutureExt;
use hookledger_core::Secret;
use tokio_postgres::config::{SslMode, SslNegotiation};
use tokio_postgres::error::SqlState;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, Config, NoTls, Socket, Transaction};

use crate::tls;

/// Name look-up, TCP, TLS and authentication together. Slack waits 3 s for its answer, and spilling the event has to fit too.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// How long sent bytes may stay unacknowledged (`TCP_USER_TIMEOUT`) before the connection counts as dead; inside a region an
/// acknowledgement takes about a millisecond. A socket whose other end went away while Lambda had the process frozen
/// is found so at its next use, in time for a second try.
pub const PEER_TIMEOUT: Duration = Duration::from_secs(1);

/// Bounds of a transaction, so that the locks of an environment that was killed end with it: no FIN tells the server.
///
/// They hold for one transaction, because nothing else works everywhere: PgBouncer and RDS Proxy refuse startup `options`,
/// a plain `SET` pins a session of RDS Proxy and through PgBouncer in transaction mode reaches other clients, and
/// `ALTER ROLE … SET` would cut off whatever else the role does. RDS Proxy is pinned by `SET LOCAL` for that transaction only.
/// A statement outside of a transaction needs no bound of its own: it waits only for locks that are bounded here.
///
/// - 15 s for a statement, its waiting for locks included: longer than a dead environment's transaction may idle, so a live
///   one that waits for its locks gets them.
/// - 10 s of idling between two statements: a handler that asks a provider's API inside of its transaction has to be faster.
const TRANSACTION_BOUNDS: &str =
    "SET LOCAL statement_timeout = '15s'; SET LOCAL idle_in_transaction_session_timeout = '10s'";

/// Where the database is, and how the way there is secured.
#[derive(Debug, Clone)]
pub struct DatabaseConfig {
    /// `postgres://user:password@host:port/database`. Its `sslmode` can ask for more than `tls`, never for less.
    pub url: Secret,
    pub tls: Tls,
}

/// How a connection to Postgres is secured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tls {
    /// As libpq's `verify-full`, whatever `sslmode` the URL names: TLS 1.2 or later, the chain and the host name are checked.
    VerifyFull {
        /// The only roots to trust, as PEM. `None` trusts Amazon's: those of the region in the host name, and RDS Proxy's.
        ca_pem: Option<Vec<u8>>,
    },
    /// No TLS. For a database on this machine only.
    Disable,
}

/// Why there is no connection. Each kind asks for something else to be done.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// Mend the setting. Its parser's words are left out: they quote parts of the URL, which may be of the password.
    #[error("the database URL is not of the form postgres://user:password@host:port/database, percent-encoded")]
    Url,
    /// Mend the setting.
    #[error("the database's CA certificates cannot be read")]
    CaCertificates(#[source] Box<dyn Error + Send + Sync>),
    /// Try again later, and meanwhile keep the event elsewhere: no answer in time, no route, starting, stopping, or full.
    #[error("the database cannot be reached or takes no connections")]
    Unreachable(#[source] Box<dyn Error + Send + Sync>),
    /// Do not try again: the server has no TLS, or its certificate is not to be trusted. Either is a wrong setting or an attack.
    #[error("the database did not prove who it is by TLS")]
    Tls(#[source] tokio_postgres::Error),
    /// Read the credentials anew, once: they may have been rotated.
    #[error("the database refused the credentials")]
    Authentication(#[source] tokio_postgres::Error),
    /// Mend the setting or the database, for instance a name of a database that does not exist.
    #[error("the database refused the connection")]
    Refused(#[source] tokio_postgres::Error),
}

/// Opens one connection. It runs on a task of its own, which gets on only while something else on the runtime is awaited:
/// after a freeze it is where it was, and [`Client::is_closed`] says whether it has ended.
pub async fn connect(config: &DatabaseConfig) -> Result<Client, ConnectError> {
    let mut postgres = parse(&config.url)?;
    match &config.tls {
        Tls::VerifyFull { ca_pem } => {
            let connector = tls::connector(ca_pem.as_deref(), postgres.get_hosts())?;
            postgres.ssl_mode(SslMode::Require);
            open(&postgres, connector).await
        }
        Tls::Disable => {
            if postgres.get_ssl_mode() != SslMode::Require {
                postgres.ssl_mode(SslMode::Disable);
            }
            open(&postgres, NoTls).await
        }
    }
}

/// Begins a transaction within bounds: 15 s a statement, 10 s between two.
pub(crate) async fn begin(client: &mut Client) -> Result<Transaction<'_>, tokio_postgres::Error> {
    let transaction = client.transaction().await?;
    // Sent, and not waited for: the answer comes with the first statement's, so it costs no round trip. If it fails, the
    // transaction does.
    drop(transaction.batch_execute(TRANSACTION_BOUNDS).now_or_never());
    Ok(transaction)
}

fn parse(url: &Secret) -> Result<Config, ConnectError> {
    let text = std::str::from_utf8(url.expose()).map_err(|_| ConnectError::Url)?;
    let mut postgres: Config = text.parse().map_err(|_| ConnectError::Url)?;
    if postgres.get_hosts().is_empty() {
        return Err(ConnectError::Url);
    }
    postgres
        .application_name("hookledger")
        .ssl_negotiation(SslNegotiation::Postgres)
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_user_timeout(PEER_TIMEOUT)
        .keepalives(true)
        .keepalives_idle(Duration::from_secs(10))
        .keepalives_interval(Duration::from_secs(1))
        .keepalives_retries(3);
    Ok(postgres)
}

#[expect(
    clippy::disallowed_methods,
    reason = "the connection is driven beside the statements that wait for it; it has nothing to do while none does"
)]
async fn open<T>(postgres: &Config, tls: T) -> Result<Client, ConnectError>
where
    T: MakeTlsConnect<Socket>,
    T::Stream: Send + 'static,
{
    let (client, connection) = tokio::time::timeout(CONNECT_TIMEOUT, postgres.connect(tls))
        .await
        .map_err(|elapsed| ConnectError::Unreachable(elapsed.into()))?
        .map_err(classify)?;
    // Whoever waits for a statement learns that the connection has ended.
    tokio::spawn(async move { drop(connection.await) });
    Ok(client)
}

fn classify(error: tokio_postgres::Error) -> ConnectError {
    if let Some(answer) = error.as_db_error() {
        return match answer.code() {
            &SqlState::INVALID_PASSWORD | &SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
                ConnectError::Authentication(error)
            }
            // PgBouncer up to 1.18 says everything with this code.
            &SqlState::PROTOCOL_VIOLATION if answer.message().starts_with("password authentication failed") => {
                ConnectError::Authentication(error)
            }
            code if is_unavailable(code) => ConnectError::Unreachable(error.into()),
            _ => ConnectError::Refused(error),
        };
    }
    // The library keeps the kinds of its errors to itself, except in their text.
    if error.is_closed() || is_caused_by_io(&error) {
        return ConnectError::Unreachable(error.into());
    }
    match error.to_string().as_str() {
        "error performing TLS handshake" => ConnectError::Tls(error),
        "authentication error" | "invalid configuration" => ConnectError::Authentication(error),
        _ => ConnectError::Refused(error),
    }
}

/// SQLSTATE classes: 08 connection exception, 53 insufficient resources, 57 operator intervention.
fn is_unavailable(code: &SqlState) -> bool {
    ["08", "53", "57"].iter().any(|class| code.code().starts_with(class))
}

fn is_caused_by_io(error: &tokio_postgres::Error) -> bool {
    std::iter::successors(error.source(), |&error| error.source()).any(|error| error.is::<io::Error>())
}
