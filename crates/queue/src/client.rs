//! The SQS client, built once in init.

use std::panic::resume_unwind;

use hookledger_aws::{Aws, RootsError};

/// The way to SQS. A clone shares its connections.
#[derive(Clone)]
pub struct Client {
    pub(crate) sdk: aws_sdk_sqs::Client,
    pub(crate) aws: Aws,
}

impl Client {
    /// As a function's environment says. It is being made from this call on, on a thread beside the caller's: to make OpenSSL ready
    /// and read the roots takes milliseconds of a processor, for which everything else in init would wait.
    pub fn of_function() -> impl Future<Output = Result<Self, RootsError>> {
        let aws = tokio::task::spawn_blocking(|| Aws::of_function("SQS"));
        async { Ok(Self::new(aws.await.unwrap_or_else(|panicked| resume_unwind(panicked.into_panic()))?)) }
    }

    pub fn new(aws: Aws) -> Self {
        Self { sdk: aws_sdk_sqs::Client::new(&aws.config), aws }
    }
}
