//! What is unfinished of a delivery when its answer is known: the ids of its events go to the queue, and its record is written.
//!
//! Invariant: nothing here changes the answer. What was claimed is committed, so that the sweeper sends what is not sent here, be it that the
//! queue refuses it, that it is late, or that the environment ends.

use std::rc::Rc;

use hookledger_core::EventRef;
use hookledger_queue::Queue;
use tokio::time::timeout;

use crate::receive::SEND_WITHIN;
use crate::report::Report;

pub struct Unfinished {
    pub(crate) queue: Rc<Queue>,
    /// Of the events that need a message.
    pub(crate) keys: Vec<EventRef>,
    pub(crate) report: Report,
}

impl Unfinished {
    pub async fn finish(mut self) {
        self.enqueue().await;
        self.report.emit();
    }

    async fn enqueue(&mut self) {
        if self.keys.is_empty() {
            return;
        }
        match timeout(SEND_WITHIN, self.queue.enqueue(&self.keys)).await {
            Ok(enqueued) => {
                self.report.not_sent(enqueued.failed.len(), enqueued.failed.first().map(|(_, why)| why.as_str()))
            }
            Err(_) => self.report.not_sent(self.keys.len(), Some("the queue did not answer in time")),
        }
    }
}
