//! Replays that break off.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::fake_stripe::{FakeStripe, event, five_minute_mark};
use super::front::Front;

/// A replay of so many events, of which every fifth is missing.
async fn stripe(front: &mut Front, count: usize) -> String {
    let start = five_minute_mark() - 3_600;
    let events = (0..count).map(|n| event(&format!("evt_{n}"), start + n as i64)).collect();
    let api = Arc::new(FakeStripe::of(events)).serve(&mut front.servers).await;
    let known: Vec<String> = (0..count).filter(|n| n % 5 != 0).map(|n| format!("evt_{n}")).collect();
    front.settled(&known).await;
    let checkpoint = front.path("checkpoint");
    format!("replay stripe --since 2h --to {} --api {api} --rate 1000 --json --checkpoint {checkpoint}", front.url)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replay_that_was_killed_goes_on_where_it_was() {
    let (_, ended) = broken_off_by("KILL").await;
    assert_eq!(ended.code(), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replay_that_was_interrupted_says_so_and_goes_on_where_it_was() {
    let (said, ended) = broken_off_by("INT").await;
    assert_eq!(ended.code(), Some(1), "{said}");
    assert!(said.contains("interrupted; the same command goes on from here"), "{said}");
}

/// What it said, and how it ended.
async fn broken_off_by(signal: &str) -> (String, std::process::ExitStatus) {
    let mut front = Front::new(&format!("broken_off_by_{}", signal.to_lowercase())).await;
    let replay = stripe(&mut front, 350).await;
    // 180 are let through, and the others wait until it is dead.
    front.let_through(180);
    let first = front.cli().command(&replay).spawn().unwrap();
    let pid = first.id().unwrap();
    let checkpoint = front.path("checkpoint");
    front.until_answered(&checkpoint, 180).await;
    let kill = std::process::Command::new("sh").args(["-c", &format!("kill -{signal} {pid}")]).status().unwrap();
    assert!(kill.success());
    let first = tokio::time::timeout(Duration::from_secs(60), first.wait_with_output()).await.unwrap().unwrap();
    let written = std::fs::read_to_string(&checkpoint).unwrap();
    for never in ["subscription\":", "\"data\"", super::front::TOKEN, super::fake_stripe::KEY] {
        assert!(!written.contains(never), "the checkpoint has {never}");
    }

    front.let_all_through();
    let second = front.cli().run(&replay).await.ok();
    assert!(second.err.contains("180 are done"), "{second:?}");
    let report = second.json().remove(0);
    let figures = ["fetched", "known", "new", "rejected", "failed"].map(|name| report[name].as_u64().unwrap());
    assert_eq!(figures, [350, 280, 70, 0, 0]);
    assert_eq!(front.count("via = 'replay' AND status = 'claimed'").await, 70);
    assert!(!std::fs::exists(&checkpoint).unwrap());
    (String::from_utf8_lossy(&first.stderr).into_owned(), first.status)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_overloaded_receiver_is_asked_again_and_what_failed_is_posted_by_the_next_run() {
    let mut front = Front::new("overloaded").await;
    let replay = stripe(&mut front, 50).await;
    front.refusals.store(5, Ordering::SeqCst);
    let report = front.cli().run(&format!("{replay} --concurrency 1")).await.ok().json().remove(0);
    assert_eq!((report["new"].as_u64(), report["failed"].as_u64()), (Some(10), Some(0)));

    // More than it is patient for: one delivery fails, the others do not.
    front.refusals.store(6, Ordering::SeqCst);
    let failed = front.cli().run(&format!("{replay} --concurrency 1")).await;
    assert_eq!(failed.code, 4, "{failed:?}");
    assert_eq!(failed.json()[0]["failed"], 1);
    assert!(failed.json()[0]["problems"][0]["why"].as_str().unwrap().contains("503"));
    let done = front.cli().run(&format!("{replay} --concurrency 1")).await.ok();
    assert!(done.err.contains("49 are done"), "{done:?}");
    assert_eq!((&done.json()[0]["fetched"], &done.json()[0]["failed"]), (&50.into(), &0.into()));
}
