//! One connection, and what the server knows of it.
//!
//! Invariant: nothing is prepared by name unless that was asked for, and then the claim only: what else is sent is unnamed, so that
//! a pooler may share the server's sessions among clients.

use std::pin::{Pin, pin};

use futures_util::FutureExt;
use futures_util::future::{Either, select};
use tokio::time::{Instant, Sleep, sleep_until};
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error, Row, Statement};

use crate::ledger::Param;

/// What the claim calls once, for a new server process to load the language and the tables' types while a function gets ready.
const GET_READY: &str = "SELECT webhook_event_check(NULL)";

pub(crate) struct Session {
    pub(crate) client: Client,
    claim: Claim,
    /// Moved for each statement, and not made anew: a timer that comes before all others costs two system calls, and the next
    /// delivery's comes after this one's.
    limit: Option<Pin<Box<Sleep>>>,
}

/// How a statement is sent.
#[derive(Clone, Copy)]
pub(crate) enum Sending<'a> {
    Unnamed(&'a str),
    /// Prepared when it comes a second time.
    Claim(&'static str),
}

/// How the claim was sent so far.
enum Claim {
    Never,
    /// Unnamed: to prepare it takes a round trip more, and the first claim is the one that a cold start waits for.
    Once,
    Prepared(Statement),
}

impl Session {
    pub(crate) fn new(client: Client) -> Self {
        Self { client, claim: Claim::Never, limit: None }
    }

    /// Not waited for, and an answer is not missed: what comes next over this connection comes behind it.
    pub(crate) fn get_ready(&mut self) {
        drop(self.client.batch_execute(GET_READY).now_or_never());
    }

    /// `None` where there is no answer by `deadline`.
    pub(crate) async fn query(
        &mut self,
        statement: Sending<'_>,
        params: &[Param<'_>],
        deadline: Instant,
    ) -> Option<Result<Vec<Row>, Error>> {
        let Self { client, claim, limit } = self;
        let asked = async {
            match statement {
                Sending::Unnamed(sql) => client.query_typed(sql, params).await,
                Sending::Claim(sql) => claim.query(client, sql, params).await,
            }
        };
        let limit = limit.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        limit.as_mut().reset(deadline);
        match select(pin!(asked), limit).await {
            Either::Left((answer, _)) => Some(answer),
            Either::Right(_) => None,
        }
    }
}

impl Claim {
    async fn query(&mut self, client: &Client, sql: &'static str, params: &[Param<'_>]) -> Result<Vec<Row>, Error> {
        let statement = match self {
            Self::Never => {
                *self = Self::Once;
                return client.query_typed(sql, params).await;
            }
            Self::Once => {
                let types: Vec<Type> = params.iter().map(|(_, r#type)| r#type.clone()).collect();
                let statement = client.prepare_typed(sql, &types).await?;
                *self = Self::Prepared(statement.clone());
                statement
            }
            Self::Prepared(statement) => statement.clone(),
        };
        let values: Vec<_> = params.iter().map(|(value, _)| *value).collect();
        client.query(&statement, &values).await
    }
}
