//! Commands whose connection to the database is ended, in the middle of a statement and between two: nothing is lost, and nothing
//! is done twice.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::time::Duration;

use hookledger_ledger::connect;
use serde_json::Value;
use tokio::time::{sleep, timeout};

use super::scene::{Cli, Ran};
use super::stack::Stack;
use crate::ground::{Ground, config};

/// More than two pages.
const EVENTS: usize = 2_500;
const CUT_WITHIN: Duration = Duration::from_secs(60);
const POLL_EVERY: Duration = Duration::from_millis(2);

/// A ledger with settled events or dead letters of one customer.
async fn ledger_of(name: &str, status: &str, outcome: &str) -> Ground {
    let ground = Ground::new(name).await;
    let rows = format!(
        "INSERT INTO webhook_event (source, event_id, event_type, account, object_kind, object_id, version, lifecycle, via, status,
                                    outcome, settled_at, attempts, received_at)
         SELECT 'stripe', 'evt_' || n, 'customer.subscription.updated', '', 'subscription', 'sub_' || n % 7, n, 'updated', 'webhook',
                '{status}', {outcome}, now(), 1, now() - n * interval '1 ms'
         FROM generate_series(1, {EVENTS}) AS n;
         INSERT INTO webhook_payload (source, event_id, received_at, headers, body)
         SELECT source, event_id, received_at, '{{}}', convert_to('{{\"customer\":\"cus_1\"}}', 'UTF8') FROM webhook_event"
    );
    ground.run(&rows).await;
    ground
}

/// Runs a command and ends its connections: one that waits in the middle of a statement, and then two that are between two
/// statements, as far as there are any.
async fn cut(ground: &Ground, arguments: &str) -> Ran {
    let mut holder = connect(&config(&ground.url)).await.unwrap();
    let ours = ground.read("SELECT pid FROM pg_stat_activity WHERE datname = current_database()").await;
    let ours: BTreeSet<i32> = ours.split(' ').map(|pid| pid.trim_matches(['(', ')']).parse().unwrap()).collect();
    let end = async |which: &str| -> Vec<i32> {
        // Not as a condition: that might be looked at before the others, and end everybody's.
        let sql = format!(
            "SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE datname = current_database() AND pid <> ALL ($1) AND {which}"
        );
        let ours: Vec<i32> = ours.iter().copied().collect();
        ground.sql.query(&sql, &[&ours]).await.unwrap().iter().map(|row| row.get(0)).collect()
    };

    let lock = holder.transaction().await.unwrap();
    lock.batch_execute("LOCK TABLE webhook_event, webhook_payload, webhook_object").await.unwrap();
    let command = Cli::on(ground).command(arguments).spawn().unwrap();
    let in_the_middle = async {
        while end("wait_event_type = 'Lock'").await.is_empty() {
            sleep(POLL_EVERY).await;
        }
    };
    timeout(CUT_WITHIN, in_the_middle).await.unwrap();
    lock.rollback().await.unwrap();

    let mut left = 2;
    let between = async {
        while left > 0 {
            left -= end("state = 'idle' AND query LIKE '%webhook_%'").await.len().min(left);
            sleep(POLL_EVERY).await;
        }
        std::future::pending::<()>().await;
    };
    let output = tokio::select! {
        output = timeout(CUT_WITHIN, command.wait_with_output()) => output.unwrap().unwrap(),
        () = between => unreachable!("it waits for ever"),
    };
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

#[tokio::test]
async fn a_list_is_whole_though_its_connection_was_cut() {
    let ground = ledger_of("cut_list", "settled", "'applied'").await;
    let listed = cut(&ground, "events list --all --json").await.ok().json();
    let ids: BTreeSet<&str> = listed.iter().map(|row| row["event_id"].as_str().unwrap()).collect();
    assert_eq!((listed.len(), ids.len()), (EVENTS, EVENTS));
    for question in ["events stats --json", "object history stripe subscription sub_1 --json", "events show evt_1 --json"] {
        assert_eq!(cut(&ground, question).await.ok().json().len(), 1, "{question}");
    }
}

#[tokio::test]
async fn every_dead_letter_is_retried_once_though_the_connection_was_cut() {
    let ground = ledger_of("cut_retry", "dead_letter", "NULL").await;
    cut(&ground, "events retry --all --yes").await.ok();
    ground.check_read("SELECT status, count(*) FROM webhook_event GROUP BY 1", &format!("(claimed,{EVENTS})")).await;
    let audit = "SELECT action, count(*), count(DISTINCT event_id) FROM webhook_audit GROUP BY 1";
    ground.check_read(audit, &format!("(rearmed,{EVENTS},{EVENTS})")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_dead_letter_is_retried_once_though_the_function_s_answers_were_lost() {
    let ground = ledger_of("cut_function", "dead_letter", "NULL").await;
    let stack = Stack::start(&ground.url).await;
    stack.losses.store(2, Ordering::SeqCst);
    let listed = stack.cli().run("--stack hooks events list --all --status dead_letter --json").await.ok().json();
    assert_eq!((listed.len(), stack.losses.load(Ordering::SeqCst)), (EVENTS, 0));
    stack.losses.store(2, Ordering::SeqCst);
    stack.cli().run("--stack hooks events retry --all --yes").await.ok();
    ground.check_read("SELECT status, count(*) FROM webhook_event GROUP BY 1", &format!("(claimed,{EVENTS})")).await;
    let audit = "SELECT action, count(*), count(DISTINCT event_id) FROM webhook_audit GROUP BY 1";
    ground.check_read(audit, &format!("(rearmed,{EVENTS},{EVENTS})")).await;
}

#[tokio::test]
async fn every_payload_is_purged_and_audited_though_the_connection_was_cut() {
    let ground = ledger_of("cut_purge", "settled", "'applied'").await;
    cut(&ground, "events purge --source stripe --pointer /customer --equals cus_1 --yes").await.ok();
    ground.check_read("SELECT count(*) FROM webhook_payload", "(0)").await;
    ground.check_read("SELECT action, count(*) FROM webhook_audit GROUP BY 1", &format!("(purged,{EVENTS})")).await;
    ground.check_read("SELECT count(*) FROM webhook_event", &format!("({EVENTS})")).await;
}

#[tokio::test]
async fn the_guard_learns_every_object_though_the_connection_was_cut() {
    let ground = ledger_of("cut_backfill", "settled", "'applied'").await;
    let backfill = "backfill-versions table --source stripe --kind event --table webhook_event --id-column event_id --version-column received_at --yes";
    cut(&ground, backfill).await.ok();
    ground.check_read("SELECT count(*), min(version) > 0 FROM webhook_object", &format!("({EVENTS},t)")).await;
    ground.check_read("SELECT sum(split_part(detail, ', ', 2)::text::bigint) FROM (SELECT replace(detail, ' objects', '') AS detail FROM webhook_audit) AS a", &format!("({EVENTS})")).await;
}

#[tokio::test]
async fn pruning_goes_on_though_the_connection_was_cut() {
    let ground = ledger_of("cut_prune", "settled", "'applied'").await;
    ground.run("UPDATE webhook_event SET received_at = received_at - interval '200 days', settled_at = settled_at - interval '199 days'").await;
    let pruned: Vec<Value> = cut(&ground, "prune --payload-days 95 --ledger-days 95 --yes --json").await.ok().json();
    assert_eq!(pruned.len(), 1);
    ground.check_read("SELECT count(*) FROM webhook_event", "(0)").await;
}
