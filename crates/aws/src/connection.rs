//! One kept connection to one server, for the call that each event costs: no pool to look in, no URL to take apart each time.
//!
//! Invariant: a connection is used again only after a whole answer, and a request that may have reached the server is not
//! sent a second time here.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_openssl::client::legacy::HttpsConnector;
use hyper_util::client::legacy::connect::HttpConnector;
use tower_service::Service as _;

use crate::connector::IDLE_MAX;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A server, and the connection to it when there is one. Two calls at a time have one each; the last to end is kept.
pub struct Connection {
    https: HttpsConnector<HttpConnector>,
    server: Uri,
    kept: Mutex<Option<Kept>>,
}

struct Kept {
    sender: SendRequest<Full<Bytes>>,
    used: Instant,
}

impl Connection {
    pub(crate) fn new(https: HttpsConnector<HttpConnector>, server: Uri) -> Self {
        Self { https, server, kept: Mutex::new(None) }
    }

    /// Sends `request`, whose URI is a path and which has its `Host`, and reads the whole answer. Whoever gives up waiting gives
    /// the connection up with it.
    pub async fn ask(&self, request: Request<Full<Bytes>>) -> Result<Response<Bytes>, BoxError> {
        let mut request = request;
        if let Some(mut kept) = self.take()
            && kept.ready().await.is_ok()
        {
            match kept.try_send_request(request).await {
                Ok(response) => return self.whole(response, kept).await,
                Err(mut refused) => match refused.take_message() {
                    // It was closed meanwhile, and nothing of the request was sent.
                    Some(back) => request = back,
                    None => return Err(refused.into_error().into()),
                },
            }
        }
        let mut fresh = self.open().await?;
        let response = fresh.send_request(request).await?;
        self.whole(response, fresh).await
    }

    fn take(&self) -> Option<SendRequest<Full<Bytes>>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        (kept.used.elapsed() < IDLE_MAX).then_some(kept.sender)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the connection is driven beside the call that waits for it; it has nothing to do while none does"
    )]
    async fn open(&self) -> Result<SendRequest<Full<Bytes>>, BoxError> {
        let (sender, connection) = handshake(self.https.clone().call(self.server.clone()).await?).await?;
        // Whoever waits for an answer learns that the connection has ended.
        tokio::spawn(async move { drop(connection.await) });
        Ok(sender)
    }

    async fn whole(
        &self,
        response: Response<Incoming>,
        sender: SendRequest<Full<Bytes>>,
    ) -> Result<Response<Bytes>, BoxError> {
        let (parts, body) = response.into_parts();
        let body = body.collect().await?.to_bytes();
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(Kept { sender, used: Instant::now() });
        Ok(Response::from_parts(parts, body))
    }
}
