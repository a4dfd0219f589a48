//! The connection to Postgres. Invariants: it is opened within [`CONNECT_TIMEOUT`] or not at all, a dead peer is noticed
//! within [`PEER_TIMEOUT`], and neither an error nor a `Debug` output shows the URL.

use std::error::Error;
use std::io;
use std::time::Duration;

use hookledger_core::Secret;
use tokio_postgres::config::{SslMode, SslNegotiation};
use tokio_postgres::error::SqlState;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, Config, NoTls, Socket};

use crate::tls::{CaError, VerifyFull};

/// Name look-up, TCP, TLS and authentication together. Slack waits 3 s for its answer, and spilling the event has to fit too.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// How long sent bytes may stay unacknowledged (`TCP_USER_TIMEOUT`) before the connection counts as dead; inside a region an
/// acknowledgement takes about a millisecond. A socket whose other end went away while Lambda had the process frozen
/// is found so at its next use, in time for a second try.
pub const PEER_TIMEOUT: Duration = Duration::from_secs(1);

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
            postgres.ssl_mode(SslMode::Require);
            let hosts = postgres.get_hosts().to_vec();
            open(&postgres, VerifyFull { ca_pem: ca_pem.as_deref(), hosts }).await
        }
        Tls::Disable => {
            if postgres.get_ssl_mode() != SslMode::Require {
                postgres.ssl_mode(SslMode::Disable);
            }
            open(&postgres, NoTls).await
        }
    }
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
    if error.source().is_some_and(|cause| cause.is::<CaError>()) {
        let words = error.to_string();
        return ConnectError::CaCertificates(error.into_source().unwrap_or_else(|| words.into()));
    }
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
