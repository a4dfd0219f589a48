//! A short circuit in front of a retry storm: which events were settled within the last minute. Off without `REDIS_URL`.
//!
//! Invariant: it changes nothing but speed. Only what is committed as settled is written, only a verified delivery is looked
//! up, and every doubt (Redis away, slow, wrong, full) reads as "not seen", which sends the caller to the ledger.

use std::fmt;
use std::io;
use std::time::Duration;

use hookledger_core::EventRef;
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::env::{Env, EnvError};
use crate::resp::{Connection, Reply};

/// How long a settled event is remembered.
pub const HINT_TTL_S: u32 = 60;
/// For everything, connecting included: what a slow Redis can cost a delivery at most.
pub const HINT_BUDGET: Duration = Duration::from_millis(50);

pub struct Hint {
    server: Option<Server>,
    /// Kept between invocations. Taken out while in use, so that a call that fails or runs out of time drops it.
    connection: Mutex<Option<Connection>>,
}

/// From `redis://[user:password@]host[:port][/database]`.
struct Server {
    host: String,
    port: u16,
    /// `AUTH` and `SELECT`, where the URL asks for them.
    greeting: Vec<Vec<String>>,
}

impl Hint {
    /// `REDIS_URL`. TLS (`rediss://`) is not spoken: keep Redis in the functions' own subnets.
    pub fn read(env: &Env) -> Result<Self, EnvError> {
        let server = match env.optional("REDIS_URL")? {
            None => None,
            Some(url) => {
                let expected = "redis://[user:password@]host[:port][/database], without TLS";
                Some(Server::parse(&url).ok_or_else(|| EnvError::invalid("REDIS_URL", expected))?)
            }
        };
        Ok(Self { server, connection: Mutex::new(None) })
    }

    /// Whether there is a Redis to ask.
    pub fn is_on(&self) -> bool {
        self.server.is_some()
    }

    /// Whether the event is known to have been settled within the last [`HINT_TTL_S`].
    pub async fn seen(&self, event: &EventRef) -> bool {
        self.within_budget(async |connection| connection.call(&["EXISTS", &key(event)]).await).await
            == Some(Reply::Integer(1))
    }

    /// To be called once the event's settlement is committed.
    pub async fn settled(&self, event: &EventRef) {
        let ttl = HINT_TTL_S.to_string();
        self.within_budget(async |connection| connection.call(&["SET", &key(event), "1", "EX", &ttl]).await).await;
    }

    async fn within_budget(&self, call: impl AsyncFnOnce(&mut Connection) -> io::Result<Reply>) -> Option<Reply> {
        let server = self.server.as_ref()?;
        let work = async {
            let mut kept = self.connection.lock().await;
            let mut connection = match kept.take() {
                Some(connection) => connection,
                None => server.connect().await?,
            };
            let reply = call(&mut connection).await?;
            *kept = Some(connection);
            Ok::<_, io::Error>(reply)
        };
        timeout(HINT_BUDGET, work).await.ok()?.ok()
    }
}

/// No source name has a colon, so no two events share a key.
fn key(event: &EventRef) -> String {
    format!("hookledger:settled:{}:{}", event.source, event.event_id)
}

impl Server {
    fn parse(url: &str) -> Option<Self> {
        let rest = url.strip_prefix("redis://")?;
        let (rest, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (login, address) = rest.rsplit_once('@').unwrap_or(("", rest));
        let (host, port) = address.rsplit_once(':').unwrap_or((address, "6379"));
        let mut greeting = Vec::new();
        if !login.is_empty() {
            let (user, password) = login.split_once(':')?;
            let words = ["AUTH", user, password].into_iter().filter(|word| !word.is_empty());
            greeting.push(words.map(str::to_owned).collect());
        }
        if !database.is_empty() {
            let number: u16 = database.parse().ok()?;
            greeting.push(vec!["SELECT".to_owned(), number.to_string()]);
        }
        (!host.is_empty()).then_some(())?;
        Some(Self { host: host.to_owned(), port: port.parse().ok()?, greeting })
    }

    async fn connect(&self) -> io::Result<Connection> {
        let mut connection = Connection::open(&self.host, self.port).await?;
        for command in &self.greeting {
            let words: Vec<&str> = command.iter().map(String::as_str).collect();
            connection.call(&words).await?;
        }
        Ok(connection)
    }
}

impl fmt::Debug for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.server.is_some() { "Hint(on)" } else { "Hint(off)" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::tests::env;

    #[test]
    fn a_url_gives_address_login_and_database() {
        let server = Server::parse("redis://user:p@ss:word@cache.local:6380/3").unwrap();
        assert_eq!((server.host.as_str(), server.port), ("cache.local", 6380));
        assert_eq!(server.greeting, [vec!["AUTH", "user", "p@ss:word"], vec!["SELECT", "3"]]);
        let server = Server::parse("redis://:secret@cache.local").unwrap();
        assert_eq!(server.port, 6379);
        assert_eq!(server.greeting, [["AUTH", "secret"]]);
    }

    #[test]
    fn what_cannot_be_spoken_stops_the_start_without_being_shown() {
        for url in ["rediss://u:hunter2@host", "host", "redis://", "redis://hunter2@host", "redis://h:x", "redis://h/x"] {
            let error = Hint::read(&env(&[("REDIS_URL", url)])).unwrap_err().to_string();
            assert!(error.starts_with("REDIS_URL must be redis://") && !error.contains("hunter2"), "{error}");
        }
    }
}
