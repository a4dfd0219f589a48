//! A batch of messages in, the failures among them out. Invariant: a message is deleted only when its event needs no message
//! any more; every other one comes back.

use std::collections::BTreeMap;
use std::time::Duration;

use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent, SqsMessage};
use hookledger_core::{ClaimMode, EventRef, VerifiedEvent};
use hookledger_ledger::Ledger;
use hookledger_providers::Sources;
use hookledger_queue::{Message, Queue, read_message};
use hookledger_runtime::{Hint, Https};
use tokio::time::Instant;

use crate::FUNCTION_TIMEOUT_S;
use crate::process::Verdict;
use crate::report::Report;
use crate::route::Route;

/// Left for telling the queue, after the last event.
const TIME_TO_ANSWER: Duration = Duration::from_secs(3);

pub struct Worker {
    pub ledger: Ledger,
    pub sources: Sources,
    pub routes: &'static [Route],
    /// The event queue and, where there is one, the spill queue: a batch comes from either.
    pub queues: Vec<Queue>,
    pub claim_mode: ClaimMode,
    pub hint: Hint,
    pub https: Https,
}

impl Worker {
    pub async fn batch(&mut self, batch: SqsEvent) -> SqsBatchResponse {
        let end = Instant::now() + Duration::from_secs(FUNCTION_TIMEOUT_S) - TIME_TO_ANSWER;
        let mut report = Report::new(batch.records.len());
        let keys = self.keys(&batch.records, &mut report).await;
        let mut distinct: Vec<EventRef> = keys.iter().flatten().cloned().collect();
        distinct.sort();
        distinct.dedup();
        let mut verdicts = BTreeMap::new();
        if !distinct.is_empty() {
            verdicts.extend(self.process(&distinct, end, &mut report).await);
        }
        self.hint_settled(&verdicts).await;
        let response = self.answer(&batch.records, &keys, &verdicts, &mut report).await;
        report.emit();
        response
    }

    /// The key of each message's event; `None` where it has none, or it could not be claimed.
    async fn keys(&mut self, messages: &[SqsMessage], report: &mut Report) -> Vec<Option<EventRef>> {
        let mut keys = Vec::with_capacity(messages.len());
        for message in messages {
            keys.push(match read_message(message) {
                Message::Ref(key) => Some(key),
                Message::Spilled(event) => self.claim_spilled(event, report).await,
                // It comes back until the queue gives it to the dead-letter queue, where somebody can look at it.
                Message::Unreadable(why) => {
                    report.unreadable(message, &why);
                    None
                }
            });
        }
        keys
    }

    /// Through the same claim as any delivery, so a claim that did commit before the connection broke makes this a duplicate.
    async fn claim_spilled(&mut self, event: VerifiedEvent, report: &mut Report) -> Option<EventRef> {
        let key = event.key();
        match self.ledger.claim(std::slice::from_ref(&event), self.claim_mode).await {
            Ok(_) => Some(key),
            Err(error) => {
                report.error("cannot claim a spilled event", &error);
                None
            }
        }
    }

    async fn answer(
        &self,
        messages: &[SqsMessage],
        keys: &[Option<EventRef>],
        verdicts: &BTreeMap<EventRef, Verdict>,
        report: &mut Report,
    ) -> SqsBatchResponse {
        let mut response = SqsBatchResponse::default();
        let mut returns = Vec::new();
        for (message, key) in messages.iter().zip(keys) {
            let verdict = key.as_ref().and_then(|key| verdicts.get(key)).copied().unwrap_or(Verdict::Unknown);
            if matches!(verdict, Verdict::Settled | Verdict::Gone) {
                continue;
            }
            response.add_failure(message.message_id.clone().unwrap_or_default());
            if let (Verdict::Again { after }, Some(handle)) = (verdict, &message.receipt_handle) {
                returns.push((handle.clone(), after));
            }
        }
        let arn = messages.first().and_then(|message| message.event_source_arn.as_deref()).unwrap_or_default();
        if let Some(queue) = self.queues.iter().find(|queue| queue.has_arn(arn)).filter(|_| !returns.is_empty()) {
            // One that cannot be changed comes back when the queue's own timeout ends.
            for (_, why) in queue.set_visibilities(&returns).await {
                report.visibility_unchanged(&why);
            }
        }
        response
    }

    async fn hint_settled(&self, verdicts: &BTreeMap<EventRef, Verdict>) {
        for (key, verdict) in verdicts {
            if *verdict == Verdict::Settled {
                self.hint.settled(key).await;
            }
        }
    }
}
