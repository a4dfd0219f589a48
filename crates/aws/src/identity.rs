//! Who calls AWS and how: what a Lambda's environment says, and the limits of a call.

use std::time::Duration;

use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_smithy_async::rt::sleep::{SharedAsyncSleep, TokioSleep};
use aws_smithy_async::time::{SharedTimeSource, SystemTimeSource};
use aws_smithy_runtime_api::client::behavior_version::BehaviorVersion;
use aws_smithy_runtime_api::client::stalled_stream_protection::StalledStreamProtectionConfig;
use aws_smithy_types::retry::RetryConfig;
use aws_smithy_types::timeout::TimeoutConfig;
use aws_types::SdkConfig;
use aws_types::region::Region;

use crate::connector::Connector;
use crate::roots::{Roots, RootsError};

/// All attempts at a call, their waits included: two by the SDK, and for the one message of an event one before them without
/// it. Slack gives a receiver 3 s in all, in which an event that could not be claimed has to be spilled.
pub const OPERATION_MAX: Duration = Duration::from_millis(2_000);
pub const ATTEMPT_MAX: Duration = Duration::from_millis(1_000);

/// What clients of AWS's services are made of.
#[derive(Debug, Clone)]
pub struct Aws {
    pub config: SdkConfig,
    /// The same that `config` has, for calls without the SDK.
    pub connector: Connector,
}

impl Aws {
    /// As Lambda tells a function: region and credentials in its environment. `AWS_ENDPOINT_URL_<service>` or
    /// `AWS_ENDPOINT_URL` points it at a local emulator. What is missing is missed by the first call, which says so.
    pub fn of_function(service: &str) -> Result<Self, RootsError> {
        let region = variable("AWS_REGION").or_else(|| variable("AWS_DEFAULT_REGION"));
        let mut config = SdkConfig::builder().region(region.map(Region::new));
        config.set_endpoint_url(variable(&format!("AWS_ENDPOINT_URL_{service}")).or_else(|| variable("AWS_ENDPOINT_URL")));
        config.set_credentials_provider(credentials().map(SharedCredentialsProvider::new));
        let config = config.build();
        let roots = Roots::of_aws(variable("AWS_CA_BUNDLE"), config.region().map(AsRef::as_ref), config.endpoint_url())?;
        Ok(Self::of(config, Connector::new(&roots)?))
    }

    /// Where and as whom `config` says; how is this crate's.
    pub fn of(config: SdkConfig, connector: Connector) -> Self {
        let timeouts =
            TimeoutConfig::builder().operation_attempt_timeout(ATTEMPT_MAX).operation_timeout(OPERATION_MAX).build();
        // The default wait before the second attempt is up to a second, which would eat the budget.
        let retries = RetryConfig::standard()
            .with_max_attempts(2)
            .with_initial_backoff(Duration::from_millis(50))
            .with_max_backoff(Duration::from_millis(100));
        let config = config
            .into_builder()
            .behavior_version(BehaviorVersion::latest())
            .sleep_impl(SharedAsyncSleep::new(TokioSleep::new()))
            .time_source(SharedTimeSource::new(SystemTimeSource::new()))
            .timeout_config(timeouts)
            .retry_config(retries)
            // An attempt's own limit is shorter than what the watch over stalled streams lets pass, so that watch would only cost.
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
            .http_client(connector.clone())
            .build();
        Self { config, connector }
    }
}

/// The execution role's. Lambda gives an environment new ones by replacing it.
pub fn credentials() -> Option<Credentials> {
    let (id, secret) = variable("AWS_ACCESS_KEY_ID").zip(variable("AWS_SECRET_ACCESS_KEY"))?;
    Some(Credentials::new(id, secret, variable("AWS_SESSION_TOKEN"), None, "environment"))
}

/// AWS's variables are read where the SDK reads its own, and not among the project's settings.
fn variable(name: &str) -> Option<String> {
    std::env::var_os(name)?.into_string().ok().filter(|value| !value.is_empty())
}
