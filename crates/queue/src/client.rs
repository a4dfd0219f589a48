//! The SQS client, built once in init.

use std::sync::Arc;

use hookledger_aws::{Aws, RootsError};

use crate::send::Sender;

/// The way to SQS. A clone shares its connections.
#[derive(Clone)]
pub struct Client {
    pub(crate) sdk: aws_sdk_sqs::Client,
    pub(crate) sender: Option<Arc<Sender>>,
}

impl Client {
    /// As a function's environment says.
    pub fn of_function() -> Result<Self, RootsError> {
        Ok(Self::new(&Aws::of_function("SQS")?))
    }

    pub fn new(aws: &Aws) -> Self {
        Self { sdk: aws_sdk_sqs::Client::new(&aws.config), sender: Sender::new(aws).map(Arc::new) }
    }
}
