//! Environments behave as Lambda's: with a small runtime of Python, which does as its event says.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;
use std::time::Duration;

use hookledger_harness::lambda::{Function, FunctionOptions, InvokeError};
use hookledger_harness::until;
use tempfile::TempDir;

/// A file of the repository, because one that was just written cannot be run while another thread starts a process: that one has it
/// open for writing until it is what it shall be.
const RUNTIME: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/runtime.py");

struct Ground {
    // Dropped in this order.
    function: Function,
    _folder: TempDir,
}

fn ground(environments: usize, timeout: Duration) -> Ground {
    let folder = tempfile::tempdir().unwrap();
    let options = FunctionOptions {
        name: "doll".to_owned(),
        program: RUNTIME.into(),
        variables: vec![("PATH".to_owned(), hookledger_harness::setting("PATH").unwrap())],
        environments,
        timeout,
        memory_mb: 128,
        logs: folder.path().join("logs"),
    };
    Ground { function: Function::new(options).unwrap(), _folder: folder }
}

fn pid(answer: &str) -> u64 {
    serde_json::from_str::<serde_json::Value>(answer).unwrap()["pid"].as_u64().unwrap()
}

fn runs(pid: u64) -> bool {
    Path::new(&format!("/proc/{pid}/exe")).exists()
}

const LONG: Duration = Duration::from_secs(30);

#[tokio::test]
async fn an_environment_starts_when_it_is_needed_and_is_used_again() {
    let Ground { function, _folder } = ground(2, LONG);
    assert_eq!(function.started(), 0);
    let first = function.invoke(r#""hello""#).await.unwrap();
    let second = function.invoke(r#""again""#).await.unwrap();
    assert!(first.init.is_some() && second.init.is_none());
    assert!(first.payload.contains("hello") && second.payload.contains("again"));
    assert_eq!((pid(&first.payload), function.started()), (pid(&second.payload), 1));
    // The developer's own environment is not the function's.
    assert_eq!(function.output(), "started doll None\n");
    let left_ms = serde_json::from_str::<serde_json::Value>(&second.payload).unwrap()["left_ms"].as_f64().unwrap();
    assert!((0.0..=30_000.0).contains(&left_ms), "{left_ms}");
}

#[tokio::test]
async fn an_environment_has_one_invocation_at_a_time_and_there_are_so_many_environments() {
    let Ground { function, _folder } = ground(2, LONG);
    let four = tokio::join!(
        function.invoke(r#""a""#),
        function.invoke(r#""b""#),
        function.invoke(r#""c""#),
        function.invoke(r#""d""#)
    );
    for (answer, order) in [(four.0, "a"), (four.1, "b"), (four.2, "c"), (four.3, "d")] {
        assert!(answer.unwrap().payload.contains(&format!("\"order\": \"{order}\"")));
    }
    assert_eq!(function.started(), 2);
}

#[tokio::test]
async fn one_that_works_on_after_its_answer_is_at_work_until_it_asks_for_the_next() {
    let Ground { function, _folder } = ground(2, LONG);
    tokio::join!(function.invoke(r#""hello""#), function.invoke(r#""hello""#)).0.unwrap();
    function.at_rest(LONG).await.unwrap();
    assert_eq!(function.take_durations().len(), 2);
    let lingers = function.invoke(r#""linger""#).await.unwrap();
    assert_eq!((function.busy(), function.take_durations().len()), (1, 0));
    // The other is free.
    assert_ne!(pid(&function.invoke(r#""hello""#).await.unwrap().payload), pid(&lingers.payload));
    function.at_rest(LONG).await.unwrap();
    let durations = function.take_durations();
    assert_eq!(durations.len(), 2);
    assert!(durations.into_iter().max().unwrap() >= Duration::from_millis(500));
    assert_eq!(function.started(), 2);
    function.invoke(r#""linger""#).await.unwrap();
    assert!(function.kill(0));
    function.at_rest(Duration::ZERO).await.unwrap();
    assert_eq!((function.busy(), function.take_durations().len()), (0, 0));
}

#[tokio::test]
async fn one_that_dies_is_a_crash_and_is_replaced() {
    let Ground { function, _folder } = ground(1, LONG);
    let first = pid(&function.invoke(r#""hello""#).await.unwrap().payload);
    assert_eq!(function.invoke(r#""die""#).await.unwrap_err(), InvokeError::Crashed);
    let second = function.invoke(r#""hello""#).await.unwrap();
    assert!(second.init.is_some() && pid(&second.payload) != first);
}

#[tokio::test]
async fn one_that_overruns_its_time_is_killed_and_replaced() {
    let Ground { function, _folder } = ground(1, Duration::from_secs(2));
    let first = pid(&function.invoke(r#""hello""#).await.unwrap().payload);
    assert_eq!(function.invoke(r#""sleep""#).await.unwrap_err(), InvokeError::TimedOut);
    until("the process to end", LONG, || Ok(!runs(first))).unwrap();
    assert_ne!(pid(&function.invoke(r#""hello""#).await.unwrap().payload), first);
}

#[tokio::test]
async fn one_that_reports_an_error_lives_on() {
    let Ground { function, _folder } = ground(1, LONG);
    let InvokeError::FunctionError(report) = function.invoke(r#""fail""#).await.unwrap_err() else { panic!("no error") };
    assert_eq!(pid(&function.invoke(r#""hello""#).await.unwrap().payload), pid(&report));
}

#[tokio::test]
async fn one_is_killed_at_work_when_idle_or_as_it_answers() {
    let Ground { function, _folder } = ground(1, LONG);
    assert!(!function.kill(0), "there is none yet");
    let (asleep, ()) = tokio::join!(function.invoke(r#""sleep""#), async {
        while function.busy() == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert!(function.kill(7));
    });
    assert_eq!(asleep.unwrap_err(), InvokeError::Crashed);
    let idle = pid(&function.invoke(r#""hello""#).await.unwrap().payload);
    assert!(function.kill(0));
    // At once: one that was killed is not asked again, even while it is still dying.
    let next = pid(&function.invoke(r#""hello""#).await.unwrap().payload);
    assert_ne!(next, idle);
    until("the process to end", LONG, || Ok(!runs(idle))).unwrap();
    function.crash_at_answers(1);
    assert_eq!(function.invoke(r#""hello""#).await.unwrap_err(), InvokeError::Crashed);
    assert_eq!(function.crash_at_answers(0), 0);
    assert_ne!(pid(&function.invoke(r#""hello""#).await.unwrap().payload), next);
}

#[tokio::test]
async fn none_outlives_its_function() {
    let Ground { function, _folder } = ground(1, LONG);
    let idle = pid(&function.invoke(r#""hello""#).await.unwrap().payload);
    drop(function);
    until("the process to end", LONG, || Ok(!runs(idle))).unwrap();
}
