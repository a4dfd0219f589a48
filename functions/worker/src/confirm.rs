//! Confirms a subscription to a topic of Amazon SNS. It is an event like any other, so that it is tried again and seen when it
//! fails; no handler of a user's gets it, so that none can leave it undone.

use hookledger_core::{HandlerError, Outcome};
use hookledger_runtime::{CallError, Https};

/// SNS answers with a few hundred bytes of XML.
const ANSWER_BYTES_MAX: usize = 64 << 10;

/// `url` is the one that was made of what SNS signed. To confirm again changes nothing.
pub(crate) async fn confirm(https: &Https, url: &str) -> Result<Outcome, HandlerError> {
    match https.get(url, ANSWER_BYTES_MAX).await {
        Ok(_) => Ok(Outcome::Applied),
        // The token has expired, or the topic is gone.
        Err(error @ CallError::Refused { .. }) => Err(HandlerError::permanent(error)),
        Err(error @ CallError::Unavailable { .. }) => Err(HandlerError::retryable(error)),
    }
}
