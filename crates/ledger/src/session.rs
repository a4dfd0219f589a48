//! One connection, and what the server knows of it.
//!
//! Invariant: nothing is prepared by name unless that was asked for, and then the claim only: what else is sent is unnamed, so that
//! a pooler may share the server's sessions among clients.

use futures_util::FutureExt;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error, Row, Statement};

use crate::ledger::Param;

/// What the claim calls once, for a new server process to load the language and the tables' types while a function gets ready.
const GET_READY: &str = "SELECT webhook_event_check(NULL)";

pub(crate) struct Session {
    pub(crate) client: Client,
    claim: Claim,
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
        Self { client, claim: Claim::Never }
    }

    /// Not waited for, and an answer is not missed: what comes next over this connection comes behind it.
    pub(crate) fn get_ready(&mut self) {
        drop(self.client.batch_execute(GET_READY).now_or_never());
    }

    /// Prepares it when it comes a second time.
    pub(crate) async fn claim(&mut self, sql: &'static str, params: &[Param<'_>]) -> Result<Vec<Row>, Error> {
        let statement = match &self.claim {
            Claim::Never => {
                self.claim = Claim::Once;
                return self.client.query_typed(sql, params).await;
            }
            Claim::Once => {
                let types: Vec<Type> = params.iter().map(|(_, r#type)| r#type.clone()).collect();
                self.client.prepare_typed(sql, &types).await?
            }
            Claim::Prepared(statement) => statement.clone(),
        };
        let values: Vec<_> = params.iter().map(|(value, _)| *value).collect();
        let rows = self.client.query(&statement, &values).await;
        self.claim = Claim::Prepared(statement);
        rows
    }
}
