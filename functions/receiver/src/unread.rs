//! Lets the receiver read an event itself: `lambda_runtime` reads it by way of serde, and keeps account of where in it a fault would
//! stand, which for an event with a body in it takes longer than all that the receiver does with it.
//!
//! Invariant: a handler gets the event that it was called for, and nobody gets an event twice.

use std::cell::Cell;
use std::mem;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;
use lambda_http::lambda_runtime::LambdaInvocation;
use lambda_http::tower::{Layer, Service};

/// The event on its way from the layer to the handler, both of which have this. The handler is called from within the layer's own
/// call, so that there is never another one on the way.
#[derive(Clone, Default)]
pub struct Unread(Rc<Cell<Bytes>>);

impl Unread {
    pub fn take(&self) -> Bytes {
        self.0.take()
    }
}

impl<S> Layer<S> for Unread {
    type Service = Taking<S>;

    fn layer(&self, inner: S) -> Taking<S> {
        Taking { unread: self.clone(), inner }
    }
}

/// Leaves `null` where the event was, which is read at once.
pub struct Taking<S> {
    unread: Unread,
    inner: S,
}

impl<S: Service<LambdaInvocation>> Service<LambdaInvocation> for Taking<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut invocation: LambdaInvocation) -> S::Future {
        self.unread.0.set(mem::replace(&mut invocation.body, Bytes::from_static(b"null")));
        self.inner.call(invocation)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use lambda_http::http::Response;
    use lambda_http::lambda_runtime::Context;
    use lambda_http::service_fn;

    use super::*;

    fn invocation(body: &'static str) -> LambdaInvocation {
        let (parts, ()) = Response::new(()).into_parts();
        LambdaInvocation { parts, body: body.into(), context: Context::default() }
    }

    #[tokio::test]
    async fn a_handler_takes_the_event_that_it_was_called_for_and_once() {
        let unread = Unread::default();
        let events = unread.clone();
        let mut service = unread.layer(service_fn(move |invocation: LambdaInvocation| {
            let seen = (invocation.body, events.take(), events.take());
            async move { Ok::<_, Infallible>(seen) }
        }));
        for event in ["1", "{}"] {
            let Ok(seen) = service.call(invocation(event)).await;
            assert_eq!(seen, ("null".into(), event.into(), Bytes::new()));
        }
    }

    #[tokio::test]
    async fn an_event_that_nobody_took_is_gone_with_the_next() {
        let unread = Unread::default();
        let events = unread.clone();
        let mut service = unread.layer(service_fn(|_| async { Ok::<_, Infallible>(()) }));
        let Ok(()) = service.call(invocation("1")).await;
        let Ok(()) = service.call(invocation("2")).await;
        assert_eq!(events.take(), "2");
    }
}
