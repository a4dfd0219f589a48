//! HTTP/1.1 over TLS, as the SDK wants to be given it.
//!
//! The SDK's own client brings a second TLS library (rustls over AWS-LC) and HTTP/2, which together are a fifth of a function.

use std::error::Error;
use std::time::Duration;
use std::{fmt, io};

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector as SmithyConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_runtime_api::http::{Request, Response};
use aws_smithy_types::body::SdkBody;
use http::Uri;
use hyper_openssl::client::legacy::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{Connect, HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tower_service::Service;

use crate::connection::Connection;
use crate::roots::{Roots, RootsError};
use crate::trace::{TRACE_ID, trace_id};

/// For the handshake of TCP. That of TLS counts to the call's own time.
const CONNECT_MAX: Duration = Duration::from_millis(500);
/// Older ones are likelier to have been closed by the other side; a call that meets such a one is tried again.
pub(crate) const IDLE_MAX: Duration = Duration::from_secs(60);

/// A clone shares its connections.
#[derive(Clone)]
pub struct Connector<C = HttpConnector> {
    client: Client<HttpsConnector<C>, SdkBody>,
    https: HttpsConnector<C>,
}

impl Connector {
    /// Keeps connections for the next call.
    pub fn new(roots: &Roots) -> Result<Self, RootsError> {
        let https = HttpsConnector::with_connector(tcp(), roots.tls()?)?;
        Ok(Self { client: builder().build(https.clone()), https })
    }

    /// One to `server`, of which the path does not matter.
    pub fn connection(&self, server: Uri) -> Connection {
        Connection::new(self.https.clone(), server)
    }

    /// A connection for each call: for calls so rare that one which was kept would be dead.
    pub fn without_reuse(roots: &Roots) -> Result<Self, RootsError> {
        Self::without_reuse_over(tcp(), roots)
    }
}

impl<C> Connector<C>
where
    C: Service<Uri> + Clone + Send + Sync + 'static,
    HttpsConnector<C>: Connect + Clone,
{
    /// As [`Connector::without_reuse`], by another way than straight to the server.
    pub fn without_reuse_over(tcp: C, roots: &Roots) -> Result<Self, RootsError> {
        let https = HttpsConnector::with_connector(tcp, roots.tls()?)?;
        Ok(Self { client: builder().pool_max_idle_per_host(0).build(https.clone()), https })
    }
}

fn builder() -> hyper_util::client::legacy::Builder {
    let mut builder = Client::builder(TokioExecutor::new());
    builder.pool_idle_timeout(IDLE_MAX).pool_timer(TokioTimer::new());
    builder
}

pub(crate) fn tcp() -> HttpConnector {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(CONNECT_MAX));
    tcp
}

impl<C> SmithyConnector for Connector<C>
where
    C: Clone + Send + Sync + 'static,
    HttpsConnector<C>: Connect + Clone + Send + Sync + 'static,
{
    fn call(&self, request: Request) -> HttpConnectorFuture {
        let client = self.client.clone();
        HttpConnectorFuture::new(async move {
            let mut request = request.try_into_http1x().map_err(|error| ConnectorError::user(error.into()))?;
            if request.headers_mut().remove(TRACE_ID).is_some()
                && let Some(current) = trace_id()
            {
                request.headers_mut().insert(TRACE_ID, current);
            }
            let response = client.request(request).await.map_err(failure)?;
            Response::try_from(response.map(SdkBody::from_body_1_x))
                .map_err(|error| ConnectorError::other(error.into(), None))
        })
    }
}

/// Time limits are the connector's own and the attempt's, so the settings say nothing new.
impl HttpClient for Connector {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

impl<C> fmt::Debug for Connector<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Connector")
    }
}

/// The SDK tries again after what may pass: whatever the network did, and a connection that ended.
fn failure(error: hyper_util::client::legacy::Error) -> ConnectorError {
    if is_timeout(&error) { ConnectorError::timeout(error.into()) } else { ConnectorError::io(error.into()) }
}

fn is_timeout(error: &(dyn Error + 'static)) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::TimedOut)
        || error.source().is_some_and(is_timeout)
}
