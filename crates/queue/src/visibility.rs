//! When a message comes back: a failed event's message is hidden until its retry is due.

use std::time::Duration;

use aws_sdk_sqs::error::DisplayErrorContext;
use aws_sdk_sqs::types::ChangeMessageVisibilityBatchRequestEntry;

use crate::queue::{BATCH_MAX, Queue};

/// Longest time a message is hidden, in seconds. SQS counts its 12 hours from when the message was received and refuses a
/// change that would end later, so the 15 minutes for which a Lambda can have held it are taken off.
pub const VISIBILITY_S_MAX: u64 = 43_200 - 900;

/// The message comes back when its queue's own visibility timeout ends.
#[derive(Debug, thiserror::Error)]
#[error("cannot change a message's visibility")]
pub struct VisibilityError(#[source] Box<dyn std::error::Error + Send + Sync>);

impl Queue {
    /// Hides a received message for `after`, in whole seconds, rounded up and cut at [`VISIBILITY_S_MAX`].
    pub async fn set_visibility(&self, receipt_handle: &str, after: Duration) -> Result<(), VisibilityError> {
        let call = self.client.sdk.change_message_visibility().queue_url(&self.url).receipt_handle(receipt_handle);
        let changed = call.visibility_timeout(whole_seconds(after)).send().await;
        changed.map(drop).map_err(|e| VisibilityError(e.into()))
    }

    /// The same for many messages, ten a call; returns the receipt handles that failed and why.
    pub async fn set_visibilities(&self, changes: &[(String, Duration)]) -> Vec<(String, String)> {
        let mut failed = Vec::new();
        for batch in changes.chunks(BATCH_MAX) {
            match self.set_batch(batch).await {
                Ok(refused) => failed.extend(refused),
                Err(why) => failed.extend(batch.iter().map(|(handle, _)| (handle.clone(), why.clone()))),
            }
        }
        failed
    }

    async fn set_batch(&self, changes: &[(String, Duration)]) -> Result<Vec<(String, String)>, String> {
        let mut call = self.client.sdk.change_message_visibility_batch().queue_url(&self.url);
        for (index, (handle, after)) in changes.iter().enumerate() {
            let entry = ChangeMessageVisibilityBatchRequestEntry::builder().id(index.to_string()).receipt_handle(handle);
            call = call.entries(entry.visibility_timeout(whole_seconds(*after)).build().map_err(|e| e.to_string())?);
        }
        let answer = call.send().await.map_err(|e| DisplayErrorContext(&e).to_string())?;
        let refused = answer.failed().iter().filter_map(|entry| {
            let (handle, _) = changes.get(entry.id().parse::<usize>().ok()?)?;
            Some((handle.clone(), format!("{}: {}", entry.code(), entry.message().unwrap_or_default())))
        });
        Ok(refused.collect())
    }
}

fn whole_seconds(after: Duration) -> i32 {
    let rounded_up = after.as_secs() + u64::from(after.subsec_nanos() > 0);
    i32::try_from(rounded_up.min(VISIBILITY_S_MAX)).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_never_comes_back_before_its_retry_is_due_nor_beyond_what_sqs_takes() {
        assert_eq!(whole_seconds(Duration::ZERO), 0);
        assert_eq!(whole_seconds(Duration::from_millis(1)), 1);
        assert_eq!(whole_seconds(Duration::from_millis(2_001)), 3);
        assert_eq!(whole_seconds(Duration::from_secs(86_400)), 42_300);
    }
}
