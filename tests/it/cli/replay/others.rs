//! GitHub, Paddle, Shopify and files.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use serde_json::{Value, json};

use super::canned::Canned;
use super::fake_stripe::five_minute_mark;
use super::front::Front;
use super::outage::time;

fn figures(report: &Value) -> [u64; 4] {
    ["fetched", "known", "new", "rejected"].map(|name| report[name].as_u64().unwrap())
}

/// Two pages of deliveries: `guid-1` arrived at the second try, `guid-2` and `guid-3` never.
fn github(at: i64) -> Canned {
    let listed = |id: u64, guid: &str, seconds: i64, status: &str| {
        json!({"id": id, "guid": guid, "delivered_at": time(at + seconds), "status": status, "status_code": 0,
               "event": "issues", "action": "opened", "redelivery": false})
    };
    let detail = |number: u64| {
        let issue = json!({"id": number, "updated_at": time(at)});
        json!({"id": number, "request": {"headers": {"X-GitHub-Hook-ID": "7", "X-Hub-Signature-256": "sha256=00"},
               "payload": {"action": "opened", "issue": issue}}})
    };
    let deliveries = "GET /repos/octo/repo/hooks/7/deliveries";
    let first = json!([listed(5, "guid-3", 50, "Found"), listed(4, "guid-1", 40, "OK")]);
    let second = json!([listed(3, "guid-2", 30, "failed to connect to host"), listed(2, "guid-1", 20, "timed out")]);
    Canned::behind("authorization", "Bearer ghp_fake")
        .answer("GET /repos/octo/repo/hooks?per_page=100", 200, json!([{"id": 7, "config": {"url": "https://h.test"}}]))
        .answer_with_link(
            &format!("{deliveries}?per_page=100"),
            200,
            first,
            "<{api}/repos/octo/repo/hooks/7/deliveries?per_page=100&cursor=2>; rel=\"next\"",
        )
        .answer(&format!("{deliveries}?per_page=100&cursor=2"), 200, second)
        .answer(&format!("{deliveries}/3"), 200, detail(3))
        .answer(&format!("{deliveries}/5"), 200, detail(5))
        .answer("POST /repos/octo/repo/hooks/7/deliveries/3/attempts", 202, "{}")
        .answer("POST /repos/octo/repo/hooks/7/deliveries/5/attempts", 422, r#"{"message":"too old"}"#)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn github_is_asked_to_deliver_again_or_its_deliveries_are_posted() {
    let mut front = Front::new("github").await;
    let at = five_minute_mark() - 3_600;
    let (github, api) = github(at).serve(&mut front.servers).await;
    let replay = format!("replay github --repo octo/repo --since 2h --api {api} --rate 1000 --json");
    let cli = front.cli().and("GITHUB_TOKEN", "ghp_fake");

    let again = cli.run(&format!("{replay} --yes")).await;
    assert_eq!(again.code, 4, "{again:?}");
    assert_eq!(figures(&again.json()[0]), [3, 1, 1, 1]);
    assert!(again.json()[0]["problems"][0]["why"].as_str().unwrap().contains("too old"));
    let posts: Vec<String> = github.asked().into_iter().filter(|asked| asked.starts_with("POST")).collect();
    assert_eq!(
        posts,
        [3, 5].map(|id| format!("POST /repos/octo/repo/hooks/7/deliveries/{id}/attempts")),
        "the oldest first"
    );

    let missing = cli.run(&format!("{replay} --dry-run")).await.ok().json().remove(0);
    assert_eq!(figures(&missing), [2, 0, 2, 0]);
    let direct = format!("{replay} --direct --to {} --checkpoint {}", front.url, front.path("c"));
    assert_eq!(figures(&cli.run(&direct).await.ok().json()[0]), [2, 0, 2, 0]);
    assert_eq!(figures(&cli.run(&direct).await.ok().json()[0]), [2, 2, 0, 0]);
    assert_eq!(front.count("source = 'github' AND event_type = 'issues.opened' AND object_kind = 'issue'").await, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn paddle_s_notifications_are_posted_once_for_each_event() {
    let mut front = Front::new("paddle").await;
    let (since, until) = (time(five_minute_mark() - 7_200), time(five_minute_mark() - 60));
    let notification = |id: &str, event: &str| {
        let payload = json!({"event_id": event, "event_type": "subscription.updated", "occurred_at": since,
                             "notification_id": id, "data": {"id": "sub_1"}});
        json!({"id": id, "type": "subscription.updated", "status": "failed", "occurred_at": since, "payload": payload})
    };
    let page = |data: Value, next: &str, more: bool| json!({"data": data, "meta": {"pagination": {"per_page": 200, "next": next, "has_more": more}}});
    let times = format!("from={}&to={}", since.replace(':', "%3A"), until.replace(':', "%3A"));
    let first = format!("GET /notifications?order_by=id%5BASC%5D&per_page=200&{times}");
    let failed = format!("GET /notifications?order_by=id%5BASC%5D&per_page=200&status=failed&{times}");
    let paddle = Canned::behind("authorization", "Bearer pdl_fake")
        .answer(
            &first,
            200,
            page(
                json!([notification("ntf_1", "evt_1"), notification("ntf_2", "evt_1")]),
                "{api}/notifications?after=ntf_2",
                true,
            ),
        )
        .answer("GET /notifications?after=ntf_2", 200, page(json!([notification("ntf_3", "evt_2")]), "{api}/x", false))
        .answer(&failed, 200, page(json!([notification("ntf_3", "evt_2")]), "", false))
        .answer("POST /notifications/ntf_3/replay", 202, "{}");
    let (paddle, api) = paddle.serve(&mut front.servers).await;
    let cli = front.cli().and("PADDLE_API_KEY", "pdl_fake");
    let replay = format!("replay paddle --since {since} --until {until} --api {api} --rate 1000 --json");
    let posted = cli.run(&format!("{replay} --to {} --checkpoint {}", front.url, front.path("c"))).await.ok();
    assert_eq!(figures(&posted.json()[0]), [2, 0, 2, 0], "{posted:?}");
    assert_eq!(front.count("source = 'paddle' AND via = 'replay'").await, 2);
    let again = cli.run(&format!("{replay} --redeliver --yes")).await.ok();
    assert_eq!(figures(&again.json()[0]), [1, 0, 1, 0]);
    assert_eq!(paddle.asked().last().unwrap(), "POST /notifications/ntf_3/replay");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shopify_s_objects_are_posted_as_snapshots_with_their_version() {
    let mut front = Front::new("shopify").await;
    let (since, until) = (time(five_minute_mark() - 7_200), time(five_minute_mark() - 60));
    let query = format!(
        "limit=250&status=any&order=updated_at+asc&updated_at_min={}&updated_at_max={}",
        since.replace(':', "%3A"),
        until.replace(':', "%3A")
    );
    let order = |id: u64| json!({"id": id, "updated_at": since, "total_price": "10.00"});
    let shopify = Canned::behind("x-shopify-access-token", "shpat_fake")
        .answer_with_link(
            &format!("GET /admin/api/2026-01/orders.json?{query}"),
            200,
            json!({"orders": [order(1)]}),
            "<{api}/admin/api/2026-01/orders.json?page_info=p2>; rel=\"next\"",
        )
        .answer("GET /admin/api/2026-01/orders.json?page_info=p2", 200, json!({"orders": [order(2)]}));
    let (_shopify, api) = shopify.serve(&mut front.servers).await;
    let cli = front.cli().and("SHOPIFY_ACCESS_TOKEN", "shpat_fake");
    let replay = format!(
        "replay shopify --shop a.myshopify.com --resource orders --since {since} --until {until} --api {api} --json --to {}",
        front.url
    );
    let replay = format!("{replay} --rate 1000 --checkpoint {}", front.path("c"));
    let posted = cli.run(&replay).await.ok();
    assert_eq!(figures(&posted.json()[0]), [2, 0, 2, 0], "{posted:?}");
    assert_eq!(figures(&cli.run(&replay).await.ok().json()[0]), [2, 2, 0, 0]);
    let versioned = "event_type = 'orders/updated' AND object_kind = 'orders' AND account = 'a.myshopify.com'";
    assert_eq!(front.count(&format!("{versioned} AND version IS NOT NULL")).await, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_s_lines_are_posted() {
    let front = Front::new("file").await;
    let file = front.path("events.ndjson");
    let lines = [
        json!({"headers": {"x-github-event": "push", "x-github-delivery": "guid-1"}, "body": {"ref": "main"}}).to_string(),
        String::new(),
        json!({"headers": {"x-github-event": "push", "x-github-delivery": "guid-2"}, "body": "{\"ref\":\"main\"}"})
            .to_string(),
        "no json".to_owned(),
    ];
    std::fs::write(&file, lines.join("\n")).unwrap();
    let replay = format!("replay file {file} --to {} --json --checkpoint {}", front.url, front.path("c"));
    assert_eq!(front.cli().run(&replay).await.code, 2, "whose they are has to be said");
    let posted = front.cli().run(&format!("{replay} --source github")).await;
    assert_eq!(posted.code, 4, "{posted:?}");
    assert_eq!(figures(&posted.json()[0]), [3, 0, 2, 1]);
    assert!(posted.json()[0]["problems"][0]["id"].as_str().unwrap().starts_with("byte "));
}
