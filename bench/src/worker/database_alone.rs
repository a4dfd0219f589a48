//! The statements of a batch, sent by pgbench: what Postgres takes for them when nobody works in between.

use std::fmt::Write;

use anyhow::{Context, ensure};
use hookledger_ledger::{LEASE_TERM_S, STATEMENTS};

use super::BATCH;
use crate::stage::Stage;

const UPSERT: &str = "
INSERT INTO subscription (subscription_id, plan, state, version) VALUES ($1, $2, $3, $4)
ON CONFLICT (subscription_id) DO UPDATE SET plan = excluded.plan, state = excluded.state, version = excluded.version";

/// Microseconds an event, for batches of `ids`, which are claimed and wait.
pub(super) async fn measure(stage: &Stage, ids: &[String]) -> anyhow::Result<f64> {
    // pgbench runs one script over and over; the batches are numbered, and a sequence tells whose turn it is.
    let sql = "DROP TABLE IF EXISTS bench_batch; DROP SEQUENCE IF EXISTS bench_turn;
               CREATE TABLE bench_batch (n int8 PRIMARY KEY, ids text[]); CREATE SEQUENCE bench_turn CACHE 1000";
    stage.sql.batch_execute(sql).await?;
    for (n, batch) in (1_i64..).zip(ids.chunks(BATCH)) {
        stage.sql.execute("INSERT INTO bench_batch VALUES ($1, $2)", &[&n, &batch]).await?;
    }
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("batch.sql");
    std::fs::write(&file, script())?;
    let batches = (ids.len() / BATCH).to_string();
    let mut pgbench = std::process::Command::new("pgbench");
    pgbench.args(["--no-vacuum", "--protocol", "extended", "--client", "1", "--transactions", &batches, "--file"]);
    pgbench.arg(&file).arg(&stage.url);
    let output = tokio::task::block_in_place(|| pgbench.output()).context("run pgbench")?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "pgbench fails: {}", said.trim());
    let settled = "SELECT count(*) FROM webhook_event WHERE event_id = ANY ($1) AND status = 'settled'";
    let settled: i64 = stage.sql.query_one(settled, &[&ids]).await?.get(0);
    ensure!(settled == ids.len() as i64, "pgbench settled {settled} of {} events", ids.len());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let latency =
        text.split_once("latency average = ").and_then(|(_, rest)| rest.split_whitespace().next()?.parse::<f64>().ok());
    Ok(latency.context("pgbench tells no latency")? * 1e3 / BATCH as f64)
}

fn script() -> String {
    let mut script = String::from("SELECT n");
    for event in 1..=BATCH {
        // Writing to a string cannot fail.
        let _ = write!(script, ", ids[{event}] AS id{event}");
    }
    script.push_str(" FROM bench_batch WHERE n = (SELECT nextval('bench_turn')) \\gset\n");
    let ids = (1..=BATCH).map(|event| format!(":id{event}")).collect::<Vec<_>>().join(", ");
    let sources = format!("array_fill('stripe'::text, ARRAY[{BATCH}])");
    let term = format!("{LEASE_TERM_S}::float8");
    statement(&mut script, STATEMENTS.lease, &[&sources, &format!("ARRAY[{ids}]"), &term, "1", "false"]);
    script
        .push_str("BEGIN;\nSET LOCAL statement_timeout = '15s';\nSET LOCAL idle_in_transaction_session_timeout = '10s';\n");
    for event in 1..=BATCH {
        let (id, object) = (format!(":id{event}"), format!("'sub_' || :id{event}"));
        let parameters = ["'stripe'", "''", "'subscription'", &object, "1790000000000000", "false", &id];
        statement(&mut script, STATEMENTS.advance, &parameters);
        statement(&mut script, UPSERT, &[&object, "'price_1PzTeam'", "'active'", "1790000000000000"]);
    }
    let (tokens, outcomes) =
        (format!("array_fill(1::int8, ARRAY[{BATCH}])"), format!("array_fill('applied'::text, ARRAY[{BATCH}])"));
    statement(&mut script, STATEMENTS.settle, &[&sources, &format!("ARRAY[{ids}]"), &tokens, &outcomes]);
    script.push_str("COMMIT;\n");
    script
}

/// `sql` with its parameters written in. Backwards, because `$1` is in `$12` too.
fn statement(script: &mut String, sql: &str, parameters: &[&str]) {
    let written = parameters
        .iter()
        .enumerate()
        .rev()
        .fold(sql.trim().to_owned(), |sql, (index, parameter)| sql.replace(&format!("${}", index + 1), parameter));
    // Writing to a string cannot fail.
    let _ = writeln!(script, "{written};");
}
