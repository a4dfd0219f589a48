//! One delivery: verify, claim, answer.

use std::rc::Rc;
use std::time::Duration;

use hookledger_core::{Claim, ClaimMode, Secret, VerifiedEvent};
use hookledger_ledger::Ledger;
use hookledger_providers::{Rejection, SignedRequest, Source, Sources, Verified, key_fetch, verify};
use hookledger_queue::{Queue, SpillError, SpillQueue};
use hookledger_runtime::{FetchedKeys, HINT_BUDGET, Hint, KeyError, SecretStore, SecretsError, now};
use lambda_http::http::Method;
use lambda_http::{Body, Request, Response};
use tokio::time::timeout;

use crate::answer;
use crate::report::Report;
use crate::request::{Target, signed_request, target};
use crate::unfinished::Unfinished;

/// What is late goes another way: an event that is not claimed in time is spilled, an id that is not sent in time is left to the
/// sweeper.
pub(crate) const CLAIM_WITHIN: Duration = Duration::from_millis(1500);
/// To either queue: to the one while the answer is on its way, or to the other before it.
pub(crate) const SEND_WITHIN: Duration = Duration::from_millis(1000);
/// Whether a hint is true is a read of one row: if that is slow, the claim is the better way to ask.
const LOOK_WITHIN: Duration = Duration::from_millis(250);

/// What the ledger and the queue can cost a warm delivery at most, whatever is broken. Slack and others wait for 3 s in all.
pub const ANSWER_WITHIN: Duration =
    HINT_BUDGET.saturating_add(LOOK_WITHIN).saturating_add(CLAIM_WITHIN).saturating_add(SEND_WITHIN);

pub struct Receiver {
    pub ledger: Ledger,
    pub queue: Rc<Queue>,
    pub spill: Option<SpillQueue>,
    pub sources: Sources,
    pub secrets: SecretStore,
    pub fetched_keys: FetchedKeys,
    pub replay_token: Option<Secret>,
    pub claim_mode: ClaimMode,
    pub hint: Hint,
}

impl Receiver {
    /// The answer, and what is to be done while it is on its way.
    pub async fn receive(&mut self, request: Request) -> (Response<Body>, Option<Unfinished>) {
        let mut unfinished = Unfinished { queue: self.queue.clone(), keys: Vec::new(), report: Report::new() };
        let response = match target(request.uri().path()) {
            Target::Health if request.method() == Method::GET => return (answer::healthy(), None),
            Target::Health => answer::method_not_allowed("GET"),
            Target::Nowhere => answer::not_found(),
            Target::Webhook(name) => self.deliver(request, &name, &mut unfinished).await,
        };
        unfinished.report.answered(response.status().as_u16());
        (response, Some(unfinished))
    }

    async fn deliver(&mut self, request: Request, name: &str, unfinished: &mut Unfinished) -> Response<Body> {
        let report = &mut unfinished.report;
        let Some(source) = self.sources.get(name) else { return answer::not_found() };
        report.source(source.name());
        let accepted_status = source.accepted_status();
        let request = signed_request(request, name);
        match self.verify(source, &request).await {
            Ok(Verified::Events(events)) => answer::as_wanted(accepted_status, self.take(&events, unfinished).await),
            Ok(Verified::Handshake(handshake)) => answer::handshake(handshake),
            Ok(Verified::Ignored { reason }) => {
                report.ignored(reason);
                answer::as_wanted(accepted_status, answer::ignored())
            }
            Err(Unverified::Rejected(rejection)) => {
                report.rejected(rejection.reason());
                answer::rejected(&rejection)
            }
            Err(Unverified::NoSecrets(error)) => {
                report.error("cannot read the source's secrets", &error);
                answer::unavailable()
            }
            Err(Unverified::NoKey(error)) => {
                report.error("cannot fetch the key of a delivery", &error);
                match error {
                    KeyError::Refused { .. } => {
                        report.rejected(Rejection::BadSignature.reason());
                        answer::rejected(&Rejection::BadSignature)
                    }
                    KeyError::Unavailable { .. } => answer::unavailable(),
                }
            }
        }
    }

    async fn verify(&self, source: &Source, request: &SignedRequest) -> Result<Verified, Unverified> {
        let now = now();
        let secrets = self.secrets.secrets_for(source, now).await.map_err(Unverified::NoSecrets)?;
        let check = |secrets: &[Secret]| verify(source, request, secrets, self.replay_token.as_ref(), now / 1_000_000);
        if let Some(fetch) = key_fetch(source, request).map_err(Unverified::Rejected)? {
            let key = self.fetched_keys.key(&fetch, &secrets, now).await.map_err(Unverified::NoKey)?;
            return check(&[key]).map_err(Unverified::Rejected);
        }
        match check(&secrets) {
            // The secret may have been rotated since it was fetched.
            Err(Rejection::BadSignature) => match self.secrets.refetch_after_failure(source, now).await {
                Some(secrets) => check(&secrets).map_err(Unverified::Rejected),
                None => Err(Unverified::Rejected(Rejection::BadSignature)),
            },
            checked => checked.map_err(Unverified::Rejected),
        }
    }

    async fn take(&mut self, events: &[VerifiedEvent], unfinished: &mut Unfinished) -> Response<Body> {
        let report = &mut unfinished.report;
        let Some(first) = events.first() else { return answer::ignored() };
        let event_id = &first.identity().event_id;
        report.event(first, events.len());
        if self.hint.is_on() && Box::pin(self.is_storm(events)).await {
            report.duplicates(events.len());
            return answer::duplicate(event_id, events.len());
        }
        let claims = match self.ledger.claim(events, self.claim_mode).await {
            Ok(claims) => claims,
            Err(error) => {
                report.error("cannot claim", &error);
                return self.spill(events, report).await;
            }
        };
        report.claims(&claims, self.claim_mode);
        unfinished.keys =
            events.iter().zip(&claims).filter(|(_, claim)| needs_message(**claim)).map(|(event, _)| event.key()).collect();
        if claims.contains(&Claim::New) {
            answer::accepted(event_id, events.len())
        } else {
            answer::duplicate(event_id, events.len())
        }
    }

    /// Whether it was settled a moment ago, as in a storm of retries. What the hint says is looked up and not believed: it would
    /// lose an event if it were wrong. In observe mode a duplicate is processed, so it has to be claimed.
    async fn is_storm(&mut self, events: &[VerifiedEvent]) -> bool {
        let (ClaimMode::Enforce, [event]) = (self.claim_mode, events) else { return false };
        let key = event.key();
        if !self.hint.seen(&key).await {
            return false;
        }
        let Ok(settled) = timeout(LOOK_WITHIN, self.ledger.is_settled(&key)).await else {
            // The claim must not wait behind a question that was given up.
            self.ledger.disconnect();
            return false;
        };
        settled.unwrap_or(false)
    }

    async fn spill(&self, events: &[VerifiedEvent], report: &mut Report) -> Response<Body> {
        let Some((spill, first)) = self.spill.as_ref().zip(events.first()) else { return answer::unavailable() };
        let received_at = now();
        let all = async {
            for event in events {
                spill.spill(event, received_at).await?;
            }
            Ok(())
        };
        match timeout(SEND_WITHIN, all).await {
            Ok(Ok(())) => {
                report.spilled(events.len());
                answer::accepted(&first.identity().event_id, events.len())
            }
            Ok(Err::<_, SpillError>(error)) => {
                report.error("cannot spill", &error);
                answer::unavailable()
            }
            Err(elapsed) => {
                report.error("cannot spill", &elapsed);
                answer::unavailable()
            }
        }
    }
}

enum Unverified {
    Rejected(Rejection),
    NoSecrets(SecretsError),
    NoKey(KeyError),
}

fn needs_message(claim: Claim) -> bool {
    match claim {
        Claim::New => true,
        Claim::Duplicate { requeue, .. } => requeue,
    }
}
