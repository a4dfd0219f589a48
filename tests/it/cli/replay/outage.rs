//! An outage of forty minutes, of whose events twenty-two got lost among thousands.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;
use std::sync::Arc;

use hookledger_harness::http::Answer;
use serde_json::Value;

use super::browser::look_at;
use super::fake_stripe::{FakeStripe, event, five_minute_mark};
use super::front::Front;

const LOST: [usize; 8] = [2, 3, 5, 4, 3, 3, 1, 1];
const KNOWN: i64 = 4_790;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_two_events_of_4812_are_recovered_and_shown_by_five_minutes() {
    let mut front = Front::new("outage").await;
    let gap = five_minute_mark() - 3 * 3_600;
    let known: Vec<(String, i64)> = (0..KNOWN).map(|n| (format!("evt_known_{n}"), gap - 3_600 + n * 3 / 2)).collect();
    let lost = LOST.iter().enumerate().flat_map(|(bucket, lost)| {
        (0..*lost).map(move |n| (format!("evt_lost_{bucket}_{n}"), gap + bucket as i64 * 300 + n as i64 * 59))
    });
    let mut stripe = FakeStripe::of(known.iter().cloned().chain(lost).map(|(id, at)| event(&id, at)).collect());
    stripe.troubles.get_mut().unwrap().insert(3, Answer::new(429, "{}").header("retry-after", "1"));
    stripe.troubles.get_mut().unwrap().insert(60, Answer::new(500, "{}"));
    let stripe = Arc::new(stripe);
    let api = stripe.serve(&mut front.servers).await;
    front.settled(&known.into_iter().map(|(id, _)| id).collect::<Vec<_>>()).await;

    let since = time(gap - 3_600);
    let (page, checkpoint) = (front.path("out.html"), front.path("checkpoint"));
    let replay =
        format!("replay stripe --since {since} --to {} --api {api} --rate 1000 --checkpoint {checkpoint}", front.url);
    let ran = front.cli().run(&format!("{replay} --report {page}")).await.ok();
    for line in ["22 events recovered between ", "fetched        4,812", "already known  4,790", "new               22"] {
        assert!(ran.out.contains(line), "{line} in {}", ran.out);
    }
    let counts: Vec<&str> =
        ran.out.lines().skip_while(|l| !l.contains("per five")).skip(1).filter_map(|l| l.split(' ').next_back()).collect();
    assert_eq!(counts, ["2", "3", "5", "4", "3", "3", "1", "1"]);
    let bars: Vec<usize> = ran.out.lines().map(|line| line.matches('█').count()).filter(|length| *length > 0).collect();
    assert_eq!(bars, LOST.map(|lost| 6 * lost), "as long as the figures beside them: {}", ran.out);
    assert!(ran.err.contains("Stripe goes back 30 days"), "{}", ran.err);

    assert_eq!(front.count("true").await, KNOWN + 22);
    assert_eq!(front.count("event_id LIKE 'evt_lost_%' AND via = 'replay' AND status = 'claimed'").await, 22);
    let asked = stripe.asked();
    assert_eq!(asked.len(), 2 * 49 + 2, "49 pages, walked through and replayed, and two that failed");
    let times: Vec<u128> = stripe.asked.lock().unwrap().iter().map(|(at, _)| *at).collect();
    assert!(times[3] - times[2] >= 1_000, "Retry-After is honoured");
    let html = std::fs::read_to_string(&page).unwrap();
    assert_eq!(html.matches("<rect ").count(), 8);
    check_what_is_seen(&look_at(Path::new(&page)).await);
    assert!(!std::fs::exists(&checkpoint).unwrap(), "nothing is left to go on from");

    let ten_minutes = format!("replay stripe --since {} --until {}", time(gap), time(gap + 599));
    let again = format!("{ten_minutes} --to {} --api {api} --checkpoint {checkpoint} --json", front.url);
    let report = front.cli().run(&again).await.ok().json().remove(0);
    let figures = ["fetched", "known", "new", "rejected", "failed"].map(|name| report[name].as_u64().unwrap());
    assert_eq!(figures, [405, 405, 0, 0, 0], "the claim discards what is there");
    assert_eq!(report["buckets"]["bars"], Value::Array(Vec::new()));
}

/// Eight bars side by side on one line, of a colour, as high as the figures above them.
fn check_what_is_seen(seen: &Value) {
    let bars = seen["bars"].as_array().unwrap();
    let side = |bar: &Value, side: &str| bar[side].as_f64().unwrap();
    assert_eq!(bars.len(), LOST.len(), "{seen}");
    let unit = (side(&bars[0], "bottom") - side(&bars[0], "top")) / LOST[0] as f64;
    assert!(unit > 10.0, "they are too small to see: {seen}");
    for (bar, lost) in bars.iter().zip(LOST) {
        let height = side(bar, "bottom") - side(bar, "top");
        assert!((height - unit * lost as f64).abs() < 1.0, "{lost} is {height} high: {seen}");
        assert!((side(bar, "bottom") - side(&bars[0], "bottom")).abs() < 1.0, "{seen}");
        assert!(side(bar, "right") - side(bar, "left") > 10.0, "{seen}");
        let fill = bar["fill"].as_str().unwrap();
        assert!(fill.starts_with("rgb(") && fill != "rgb(0, 0, 0)", "the style sheet holds: {fill}");
    }
    assert!(bars.windows(2).all(|two| side(&two[0], "right") < side(&two[1], "left")), "{seen}");
    let labels: Vec<usize> =
        seen["labels"].as_array().unwrap().iter().map(|n| n.as_str().unwrap().parse().unwrap()).collect();
    assert_eq!((labels.as_slice(), labels.iter().sum::<usize>()), (&LOST[..], 22));
    let figures = ["fetched", "already known", "new", "rejected", "failed"].map(|name| seen["figures"][name].as_str());
    assert_eq!(figures, [Some("4,812"), Some("4,790"), Some("22"), Some("0"), Some("0")], "{seen}");
    assert!(seen["headline"].as_str().unwrap().starts_with("22 events recovered between "), "{seen}");
    assert_eq!((&seen["rows"], &seen["sticks_out"]), (&22.into(), &false.into()), "all are listed, and nothing sticks out");
}

/// RFC 3339, of seconds since 1970.
pub(crate) fn time(at_s: i64) -> String {
    let output = std::process::Command::new("date").args(["-u", "+%Y-%m-%dT%H:%M:%SZ", "-d", &format!("@{at_s}")]).output();
    String::from_utf8(output.unwrap().stdout).unwrap().trim().to_owned()
}
