//! The hint against a real Redis, and against what is none.

#![expect(clippy::unwrap_used, reason = "what the tests share ends them as they would themselves")]

use std::ffi::OsString;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Context;
use hookledger_core::{EventId, EventRef, SourceName};
use hookledger_harness::{Service, ServiceOptions, Signal, free_port, until};
use hookledger_runtime::{Env, HINT_BUDGET, HINT_TTL_S, Hint};
use tempfile::TempDir;

pub(crate) struct Redis {
    // Dropped in this order: the server ends before its folder goes.
    service: Service,
    _folder: TempDir,
    pub(crate) port: u16,
}

impl Redis {
    pub(crate) fn start(password: &str) -> anyhow::Result<Self> {
        Self::start_on(free_port()?, password)
    }

    fn start_on(port: u16, password: &str) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let mut server = Command::new(program()?);
        server.args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--requirepass", password]);
        server.args(["--port", &port.to_string()]).current_dir(folder.path());
        let log = folder.path().join("log");
        let options = ServiceOptions { log: &log, stop_with: Signal::Terminate, folder: Some(folder.path()), user: None };
        let service = Service::start(&server, &options)?;
        let redis = Self { service, _folder: folder, port };
        until("redis-server to listen", Duration::from_secs(20), || {
            Ok(std::net::TcpStream::connect(("127.0.0.1", port)).is_ok())
        })
        .with_context(|| redis.service.last_words())?;
        Ok(redis)
    }

    /// The remaining life of the only key, in seconds, as Redis's own client sees it.
    fn ttl_s(&self, key: &str) -> anyhow::Result<i64> {
        let client = program()?.with_file_name("redis-cli");
        let asked = Command::new(client).args(["-p", &self.port.to_string(), "TTL", key]).output()?;
        Ok(String::from_utf8(asked.stdout)?.trim().parse()?)
    }
}

fn program() -> anyhow::Result<PathBuf> {
    let places = ["/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"];
    let found = places.iter().map(|place| PathBuf::from(place).join("redis-server")).find(|path| path.exists());
    found.context("redis-server is not installed: apt-get install redis-server")
}

pub(crate) fn hint(url: String) -> Hint {
    Hint::read(&Env::new(move |name| (name == "REDIS_URL").then(|| OsString::from(&url)))).unwrap()
}

fn event(id: &str) -> EventRef {
    EventRef { source: SourceName::new("stripe").unwrap(), event_id: EventId::new(id).unwrap() }
}

#[tokio::test]
async fn what_was_settled_is_seen_for_a_minute() -> anyhow::Result<()> {
    let redis = Redis::start("")?;
    let hint = hint(format!("redis://127.0.0.1:{}", redis.port));
    assert!(!hint.seen(&event("evt_1")).await);
    hint.settled(&event("evt_1")).await;
    assert!(hint.seen(&event("evt_1")).await);
    assert!(!hint.seen(&event("evt_2")).await);
    let ttl_s = redis.ttl_s("hookledger:settled:stripe:evt_1")?;
    assert!((1..=i64::from(HINT_TTL_S)).contains(&ttl_s), "{ttl_s}");
    Ok(())
}

#[tokio::test]
async fn ids_of_any_sort_stay_apart() -> anyhow::Result<()> {
    let redis = Redis::start("")?;
    let hint = hint(format!("redis://127.0.0.1:{}", redis.port));
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
    let right = hint(format!("redis://:hunter2@127.0.0.1:{}/3", redis.port));
    right.settled(&event("evt_1")).await;
    assert!(right.seen(&event("evt_1")).await);
    for wrong in ["redis://:wrong@127.0.0.1:PORT/3", "redis://127.0.0.1:PORT", "redis://:hunter2@127.0.0.1:PORT/2"] {
        assert!(!hint(wrong.replace("PORT", &redis.port.to_string())).seen(&event("evt_1")).await, "{wrong}");
    }
    Ok(())
}

#[tokio::test]
async fn a_redis_that_went_away_is_not_seen_and_its_return_is_noticed() -> anyhow::Result<()> {
    let mut redis = Redis::start("")?;
    let hint = hint(format!("redis://127.0.0.1:{}", redis.port));
    hint.settled(&event("evt_1")).await;
    assert!(hint.seen(&event("evt_1")).await);
    redis.service.stop();
    assert!(!hint.seen(&event("evt_1")).await);
    hint.settled(&event("evt_1")).await;
    let _returned = Redis::start_on(redis.port, "")?;
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
