use hookledger_core::{Outcome, Settlement};
use hookledger_ledger::{Fenced, Grant, NotSettled};
use std::time::Duration;

use crate::ground::{Ground, event, key};

const EXPIRE: &str = "UPDATE webhook_event SET lease_until = clock_timestamp() - interval '1 s' WHERE status = 'processing'";

#[tokio::test]
async fn an_event_is_leased_to_one_of_two_workers() {
    let mut ground = Ground::new("lease_two").await;
    let keys: Vec<_> = (0..50).map(|n| key(&n.to_string())).collect();
    for n in 0..50 {
        ground.claim(&event(&n.to_string())).await;
    }
    let (mut one, mut other) = (ground.another(), ground.another());
    let (a, b) = tokio::join!(one.lease_first_attempts(&keys), other.lease_first_attempts(&keys));
    let leased = |grants: &[Grant]| grants.iter().filter(|grant| matches!(grant, Grant::Leased(_))).count();
    assert_eq!(leased(&a.unwrap()) + leased(&b.unwrap()), 50);
    ground.check_read("SELECT sum(attempts) FROM webhook_event", "(50)").await;
}

#[tokio::test]
async fn each_state_has_its_own_grant() {
    let mut ground = Ground::new("lease_grants").await;
    let settled = ground.leased("settled").await;
    ground.settle(settled, "SELECT 1").await.unwrap();
    let dead = ground.leased("dead").await;
    ground.ledger.fail(dead, Settlement::DeadLetter, "x").await.unwrap();
    let waiting = ground.leased("waiting").await;
    ground.ledger.fail(waiting, Settlement::RetryIn(Duration::from_secs(90)), "x").await.unwrap();
    let due = ground.leased("due").await;
    ground.ledger.fail(due, Settlement::RetryIn(Duration::ZERO), "x").await.unwrap();
    ground.leased("held").await;
    ground.claim(&event("new")).await;
    let keys = ["settled", "dead", "waiting", "due", "held", "new", "nowhere"].map(key);
    let grants = ground.ledger.lease_first_attempts(&keys).await.unwrap();
    match &grants[..] {
        [
            Grant::Settled,
            Grant::Settled,
            Grant::NotDue { in_s: 80..=90 },
            Grant::RetryAlone,
            Grant::HeldElsewhere { for_s: 40..=45 },
            Grant::Leased(new),
            Grant::Unknown,
        ] => assert_eq!((new.attempt, &new.key), (1, &key("new"))),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_lease_on_the_last_attempt_that_never_came_back_is_exhausted() {
    let mut ground = Ground::new("lease_exhausted").await;
    ground.claim(&event("evt_1")).await;
    for attempt in 1..=5 {
        assert_eq!(ground.lease("evt_1").await.attempt, attempt);
        ground.run(EXPIRE).await;
    }
    assert!(matches!(ground.ledger.lease_alone(&key("evt_1"), 5).await.unwrap(), Grant::Exhausted));
    assert_eq!(ground.ledger.bury(&key("evt_1"), 5).await.unwrap(), Fenced::Recorded);
    ground.check_read("SELECT status, attempts FROM webhook_event", "(dead_letter,5)").await;
    assert_eq!(ground.ledger.bury(&key("evt_1"), 5).await.unwrap(), Fenced::LeaseLost);
}

#[tokio::test]
async fn a_late_worker_can_neither_settle_nor_fail_nor_release() {
    let mut ground = Ground::new("lease_zombie").await;
    let zombie = [ground.leased("a").await, ground.leased("b").await, ground.leased("c").await];
    ground.run(EXPIRE).await;
    for id in ["a", "b", "c"] {
        ground.lease(id).await;
    }
    let [a, b, c] = zombie;
    let unsettled = ground.settle(a, "INSERT INTO subscription VALUES ('zombie', '', '', 0)").await.unwrap_err();
    assert!(matches!(unsettled.why, NotSettled::LeaseLost));
    assert_eq!(ground.ledger.fail(b, Settlement::DeadLetter, "x").await.unwrap(), Fenced::LeaseLost);
    ground.ledger.release(vec![c]).await.unwrap();
    ground.check_read("SELECT DISTINCT status, attempts FROM webhook_event", "(processing,2)").await;
    ground.check_read("SELECT count(*) FROM subscription", "(0)").await;
}

#[tokio::test]
async fn one_lost_lease_undoes_a_whole_batch_and_gives_the_leases_back() {
    let mut ground = Ground::new("lease_batch").await;
    let leases = [ground.leased("a").await, ground.leased("b").await];
    ground.run("UPDATE webhook_event SET lease_token = 9 WHERE event_id = 'b'").await;
    let work = ground.ledger.begin().await.unwrap();
    work.transaction().batch_execute("INSERT INTO subscription VALUES ('s', 'p', 'active', 1)").await.unwrap();
    let unsettled = work.settle(leases.map(|lease| (lease, Outcome::Ignored)).into()).await.unwrap_err();
    assert_eq!((unsettled.leases.len(), unsettled.why.to_string().as_str()), (2, "a lease was lost"));
    ground.check_read("SELECT DISTINCT status FROM webhook_event", "(processing)").await;
    ground.check_read("SELECT count(*) FROM subscription", "(0)").await;
}

#[tokio::test]
async fn a_lease_given_back_unused_is_no_attempt() {
    let mut ground = Ground::new("lease_released").await;
    let first = ground.leased("evt_1").await;
    ground.ledger.release(vec![first]).await.unwrap();
    ground.check_read("SELECT status, attempts FROM webhook_event", "(claimed,0)").await;
    ground.lease("evt_1").await;
    ground.run(EXPIRE).await;
    let second = ground.lease("evt_1").await;
    ground.ledger.release(vec![second]).await.unwrap();
    ground.check_read("SELECT status, attempts FROM webhook_event", "(failed,1)").await;
    assert_eq!(ground.lease("evt_1").await.attempt, 2);
}

#[tokio::test]
async fn leasing_is_a_heap_only_update() {
    let mut ground = Ground::new("lease_hot").await;
    ground.leased("evt_1").await;
    let lease = ground.lease_after_expiry("evt_1").await;
    ground.ledger.fail(lease, Settlement::RetryIn(Duration::ZERO), "x").await.unwrap();
    ground.run("SELECT pg_stat_force_next_flush()").await;
    let ctid_page = "SELECT count(DISTINCT (ctid::text::point)[0]) FROM webhook_event";
    ground.check_read(ctid_page, "(1)").await;
    let hot = "SELECT bool_and(n_tup_hot_upd = n_tup_upd) AND sum(n_tup_upd) >= 3 FROM pg_stat_user_tables WHERE relname = 'webhook_event'";
    for _ in 0..200 {
        if ground.read(hot).await == "(t)" {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("updates of a lease touched an index");
}

impl Ground {
    async fn lease_after_expiry(&mut self, id: &str) -> hookledger_ledger::Lease {
        self.run(EXPIRE).await;
        self.lease(id).await
    }
}
