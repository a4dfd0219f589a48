//! `SendMessage`, the one call to SQS that each event costs, without the SDK's way around it: its signer, over its HTTP client.
//!
//! Invariant: a call is tried here once, and whatever goes wrong with it is left to the SDK, which refreshes credentials, corrects
//! a clock and tries again. So nothing has to be right here but the call that succeeds.

use std::error::Error;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use aws_credential_types::Credentials;
use aws_credential_types::provider::{ProvideCredentials as _, SharedCredentialsProvider};
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4;
use aws_smithy_async::time::SharedTimeSource;
use aws_smithy_runtime_api::client::http::HttpConnector as _;
use aws_smithy_runtime_api::http::Request;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::byte_stream::ByteStream;
use aws_types::SdkConfig;
use aws_types::service_config::ServiceConfigKey;
use hookledger_aws::{Aws, Connector};
use http::{HeaderValue, header};
use serde::Serialize;

/// The headers that SQS reads, besides those that the signer adds.
const CONTENT_TYPE: &str = "application/x-amz-json-1.0";
const TARGET: (&str, &str) = ("x-amz-target", "AmazonSQS.SendMessage");
/// Credentials that last shorter than this are fetched anew.
const CREDENTIALS_LEFT_MIN: Duration = Duration::from_secs(60);

pub(crate) struct Sender {
    connector: Connector,
    endpoint: Option<String>,
    region: String,
    provider: SharedCredentialsProvider,
    credentials: Mutex<Option<Credentials>>,
    clock: SharedTimeSource,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct SendMessage<'a> {
    queue_url: &'a str,
    message_body: &'a str,
}

impl Sender {
    /// `None` where the configuration lacks what a call needs: the SDK will say so.
    pub(crate) fn new(Aws { config, connector }: &Aws) -> Option<Self> {
        Some(Self {
            connector: connector.clone(),
            endpoint: endpoint(config),
            region: config.region()?.to_string(),
            provider: config.credentials_provider()?,
            credentials: Mutex::default(),
            clock: config.time_source()?,
        })
    }

    pub(crate) async fn send(&self, queue_url: &str, message_body: &str) -> Result<(), Box<dyn Error + Send + Sync>> {
        let credentials = self.credentials().await?;
        let request = self.request(credentials, queue_url, message_body)?;
        let response = self.connector.call(request).await?;
        let status = response.status();
        // To its end, so that the connection can be used again.
        ByteStream::new(response.into_body()).collect().await?;
        if status.as_u16() == 200 { Ok(()) } else { Err(format!("SQS answers {status}").into()) }
    }

    fn request(
        &self,
        credentials: Credentials,
        queue_url: &str,
        message_body: &str,
    ) -> Result<Request, Box<dyn Error + Send + Sync>> {
        let url = format!("{}/", self.endpoint.as_deref().unwrap_or_else(|| origin(queue_url)).trim_end_matches('/'));
        let body = serde_json::to_vec(&SendMessage { queue_url, message_body })?;
        let identity = credentials.into();
        let params = v4::SigningParams::builder()
            .identity(&identity)
            .region(&self.region)
            .name("sqs")
            .time(self.clock.now())
            .settings(SigningSettings::default())
            .build()?
            .into();
        let signed = [("content-type", CONTENT_TYPE), TARGET];
        let to_sign = SignableRequest::new("POST", &url, signed.into_iter(), SignableBody::Bytes(&body))?;
        let (instructions, _) = sign(to_sign, &params)?.into_parts();
        let mut request = http::Request::post(&url).body(SdkBody::from(body))?;
        instructions.apply_to_request_http1x(&mut request);
        request.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(CONTENT_TYPE));
        request.headers_mut().insert(TARGET.0, HeaderValue::from_static(TARGET.1));
        Ok(request.try_into()?)
    }

    async fn credentials(&self) -> Result<Credentials, Box<dyn Error + Send + Sync>> {
        let lasts = |known: &Credentials| {
            known.expiry().is_none_or(|at| at.duration_since(self.clock.now()).is_ok_and(|left| left > CREDENTIALS_LEFT_MIN))
        };
        let known = self.credentials.lock().unwrap_or_else(PoisonError::into_inner).clone().filter(lasts);
        if let Some(known) = known {
            return Ok(known);
        }
        let fresh = self.provider.provide_credentials().await?;
        *self.credentials.lock().unwrap_or_else(PoisonError::into_inner) = Some(fresh.clone());
        Ok(fresh)
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
