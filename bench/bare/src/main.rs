//! The bare exchanges: what the receiver says to others for an accepted event, and as little around it as can be. A floor for
//! `cargo xtask bench receiver`, not a product.
//!
//! It asks the Runtime API for an event, checks the signature, makes the ledger's own claim with the same values in it, sends the
//! same message to the queue, and answers: four exchanges, one after the other, on blocking sockets of one thread. The receiver does not
//! wait for the queue before it answers, so this is a floor for processor time and not for latency. The row that
//! it leaves in the ledger is the receiver's.
//!
//! Left out is all else: an async runtime, Lambda's client, the SDK, time limits, second tries, the sweeper's safety net for a send
//! that fails, other providers than Stripe, a second secret, the time's tolerance, settings that are read from anywhere but the
//! environment, reconnecting, passwords for Postgres, records and metrics. Where something is not as it should be, it ends.
//!
//! Invariant: 200 is answered only for an event whose claim is committed and whose message the queue has taken, so that what is
//! measured was done.

mod database;
mod delivery;
mod http;
mod queue;

use std::convert::Infallible;
use std::io::{Read, Write};

use anyhow::{Context, ensure};

use database::{Database, Place};
use delivery::Verifier;
use http::Peer;
use queue::Queue;

const NEXT: &str = "/2018-06-01/runtime/invocation";
const ANSWER: &str =
    r#"{"statusCode":200,"headers":{"content-type":"application/json"},"body":"{\"outcome\":\"accepted\"}"}"#;

fn main() -> anyhow::Result<()> {
    let url = setting("DATABASE_URL")?;
    let place = Place::parse(&url).context("DATABASE_URL is not of the form postgres://user@host:port/database")?;
    let stream = http::connect(place.address)?;
    let ended = match setting("DATABASE_CA_FILE") {
        Ok(ca_file) => serve(&place, database::secured(stream, &place, &ca_file)?),
        Err(_) => serve(&place, stream),
    };
    match ended? {}
}

fn serve(place: &Place<'_>, stream: impl Read + Write) -> anyhow::Result<Infallible> {
    let mut database = Database::open(stream, place, &setting("CLAIM_STATEMENT")?)?;
    let mut queue = Queue::connect(setting("QUEUE_URL")?, &setting("AWS_SECRET_ACCESS_KEY")?)?;
    let verifier = Verifier::new(&setting("STRIPE_WEBHOOK_SECRET")?)?;
    let host = setting("AWS_LAMBDA_RUNTIME_API")?;
    let mut runtime = Peer::connect(&host)?;
    let next = format!("GET {NEXT}/next HTTP/1.1\r\nhost: {host}\r\n\r\n");
    loop {
        let invocation = runtime.ask(next.as_bytes())?;
        let id = invocation.header("lambda-runtime-aws-request-id").context("an invocation has no id")?;
        let response = format!(
            "POST {NEXT}/{id}/response HTTP/1.1\r\nhost: {host}\r\ncontent-length: {}\r\n\r\n{ANSWER}",
            ANSWER.len()
        );
        let delivery = verifier.verify(invocation.body)?;
        let event = delivery.event()?;
        ensure!(database.claim(&event, &delivery)?, "{} was delivered before", event.id);
        queue.send(event.id)?;
        ensure!(runtime.ask(response.as_bytes())?.status == 202, "the Runtime API takes no answer");
    }
}

#[expect(clippy::disallowed_methods, reason = "hookledger_runtime, where settings are read, is not part of a floor")]
fn setting(name: &str) -> anyhow::Result<String> {
    std::env::var(name).with_context(|| format!("{name} is not set"))
}
