//! Seeing events, and having them processed again.

use hookledger_core::Settlement;

use super::scene::{Cli, update};
use crate::ground::{Ground, event};

#[tokio::test]
async fn a_list_is_filtered_and_ends() {
    let mut ground = Ground::new("cli_list").await;
    ground.claim_all(&(0..7).map(|n| event(&format!("evt_{n}"))).collect::<Vec<_>>()).await;
    ground.dead_letter("evt_dead", "the plan 50%_off does not exist").await;
    let cli = Cli::on(&ground);

    let all = cli.run("events list --json --all").await.ok().json();
    assert_eq!(all.len(), 8);
    assert_eq!((&all[0]["event_id"], &all[0]["status"]), (&"evt_dead".into(), &"dead_letter".into()));
    assert_eq!(cli.run("events list --json --limit 3").await.ok().json(), all[..3]);
    let mut oldest_first = cli.run("events list --json --reverse").await.ok().json();
    oldest_first.reverse();
    assert_eq!(oldest_first, all);

    for (filter, found) in [
        ("--status dead_letter", 1),
        ("--status claimed,dead_letter", 8),
        ("--status failed", 0),
        ("--outcome applied", 0),
        ("--source stripe --type customer.*", 8),
        ("--source github", 0),
        ("--type invoice.*", 0),
        ("--error 50%_OFF", 1),
        ("--error 50__off", 0),
        ("--since 1h", 8),
        ("--until 1h", 0),
        ("--object subscription/sub_1", 0),
    ] {
        assert_eq!(cli.run(&format!("events list --json {filter}")).await.ok().json().len(), found, "{filter}");
    }
    let shown = cli.run("events list --status dead_letter").await.ok();
    assert!(shown.out.starts_with("RECEIVED"), "{shown:?}");
    assert!(shown.out.contains("dead_letter") && shown.out.contains("the plan 50%_off does not exist"), "{shown:?}");
    assert!(!shown.out.contains('\x1b'), "{shown:?}");
}

#[tokio::test]
async fn an_event_is_shown_whole() {
    let mut ground = Ground::new("cli_show").await;
    ground.claim_all(&[update("evt_1", 100, "cus_1")]).await;
    let cli = Cli::on(&ground);
    let shown = cli.run("events show evt_1").await.ok().out;
    for part in [
        "stripe evt_1",
        "subscription/sub_1",
        "1970-01-01T00:01:40Z",
        "content-type: application/json",
        r#""customer": "cus_1""#,
    ] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    let json = cli.run("events show evt_1 --json --source stripe").await.ok().json();
    assert_eq!((&json[0]["event_id"], &json[0]["version"]), (&"evt_1".into(), &100_000_000.into()));
    let payload = cli.run("events show evt_1 --payload").await.ok().out;
    assert_eq!(payload, r#"{"id":"evt_1","data":{"object":{"id":"sub_1","customer":"cus_1"}}}"#);
    let missing = cli.run("events show evt_2").await;
    assert_eq!((missing.code, missing.out.as_str(), missing.err.trim()), (3, "", "no such event"));
}

#[tokio::test]
async fn a_dead_letter_is_asked_for_again_and_audited() {
    let mut ground = Ground::new("cli_retry").await;
    ground.dead_letter("evt_1", "boom").await;
    let cli = Cli::on(&ground);
    let state = "SELECT status, attempts, requeued_at IS NULL FROM webhook_event";

    let unasked = cli.run("events retry evt_1").await;
    assert_eq!(unasked.code, 2, "{unasked:?}");
    assert!(unasked.err.contains("--yes"), "{unasked:?}");
    let counted = cli.run("events retry evt_1 --dry-run").await.ok();
    assert!(counted.err.contains("dry run: 1 would"), "{counted:?}");
    ground.check_read(state, "(dead_letter,1,t)").await;

    let done = cli.run("events retry evt_1 --yes").await.ok();
    assert!(done.out.contains("1 event re-armed, 0 sent"), "{done:?}");
    assert!(done.err.contains("the sweeper will send"), "{done:?}");
    ground.check_read(state, "(claimed,0,t)").await;
    let audit = "SELECT action, event_id, detail FROM webhook_audit";
    ground.check_read(audit, r#"(rearmed,evt_1,"asked for by alice (was dead_letter)")"#).await;
    // However slow this machine was until here.
    ground.run("UPDATE webhook_event SET received_at = clock_timestamp()").await;
    let (swept, key) = (ground.ledger.sweep(&[], 5, 10).await.unwrap(), crate::ground::key("evt_1"));
    assert!(swept.requeue.is_empty(), "a row of this moment is the queue's affair");
    ground.run("UPDATE webhook_event SET received_at = received_at - interval '1 hour'").await;
    assert_eq!(ground.ledger.sweep(&[], 5, 10).await.unwrap().requeue, [key]);

    assert_eq!(cli.run("events retry evt_1 --yes").await.code, 3);
}

#[tokio::test]
async fn many_are_retried_by_a_filter_and_an_event_in_flight_is_left_alone() {
    let mut ground = Ground::new("cli_retry_all").await;
    for n in 0..3 {
        ground.dead_letter(&format!("evt_no_{n}"), "no such plan").await;
    }
    ground.dead_letter("evt_other", "boom").await;
    let failed = ground.leased("evt_failed").await;
    ground.ledger.fail(failed, Settlement::RetryIn(std::time::Duration::from_secs(60)), "no such plan").await.unwrap();
    let _in_flight = ground.leased("evt_busy").await;
    ground.dead_letter("evt_gone", "no such plan").await;
    ground.run("DELETE FROM webhook_payload WHERE event_id = 'evt_gone'").await;
    let cli = Cli::on(&ground);

    let counted = cli.run("events retry --all --error plan --dry-run --json").await.ok().json();
    assert_eq!((&counted[0]["would_retry"], &counted[0]["without_payload"]), (&4.into(), &1.into()));
    let done = cli.run("events retry --all --error plan --yes --json").await.ok().json();
    assert_eq!((&done[0]["retried"], &done[0]["without_payload"]), (&4.into(), &1.into()));
    ground
        .check_read(
            "SELECT status, count(*) FROM webhook_event GROUP BY 1 ORDER BY 1",
            "(claimed,4) (dead_letter,2) (processing,1)",
        )
        .await;
}

#[tokio::test]
async fn a_settled_event_is_processed_again_only_by_force() {
    let mut ground = Ground::new("cli_force").await;
    let lease = ground.leased("evt_1").await;
    ground.settle(lease, "SELECT 1").await.unwrap();
    let cli = Cli::on(&ground);
    assert_eq!(cli.run("events retry evt_1 --yes").await.code, 3);
    assert_eq!(cli.run("events retry --all --status settled --yes").await.code, 2);
    assert_eq!(cli.run("replay ledger --status settled --yes").await.code, 2);
    assert_eq!(cli.run("replay ledger --yes").await.code, 2);
    let counted = cli.run("replay ledger --status settled --dry-run --json").await.ok().json();
    assert_eq!(counted[0]["would_retry"], 1);
    ground.check_read("SELECT status FROM webhook_event", "(settled)").await;
    let forced = cli.run("replay ledger --status settled --force --yes").await.ok();
    assert!(forced.err.contains("a second time"), "{forced:?}");
    ground.check_read("SELECT status, attempts FROM webhook_event", "(claimed,0)").await;
}

#[tokio::test]
async fn the_tail_shows_what_comes_in_and_what_becomes_of_it() {
    let mut ground = Ground::new("cli_tail").await;
    ground.claim(&event("evt_1")).await;
    let mut tail = Cli::on(&ground).command("events tail --json --since 1h --interval 0.1").spawn().unwrap();
    let mut lines = tokio::io::AsyncBufReadExt::lines(tokio::io::BufReader::new(tail.stdout.take().unwrap()));
    let mut next = async || {
        let line = tokio::time::timeout(std::time::Duration::from_secs(30), lines.next_line()).await.unwrap();
        let row: serde_json::Value = serde_json::from_str(&line.unwrap().unwrap()).unwrap();
        format!("{} {}", row["event_id"].as_str().unwrap(), row["status"].as_str().unwrap())
    };
    assert_eq!(next().await, "evt_1 claimed");
    ground.claim(&event("evt_2")).await;
    assert_eq!(next().await, "evt_2 claimed");
    let lease = ground.lease("evt_1").await;
    ground.settle(lease, "SELECT 1").await.unwrap();
    // It may have been seen in processing.
    let mut seen = next().await;
    if seen == "evt_1 processing" {
        seen = next().await;
    }
    assert_eq!(seen, "evt_1 settled");
    tail.kill().await.unwrap();
}
