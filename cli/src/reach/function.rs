//! Invoking the operator function
//! (docs.aws.amazon.com/lambda/latest/api/API_Invoke.html). One call of one API: the SDK's own crate for it takes longer to build
//! than all of this program.

use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, anyhow, bail};
use aws_config::environment::{EnvironmentVariableCredentialsProvider, EnvironmentVariableRegionProvider};
use aws_config::meta::credentials::CredentialsProviderChain;
use aws_config::meta::region::RegionProviderChain;
use aws_config::profile::{ProfileFileCredentialsProvider, ProfileFileRegionProvider};
use aws_credential_types::provider::ProvideCredentials;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4;
use hookledger_commands::Command;
use hookledger_runtime::Env;
use reqwest::StatusCode;
use serde_json::{Value, json};

/// As long as a Lambda function may run.
const ANSWER_WITHIN: Duration = Duration::from_secs(900);
const TRIES: u32 = 4;

pub(crate) struct Function {
    http: reqwest::Client,
    url: String,
    region: String,
    credentials: CredentialsProviderChain,
}

impl Function {
    /// `name` is a name, with an alias if need be, or an ARN.
    pub(crate) async fn new(name: String, env: &Env) -> Result<Self> {
        // Not the default chains: they end in the instance metadata service, which takes seconds to be found missing.
        let region = RegionProviderChain::first_try(EnvironmentVariableRegionProvider::new())
            .or_else(ProfileFileRegionProvider::new());
        let region = match name.strip_prefix("arn:") {
            // arn:partition:lambda:region:…
            Some(rest) => rest.split(':').nth(2).map(str::to_owned),
            None => region.region().await.map(|region| region.to_string()),
        };
        let region = region.context("no region: set AWS_REGION, or choose a profile with AWS_PROFILE")?;
        let endpoint = match env.optional("AWS_ENDPOINT_URL_LAMBDA")? {
            Some(url) => url,
            None => match env.optional("AWS_ENDPOINT_URL")? {
                Some(url) => url,
                None => format!("https://lambda.{region}.amazonaws.com"),
            },
        };
        let url =
            format!("{}/2015-03-31/functions/{}/invocations", endpoint.trim_end_matches('/'), name.replace(':', "%3A"));
        let credentials = CredentialsProviderChain::first_try("environment", EnvironmentVariableCredentialsProvider::new())
            .or_else("profile", ProfileFileCredentialsProvider::builder().build());
        let http = reqwest::Client::builder().timeout(ANSWER_WITHIN).connect_timeout(Duration::from_secs(10)).build()?;
        Ok(Self { http, url, region, credentials })
    }

    pub(crate) async fn ask<C: Command>(&self, command: C) -> Result<C::Answer> {
        let payload = serde_json::to_vec(&json!({ "command": C::NAME, "arguments": command }))?;
        let answer = self.invoke(&payload).await.with_context(|| format!("cannot have {} run by {}", C::NAME, self.url))?;
        serde_json::from_value(answer).context("the operator function is of another version than this program")
    }

    async fn invoke(&self, payload: &[u8]) -> Result<Value> {
        for attempt in 1.. {
            let response = self.signed(payload).await?.body(payload.to_vec()).send().await;
            let response = match response {
                Ok(response) if !may_pass(response.status()) => response,
                Ok(refused) if attempt == TRIES => bail!("it answers {}", refused.status()),
                Err(error) if attempt == TRIES || !error.is_connect() => return Err(error.without_url().into()),
                Ok(_) | Err(_) => {
                    tokio::time::sleep(Duration::from_millis(250) * 2_u32.pow(attempt)).await;
                    continue;
                }
            };
            let (status, failed) = (response.status(), response.headers().contains_key("x-amz-function-error"));
            let body: Value = response.json().await.context("it answers something else than JSON")?;
            return match (status.is_success(), failed) {
                (true, false) => Ok(body),
                (true, true) => Err(said(&body, "errorMessage")),
                (false, _) => Err(said(&body, "Message").context(status.to_string())),
            };
        }
        bail!("it could not be asked")
    }

    #[expect(clippy::disallowed_methods, reason = "a signature for AWS carries this machine's time")]
    async fn signed(&self, payload: &[u8]) -> Result<reqwest::RequestBuilder> {
        let credentials = self.credentials.provide_credentials().await;
        let identity = credentials.context("no AWS credentials: set them, or choose a profile with AWS_PROFILE")?.into();
        let settings = SigningSettings::default();
        let params = v4::SigningParams::builder()
            .identity(&identity)
            .region(&self.region)
            .name("lambda")
            .time(SystemTime::now())
            .settings(settings)
            .build()?
            .into();
        let request = SignableRequest::new("POST", &self.url, std::iter::empty(), SignableBody::Bytes(payload))?;
        let (instructions, _) = sign(request, &params)?.into_parts();
        let (headers, _) = instructions.into_parts();
        Ok(headers.iter().fold(self.http.post(&self.url), |post, header| post.header(header.name(), header.value())))
    }
}

/// Busy, or broken for the moment.
fn may_pass(status: StatusCode) -> bool {
    status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error()
}

fn said(body: &Value, key: &str) -> anyhow::Error {
    let text = body[key].as_str().or_else(|| body["message"].as_str());
    anyhow!("{}", text.unwrap_or("it failed without a word"))
}
