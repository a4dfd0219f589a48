//! Looking for what is wrong with a deployment, from beside its database. Invariant: nothing is changed, and what cannot be looked
//! at is said to be unknown instead of right.

use hookledger_core::Micros;
use hookledger_ledger::{ConnectError, LEASE_TERM_S, LedgerError};
use serde::{Deserialize, Serialize};

use crate::place::Place;
use crate::{Command, CommandError};

/// The worker's own limit, of which its queue's visibility timeout should be six times
/// (docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html).
const WORKER_TIMEOUT_S: u64 = 30;
/// An event is given up by the ledger after five attempts; the queue has to be more patient, or its dead letters would be events.
const RECEIVES_MIN: u64 = 10;
/// A signature's time is compared with the receiver's clock, which Lambda keeps; the database's says when a lease ends.
const SKEW_MAX_S: i64 = 5;

/// What is found here.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Doctor {
    /// The caller's clock, in microseconds since 1970.
    pub now: Micros,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    pub subject: String,
    pub state: State,
    /// What is right, or how to mend it.
    pub told: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Right,
    /// It works, and somebody should know.
    Notice,
    Wrong,
    Unknown,
}

impl Finding {
    pub fn new(subject: impl Into<String>, state: State, told: impl Into<String>) -> Self {
        Self { subject: subject.into(), state, told: told.into() }
    }
}

impl Command for Doctor {
    const NAME: &'static str = "doctor";
    type Answer = Vec<Finding>;
    async fn run(self, place: &mut Place) -> Result<Vec<Finding>, CommandError> {
        let mut findings = database(place, self.now).await?;
        findings.extend(queue(place).await);
        Ok(findings)
    }
}

async fn database(place: &mut Place, now: Micros) -> Result<Vec<Finding>, CommandError> {
    let health = match place.ledger.health().await {
        Ok(health) => health,
        Err(LedgerError::Connect { source, .. }) => {
            return Ok(vec![Finding::new("database", State::Wrong, format!("{source}: {}", mend(&source)))]);
        }
        Err(other) => return Err(other.into()),
    };
    let mut findings =
        vec![Finding::new("database", State::Right, format!("Postgres {} as {}", health.server, health.user))];
    findings.push(match health.tls {
        Some(version) => Finding::new("database TLS", State::Right, version),
        None => Finding::new("database TLS", State::Notice, "none: right for this machine only (DATABASE_TLS)"),
    });
    let skew_s = (health.now - now) / 1_000_000;
    findings.push(if skew_s.abs() <= SKEW_MAX_S {
        Finding::new("clocks", State::Right, format!("the database's and the caller's are within {SKEW_MAX_S} s"))
    } else {
        Finding::new("clocks", State::Notice, format!("the database's is {skew_s} s from the caller's: set that by NTP"))
    });
    if !health.migrations_missing.is_empty() {
        let missing = health.migrations_missing.join(", ");
        findings.push(Finding::new("migrations", State::Wrong, format!("{missing} missing: run `hookledger migrate`")));
        return Ok(findings);
    }
    findings.push(Finding::new("migrations", State::Right, "all of this version are applied"));
    findings.push(if health.next_month {
        Finding::new("payload partitions", State::Right, "the next month has one")
    } else {
        Finding::new("payload partitions", State::Notice, "none for the next month: does the sweeper run?")
    });
    let backlog = place.ledger.backlog().await?;
    let (waiting, age_s) = (backlog.unsettled, backlog.oldest_age.as_secs());
    let state = if waiting > 0 && age_s > 300 { State::Notice } else { State::Right };
    let told = if waiting == 0 { "none".to_owned() } else { format!("{waiting} events, the oldest {age_s} s old") };
    findings.push(Finding::new("backlog", state, told));
    findings.push(match backlog.dead_letters {
        0 => Finding::new("dead letters", State::Right, "none"),
        n => Finding::new("dead letters", State::Notice, format!("{n}: see `hookledger events list --status dead_letter`")),
    });
    Ok(findings)
}

fn mend(error: &ConnectError) -> &'static str {
    match error {
        ConnectError::Url => "mend DATABASE_URL",
        ConnectError::CaCertificates(_) => "mend DATABASE_CA_FILE or DATABASE_CA_PEM",
        ConnectError::Unreachable(_) => "is it running, and does its network let this place in?",
        ConnectError::Tls(_) => "name its authority with DATABASE_CA_FILE, or the host by the name in its certificate",
        ConnectError::Authentication(_) => "mend the user or password in DATABASE_URL or DATABASE_SECRET_ARN",
        ConnectError::Refused(_) => "does the database that DATABASE_URL names exist?",
    }
}

async fn queue(place: &Place) -> Vec<Finding> {
    let Some(queue) = &place.queue else {
        return vec![Finding::new("queue", State::Unknown, "QUEUE_URL is not set here, so nobody looked")];
    };
    let (settings, depth) = match (queue.settings().await, queue.depth().await) {
        (Ok(settings), Ok(depth)) => (settings, depth),
        (Err(error), _) | (_, Err(error)) => {
            let why = "mend QUEUE_URL, or allow sqs:GetQueueAttributes here";
            return vec![Finding::new("queue", State::Unknown, format!("{error}: {why}"))];
        }
    };
    let mut findings = vec![Finding::new("queue", State::Right, format!("{depth} messages wait"))];
    let visibility_min = (6 * WORKER_TIMEOUT_S).max(LEASE_TERM_S as u64 + 1);
    findings.push(match settings.visibility_s {
        Some(s) if s >= visibility_min => Finding::new("queue visibility", State::Right, format!("{s} s")),
        Some(s) => Finding::new("queue visibility", State::Wrong, format!("{s} s: it must be {visibility_min} s or more")),
        None => Finding::new("queue visibility", State::Unknown, "the queue does not say"),
    });
    findings.push(match settings.receives_max {
        Some(n) if n >= RECEIVES_MIN => Finding::new("queue redrive", State::Right, format!("after {n} receives")),
        Some(n) => Finding::new(
            "queue redrive",
            State::Wrong,
            format!("after {n} receives: set maxReceiveCount to {RECEIVES_MIN} or more"),
        ),
        None => {
            Finding::new("queue redrive", State::Notice, "there is no dead-letter queue: what cannot be read goes round")
        }
    });
    findings
}
