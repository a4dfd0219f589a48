//! The statements of a batch, sent by pgbench: what Postgres takes for them when nobody works in between.

use std::fmt::Write;

use anyhow::{Context, ensure};
use hookledger_ledger::{LEASE_TERM_S, STATEMENTS};
use tokio::process::Command;

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
    let mut pgbench = Command::new("pgbench");
    pgbench.args(["--no-vacuum", "--protocol", "extended", "--client", "1", "--transactions", &batches, "--file"]);
    pgbench.arg(&file).arg(&stage.url);
    let output = pgbench.output().await.context("run pgbench")?;
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

/// What the worker sends without waiting for answers goes out as one here too.
fn script() -> String {
    let mut script = String::from("SELECT n");
    for event in 1..=BATCH {
        // Writing to a string cannot fail.
        let _ = write!(script, ", ids[{event}] AS id{event}");
    }
    script.push_str(" FROM bench_batch WHERE n = (SELECT nextval('bench_turn')) \\gset\n");
    let ids: Vec<String> = (1..=BATCH).map(|event| format!(":id{event}")).collect();
    let objects: Vec<String> = ids.iter().map(|id| format!("'sub_' || {id}")).collect();
    let each = |value: &str| format!("array_fill({value}, ARRAY[{BATCH}])");
    let (ids_array, objects_array) = (format!("ARRAY[{}]", ids.join(", ")), format!("ARRAY[{}]", objects.join(", ")));
    let (sources, version) = (each("'stripe'::text"), "1790000000000000");
    statement(&mut script, STATEMENTS.lease, &[&sources, &ids_array, &LEASE_TERM_S.to_string(), "1", "false"]);
    script.push_str("\\startpipeline\nBEGIN;\n");
    script.push_str("SET LOCAL statement_timeout = '15s';\nSET LOCAL idle_in_transaction_session_timeout = '10s';\n");
    let (accounts, kinds, deletions) = (each("''::text"), each("'subscription'::text"), each("false"));
    let versions = each(&format!("{version}::int8"));
    let guarded = [&sources, &accounts, &kinds, &objects_array, &versions, &deletions, &ids_array];
    statement(&mut script, STATEMENTS.guard, &guarded.map(String::as_str));
    script.push_str("\\endpipeline\n");
    for object in &objects {
        statement(&mut script, UPSERT, &[object, "'price_1PzTeam'", "'active'", version]);
    }
    script.push_str("\\startpipeline\n");
    statement(&mut script, STATEMENTS.settle, &[&sources, &ids_array, &each("1::int8"), &each("'applied'::text")]);
    script.push_str("COMMIT;\n\\endpipeline\n");
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
