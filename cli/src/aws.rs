//! Asking AWS as whoever is at the keyboard. Two calls of two APIs, Lambda's Invoke and CloudWatch's GetMetricStatistics, are
//! signed here: the SDK's crates for them are 155,000 and 63,000 lines to build (aws-sdk-lambda 1.115, aws-sdk-cloudwatch 1.102).
//! Credentials and region are found as the AWS CLI finds them.

use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use aws_config::environment::{EnvironmentVariableCredentialsProvider, EnvironmentVariableRegionProvider};
use aws_config::meta::credentials::CredentialsProviderChain;
use aws_config::meta::region::RegionProviderChain;
use aws_config::profile::{ProfileFileCredentialsProvider, ProfileFileRegionProvider};
use aws_config::provider_config::ProviderConfig;
use aws_config::{BehaviorVersion, ConfigLoader, Region, SdkConfig};
use aws_credential_types::provider::ProvideCredentials;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4;
use bytes::Bytes;
use hookledger_aws::{Connector, Roots};
use hookledger_runtime::Env;
use http::{Response, StatusCode};

/// As long as a Lambda function may run.
const ANSWER_WITHIN: Duration = Duration::from_secs(900);
const TRIES: u32 = 4;

pub(crate) struct Aws {
    http: reqwest::Client,
    config: SdkConfig,
    region: String,
}

/// A service by its name in endpoints and signatures, and in the variable that names another endpoint.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Service {
    pub(crate) name: &'static str,
    pub(crate) variable: &'static str,
}

impl Aws {
    pub(crate) async fn new(region: Option<String>) -> Result<Self> {
        let loader = loader(Connector::new(&Roots::System)?);
        let loader = match region {
            Some(region) => loader.region(Region::new(region)),
            None => loader,
        };
        let config = loader.load().await;
        let region = config.region().context("no region: set AWS_REGION, or choose a profile with AWS_PROFILE")?.to_string();
        let http = reqwest::Client::builder().timeout(ANSWER_WITHIN).connect_timeout(Duration::from_secs(10)).build()?;
        Ok(Self { http, config, region })
    }

    pub(crate) fn endpoint(&self, service: Service, env: &Env) -> Result<String> {
        let elsewhere = match env.optional(service.variable)? {
            Some(url) => Some(url),
            None => env.optional("AWS_ENDPOINT_URL")?,
        };
        // docs.aws.amazon.com/general/latest/gr/rande.html
        let domain = if self.region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
        let url = elsewhere.unwrap_or_else(|| format!("https://{}.{}.{domain}", service.name, self.region));
        Ok(url.trim_end_matches('/').to_owned())
    }

    /// Again and again if need be, until an answer is worth reading. For what can be asked twice: an answer may be lost on the way.
    pub(crate) async fn post(
        &self,
        service: Service,
        url: &str,
        headers: &[(&'static str, &str)],
        body: &[u8],
    ) -> Result<Response<Bytes>> {
        let mut attempt = 1;
        loop {
            match whole(self.signed(service, url, headers, body).await?.body(body.to_vec())).await {
                Ok(answer) if attempt == TRIES || !may_pass(answer.status()) => return Ok(answer),
                Err(error) if attempt == TRIES || error.is_timeout() => return Err(error.without_url().into()),
                Ok(_) | Err(_) => tokio::time::sleep(Duration::from_millis(250) * 2_u32.pow(attempt)).await,
            }
            attempt += 1;
        }
    }

    #[expect(clippy::disallowed_methods, reason = "a signature for AWS carries this machine's time")]
    async fn signed(
        &self,
        service: Service,
        url: &str,
        headers: &[(&'static str, &str)],
        body: &[u8],
    ) -> Result<reqwest::RequestBuilder> {
        let none = "no AWS credentials: set them, sign in with `aws sso login`, or choose a profile with AWS_PROFILE";
        let credentials = self.config.credentials_provider().context(none)?.provide_credentials().await.context(none)?;
        let identity = credentials.into();
        let params = v4::SigningParams::builder()
            .identity(&identity)
            .region(&self.region)
            .name(service.name)
            .time(SystemTime::now())
            .settings(SigningSettings::default())
            .build()?
            .into();
        let request = SignableRequest::new("POST", url, headers.iter().copied(), SignableBody::Bytes(body))?;
        let (instructions, _) = sign(request, &params)?.into_parts();
        let (signature, _) = instructions.into_parts();
        let post = headers.iter().fold(self.http.post(url), |post, (name, value)| post.header(*name, *value));
        Ok(signature.iter().fold(post, |post, header| post.header(header.name(), header.value())))
    }
}

/// For the parts of a function that run here: region and credentials from the environment, else from a profile. The default chains end
/// in the instance metadata service, which a shell does not have: asking it takes seconds.
pub(crate) async fn as_a_function() -> Result<hookledger_aws::Aws> {
    let connector = Connector::new(&Roots::System)?;
    let provider = ProviderConfig::without_region().with_http_client(connector.clone());
    let region = RegionProviderChain::first_try(EnvironmentVariableRegionProvider::new())
        .or_else(ProfileFileRegionProvider::builder().configure(&provider).build());
    let credentials = CredentialsProviderChain::first_try("environment", EnvironmentVariableCredentialsProvider::new())
        .or_else("profile", ProfileFileCredentialsProvider::builder().configure(&provider).build());
    let config = loader(connector.clone()).region(region).credentials_provider(credentials).load().await;
    Ok(hookledger_aws::Aws::of(config, connector))
}

fn loader(connector: Connector) -> ConfigLoader {
    aws_config::defaults(BehaviorVersion::latest()).http_client(connector)
}

async fn whole(request: reqwest::RequestBuilder) -> reqwest::Result<Response<Bytes>> {
    let mut response = request.send().await?;
    let (status, headers) = (response.status(), std::mem::take(response.headers_mut()));
    let mut answer = Response::new(response.bytes().await?);
    (*answer.status_mut(), *answer.headers_mut()) = (status, headers);
    Ok(answer)
}

/// Busy, or broken for the moment.
fn may_pass(status: StatusCode) -> bool {
    status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error()
}
