//! Figures, histories, and what takes data away.

use hookledger_core::Outcome;

use super::scene::{Cli, update};
use crate::ground::{Ground, event};

#[tokio::test]
async fn figures_are_those_of_the_rows() {
    let mut ground = Ground::new("cli_stats").await;
    ground.claim_all(&[event("evt_1"), event("evt_2"), event("evt_3")]).await;
    ground.dead_letter("evt_dead", "boom").await;
    for id in ["evt_1", "evt_2"] {
        let lease = ground.lease(id).await;
        ground.settle(lease, "SELECT 1").await.unwrap();
    }
    ground.run("UPDATE webhook_event SET settled_at = received_at + interval '3 seconds' WHERE event_id = 'evt_1'").await;
    ground.run("UPDATE webhook_event SET settled_at = received_at + interval '1 second' WHERE event_id = 'evt_2'").await;
    ground.run("UPDATE webhook_event SET would_skip = 4 WHERE event_id = 'evt_2'").await;
    let cli = Cli::on(&ground);
    let stats = cli.run("events stats --json").await.ok().json();
    assert_eq!(stats.len(), 1);
    for (name, value) in [
        ("accepted", 4.0),
        ("replayed", 4.0),
        ("would_skip", 4.0),
        ("applied", 2.0),
        ("waiting", 1.0),
        ("dead_letter", 1.0),
        ("attempts_mean", 1.0),
        ("lag_p50_ms", 2000.0),
        ("lag_p95_ms", 2900.0),
    ] {
        assert_eq!(stats[0][name].as_f64(), Some(value), "{name}");
    }
    let by_type = cli.run("events stats --json --by-type").await.ok().json();
    assert_eq!(by_type[0]["event_type"], "customer.subscription.updated");
    let shown = cli.run("events stats").await.ok().out;
    assert!(shown.contains("50.0 %") && shown.contains("2.0 s"), "{shown}");
    assert!(cli.run("events stats --since 2026-01-01 --until 2026-01-02").await.ok().err.contains("received nothing"));
}

#[tokio::test]
async fn the_history_of_an_object_says_what_decided() {
    let mut ground = Ground::new("cli_history").await;
    ground.claim_all(&[update("evt_new", 200, "c"), update("evt_old", 100, "c"), update("evt_wait", 300, "c")]).await;
    for (id, outcome) in [("evt_new", Outcome::Applied), ("evt_old", Outcome::Stale)] {
        let lease = ground.lease(id).await;
        let candidate = |_: &hookledger_core::Event| unreachable!("no tie");
        let (work, _) = ground.ledger.begin_guarded(&[lease.event.as_ref().unwrap()], &candidate).await.unwrap();
        work.settle(vec![(lease, outcome)]).await.unwrap();
    }
    let cli = Cli::on(&ground);
    let history = cli.run("object history stripe subscription sub_1 --json").await.ok().json();
    let rows: Vec<_> = history[0]["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| format!("{} {} {}", e["event_id"], e["in_force"], e["why"]).replace('"', ""))
        .collect();
    assert_eq!(
        rows,
        [
            "evt_old false older than evt_new, or than one that was applied before it",
            "evt_new true the newest: its state is in force",
            "evt_wait false not processed yet"
        ]
    );
    assert!(cli.run("object history stripe subscription sub_1").await.ok().out.contains('◀'));
    assert_eq!(cli.run("object history stripe subscription sub_2").await.code, 3);
}

#[tokio::test]
async fn what_nobody_bounds_looks_back_thirty_days_and_says_so() {
    let mut ground = Ground::new("cli_looks_back").await;
    ground
        .claim_all(&[
            update("evt_now", 4, "c"),
            update("evt_week", 3, "c"),
            update("evt_month", 2, "c"),
            update("evt_old", 1, "c"),
        ])
        .await;
    ground.dead_letter("evt_dead", "boom").await;
    for (id, days) in [("evt_week", 5), ("evt_month", 20), ("evt_old", 40), ("evt_dead", 50)] {
        let sql =
            format!("UPDATE webhook_event SET received_at = received_at - interval '{days} days' WHERE event_id = '{id}'");
        ground.run(&sql).await;
    }
    let cli = Cli::on(&ground);
    let listed = async |arguments: &str| {
        let ran = cli.run(&format!("events list --json {arguments}")).await.ok();
        let ids: Vec<String> = ran.json().iter().map(|row| row["event_id"].as_str().unwrap().to_owned()).collect();
        (ids.join(" "), ran.err.contains("the last 30 days; --since looks further back"))
    };
    assert_eq!(listed("").await, ("evt_now evt_week evt_month".to_owned(), true));
    assert_eq!(listed("--limit 2").await, ("evt_now evt_week".to_owned(), false));
    assert_eq!(listed("--reverse").await, ("evt_month evt_week evt_now".to_owned(), true));
    assert_eq!(listed("--all").await, ("evt_now evt_week evt_month".to_owned(), true));
    assert_eq!(listed("--since 60d").await, ("evt_now evt_week evt_month evt_old evt_dead".to_owned(), false));
    assert_eq!(
        listed("--status dead_letter,claimed").await,
        ("evt_now evt_week evt_month evt_old evt_dead".to_owned(), false)
    );
    assert_eq!(listed("--status settled").await, (String::new(), true));

    let history = "object history stripe subscription sub_1 --json";
    let seen = cli.run(history).await.ok();
    assert!(seen.err.contains("--since looks further back"), "{seen:?}");
    assert_eq!(seen.json()[0]["events"].as_array().unwrap().len(), 3);
    let seen = cli.run(&format!("{history} --since 60d")).await.ok();
    assert_eq!((seen.json()[0]["events"].as_array().unwrap().len(), seen.err.as_str()), (4, ""));
}

#[tokio::test]
async fn a_customer_s_payloads_are_erased_and_the_events_stay_known() {
    let mut ground = Ground::new("cli_purge").await;
    ground
        .claim_all(&[
            update("evt_1", 1, "cus_1"),
            update("evt_2", 2, "cus_2"),
            update("evt_3", 3, "cus_1"),
            // A body that jsonb cannot hold is nobody's.
            crate::ground::event_with("evt_4", None, hookledger_core::Lifecycle::Updated, b"{\"data\":\"\\u0000\"}"),
        ])
        .await;
    let lease = ground.lease("evt_1").await;
    ground.settle(lease, "SELECT 1").await.unwrap();
    let cli = Cli::on(&ground);
    let purge = "events purge --source stripe --pointer /data/object/customer --equals cus_1";

    assert_eq!(cli.run(purge).await.code, 2);
    let counted = cli.run(&format!("{purge} --dry-run --json")).await;
    assert_eq!(counted.json()[0], serde_json::json!({"scanned": 4, "would_purge": ["evt_1"], "held": ["evt_3"]}));
    ground.check_read("SELECT count(*) FROM webhook_payload", "(4)").await;

    let done = cli.run(&format!("{purge} --yes")).await;
    assert_eq!(done.code, 4, "one is held: {done:?}");
    ground.check_read("SELECT event_id FROM webhook_payload ORDER BY 1", "(evt_2) (evt_3) (evt_4)").await;
    ground.check_read("SELECT count(*) FROM webhook_event", "(4)").await;
    ground.check_read("SELECT action, event_id, detail FROM webhook_audit", r#"(purged,evt_1,"asked for by alice")"#).await;
    let shown = cli.run("events show evt_1").await.ok().out;
    assert!(shown.contains("gone: past retention, or purged") && shown.contains("purged "), "{shown}");
    assert_eq!(cli.run(&format!("{purge} --yes")).await.code, 4);
    assert_eq!(cli.run("events purge --source stripe --pointer data --equals x").await.code, 2);
}

#[tokio::test]
async fn pruning_refuses_what_a_provider_could_still_replay() {
    let mut ground = Ground::new("cli_prune").await;
    let lease = ground.leased("evt_1").await;
    ground.settle(lease, "SELECT 1").await.unwrap();
    ground.run("UPDATE webhook_event SET received_at = received_at - interval '100 days', settled_at = settled_at - interval '99 days'").await;
    let cli = Cli::on(&ground);
    let refused = cli.run("prune --ledger-days 30 --yes").await;
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("at least 90 days"), "{refused:?}");
    assert_eq!(cli.run("prune --ledger-days 95").await.code, 2);
    let done = cli.run("prune --ledger-days 95 --yes --json").await.ok().json();
    assert_eq!(done[0]["rows"], 1);
    ground.check_read("SELECT count(*) FROM webhook_event", "(0)").await;
    ground
        .check_read(
            "SELECT action, detail FROM webhook_audit",
            r#"(pruned,"asked for by alice: partitions [], ledger rows 1")"#,
        )
        .await;
}

#[tokio::test]
async fn the_guard_learns_from_a_table_and_only_upwards() {
    let mut ground = Ground::new("cli_backfill").await;
    ground.claim_all(&[update("evt_1", 2_000, "c")]).await;
    ground
        .run(
            "CREATE TABLE plan (plan_id text, changed timestamptz);
             INSERT INTO plan SELECT 'p_' || n, 'epoch'::timestamptz + make_interval(secs => n) FROM generate_series(1, 1500) AS n;
             INSERT INTO plan VALUES ('p_none', NULL), ('p_zero', 'epoch'), ('p_of_tomorrow', now() + interval '1 day'),
                ('p_1500', 'epoch'), (NULL, now());
             INSERT INTO webhook_object VALUES
                ('stripe', '', 'plan', 'p_7', 1, false, 'evt_old', ARRAY['evt_old']),
                ('stripe', '', 'plan', 'p_8', 9000000000, false, 'evt_new', ARRAY['evt_new']),
                ('stripe', '', 'plan', 'p_9', 1, true, 'evt_del', ARRAY['evt_del'])",
        )
        .await;
    let cli = Cli::on(&ground);
    let backfill = "backfill-versions table --source stripe --kind plan --table public.plan --id-column plan_id --version-column changed --json";
    let expected = serde_json::json!({"objects": 1503, "unguarded": 1497, "behind": 1, "guarded": 2,
                                      "refused": ["p_none", "p_of_tomorrow", "p_zero"], "next": null});
    let looked = cli.run(&format!("{backfill} --dry-run")).await;
    assert_eq!((looked.code, &looked.json()[0]), (4, &expected), "{looked:?}");
    ground.check_read("SELECT count(*) FROM webhook_object", "(3)").await;
    assert_eq!(cli.run(&format!("{backfill} --yes")).await.json()[0], expected);
    let again = &cli.run(&format!("{backfill} --yes")).await.json()[0];
    assert_eq!((&again["unguarded"], &again["behind"], &again["guarded"]), (&0.into(), &0.into(), &1500.into()));
    ground
        .check_read(
            "SELECT object_id, version, deleted FROM webhook_object WHERE object_id IN ('p_7', 'p_8', 'p_9', 'p_1500') ORDER BY 1",
            "(p_1500,1500000000,f) (p_7,7000000,f) (p_8,9000000000,f) (p_9,1,t)",
        )
        .await;
    ground.check_read("SELECT count(*) FROM webhook_object WHERE version <= 0", "(0)").await;
    let audit = r#"(backfilled,"asked for by alice: plan from public.plan, 1000 objects") (backfilled,"asked for by alice: plan from public.plan, 498 objects")"#;
    ground.check_read("SELECT action, detail FROM webhook_audit ORDER BY at", audit).await;
    let seconds = "backfill-versions table --source stripe --kind plan --table nowhere --id-column a --version-column b --unit seconds --yes";
    assert_eq!(cli.run(seconds).await.code, 1);
}

#[tokio::test]
async fn bad_input_gets_one_helpful_sentence() {
    let nowhere = Cli::with(&[]);
    let said = nowhere.run("events list").await;
    assert_eq!(said.code, 2);
    assert_eq!(said.err.trim(), "hookledger: no ledger to ask: set DATABASE_URL, or name a deployment with --stack");
    assert_eq!(nowhere.run("events list --since yesterday").await.code, 2);
    assert_eq!(nowhere.run("events").await.code, 2);
    let down = Cli::with(&[("DATABASE_URL", "postgres://alice:hunter2@127.0.0.1:1/x"), ("DATABASE_TLS", "disable")]);
    let said = down.run("events list").await;
    assert_eq!(said.code, 1);
    assert!(said.err.contains("cannot be reached") && !said.err.contains("hunter2"), "{said:?}");
    assert_eq!(said.err.lines().count(), 1, "{said:?}");
    let script = nowhere.run("completions bash").await.ok().out;
    assert!(script.contains("dead_letter"), "states are completed");
}
