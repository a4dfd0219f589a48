//! Where Lambda gives events and takes answers (docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html).

use bytes::Bytes;
use hookledger_aws::PlainConnection;
use http::{HeaderValue, Response, Uri};
use lambda_runtime::{Context, LambdaInvocation};
use serde::Serialize;

use crate::env::{Env, EnvError};

const ADDRESS: &str = "AWS_LAMBDA_RUNTIME_API";
/// What Lambda takes (docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html). A longer one could be refused before it is sent as a
/// whole, which `lambda_runtime` knows how to notice.
const ANSWER_BYTES_MAX: usize = 6 << 20;
const REQUEST_ID: &str = "lambda-runtime-aws-request-id";
/// Comes with an event and goes back with its answer, so that a late answer is not taken for another event's.
const INVOCATION_ID: &str = "lambda-runtime-invocation-id";
/// X-Ray's, under which all that an event causes is found.
const TRACE_ID: &str = "lambda-runtime-trace-id";
const USER_AGENT: &str = concat!("hookledger/", env!("CARGO_PKG_VERSION"));

pub(crate) struct RuntimeApi {
    connection: PlainConnection,
    /// The request for an event, the same each time.
    question: String,
    host: String,
    /// `cargo lambda watch` has one for each function.
    path: String,
}

/// An event, and what its answer has to say of it.
pub(crate) struct Invocation {
    pub(crate) event: Bytes,
    request_id: String,
    invocation_id: Option<String>,
    pub(crate) trace_id: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum RuntimeApiError {
    #[error("an answer that is no JSON: {0}")]
    Json(#[from] serde_json::Error),
    #[error(transparent)]
    Connection(Box<dyn std::error::Error + Send + Sync>),
    #[error("an answer of {0} bytes")]
    TooLong(usize),
    #[error("status {0}")]
    Status(u16),
    #[error("an event without {REQUEST_ID}")]
    NoRequestId,
}

impl RuntimeApi {
    pub(crate) fn from_env(env: &Env) -> Result<Self, EnvError> {
        let address = env.required(ADDRESS)?;
        Self::at(&address).ok_or_else(|| EnvError::invalid(ADDRESS, "the host, or http URL, of Lambda's Runtime API"))
    }

    /// Lambda gives host and port, others a URL.
    fn at(address: &str) -> Option<Self> {
        let uri: Uri = address.parse().ok()?;
        if uri.scheme_str().is_some_and(|scheme| scheme != "http") {
            return None;
        }
        let authority = uri.authority()?.clone();
        let host = authority.to_string();
        let path = uri.path().trim_end_matches('/').to_owned();
        let server = Uri::builder().scheme("http").authority(authority).path_and_query("/").build().ok()?;
        let question = format!(
            "GET {path}/2018-06-01/runtime/invocation/next HTTP/1.1\r\nhost: {host}\r\nuser-agent: {USER_AGENT}\r\n\r\n"
        );
        Some(Self { connection: PlainConnection::plain(server), question, host, path })
    }

    /// Waits for an event, which may take hours.
    pub(crate) async fn next(&self) -> Result<Invocation, RuntimeApiError> {
        let answer = self.connection.fetch(self.question.as_bytes()).await.map_err(RuntimeApiError::Connection)?;
        if answer.status != 200 {
            return Err(RuntimeApiError::Status(answer.status));
        }
        let request_id = answer.header(REQUEST_ID).ok_or(RuntimeApiError::NoRequestId)?.to_owned();
        let [invocation_id, trace_id] = [INVOCATION_ID, TRACE_ID].map(|name| answer.header(name).map(str::to_owned));
        Ok(Invocation { event: answer.into_body(), request_id, invocation_id, trace_id })
    }

    pub(crate) async fn respond(&self, invocation: &Invocation, answer: &impl Serialize) -> Result<(), RuntimeApiError> {
        let answer = serde_json::to_vec(answer)?;
        if answer.len() > ANSWER_BYTES_MAX {
            return Err(RuntimeApiError::TooLong(answer.len()));
        }
        let request = self.response(invocation, &answer);
        match self.connection.ask(&request).await.map_err(RuntimeApiError::Connection)? {
            200..300 => Ok(()),
            status => Err(RuntimeApiError::Status(status)),
        }
    }

    /// As it goes over the wire, and as `lambda_runtime` would send it.
    fn response(&self, invocation: &Invocation, body: &[u8]) -> Vec<u8> {
        let Self { host, path, .. } = self;
        let Invocation { request_id, invocation_id, .. } = invocation;
        let length = body.len();
        let mut head = format!(
            "POST {path}/2018-06-01/runtime/invocation/{request_id}/response HTTP/1.1\r\n\
             host: {host}\r\nuser-agent: {USER_AGENT}\r\ncontent-length: {length}\r\n"
        );
        if let Some(id) = invocation_id {
            head.extend([INVOCATION_ID, ": ", id, "\r\n"]);
        }
        head.push_str("\r\n");
        [head.as_bytes(), body].concat()
    }
}

/// Of one that `lambda_runtime` has fetched.
impl From<LambdaInvocation> for Invocation {
    fn from(LambdaInvocation { parts, body, context, .. }: LambdaInvocation) -> Self {
        let invocation_id = parts.headers.get(INVOCATION_ID).and_then(|id| id.to_str().ok()).map(str::to_owned);
        Self { event: body, request_id: context.request_id, invocation_id, trace_id: context.xray_trace_id }
    }
}

/// For `lambda_runtime`, which gets `null` for an event that was handled.
impl From<Invocation> for LambdaInvocation {
    fn from(Invocation { request_id, invocation_id, .. }: Invocation) -> Self {
        let (mut parts, ()) = Response::new(()).into_parts();
        if let Some(id) = invocation_id.and_then(|id| HeaderValue::try_from(id).ok()) {
            parts.headers.insert(INVOCATION_ID, id);
        }
        let mut context = Context::default();
        context.request_id = request_id;
        Self { parts, body: Bytes::from_static(b"null"), context }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;
    use crate::env::tests::env;

    #[test]
    fn an_address_is_a_host_with_a_port_or_a_url() {
        for (address, host, path) in [
            ("127.0.0.1:9001", "127.0.0.1:9001", ""),
            ("localhost", "localhost", ""),
            ("http://[::]:9000/.rt/receiver", "[::]:9000", "/.rt/receiver"),
            ("http://127.0.0.1:9000/", "127.0.0.1:9000", ""),
        ] {
            let api = RuntimeApi::from_env(&env(&[(ADDRESS, address)])).unwrap();
            assert_eq!((&*api.host, &*api.path), (host, path), "{address}");
        }
    }

    #[test]
    fn another_address_stops_the_start() {
        for address in ["https://127.0.0.1:9001", "/runtime", "a b"] {
            let error = RuntimeApi::from_env(&env(&[(ADDRESS, address)])).err().unwrap();
            assert!(matches!(error, EnvError::Invalid { .. }), "{address}");
        }
        assert_eq!(RuntimeApi::from_env(&env(&[])).err().unwrap(), EnvError::NotSet(ADDRESS.to_owned()));
    }

    /// To nowhere: it is not tried.
    #[tokio::test]
    async fn an_answer_that_is_longer_than_lambda_takes_is_left_to_the_runtime() {
        let api = RuntimeApi::from_env(&env(&[(ADDRESS, "127.0.0.1:1")])).unwrap();
        let (parts, ()) = Response::new(()).into_parts();
        let invocation = LambdaInvocation { parts, body: Bytes::new(), context: Context::default() }.into();
        let [fits, is_long] = [ANSWER_BYTES_MAX - 2, ANSWER_BYTES_MAX - 1].map(|bytes| "x".repeat(bytes));
        assert!(matches!(api.respond(&invocation, &fits).await, Err(RuntimeApiError::Connection(_))));
        assert!(matches!(api.respond(&invocation, &is_long).await, Err(RuntimeApiError::TooLong(_))));
    }

    #[tokio::test]
    #[expect(clippy::disallowed_methods, reason = "a server beside the test")]
    async fn an_event_comes_with_what_its_answer_has_to_say_of_it() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let api = RuntimeApi::from_env(&env(&[(ADDRESS, &format!("http://{address}/f"))])).unwrap();
        let asked = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut asked = Vec::new();
            for answer in [
                "HTTP/1.1 200 OK\r\nLambda-Runtime-Aws-Request-Id: r\r\nLambda-Runtime-Invocation-Id: i\r\n\
                 Lambda-Runtime-Trace-Id: Root=1\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
                "HTTP/1.1 200 OK\r\nlambda-runtime-aws-request-id: s\r\ncontent-length: 2\r\n\r\n[]",
                "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n[]",
                "HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\n\r\n{}",
            ] {
                while !asked.ends_with(b"\r\n\r\n") {
                    stream.read_buf(&mut asked).await.unwrap();
                }
                stream.write_all(answer.as_bytes()).await.unwrap();
                asked.push(b'|');
            }
            String::from_utf8(asked).unwrap()
        });
        let whole = |Invocation { event, request_id, invocation_id, trace_id }| (event, request_id, invocation_id, trace_id);
        let first = whole(api.next().await.unwrap());
        assert_eq!(first, ("{}".into(), "r".to_owned(), Some("i".to_owned()), Some("Root=1".to_owned())));
        assert_eq!(whole(api.next().await.unwrap()), ("[]".into(), "s".to_owned(), None, None));
        assert!(matches!(api.next().await, Err(RuntimeApiError::NoRequestId)));
        assert!(matches!(api.next().await, Err(RuntimeApiError::Status(403))));
        let request = format!(
            "GET /f/2018-06-01/runtime/invocation/next HTTP/1.1\r\nhost: {address}\r\nuser-agent: {USER_AGENT}\r\n\r\n|"
        );
        assert_eq!(asked.await.unwrap(), request.repeat(4));
    }
}
