//! `SendMessage`, the one call to SQS that each event costs, without the SDK's way around it.
//!
//! Invariant: a call is tried here once, and whatever goes wrong with it is left to the SDK, which refreshes credentials, corrects
//! a clock and tries again. So nothing has to be right here but the call that succeeds.

use std::error::Error;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use aws_credential_types::Credentials;
use aws_credential_types::provider::{ProvideCredentials as _, SharedCredentialsProvider};
use aws_smithy_async::time::SharedTimeSource;
use aws_types::SdkConfig;
use aws_types::service_config::ServiceConfigKey;
use hookledger_aws::{Aws, Connection, trace_id};
use http::Uri;
use serde::Serialize;

use crate::sign::Signer;

/// Credentials that last shorter than this are fetched anew.
const CREDENTIALS_LEFT_MIN: Duration = Duration::from_secs(60);

/// Sends to one queue.
pub(crate) struct Sender {
    connection: Connection,
    host: String,
    region: String,
    provider: SharedCredentialsProvider,
    signer: Mutex<Option<Signer>>,
    clock: SharedTimeSource,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct SendMessage<'a> {
    queue_url: &'a str,
    message_body: &'a str,
}

impl Sender {
    /// `None` where the configuration lacks what a call needs, or says something unusual: the SDK knows what to do.
    pub(crate) fn new(Aws { config, connector }: &Aws, queue_url: &str) -> Option<Self> {
        let server: Uri = endpoint(config).as_deref().unwrap_or_else(|| origin(queue_url)).parse().ok()?;
        let is_at_the_root = matches!(server.path(), "" | "/") && server.query().is_none();
        Some(Self {
            host: is_at_the_root.then(|| host(&server))??,
            connection: connector.connection(server),
            region: config.region()?.to_string(),
            provider: config.credentials_provider()?,
            signer: Mutex::default(),
            clock: config.time_source()?,
        })
    }

    pub(crate) async fn send(&self, queue_url: &str, message_body: &str) -> Result<(), Box<dyn Error + Send + Sync>> {
        let request = self.sign(&serde_json::to_vec(&SendMessage { queue_url, message_body })?).await?;
        let status = self.connection.ask(&request).await?;
        if status == 200 { Ok(()) } else { Err(format!("SQS answers {status}").into()) }
    }

    async fn sign(&self, body: &[u8]) -> Result<Vec<u8>, Box<dyn Error + Send + Sync>> {
        let now = self.clock.now();
        let lasts = |known: &Credentials| {
            known.expiry().is_none_or(|at| at.duration_since(now).is_ok_and(|left| left > CREDENTIALS_LEFT_MIN))
        };
        let known = self.signer.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut signer = match known.filter(|signer| lasts(signer.credentials())) {
            Some(signer) => signer,
            None => {
                let credentials = Box::pin(self.provider.provide_credentials()).await?;
                Signer::new(credentials, self.region.clone(), self.host.clone())
            }
        };
        let request = signer.request(body, now, trace_id().as_ref());
        *self.signer.lock().unwrap_or_else(PoisonError::into_inner) = Some(signer);
        Ok(request?)
    }
}

/// Where the SDK's settings say that SQS is, if they do.
fn endpoint(config: &SdkConfig) -> Option<String> {
    let key = ServiceConfigKey::builder().service_id("SQS").env("AWS_ENDPOINT_URL").profile("endpoint_url").build().ok()?;
    let of_sqs = config.service_config().and_then(|service| service.load_config(key));
    of_sqs.or_else(|| config.endpoint_url().map(str::to_owned))
}

/// Scheme, host and port: else SQS is where its queue's URL says.
fn origin(queue_url: &str) -> &str {
    let host = queue_url.find("://").map_or(0, |at| at + 3);
    let end = queue_url.get(host..).and_then(|rest| rest.find('/')).map_or(queue_url.len(), |at| host + at);
    queue_url.get(..end).unwrap_or(queue_url)
}

/// As the `Host` header has it: with the port, unless it is the scheme's own.
fn host(server: &Uri) -> Option<String> {
    let own = match server.scheme_str()? {
        "https" => 443,
        "http" => 80,
        _ => return None,
    };
    let port = server.port_u16().filter(|port| *port != own).map(|port| format!(":{port}")).unwrap_or_default();
    Some(format!("{}{port}", server.host()?))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use aws_types::region::Region;
    use hookledger_aws::{Connector, Roots, traced};
    use hookledger_harness::http::{Answer, serve};
    use tokio::net::TcpListener;
    use tokio::task::JoinSet;

    use super::*;

    #[test]
    fn the_host_has_a_port_where_it_is_not_the_usual_one() {
        let host = |url: &str| host(&url.parse().unwrap());
        for (url, expected) in [
            ("https://sqs.eu-west-1.amazonaws.com", Some("sqs.eu-west-1.amazonaws.com")),
            ("https://sqs.eu-west-1.amazonaws.com:443/", Some("sqs.eu-west-1.amazonaws.com")),
            ("http://127.0.0.1:4566", Some("127.0.0.1:4566")),
            ("http://[::1]:80/", Some("[::1]")),
            ("ftp://127.0.0.1/", None),
            ("/nowhere", None),
        ] {
            assert_eq!(host(url).as_deref(), expected, "{url}");
        }
    }

    #[test]
    fn a_queue_is_where_its_url_says() {
        assert_eq!(origin("https://sqs.eu-west-1.amazonaws.com/123/q"), "https://sqs.eu-west-1.amazonaws.com");
        assert_eq!(origin("http://127.0.0.1:4566"), "http://127.0.0.1:4566");
    }

    #[tokio::test]
    async fn a_message_carries_the_trace_of_its_event() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/0/q", listener.local_addr().unwrap());
        let traces = Arc::<Mutex<Vec<_>>>::default();
        let (to_see, mut server) = (traces.clone(), JoinSet::new());
        server.spawn(serve(listener, move |request| {
            to_see.lock().unwrap().push(request.header("x-amzn-trace-id").map(str::to_owned));
            async { Some(Answer::new(200, "")) }
        }));
        let credentials = SharedCredentialsProvider::new(Credentials::new("id", "secret", None, None, "test"));
        let config = SdkConfig::builder().region(Region::from_static("eu-west-1")).credentials_provider(credentials).build();
        let sender = Sender::new(&Aws::of(config, Connector::new(&Roots::Amazon).unwrap()), &url).unwrap();
        traced(Some("Root=1"), sender.send(&url, "{}")).await.unwrap();
        sender.send(&url, "{}").await.unwrap();
        assert_eq!(*traces.lock().unwrap(), [Some("Root=1".to_owned()), None]);
    }
}
