//! The hint against a real Redis, and against what is none.

#![expect(clippy::unwrap_used, reason = "what the tests share ends them as they would themselves")]

use std::ffi::OsString;
use std::net::TcpListener;
use std::time::Instant;

use hookledger_core::{EventId, EventRef, SourceName};
use hookledger_harness::Redis;
use hookledger_runtime::{Env, HINT_BUDGET, HINT_TTL_S, Hint};

pub(crate) fn hint(url: String) -> Hint {
    Hint::read(&Env::new(move |name| (name == "REDIS_URL").then(|| OsString::from(&url)))).unwrap()
}

fn event(id: &str) -> EventRef {
    EventRef { source: SourceName::new("stripe").unwrap(), event_id: EventId::new(id).unwrap() }
}

#[tokio::test]
async fn what_was_settled_is_seen_for_a_minute() -> anyhow::Result<()> {
    let redis = Redis::start("")?;
    let hint = hint(format!("redis://127.0.0.1:{}", redis.port()));
    assert!(!hint.seen(&event("evt_1")).await);
    hint.settled(&event("evt_1")).await;
    assert!(hint.seen(&event("evt_1")).await);
    assert!(!hint.seen(&event("evt_2")).await);
    let ttl_s: i64 = redis.ask(&["TTL", "hookledger:settled:stripe:evt_1"])?.parse()?;
    assert!((1..=i64::from(HINT_TTL_S)).contains(&ttl_s), "{ttl_s}");
    Ok(())
}

#[tokio::test]
async fn ids_of_any_sort_stay_apart() -> anyhow::Result<()> {
    let redis = Redis::start("")?;
    let hint = hint(format!("redis://127.0.0.1:{}", redis.port()));
    for id in ["a b", "a:b", "\"", "é🦀", "$3"] {
        assert!(!hint.seen(&event(id)).await, "{id}");
        hint.settled(&event(id)).await;
        assert!(hint.seen(&event(id)).await, "{id}");
    }
    Ok(())
}

#[tokio::test]
async fn a_password_and_a_database_number_are_honoured() -> anyhow::Result<()> {
    let redis = Redis::start("hunter2")?;
    let right = hint(format!("redis://:hunter2@127.0.0.1:{}/3", redis.port()));
    right.settled(&event("evt_1")).await;
    assert!(right.seen(&event("evt_1")).await);
    for wrong in ["redis://:wrong@127.0.0.1:PORT/3", "redis://127.0.0.1:PORT", "redis://:hunter2@127.0.0.1:PORT/2"] {
        assert!(!hint(wrong.replace("PORT", &redis.port().to_string())).seen(&event("evt_1")).await, "{wrong}");
    }
    Ok(())
}

#[tokio::test]
async fn a_redis_that_went_away_is_not_seen_and_its_return_is_noticed() -> anyhow::Result<()> {
    let mut redis = Redis::start("")?;
    let hint = hint(format!("redis://127.0.0.1:{}", redis.port()));
    hint.settled(&event("evt_1")).await;
    assert!(hint.seen(&event("evt_1")).await);
    redis.stop();
    assert!(!hint.seen(&event("evt_1")).await);
    hint.settled(&event("evt_1")).await;
    let _returned = Redis::start_on(redis.port(), "")?;
    assert!(!hint.seen(&event("evt_1")).await, "it came back empty");
    hint.settled(&event("evt_1")).await;
    assert!(hint.seen(&event("evt_1")).await);
    Ok(())
}

#[tokio::test]
async fn a_silent_redis_costs_its_budget_and_nothing_else() -> anyhow::Result<()> {
    // It takes connections and never answers.
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let hint = hint(format!("redis://{}", listener.local_addr()?));
    let start = Instant::now();
    assert!(!hint.seen(&event("evt_1")).await);
    // A busy machine may wake us late; without a budget this would not end at all.
    assert!((HINT_BUDGET..HINT_BUDGET * 10).contains(&start.elapsed()), "{:?}", start.elapsed());
    hint.settled(&event("evt_1")).await;
    Ok(())
}

#[tokio::test]
async fn without_a_url_nothing_is_seen() {
    let off = Hint::read(&Env::new(|_| None)).unwrap();
    off.settled(&event("evt_1")).await;
    assert!(!off.seen(&event("evt_1")).await);
}
