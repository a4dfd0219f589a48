//! Where Lambda takes answers (docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html).

use hookledger_aws::PlainConnection;
use http::Uri;
use lambda_runtime::LambdaInvocation;
use serde::Serialize;

use crate::env::{Env, EnvError};

const ADDRESS: &str = "AWS_LAMBDA_RUNTIME_API";
/// Comes with an event and goes back with its answer, so that a late answer is not taken for another event's.
const INVOCATION_ID: &str = "lambda-runtime-invocation-id";

pub(crate) struct RuntimeApi {
    connection: PlainConnection,
    host: String,
    /// `cargo lambda watch` has one for each function.
    path: String,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum RespondError {
    #[error("an answer that is no JSON: {0}")]
    Json(#[from] serde_json::Error),
    #[error(transparent)]
    Connection(Box<dyn std::error::Error + Send + Sync>),
    #[error("status {0}")]
    Status(u16),
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
        Some(Self { connection: PlainConnection::plain(server), host, path })
    }

    pub(crate) async fn respond(&self, invocation: &LambdaInvocation, answer: &impl Serialize) -> Result<(), RespondError> {
        let request = self.request(invocation, &serde_json::to_vec(answer)?);
        match self.connection.ask(&request).await.map_err(RespondError::Connection)? {
            200..300 => Ok(()),
            status => Err(RespondError::Status(status)),
        }
    }

    /// As it goes over the wire, and as `lambda_runtime` would send it.
    fn request(&self, invocation: &LambdaInvocation, body: &[u8]) -> Vec<u8> {
        let Self { host, path, .. } = self;
        let request_id = &invocation.context.request_id;
        let length = body.len();
        let mut request = format!(
            "POST {path}/2018-06-01/runtime/invocation/{request_id}/response HTTP/1.1\r\n\
             host: {host}\r\nuser-agent: {USER_AGENT}\r\ncontent-length: {length}\r\n"
        );
        if let Some(id) = invocation.parts.headers.get(INVOCATION_ID).and_then(|id| id.to_str().ok()) {
            request.extend([INVOCATION_ID, ": ", id, "\r\n"]);
        }
        request.push_str("\r\n");
        let mut request = request.into_bytes();
        request.extend(body);
        request
    }
}

const USER_AGENT: &str = concat!("hookledger/", env!("CARGO_PKG_VERSION"));

#[cfg(test)]
mod tests {
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
}
