//! The one connection of an environment, and how a statement gets over it.
//!
//! Invariant: an operation is one statement in one round trip, safe to send again, so that a connection which died while
//! Lambda had frozen the process costs one retry on a fresh one and nothing else.

use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::time::{Instant, timeout_at};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row};

use crate::connect::{ConnectError, DatabaseConfig, connect};
use crate::error::{LedgerError, connection_is_lost, statement_is_another_s};
use crate::session::{Sending, Session};

/// When to find out anew where the database is and who we are to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anew {
    /// Once the database refuses the credentials: they may have been rotated.
    WhenRefused,
    /// For each connection, and when refused: the credentials do not live as long as the process.
    ForEachConnection,
}

/// Finds out anew where the database is and who we are to it.
pub type Reconfigure = Box<dyn Fn() -> BoxFuture<'static, Option<DatabaseConfig>> + Send + Sync>;

pub struct Ledger {
    config: DatabaseConfig,
    reconfigure: Option<(Anew, Reconfigure)>,
    /// The first connection is made with the configuration that was given, which is fresh.
    opened: bool,
    session: Option<Session>,
    prepares: bool,
    answer_within: Duration,
}

pub(crate) type Param<'a> = (&'a (dyn ToSql + Sync), Type);

/// Rows, and whether they came from a second try: then the first may have taken effect too.
pub(crate) struct Answer {
    pub(crate) rows: Vec<Row>,
    pub(crate) second_try: bool,
}

impl Ledger {
    /// `answer_within` bounds each operation as a whole: connecting, a first try and a second one.
    pub fn new(config: DatabaseConfig, answer_within: Duration) -> Self {
        Self { config, reconfigure: None, opened: false, session: None, prepares: false, answer_within }
    }

    pub fn reconfigured(self, anew: Anew, reconfigure: Reconfigure) -> Self {
        Self { reconfigure: Some((anew, reconfigure)), ..self }
    }

    /// Prepares the claim by name, which spares Postgres a third of its work for one. For a connection that leads to the database
    /// itself: behind a pooler that shares sessions the name may mean another client's statement, and it pins a session of RDS Proxy.
    pub fn preparing(self) -> Self {
        Self { prepares: true, ..self }
    }

    /// Opens the connection ahead of the first operation, in a function's init. An error here may be only logged: the
    /// first operation tries again.
    pub async fn warm(&mut self) -> Result<(), LedgerError> {
        self.session("connect", Instant::now() + self.answer_within).await.map(Session::get_ready)
    }

    /// Whether the database answers.
    pub async fn ping(&mut self) -> Result<(), LedgerError> {
        self.query("ping", "SELECT 1", &[]).await.map(|_| ())
    }

    pub(crate) async fn query(
        &mut self,
        operation: &'static str,
        sql: &str,
        params: &[Param<'_>],
    ) -> Result<Answer, LedgerError> {
        self.try_twice(operation, Sending::Unnamed(sql), params).await
    }

    /// For the one statement that each delivery costs.
    pub(crate) async fn claim_by(
        &mut self,
        operation: &'static str,
        sql: &'static str,
        params: &[Param<'_>],
    ) -> Result<Answer, LedgerError> {
        let claim = if self.prepares { Sending::Claim(sql) } else { Sending::Unnamed(sql) };
        self.try_twice(operation, claim, params).await
    }

    async fn try_twice(
        &mut self,
        operation: &'static str,
        statement: Sending<'_>,
        params: &[Param<'_>],
    ) -> Result<Answer, LedgerError> {
        let now = Instant::now();
        // A dead socket gives no answer at all, so the first try must leave time for a second.
        match self.try_once(operation, statement, params, now + self.answer_within / 2).await {
            Ok(rows) => Ok(Answer { rows, second_try: false }),
            Err(_) if self.session.is_none() => {
                let rows = self.try_once(operation, statement, params, now + self.answer_within).await?;
                Ok(Answer { rows, second_try: true })
            }
            Err(error) => Err(error),
        }
    }

    /// One try. The connection is given up where it cannot be trusted any more.
    async fn try_once(
        &mut self,
        operation: &'static str,
        statement: Sending<'_>,
        params: &[Param<'_>],
        deadline: Instant,
    ) -> Result<Vec<Row>, LedgerError> {
        match self.session(operation, deadline).await?.query(statement, params, deadline).await {
            Some(Ok(rows)) => Ok(rows),
            Some(Err(source)) => {
                let is_mixed_up = matches!(statement, Sending::Claim(_)) && statement_is_another_s(&source);
                if is_mixed_up || connection_is_lost(&source) {
                    self.session = None;
                }
                self.prepares &= !is_mixed_up;
                Err(LedgerError::Query { operation, source })
            }
            None => {
                self.session = None;
                Err(LedgerError::NoAnswer { operation })
            }
        }
    }

    async fn session(&mut self, operation: &'static str, deadline: Instant) -> Result<&mut Session, LedgerError> {
        let live = match self.session.take() {
            Some(session) if !session.client.is_closed() => session,
            _ => timeout_at(deadline, Box::pin(self.open()))
                .await
                .map_err(|_| LedgerError::NoAnswer { operation })?
                .map(Session::new)
                .map_err(|source| LedgerError::Connect { operation, source })?,
        };
        Ok(self.session.insert(live))
    }

    pub(crate) async fn client(&mut self, operation: &'static str, deadline: Instant) -> Result<&mut Client, LedgerError> {
        Ok(&mut self.session(operation, deadline).await?.client)
    }

    async fn open(&mut self) -> Result<Client, ConnectError> {
        if let (true, Some((Anew::ForEachConnection, reconfigure))) = (self.opened, &self.reconfigure)
            && let Some(config) = reconfigure().await
        {
            self.config = config;
        }
        self.opened = true;
        match (connect(&self.config).await, &self.reconfigure) {
            (Err(refused @ ConnectError::Authentication(_)), Some((_, reconfigure))) => match reconfigure().await {
                Some(config) => {
                    self.config = config;
                    connect(&self.config).await
                }
                None => Err(refused),
            },
            (opened, _) => opened,
        }
    }

    pub(crate) fn answer_within(&self) -> Duration {
        self.answer_within
    }

    /// Gives the connection up, for one that is in the middle of something which must not be waited for. The server notices that
    /// the socket is closed, or its `statement_timeout` ends the statement.
    pub fn disconnect(&mut self) {
        self.session = None;
    }
}
