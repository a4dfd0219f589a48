//! The plans that Postgres really ran the ledger's statements with, as its own module auto_explain wrote them down.

use anyhow::Context;
use tokio_postgres::Client;

use super::Side;
use super::operations::Operation;

/// auto_explain writes to the server's log, which has to be a file to be read from here.
pub(super) const SETTINGS: [(&str, &str); 1] = [("logging_collector", "on")];

/// Every session of this database from now on.
const EXPLAIN: [(&str, &str); 7] = [
    ("session_preload_libraries", "auto_explain"),
    ("auto_explain.log_min_duration", "0"),
    ("auto_explain.log_analyze", "on"),
    ("auto_explain.log_buffers", "on"),
    ("auto_explain.log_timing", "off"),
    ("auto_explain.log_parameter_max_length", "0"),
    ("auto_explain.log_nested_statements", "on"),
];

/// One operation of each kind against `side`, and the plans of all its statements.
pub(super) async fn of(side: &Side) -> anyhow::Result<String> {
    let database = side.url.rsplit('/').next().unwrap_or_default();
    for (name, value) in EXPLAIN {
        side.sql.batch_execute(&format!("ALTER DATABASE {database} SET {name} = '{value}'")).await?;
    }
    let begin = log_length(&side.sql).await?;
    let explained = one_of_each(side).await;
    for (name, _) in EXPLAIN {
        side.sql.batch_execute(&format!("ALTER DATABASE {database} RESET {name}")).await?;
    }
    explained?;
    let log = "SELECT pg_read_file(pg_current_logfile(), $1, 100000000)";
    let log: String = side.sql.query_one(log, &[&begin]).await?.get(0);
    Ok(shortened(&log))
}

async fn one_of_each(side: &Side) -> anyhow::Result<()> {
    let mut subject = [side.subject("on").await?];
    for operation in Operation::ALL {
        operation.measure(&mut subject, 1).await?;
    }
    Ok(())
}

async fn log_length(sql: &Client) -> anyhow::Result<i64> {
    let length = "SELECT size FROM pg_stat_file(pg_current_logfile())";
    Ok(sql.query_one(length, &[]).await.context("find the server's log")?.get(0))
}

/// Each statement's first plan, its nodes and what they touched.
fn shortened(log: &str) -> String {
    let mut seen = Vec::new();
    let mut text = String::from("Plans, with the rows that each node gave and the pages that it touched:\n");
    for entry in log.split("LOG:  duration: ").skip(1) {
        let Some((_, entry)) = entry.split_once("plan:\n") else { continue };
        let (query, plan): (Vec<&str>, Vec<&str>) =
            entry.lines().take_while(|line| line.starts_with('\t')).partition(|line| !is_of_a_plan(line));
        if query.is_empty() || seen.contains(&query) {
            continue;
        }
        let mut lines = query.iter().map(|line| line.trim_start_matches("\tQuery Text:").trim());
        let first = lines.find(|line| !line.is_empty()).unwrap_or_default();
        text.push_str(&format!("\n  {first}\n"));
        plan.iter().for_each(|line| text.push_str(&format!("    {}\n", line.trim_start_matches('\t'))));
        seen.push(query);
    }
    text
}

/// Nodes, index conditions, and buffers; filters and sort keys are in the statement.
fn is_of_a_plan(line: &str) -> bool {
    line.contains("(cost=") || line.contains("Buffers: ") || line.contains("Index Cond: ") || line.contains("Rows Removed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_shown_once_without_its_statement() {
        let entry = "2026-01-01 LOG:  duration: 0.1 ms  plan:\n\tQuery Text: \n\tSELECT a\n\tFROM b\n\tIndex Scan using b_pkey on b  (cost=0.1..2 rows=1 width=4) (actual rows=1 loops=1)\n\t  Index Cond: (a = 1)\n\t  Buffers: shared hit=4\n";
        let log = format!("{entry}{entry}2026-01-01 LOG:  checkpoint starting: time\n");
        let text = shortened(&log);
        assert_eq!(text.matches("SELECT a").count(), 1, "{text}");
        assert!(text.contains("    Index Scan using b_pkey") && text.contains("Buffers: shared hit=4"), "{text}");
        assert!(!text.contains("FROM b"), "{text}");
    }
}
