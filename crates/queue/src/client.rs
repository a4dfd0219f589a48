//! The SQS client, built once in init. Invariant: no call takes longer than [`OPERATION_MAX`], whatever the network does.

use std::sync::Arc;
use std::time::Duration;

use aws_config::environment::{EnvironmentVariableCredentialsProvider, EnvironmentVariableRegionProvider};
use aws_config::meta::credentials::CredentialsProviderChain;
use aws_config::meta::region::RegionProviderChain;
use aws_config::profile::{ProfileFileCredentialsProvider, ProfileFileRegionProvider};
use aws_config::retry::RetryConfig;
use aws_config::stalled_stream_protection::StalledStreamProtectionConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, ConfigLoader};

use crate::send::Sender;

/// The way to SQS. A clone shares its connections.
#[derive(Clone)]
pub struct Client {
    pub(crate) sdk: aws_sdk_sqs::Client,
    pub(crate) sender: Option<Arc<Sender>>,
}

/// All attempts at a call, their waits included: two by the SDK, and for the one message of an event one before them without
/// it. Slack gives a receiver 3 s in all, and the claim comes first.
pub const OPERATION_MAX: Duration = Duration::from_millis(2_000);
pub(crate) const ATTEMPT_MAX: Duration = Duration::from_millis(1_000);
const CONNECT_MAX: Duration = Duration::from_millis(500);

/// Region and credentials from the environment, as Lambda sets them, else from the profile of an operator's shell.
/// `AWS_ENDPOINT_URL` (or `AWS_ENDPOINT_URL_SQS`) points it at a local emulator.
pub async fn client() -> Client {
    // The default chains end in the instance metadata service, which a Lambda does not have: asking it takes seconds.
    let region =
        RegionProviderChain::first_try(EnvironmentVariableRegionProvider::new()).or_else(ProfileFileRegionProvider::new());
    let credentials = CredentialsProviderChain::first_try("environment", EnvironmentVariableCredentialsProvider::new())
        .or_else("profile", ProfileFileCredentialsProvider::builder().build());
    let loader = aws_config::defaults(BehaviorVersion::latest());
    client_from(loader.region(region).credentials_provider(credentials)).await
}

/// The same with another place and identity. The time limits hold in any case.
pub async fn client_from(loader: ConfigLoader) -> Client {
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(CONNECT_MAX)
        .operation_attempt_timeout(ATTEMPT_MAX)
        .operation_timeout(OPERATION_MAX)
        .build();
    // The default wait before the second attempt is up to a second, which would eat the budget.
    let retries = RetryConfig::standard()
        .with_max_attempts(2)
        .with_initial_backoff(Duration::from_millis(50))
        .with_max_backoff(Duration::from_millis(100));
    // An attempt's own limit is shorter than what the watch over stalled streams lets pass, so that watch would only cost.
    let loader = loader.stalled_stream_protection(StalledStreamProtectionConfig::disabled());
    let config = loader.timeout_config(timeouts).retry_config(retries).load().await;
    Client { sdk: aws_sdk_sqs::Client::new(&config), sender: Sender::new(&config).map(Arc::new) }
}
