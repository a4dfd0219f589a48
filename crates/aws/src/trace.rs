//! X-Ray's id of the event at hand, which calls to AWS carry: traces go on in what they cause, and Lambda counts by it how often
//! functions have called one another in a circle (docs.aws.amazon.com/lambda/latest/dg/invocation-recursion.html).
//!
//! The SDK looks for it in the process's environment, where `lambda_runtime` writes it for the events that it fetches itself. Here it goes
//! with whatever handles an event, and what the SDK found is replaced.

use http::HeaderValue;
use tokio::task_local;

pub(crate) const TRACE_ID: &str = "x-amzn-trace-id";

task_local! {
    static CURRENT: Option<HeaderValue>;
}

/// What `handling` calls is caused by the event of this id.
pub fn traced<F: Future>(id: Option<&str>, handling: F) -> impl Future<Output = F::Output> {
    CURRENT.scope(id.and_then(|id| HeaderValue::from_str(id).ok()), handling)
}

/// As the header `X-Amzn-Trace-Id` has it.
pub fn trace_id() -> Option<HeaderValue> {
    CURRENT.try_with(Clone::clone).ok().flatten()
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use aws_smithy_runtime_api::client::http::HttpConnector as _;
    use aws_smithy_types::body::SdkBody;
    use hookledger_harness::http::{Answer, serve};
    use tokio::net::TcpListener;
    use tokio::task::JoinSet;

    use super::*;
    use crate::connector::Connector;
    use crate::roots::Roots;

    /// The id that comes to a server for each of `ids`, which the SDK believes in.
    async fn sent(ids: &[Option<&str>]) -> Vec<Option<String>> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let seen = Arc::<Mutex<Vec<_>>>::default();
        let (to_see, mut server) = (seen.clone(), JoinSet::new());
        server.spawn(serve(listener, move |request| {
            to_see.lock().unwrap().push(request.header(TRACE_ID).map(str::to_owned));
            async { Some(Answer::new(200, "")) }
        }));
        let connector = Connector::new(&Roots::Amazon).unwrap();
        for id in ids {
            let mut request = http::Request::get(&url);
            if let Some(id) = id {
                request = request.header(TRACE_ID, *id);
            }
            let request = request.body(SdkBody::empty()).unwrap().try_into().unwrap();
            assert!(connector.call(request).await.unwrap().status().is_success());
        }
        seen.lock().unwrap().clone()
    }

    #[tokio::test]
    async fn a_call_carries_the_id_of_the_event_at_hand_where_the_sdk_would_carry_one() {
        let stale = Some("Root=stale");
        let seen = traced(Some("Root=current"), sent(&[stale, None])).await;
        assert_eq!(seen, [Some("Root=current".to_owned()), None]);
        for none in [None, Some("no\nheader")] {
            assert_eq!(traced(none, sent(&[stale])).await, [None]);
        }
        assert_eq!(sent(&[stale]).await, [None]);
    }
}
