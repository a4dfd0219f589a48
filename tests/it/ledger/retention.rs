use hookledger_core::{Claim, Status};
use hookledger_ledger::RetentionPolicy;

use crate::ground::{Ground, event};

const OLD: &str = "2020-02-10 12:00+00";

/// Moves an event and its payload to February 2020.
fn back_date(id: &str) -> String {
    format!(
        "UPDATE webhook_event SET received_at = '{OLD}', settled_at = CASE WHEN settled_at IS NOT NULL THEN '{OLD}'::timestamptz END
         WHERE event_id = '{id}';
         UPDATE webhook_payload SET received_at = '{OLD}' WHERE event_id = '{id}'"
    )
}

#[tokio::test]
async fn payload_partitions_are_made_ahead_and_twice_is_once() {
    let mut ground = Ground::new("retention_ahead").await;
    for _ in 0..2 {
        ground.ledger.add_payload_partitions().await.unwrap();
        ground.check_read("SELECT count(*) FROM pg_inherits WHERE inhparent = 'webhook_payload'::regclass", "(4)").await;
    }
    ground.claim(&event("evt_1")).await;
    ground.check_read("SELECT count(*) FROM webhook_payload_default", "(0)").await;
}

#[tokio::test]
async fn every_partition_compresses_as_well_as_the_server_can() {
    let ground = Ground::new("retention_compression").await;
    ground.run("SELECT webhook_payload_add_month('2020-02-01')").await;
    let lz4 = ground.read("SELECT 'lz4' = ANY (enumvals) FROM pg_settings WHERE name = 'default_toast_compression'").await;
    // Nothing said is PostgreSQL's own way.
    let said = if lz4 == "(t)" { "(l,5)" } else { "(\"\",5)" };
    let by_table = "SELECT attcompression, count(*) FROM pg_attribute
                    WHERE attname = 'body' AND attrelid::regclass::text ~ '^webhook_payload(_default|_[0-9]{6})?$' GROUP BY 1";
    ground.check_read(by_table, said).await;
}

#[tokio::test]
async fn a_month_takes_its_rows_out_of_the_default_partition() {
    let mut ground = Ground::new("retention_default").await;
    ground.claim(&event("evt_1")).await;
    ground.run(&back_date("evt_1")).await;
    ground.check_read("SELECT count(*) FROM webhook_payload_default", "(1)").await;
    ground.run("SELECT webhook_payload_add_month('2020-02-01')").await;
    ground.check_read("SELECT count(*) FROM webhook_payload_default", "(0)").await;
    ground.check_read("SELECT count(*) FROM webhook_payload_202002", "(1)").await;
}

#[tokio::test]
async fn an_old_partition_goes_unless_a_row_still_needs_it() {
    let mut ground = Ground::new("retention_drop").await;
    ground.run("SELECT webhook_payload_add_month('2020-02-01')").await;
    let policy = RetentionPolicy::new(90, None).unwrap();
    let lease = ground.leased("evt_1").await;
    ground.run(&back_date("evt_1")).await;
    let held = ground.ledger.prune(policy, 10).await.unwrap();
    assert_eq!((held.partitions_dropped.len(), held.partitions_held), (0, vec!["webhook_payload_202002".to_owned()]));
    ground.settle(lease, "SELECT 1").await.unwrap();
    let dropped = ground.ledger.prune(policy, 10).await.unwrap();
    assert_eq!(dropped.partitions_dropped, ["webhook_payload_202002"]);
    // The key outlives the payload.
    assert_eq!(ground.claim(&event("evt_1")).await, Claim::Duplicate { status: Status::Settled, requeue: false });
}

#[tokio::test]
async fn only_settled_rows_past_their_time_are_pruned_and_in_batches() {
    let mut ground = Ground::new("retention_prune").await;
    for id in ["old-1", "old-2", "old-3", "young"] {
        let lease = ground.leased(id).await;
        ground.settle(lease, "SELECT 1").await.unwrap();
    }
    ground.claim(&event("old-unsettled")).await;
    for id in ["old-1", "old-2", "old-3", "old-unsettled"] {
        ground.run(&back_date(id)).await;
    }
    let keep = RetentionPolicy::new(90, None).unwrap();
    assert_eq!(ground.ledger.prune(keep, 2).await.unwrap().rows, 0);
    let policy = RetentionPolicy::new(90, Some(90)).unwrap();
    let rows = [2, 1, 0];
    for expected in rows {
        assert_eq!(ground.ledger.prune(policy, 2).await.unwrap().rows, expected);
    }
    ground.check_read("SELECT event_id FROM webhook_event ORDER BY 1", "(old-unsettled) (young)").await;
}

#[test]
fn keys_are_never_pruned_below_a_providers_replay_horizon() {
    assert!(RetentionPolicy::new(90, Some(89)).is_err());
    assert!(RetentionPolicy::new(0, None).is_err());
    assert!(RetentionPolicy::new(1, Some(90)).is_ok());
}
