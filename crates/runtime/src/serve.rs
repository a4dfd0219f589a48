//! How a function gets its events and gives its answers. `lambda_runtime` starts it, fetches the first event and has the last word on
//! all that is unusual; between that, events are fetched, read and answered here. The runtime's own way reads an event by serde with account
//! of where in it a fault would stand, and goes through a pool of connections and a task of its own twice, which together took a third of
//! a delivery's processor time.
//!
//! Invariants: an error, a panic, and an answer or a question that the Runtime API did not take go the runtime's way; an event is handled
//! once; no other event is asked for before all that was to be done for one is done.

use std::cell::Cell;
use std::future::Ready;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::rc::Rc;
use std::thread;

use futures_util::FutureExt as _;
use futures_util::future::OptionFuture;
use hookledger_aws::traced;
use lambda_runtime::tower::layer::layer_fn;
use lambda_runtime::tower::{Layer, Service, ServiceExt as _};
use lambda_runtime::{Diagnostic, LambdaEvent, LambdaInvocation, Runtime, service_fn};
use serde::Serialize;
use serde::de::IgnoredAny;
use tokio::task::spawn_local;

use crate::env::{Env, EnvError};
use crate::error_chain::error_chain;
use crate::runtime_api::{Invocation, RuntimeApi};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// What came of an event: a panic, an error or an answer.
type Outcome<A> = thread::Result<Result<A, Diagnostic>>;

/// One on its way to the runtime, which takes it within the call that it is left for: there is never another one on the way.
type Left<A> = Rc<Cell<Option<Outcome<A>>>>;

#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error(transparent)]
    Env(#[from] EnvError),
    #[error("the runtime ended")]
    Runtime(#[source] BoxError),
}

/// Has `handler` make an answer of each event, a JSON text, for as long as this environment lives. Panics outside of a tokio
/// runtime whose flavor is `local`, which asks nothing to be `Send`.
pub async fn serve<H, A, E>(env: &Env, handler: H) -> Result<(), ServeError>
where
    H: AsyncFn(&[u8]) -> Result<A, E> + 'static,
    A: Serialize + 'static,
    E: Into<Diagnostic> + 'static,
{
    serve_and_finish(env, async move |event: &[u8]| Ok::<_, E>((handler(event).await?, NOTHING_TO_FINISH))).await
}

/// Like [`serve`], where `handler` may also give what is to be finished for an event, which is done while the answer is on its way. It has to be
/// something that may stay undone: the environment can be killed then as at any other moment, and nobody is told of an error.
///
/// The sender has its answer before it is done. Lambda freezes an environment when it asks for the next event, and bills the time until then
/// (docs.aws.amazon.com/lambda/latest/dg/lambda-runtime-environment.html); AWS's runtime for Swift works on after an answer in the same way
/// (github.com/awslabs/swift-aws-lambda-runtime, pull request 334).
pub async fn serve_and_finish<H, A, F, E>(env: &Env, handler: H) -> Result<(), ServeError>
where
    H: AsyncFn(&[u8]) -> Result<(A, Option<F>), E> + 'static,
    A: Serialize + 'static,
    F: Future<Output = ()> + 'static,
    E: Into<Diagnostic> + 'static,
{
    let left = Left::default();
    let handling = Handling { handler, api: RuntimeApi::from_env(env)?, left: left.clone() };
    let runtime = Runtime::new(service_fn(move |_: LambdaEvent<IgnoredAny>| {
        let left = left.clone();
        async move { take(&left) }
    }));
    // As a task of its own: what `main` awaits itself is polled by tokio between two looks for events at the operating system, which is
    // one needless system call each time that an answer of Postgres or SQS wakes it.
    let serving = spawn_local(runtime.layer(handling.layer()).run());
    serving.await.unwrap_or_else(|ended| resume_unwind(ended.into_panic())).map_err(ServeError::Runtime)
}

struct Handling<H, A> {
    handler: H,
    api: RuntimeApi,
    left: Left<A>,
}

impl<H, A, F, E> Handling<H, A>
where
    H: AsyncFn(&[u8]) -> Result<(A, Option<F>), E> + 'static,
    A: Serialize + 'static,
    F: Future<Output = ()> + 'static,
    E: Into<Diagnostic> + 'static,
{
    /// Comes before the runtime's own service, which gets what is left to do.
    fn layer<S>(self) -> impl Layer<S, Service: Service<LambdaInvocation, Response = (), Error = BoxError>>
    where
        S: Service<LambdaInvocation, Response = (), Error = BoxError> + Clone + 'static,
    {
        let handling = Rc::new(self);
        layer_fn(move |runtime: S| {
            let handling = handling.clone();
            service_fn(move |invocation| {
                let (handling, runtime) = (handling.clone(), runtime.clone());
                async move { handling.answer(invocation, runtime).await }
            })
        })
    }

    /// Returns to the runtime, which then asks for an event itself, only for what is unusual.
    async fn answer<S>(&self, first: LambdaInvocation, runtime: S) -> Result<(), BoxError>
    where
        S: Service<LambdaInvocation, Response = (), Error = BoxError>,
    {
        let mut invocation = Invocation::from(first);
        loop {
            if let Err(outcome) = traced(invocation.trace_id.as_deref(), self.handle(&invocation)).await {
                self.left.set(Some(outcome));
                return runtime.oneshot(invocation.into()).await;
            }
            invocation = match self.api.next().await {
                Ok(next) => next,
                Err(error) => {
                    tracing::warn!("the Runtime API gave no event: {}", error_chain(&error));
                    return Ok(());
                }
            };
        }
    }

    /// Until the answer is taken and all is finished. What came of the event otherwise is for the runtime.
    async fn handle(&self, invocation: &Invocation) -> Result<(), Outcome<A>> {
        let (answer, to_finish) = match AssertUnwindSafe((self.handler)(&invocation.event)).catch_unwind().await {
            Ok(Ok(handled)) => handled,
            Ok(Err(error)) => return Err(Ok(Err(error.into()))),
            Err(panic) => return Err(Err(panic)),
        };
        let finished = OptionFuture::from(to_finish.map(|to_finish| AssertUnwindSafe(to_finish).catch_unwind()));
        // In this order, so that what is to be finished is under way before anybody knows of the answer.
        let (finished, taken) = tokio::join!(biased; finished, self.api.respond(invocation, &answer));
        if let Some(Err(_)) = finished {
            // Its words are the panic hook's. The invocation cannot fail by it any more.
            tracing::error!("a panic after the answer");
        }
        taken.map_err(|error| {
            tracing::warn!("the Runtime API did not take an answer: {}", error_chain(&error));
            Ok(Ok(answer))
        })
    }
}

const NOTHING_TO_FINISH: Option<Ready<()>> = None;

/// What the runtime has to do of an event that was handled. Panics anew with what a handler panicked with.
fn take<A>(left: &Left<A>) -> Result<A, Diagnostic> {
    let nothing = || Ok(Err("an event came to the runtime that was not handled".into()));
    left.take().unwrap_or_else(nothing).unwrap_or_else(|panic| resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use bytes::Bytes;
    use lambda_runtime::Context;

    use super::*;
    use crate::env::tests::env;

    fn invocation(event: &'static str) -> LambdaInvocation {
        let (parts, ()) = http::Response::new(()).into_parts();
        let mut context = Context::default();
        context.xray_trace_id = Some(format!("Root={event}"));
        LambdaInvocation { parts, body: event.into(), context }
    }

    /// Where nobody takes an answer.
    fn nowhere() -> RuntimeApi {
        RuntimeApi::from_env(&env(&[("AWS_LAMBDA_RUNTIME_API", "127.0.0.1:1")])).unwrap()
    }

    /// What comes to the runtime for each of `events` in turn: the event as it is by then, and what there is to do with it.
    async fn left(
        events: &[&'static str],
        handler: impl AsyncFn(&[u8]) -> Result<String, String> + 'static,
    ) -> Vec<(Bytes, Outcome<String>)> {
        left_of(events, async move |event: &[u8]| Ok((handler(event).await?, NOTHING_TO_FINISH))).await
    }

    async fn left_of<F: Future<Output = ()> + 'static>(
        events: &[&'static str],
        handler: impl AsyncFn(&[u8]) -> Result<(String, Option<F>), String> + 'static,
    ) -> Vec<(Bytes, Outcome<String>)> {
        let (left, seen) = (Left::default(), Rc::<RefCell<Vec<_>>>::default());
        let handling = Handling { handler, api: nowhere(), left: left.clone() };
        let to_see = seen.clone();
        let mut service = handling.layer().layer(service_fn(move |invocation: LambdaInvocation| {
            let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| take(&left)));
            to_see.borrow_mut().push((invocation.body, outcome));
            async { Ok(()) }
        }));
        for event in events {
            service.ready().await.unwrap().call(invocation(event)).await.unwrap();
        }
        drop(service);
        Rc::into_inner(seen).unwrap().into_inner()
    }

    #[tokio::test]
    async fn an_answer_that_nobody_takes_is_left_to_the_runtime() {
        let answers = left(&["1", "2"], async |event: &[u8]| Ok(String::from_utf8_lossy(event).repeat(2))).await;
        let answers: Vec<_> = answers.into_iter().map(|(event, outcome)| (event, outcome.unwrap().unwrap())).collect();
        assert_eq!(answers, [("null".into(), "11".to_owned()), ("null".into(), "22".to_owned())]);
    }

    #[tokio::test]
    async fn an_error_is_left_to_the_runtime() {
        let outcomes = left(&["1"], async |_: &[u8]| Err("no".to_owned())).await;
        assert_eq!(outcomes[0].1.as_ref().unwrap().as_ref().unwrap_err().error_message, "no");
    }

    #[tokio::test]
    async fn what_an_event_causes_is_found_under_its_trace() {
        let outcomes = left(&["1", "2"], async |_: &[u8]| Err(format!("{:?}", hookledger_aws::trace_id().unwrap()))).await;
        let ids = outcomes.into_iter().map(|(_, outcome)| outcome.unwrap().unwrap_err().error_message);
        assert!(ids.eq(["\"Root=1\"", "\"Root=2\""]));
    }

    #[tokio::test]
    async fn a_panic_comes_up_again_where_the_runtime_catches_it_and_the_next_event_is_handled() {
        let handler = async |event: &[u8]| if event == b"1" { panic!("as asked") } else { Ok("2".to_owned()) };
        let outcomes = left(&["1", "2"], handler).await;
        assert_eq!(*outcomes[0].1.as_ref().unwrap_err().downcast_ref::<&str>().unwrap(), "as asked");
        assert_eq!(outcomes[1].1.as_ref().unwrap().as_ref().unwrap(), "2");
    }

    #[tokio::test]
    async fn what_is_unfinished_is_done_once_under_the_event_s_trace_also_where_the_answer_is_not_taken() {
        let seen = Rc::<RefCell<Vec<_>>>::default();
        let to_see = seen.clone();
        let handler = async move |event: &[u8]| {
            let (event, to_see) = (event.to_vec(), to_see.clone());
            let finish = async move { to_see.borrow_mut().push((event, hookledger_aws::trace_id().unwrap())) };
            Ok(("answer".to_owned(), Some(finish)))
        };
        let outcomes = left_of(&["1", "2"], handler).await;
        assert!(outcomes.into_iter().all(|(_, outcome)| outcome.unwrap().unwrap() == "answer"));
        let expected = ["1", "2"].map(|event| (event.as_bytes().to_vec(), format!("Root={event}").parse().unwrap()));
        assert_eq!(*seen.borrow(), expected);
    }

    #[test]
    fn what_was_not_handled_is_an_error() {
        let error = take(&Left::<String>::default()).unwrap_err();
        assert_eq!(error.error_message, "an event came to the runtime that was not handled");
    }
}
