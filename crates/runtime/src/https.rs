//! Calls to a provider's own web server: for a key that it publishes, for a subscription that it wants confirmed.
//!
//! Invariant: only https, to a host by its name and the usual port; no redirect is followed, no proxy and no cookie is used;
//! an answer is read up to a number of bytes and a time. Which hosts may be called at all is for the caller to pin.

use std::fmt;
use std::net::IpAddr;
use std::sync::LazyLock;
use std::time::Duration;

use aws_smithy_runtime_api::client::http::{HttpConnector as _, SharedHttpConnector};
use aws_smithy_runtime_api::http::{Request, Response};
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::byte_stream::ByteStream;
use hookledger_aws::{Connector, Roots, RootsError};
use http::{Method, StatusCode, Uri, header};
use tokio::time::timeout;

use crate::error_chain::error_chain;

/// For a whole call, connecting included. It can stand between a provider and its answer; those whose keys are fetched wait
/// for 10 s and more.
pub const CALL_WITHIN: Duration = Duration::from_secs(2);

/// Why a call brought nothing. Names the host only: a path or a query can carry a token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The same call would end the same.
    #[error("{host} refuses: {why}")]
    Refused { host: String, why: String },
    /// The same call may do better later.
    #[error("{host} is not available: {why}")]
    Unavailable { host: String, why: String },
}

type Connecting = Result<SharedHttpConnector, RootsError>;

pub struct Https(LazyLock<Connecting, Box<dyn FnOnce() -> Connecting + Send>>);

impl Https {
    /// Trusts the system's authorities. Costs nothing before the first call. Calls are rare, and a connection that was frozen with
    /// its environment is dead, so each has its own.
    pub fn new() -> Self {
        Self::over(|| Connector::without_reuse(&Roots::System).map(SharedHttpConnector::new))
    }

    /// By another way, or trusting other authorities.
    pub fn over(connector: impl FnOnce() -> Result<SharedHttpConnector, RootsError> + Send + 'static) -> Self {
        Self(LazyLock::new(Box::new(connector)))
    }

    /// The body of a 200 answer of at most `bytes_max`.
    pub async fn get(&self, url: &str, bytes_max: usize) -> Result<Vec<u8>, CallError> {
        self.call(Method::GET, url, None, bytes_max).await
    }

    /// As [`Https::get`], with JSON to send.
    pub async fn post_json(&self, url: &str, json: String, bytes_max: usize) -> Result<Vec<u8>, CallError> {
        self.call(Method::POST, url, Some(json), bytes_max).await
    }

    async fn call(&self, method: Method, url: &str, json: Option<String>, bytes_max: usize) -> Result<Vec<u8>, CallError> {
        let uri = url.parse::<Uri>().ok().filter(is_plain);
        let uri = uri.ok_or_else(|| Host("the address").refuses("it is not plain https"))?;
        let name = uri.host().unwrap_or_default().to_owned();
        let host = Host(&name);
        let mut request = http::Request::builder().method(method).uri(uri).header(header::ACCEPT, "*/*");
        if json.is_some() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        let body = json.map_or_else(SdkBody::empty, SdkBody::from);
        let request = request.body(body).map_err(|error| host.refuses(error))?;
        let request = Request::try_from(request).map_err(|error| host.refuses(error))?;
        let answer = async {
            let client = self.0.as_ref().map_err(|error| host.is_away(error_chain(error)))?;
            let response = client.call(request).await.map_err(|error| host.is_away(error_chain(&error)))?;
            host.body(response, bytes_max).await
        };
        timeout(CALL_WITHIN, answer).await.unwrap_or_else(|elapsed| Err(host.is_away(elapsed)))
    }
}

impl Default for Https {
    fn default() -> Self {
        Self::new()
    }
}

/// Nothing that could lead elsewhere than its host seems to say.
fn is_plain(uri: &Uri) -> bool {
    let Some(authority) = uri.authority() else { return false };
    let host = authority.host();
    uri.scheme_str() == Some("https")
        && authority.as_str() == host
        && !host.starts_with('[')
        && host.parse::<IpAddr>().is_err()
}

struct Host<'a>(&'a str);

impl Host<'_> {
    fn refuses(&self, why: impl fmt::Display) -> CallError {
        CallError::Refused { host: self.0.to_owned(), why: why.to_string() }
    }

    fn is_away(&self, why: impl fmt::Display) -> CallError {
        CallError::Unavailable { host: self.0.to_owned(), why: why.to_string() }
    }

    async fn body(&self, response: Response, bytes_max: usize) -> Result<Vec<u8>, CallError> {
        match StatusCode::from_u16(response.status().as_u16()) {
            Ok(StatusCode::OK) => {}
            Ok(status @ (StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS)) => return Err(self.is_away(status)),
            Ok(status) if !status.is_server_error() => return Err(self.refuses(status)),
            Ok(status) => return Err(self.is_away(status)),
            Err(error) => return Err(self.is_away(error)),
        }
        let mut stream = ByteStream::new(response.into_body());
        let mut body = Vec::new();
        while let Some(chunk) = stream.next().await {
            let chunk = chunk.map_err(|error| self.is_away(error_chain(&error)))?;
            if body.len() + chunk.len() > bytes_max {
                return Err(self.refuses(format_args!("its answer is longer than {bytes_max} bytes")));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_https_addresses_are_called() {
        for (url, plain) in [
            ("https://sns.eu-west-1.amazonaws.com/a.pem", true),
            ("http://sns.eu-west-1.amazonaws.com/a.pem", false),
            ("https://sns.eu-west-1.amazonaws.com:8443/a.pem", false),
            ("https://user@sns.eu-west-1.amazonaws.com/a.pem", false),
            ("https://user:pass@sns.eu-west-1.amazonaws.com/a.pem", false),
            ("https://127.0.0.1/a.pem", false),
            ("https://[::1]/a.pem", false),
            ("/a.pem", false),
            ("ftp://host.test/a.pem", false),
        ] {
            assert_eq!(url.parse().is_ok_and(|uri| is_plain(&uri)), plain, "{url}");
        }
    }
}
