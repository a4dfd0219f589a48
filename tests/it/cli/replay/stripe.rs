//! What can be asked of Stripe, and what is refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use super::fake_stripe::{FakeStripe, event, five_minute_mark};
use super::front::Front;
use super::outage::time;
use crate::cli::scene::Cli;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn accounts_types_v2_and_undelivered_events_are_asked_for() {
    let mut front = Front::new("asked").await;
    let at = five_minute_mark() - 600;
    let mut stripe = FakeStripe::of(vec![event("evt_own_1", at), event("evt_own_2", at + 1)]);
    stripe.v1.get_mut("").unwrap()[0]["type"] = "invoice.paid".into();
    stripe.v1.insert("acct_1".into(), vec![event("evt_connected", at)]);
    stripe.undelivered.push("evt_own_1".into());
    let date = time(at);
    stripe.v2 = (0..5)
        .map(|n| {
            json!({"id": format!("evt_thin_{n}"), "object": "v2.core.event", "type": "v1.billing.meter.no_meter_found",
                   "created": date, "livemode": false, "related_object": null})
        })
        .collect();
    let stripe = Arc::new(stripe);
    let api = stripe.serve(&mut front.servers).await;
    let replay = format!("replay stripe --since 1h --api {api} --rate 1000 --json --dry-run");
    let count = async |arguments: &str| {
        let report = front.cli().run(&format!("{replay} {arguments}")).await.ok().json().remove(0);
        (report["fetched"].as_u64().unwrap(), report["new"].as_u64().unwrap())
    };
    assert_eq!(count("").await, (2, 2));
    assert_eq!(count("--type invoice.paid").await, (1, 1));
    assert_eq!(count("--undelivered").await, (1, 1));
    assert_eq!(count("--account acct_1").await, (1, 1));
    assert_eq!(count("--all-accounts").await, (3, 3));
    assert_eq!(count("--v2").await, (7, 7));
    front.settled(&["evt_own_2".to_owned()]).await;
    assert_eq!(count("").await, (2, 1));
    assert_eq!(front.count("true").await, 1, "a dry run posts nothing");

    let to = front.url.clone();
    let post =
        format!("replay stripe --since 1h --api {api} --to {to} --v2 --all-accounts --checkpoint {}", front.path("c"));
    let ran = front.cli().run(&post).await.ok();
    assert!(ran.out.contains("already known  1") && ran.out.contains("new            7"), "{ran:?}");
    let types = front.count("event_type IN ('invoice.paid', 'v1.billing.meter.no_meter_found')").await;
    assert_eq!(types, 5, "evt_own_2 was there before, under another type");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_work_is_said_at_once() {
    let mut front = Front::new("refused").await;
    let api = Arc::new(FakeStripe::of(vec![event("evt_1", five_minute_mark() - 600)])).serve(&mut front.servers).await;
    let to = front.url.clone();
    let replay = format!("replay stripe --since 1h --api {api}");
    let token = ("REPLAY_TOKEN", super::front::TOKEN);
    let key = ("STRIPE_API_KEY", super::fake_stripe::KEY);
    let checkpoints = AtomicUsize::new(0);
    let check = async |variables: &[(&str, &str)], arguments: String, code: i32, why: &str| {
        let checkpoint = front.path(&checkpoints.fetch_add(1, Ordering::Relaxed).to_string());
        let ran = Cli::with(variables).run(&format!("{arguments} --checkpoint {checkpoint}")).await;
        assert_eq!(ran.code, code, "{ran:?}");
        assert!(ran.err.contains(why), "{why} in {ran:?}");
    };
    check(&[token], format!("{replay} --to {to}"), 2, "STRIPE_API_KEY is not set").await;
    check(&[token, ("STRIPE_API_KEY", "whsec_1")], format!("{replay} --to {to}"), 2, "sk_ or rk_").await;
    check(&[key], format!("{replay} --to {to}"), 2, "REPLAY_TOKEN is not set").await;
    check(&[key, ("REPLAY_TOKEN", "short")], format!("{replay} --to {to}"), 2, "fewer than 32").await;
    check(&[key, token], format!("{replay} --to http://hooks.example.com"), 2, "https://").await;
    check(&[key, token], format!("{replay} --to {to} --until 2h"), 2, "--since must be before --until").await;
    check(&[key, token], format!("{replay} --to {to}/webhooks/nobody"), 2, "no receiver's address").await;
    let other = [key, ("REPLAY_TOKEN", "another replay token of more than thirty-two bytes")];
    check(&other, format!("{replay} --to {to}"), 2, "does not take the replay token").await;
    let key = ("STRIPE_API_KEY", "sk_live_revoked");
    check(&[key, token], format!("{replay} --to {to}"), 1, "401 Unauthorized: Invalid API Key provided").await;
    let old = format!("replay stripe --since 40d --api {api} --to {to} --checkpoint {}", front.path("f"));
    let ran = front.cli().run(&old).await.ok();
    assert!(ran.err.contains("goes back 30 days") && ran.err.contains("not there any more"), "{ran:?}");
}
