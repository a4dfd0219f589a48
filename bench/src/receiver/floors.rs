//! What nothing that does the same work can go below: the database's part, the queue's, and the hash.

use std::hint::black_box;
use std::time::Instant;

use hookledger_harness::deployment::STRIPE_SECRET;
use hookledger_harness::sign;
use hookledger_ledger::STATEMENTS;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{MANY, PGBENCH_TIME};
use crate::database::{Pgbench, pgbench};
use crate::deliveries::{body, new_id};
use crate::spread::{micros, quantile};
use crate::stage::Stage;

/// A value a round.
#[derive(Default)]
pub(super) struct Floors {
    pub(super) pgbench_one: Vec<Pgbench>,
    pub(super) pgbench_many: Vec<Pgbench>,
    pub(super) queue_us: Vec<f64>,
    pub(super) hmac_us: Vec<f64>,
}

impl Floors {
    pub(super) async fn measure(&mut self, stage: &Stage) -> anyhow::Result<()> {
        let script = claim_script();
        self.pgbench_one.push(pgbench(&stage.url, &script, 1, PGBENCH_TIME).await?);
        self.pgbench_many.push(pgbench(&stage.url, &script, MANY, PGBENCH_TIME).await?);
        self.queue_us.push(queue_round_trip(stage).await?);
        self.hmac_us.push(hmac());
        Ok(())
    }
}

/// The ledger's own statement, whose parameters pgbench makes up.
fn claim_script() -> String {
    let parameters = [
        "'stripe'",
        "'evt_' || :id",
        "'customer.subscription.updated'",
        "''",
        "'subscription'",
        "'sub_' || :id",
        "1790000000000000",
        "'updated'",
        "'webhook'",
        "NULL",
        "'{\"content-type\": \"application/json\"}'",
        "repeat('x', 2200)::bytea",
        "30",
        "false",
    ];
    // Backwards, because `$1` is in `$12` too.
    let statement = (0..parameters.len()).rev().fold(STATEMENTS.claim.to_owned(), |statement, index| {
        statement.replace(&format!("${}", index + 1), parameters[index])
    });
    format!("\\set id random(1, 9000000000000000000)\n{};\n", statement.trim())
}

/// The median of a `SendMessage` written by hand over one connection.
async fn queue_round_trip(stage: &Stage) -> anyhow::Result<f64> {
    let message = format!("{{\"source\":\"stripe\",\"event_id\":\"{}\"}}", new_id());
    let body = serde_json::json!({ "QueueUrl": stage.queue.url(), "MessageBody": message }).to_string();
    let request = format!(
        "POST / HTTP/1.1\r\nhost: 127.0.0.1\r\nx-amz-target: AmazonSQS.SendMessage\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let address = stage.queue.endpoint();
    let mut stream = TcpStream::connect(address.trim_start_matches("http://")).await?;
    stream.set_nodelay(true)?;
    let (mut times, mut answer) = (Vec::new(), vec![0; 4096]);
    for _ in 0..1_000 {
        let start = Instant::now();
        stream.write_all(request.as_bytes()).await?;
        // The answer is written at once, and shorter than this.
        let _length = stream.read(&mut answer).await?;
        times.push(start.elapsed());
    }
    Ok(micros(quantile(&mut times, 0.5)))
}

fn hmac() -> f64 {
    let body = body(&new_id());
    let mut times = Vec::new();
    for _ in 0..1_000 {
        let start = Instant::now();
        black_box(sign::hmac_sha256(STRIPE_SECRET.as_bytes(), black_box(body.as_bytes())));
        times.push(start.elapsed());
    }
    micros(quantile(&mut times, 0.5))
}
