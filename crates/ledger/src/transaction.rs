//! The transaction that events are applied in.
//!
//! tokio-postgres has one too, which waits for an answer to its BEGIN before anything else can be sent, and for the answers to all else
//! before its COMMIT. Each of these would cost a batch as much as an event.
//!
//! Invariant: it ends with the last that has it, committed or rolled back.

use std::ops::Deref;

use futures_util::FutureExt;
use tokio_postgres::{Client, Error};

/// With bounds, so that the locks of an environment that was killed end with it: no FIN tells the server.
///
/// They hold for one transaction, because nothing else works everywhere: PgBouncer and RDS Proxy refuse startup `options`,
/// a plain `SET` pins a session of RDS Proxy and through PgBouncer in transaction mode reaches other clients, and
/// `ALTER ROLE … SET` would cut off whatever else the role does. RDS Proxy is pinned by `SET LOCAL` for that transaction only.
/// A statement outside of a transaction needs no bound of its own: it waits only for locks that are bounded here.
///
/// - 15 s for a statement, its waiting for locks included: longer than a dead environment's transaction may idle, so a live
///   one that waits for its locks gets them.
/// - 10 s of idling between two statements: a handler that asks a provider's API inside of its transaction has to be faster.
const BEGIN: &str = "BEGIN; SET LOCAL statement_timeout = '15s'; SET LOCAL idle_in_transaction_session_timeout = '10s'";

/// An open transaction: a client for whatever a client can do by `&self`. Dropping it rolls it back.
///
/// A handler must not end it.
pub struct Transaction<'a> {
    client: &'a mut Client,
    is_open: bool,
}

impl<'a> Transaction<'a> {
    pub(crate) fn new(client: &'a mut Client) -> Self {
        Self { client, is_open: true }
    }

    /// To be called before everything else. What is sent behind it without waiting is in the transaction only if this is no error.
    pub(crate) async fn begin(&self) -> Result<(), Error> {
        self.client.batch_execute(BEGIN).await
    }

    /// It was committed or rolled back, or that is on its way.
    pub(crate) fn has_ended(&mut self) {
        self.is_open = false;
    }
}

impl Deref for Transaction<'_> {
    type Target = Client;

    fn deref(&self) -> &Client {
        self.client
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if self.is_open {
            // Sent, and not waited for: whatever comes next over this connection comes behind it.
            drop(self.client.batch_execute("ROLLBACK").now_or_never());
        }
    }
}
