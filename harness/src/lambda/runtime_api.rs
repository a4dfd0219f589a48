//! The Runtime API of one environment: each has a port of its own, so that the port tells who is asking.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::Instant;

use super::{InvokeError, locked};
use crate::clock::since_epoch;
use crate::http::{Answer, Request};

const VERSION: &str = "/2018-06-01/runtime";

/// Where an invocation's answer goes.
type AnswerTo = oneshot::Sender<Result<Bytes, InvokeError>>;

pub(super) struct Invocation {
    pub(super) payload: Bytes,
    pub(super) timeout: Duration,
    /// Told when the function takes the event.
    pub(super) taken: oneshot::Sender<()>,
    pub(super) answer: AnswerTo,
}

/// What its function is told of an environment's work.
pub(super) struct Work {
    pub(super) busy: Arc<AtomicBool>,
    /// Of all that its function has done, in all its environments.
    pub(super) durations: Arc<Mutex<Vec<Duration>>>,
    pub(super) rested: Arc<Notify>,
}

/// What an environment asks, and is answered with.
pub(super) struct RuntimeApi {
    pub(super) arn: String,
    pub(super) started: Instant,
    /// From the start of the process to its first request for an event.
    pub(super) init: OnceLock<Duration>,
    pub(super) invocations: tokio::sync::Mutex<mpsc::Receiver<Invocation>>,
    /// The invocation that is being worked on, by its id.
    pub(super) current: Mutex<Option<(String, AnswerTo)>>,
    /// When the event at hand was handed over: a function may work on after its answer, until it asks for the next.
    pub(super) handed_over: Mutex<Option<Instant>>,
    pub(super) work: Work,
    /// How many answers of the function are still to be lost, the process with each.
    pub(super) crashes_at_answer: Arc<AtomicUsize>,
    pub(super) kill: Box<dyn Fn() + Send + Sync>,
}

impl RuntimeApi {
    pub(super) async fn handle(self: Arc<Self>, request: Request) -> Option<Answer> {
        let path = request.target.strip_prefix(VERSION).unwrap_or_default();
        match (request.method.as_str(), path) {
            ("GET", "/invocation/next") => self.next().await,
            ("POST", "/init/error") => Some(accepted()),
            ("POST", path) => {
                let invocation = path.strip_prefix("/invocation/").and_then(|rest| rest.split_once('/'));
                match invocation {
                    Some((id, "response")) => self.answered(id, Ok(request.body)),
                    Some((id, "error")) => {
                        let report = String::from_utf8_lossy(&request.body).into_owned();
                        self.answered(id, Err(InvokeError::FunctionError(report)))
                    }
                    _ => Some(Answer::new(404, "no such path")),
                }
            }
            _ => Some(Answer::new(404, "no such path")),
        }
    }

    /// Waits for an invocation, as long as it takes.
    async fn next(&self) -> Option<Answer> {
        let _first_time_only = self.init.set(self.started.elapsed());
        if let Some(handed_over) = locked(&self.handed_over).take() {
            locked(&self.work.durations).push(handed_over.elapsed());
            self.work.busy.store(false, Ordering::SeqCst);
            self.work.rested.notify_waiters();
        }
        let Invocation { payload, timeout, taken, answer } = self.invocations.lock().await.recv().await?;
        // Who invoked does not wait any more: then nobody has this event.
        taken.send(()).ok()?;
        self.work.busy.store(true, Ordering::SeqCst);
        *locked(&self.handed_over) = Some(Instant::now());
        let id = new_id();
        let deadline_ms = (since_epoch() + timeout).as_millis();
        *locked(&self.current) = Some((id.clone(), answer));
        let answer = Answer::new(200, payload).header("content-type", "application/json");
        Some(
            answer
                .header("lambda-runtime-aws-request-id", id)
                .header("lambda-runtime-deadline-ms", deadline_ms.to_string())
                .header("lambda-runtime-invoked-function-arn", self.arn.clone()),
        )
    }

    fn answered(&self, id: &str, result: Result<Bytes, InvokeError>) -> Option<Answer> {
        let Some((_, answer)) = locked(&self.current).take_if(|(current, _)| current == id) else {
            return Some(Answer::new(400, r#"{"errorType":"InvalidRequestID"}"#));
        };
        let one_less = |n: usize| n.checked_sub(1);
        if self.crashes_at_answer.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less).is_ok() {
            (self.kill)();
            return None;
        }
        // One that came too late has nobody to go to.
        let _in_time = answer.send(result);
        Some(accepted())
    }
}

fn accepted() -> Answer {
    Answer::new(202, r#"{"status":"OK"}"#).header("content-type", "application/json")
}

/// Unique within this process; of a UUID's form, because runtimes may look at it.
fn new_id() -> String {
    static COUNT: AtomicUsize = AtomicUsize::new(1);
    format!("00000000-0000-4000-8000-{:012x}", COUNT.fetch_add(1, Ordering::Relaxed))
}
