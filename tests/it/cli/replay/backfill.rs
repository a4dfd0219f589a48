//! The version guard learns from providers, in the versions that their events have.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::Arc;

use serde_json::{Value, json};

use super::canned::Canned;
use super::fake_stripe::{FakeStripe, event, five_minute_mark};
use super::front::Front;
use super::outage::time;
use crate::cli::scene::Ran;

/// How many objects were unknown, behind and known.
fn figures(ran: &Ran) -> [u64; 3] {
    ["unguarded", "behind", "guarded"].map(|name| ran.json()[0][name].as_u64().unwrap())
}

async fn guarded(front: &Front) -> Vec<(String, i64, bool)> {
    let sql = "SELECT account || '/' || kind || '/' || object_id, version, deleted FROM webhook_object ORDER BY 1";
    front.sql.query(sql, &[]).await.unwrap().iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect()
}

fn of_object(id: &str, event_type: &str, object: &str, at_s: i64) -> Value {
    let mut event = event(id, at_s);
    event["type"] = event_type.into();
    event["data"]["object"]["id"] = object.into();
    event
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stripe_s_newest_event_of_an_object_keeps_older_ones_out() {
    let mut front = Front::new("backfill_stripe").await;
    let at = five_minute_mark() - 3_600;
    let (updated, deleted) = ("customer.subscription.updated", "customer.subscription.deleted");
    let events = vec![
        of_object("evt_1", updated, "sub_1", at),
        of_object("evt_2", updated, "sub_1", at + 20),
        of_object("evt_3", deleted, "sub_2", at + 10),
        json!({"id": "evt_4", "object": "event", "type": "invoice.upcoming", "created": at, "livemode": false,
               "data": {"object": {"object": "invoice"}}}),
    ];
    let mut stripe = FakeStripe::of(events);
    stripe.v1.insert(
        "acct_1".into(),
        vec![{
            let mut event = of_object("evt_5", updated, "sub_1", at + 5);
            event["account"] = "acct_1".into();
            event
        }],
    );
    let api = Arc::new(stripe).serve(&mut front.servers).await;
    let backfill = format!("backfill-versions stripe --all-accounts --api {api} --rate 1000 --json");
    let cli = front.cli();

    let looked = cli.run(&format!("{backfill} --dry-run")).await.ok();
    assert_eq!((figures(&looked), guarded(&front).await), ([3, 0, 0], Vec::new()));
    assert!(looked.err.contains("Stripe goes back 30 days"), "{looked:?}");
    assert_eq!(cli.run(&backfill).await.code, 2, "it asks first");
    front
        .sql
        .batch_execute(&format!(
            "INSERT INTO webhook_object VALUES ('stripe', '', 'subscription', 'sub_1', {}, false, 'evt_1', ARRAY['evt_1'])",
            at * 1_000_000
        ))
        .await
        .unwrap();
    assert_eq!(figures(&cli.run(&format!("{backfill} --yes")).await.ok()), [2, 1, 0]);
    assert_eq!(figures(&cli.run(&format!("{backfill} --yes")).await.ok()), [0, 0, 3]);
    let micros = |after_s: i64| (at + after_s) * 1_000_000;
    let known = [
        ("/subscription/sub_1".to_owned(), micros(20), false),
        ("/subscription/sub_2".to_owned(), micros(10), true),
        ("acct_1/subscription/sub_1".to_owned(), micros(5), false),
    ];
    assert_eq!(guarded(&front).await, known);
    let audit = front.sql.query("SELECT detail FROM webhook_audit WHERE action = 'backfilled'", &[]).await.unwrap();
    assert_eq!(audit.len(), 1, "only what changes is noted");
    assert_eq!(audit[0].get::<_, &str>(0), "asked for by alice: stripe from Stripe's events, 3 objects");

    // The older event comes in at last.
    let replay = format!(
        "replay stripe --since 2h --until {} --to {} --api {api} --rate 1000 --checkpoint {}",
        time(at),
        front.url,
        front.path("c")
    );
    cli.run(&replay).await.ok();
    while front.count("event_id = 'evt_1' AND status <> 'settled'").await > 0 {
        front.hookledger.events.poll(1).await.unwrap();
    }
    assert_eq!(front.count("event_id = 'evt_1' AND outcome = 'stale'").await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn github_s_objects_are_learned_in_the_versions_of_their_events() {
    let mut front = Front::new("backfill_github").await;
    let at = five_minute_mark() - 3_600;
    let list = "GET /repos/octo/repo/issues?state=all&per_page=100";
    let issues = json!([
        {"id": 1, "updated_at": time(at)}, {"id": 2, "updated_at": time(at + 5), "pull_request": {"url": "x"}}, {"id": 3, "updated_at": null},
    ]);
    let github = Canned::behind("authorization", "Bearer ghp_fake")
        .answer_with_link(list, 200, issues, "<{api}/repos/octo/repo/issues?state=all&per_page=100&page=2>; rel=\"next\"")
        .answer(&format!("{list}&page=2"), 200, json!([{"id": 4, "updated_at": time(at + 7)}]))
        .answer(
            "GET /repos/octo/repo/releases?state=all&per_page=100",
            200,
            json!([{"id": 5, "published_at": time(at + 9)}]),
        );
    let (_github, api) = github.serve(&mut front.servers).await;
    let cli = front.cli().and("GITHUB_TOKEN", "ghp_fake");
    let backfill =
        format!("backfill-versions github --repo octo/repo --kind issue,release --api {api} --rate 1000 --json --yes");
    assert_eq!(figures(&cli.run(&backfill).await.ok()), [3, 0, 0]);
    let micros = |after_s: i64| (at + after_s) * 1_000_000;
    let known = [
        ("/issue/1".to_owned(), micros(0), false),
        ("/issue/4".to_owned(), micros(7), false),
        ("/release/5".to_owned(), micros(9), false),
    ];
    assert_eq!(guarded(&front).await, known);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn paddle_s_events_and_shopify_s_objects_are_learned() {
    let mut front = Front::new("backfill_others").await;
    let event = |id: &str, at: &str| json!({"event_id": id, "event_type": "subscription.updated", "occurred_at": at, "data": {"id": "sub_1", "updated_at": "2020-01-01T00:00:00Z"}});
    let page = |data: Value, next: &str, more: bool| json!({"data": data, "meta": {"pagination": {"next": next, "has_more": more}}});
    let paddle = Canned::behind("authorization", "Bearer pdl_fake")
        .answer(
            "GET /events?order_by=id%5BASC%5D&per_page=200",
            200,
            page(json!([event("evt_1", "2026-07-01T14:10:00.000001Z")]), "{api}/events?after=evt_1", true),
        )
        .answer(
            "GET /events?after=evt_1",
            200,
            page(json!([event("evt_2", "2026-07-01T14:10:00.000003Z")]), "{api}/x", false),
        );
    let (_paddle, api) = paddle.serve(&mut front.servers).await;
    let cli = front.cli().and("PADDLE_API_KEY", "pdl_fake").and("SHOPIFY_ACCESS_TOKEN", "shpat_fake");
    let backfill = format!("backfill-versions paddle --api {api} --rate 1000 --json --yes");
    assert_eq!(figures(&cli.run(&backfill).await.ok()), [1, 0, 0]);
    assert_eq!(guarded(&front).await, [("/subscription/sub_1".to_owned(), 1_782_915_000_000_003, false)]);

    let shopify = Canned::admitting(|request| {
        let list = "/admin/api/2026-01/orders.json?limit=250&status=any&order=updated_at+asc&updated_at_min=1970-01-01T00%3A00%3A00Z&";
        request.target.starts_with(list) && request.header("x-shopify-access-token") == Some("shpat_fake")
    });
    let orders = json!({"orders": [{"id": 7, "updated_at": "2026-07-01T16:10:00+02:00"}]});
    let (_shopify, api) = shopify.otherwise(200, orders).serve(&mut front.servers).await;
    let backfill =
        format!("backfill-versions shopify --shop a.myshopify.com --resource orders --api {api} --rate 1000 --json --yes");
    assert_eq!(figures(&cli.run(&backfill).await.ok()), [1, 0, 0]);
    assert_eq!(guarded(&front).await[1], ("a.myshopify.com/orders/7".to_owned(), 1_782_915_000_000_000, false));
}
