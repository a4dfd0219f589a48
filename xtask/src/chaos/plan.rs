//! What is sent and what goes wrong meanwhile, drawn from a seed.
//!
//! Invariant: versions of one subscription differ, so that there is one newest. Ties are another test's subject: one that is
//! decided late may rightly write a row for the same version again.

use std::collections::HashMap;
use std::time::Duration;

use fastrand::Rng;
use hookledger_harness::subscription::SubscriptionEvent;

const EVENTS_PER_SUBSCRIPTION: usize = 6;
/// How many places later an event may be delivered than it should be.
const REORDERED_BY: usize = 25;
const DUPLICATES_PERCENT: u8 = 20;
/// Every kind of fault comes at least so often.
const DECKS_MIN: usize = 2;
const DELIVERIES_PER_ROUND_MAX: usize = 400;
const FIRST_CREATED_S: i64 = 1_700_000_000;

/// A round: some deliveries, and one fault in the middle of them.
pub(super) struct Round {
    pub(super) fault: Fault,
    pub(super) lasts: Duration,
    /// Which events are delivered, and how long after the one before.
    pub(super) deliveries: Vec<(usize, Duration)>,
    /// What else the fault has to choose is drawn from this.
    pub(super) choice: u64,
}

pub(super) struct Plan {
    pub(super) events: Vec<SubscriptionEvent>,
    pub(super) subscriptions: usize,
    pub(super) rounds: Vec<Round>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fault {
    ReceiversKilled,
    WorkersKilled,
    ReceiverKilledAtItsAnswer,
    WorkerKilledAtItsAnswer,
    SweeperKilled,
    SocketsCut,
    CommitAnswerLost,
    PostgresRefuses,
    PostgresSilent,
    PostgresStopped,
    QueueRefuses,
    QueueDelays,
    QueueRepeats,
    QueueLosesAnswers,
    BothRefuse,
}

impl Fault {
    pub(super) const ALL: [Self; 15] = [
        Self::ReceiversKilled,
        Self::WorkersKilled,
        Self::ReceiverKilledAtItsAnswer,
        Self::WorkerKilledAtItsAnswer,
        Self::SweeperKilled,
        Self::SocketsCut,
        Self::CommitAnswerLost,
        Self::PostgresRefuses,
        Self::PostgresSilent,
        Self::PostgresStopped,
        Self::QueueRefuses,
        Self::QueueDelays,
        Self::QueueRepeats,
        Self::QueueLosesAnswers,
        Self::BothRefuse,
    ];

    /// For the table, and for programs with underscores.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::ReceiversKilled => "receiver killed",
            Self::WorkersKilled => "worker killed",
            Self::ReceiverKilledAtItsAnswer => "receiver killed at its answer",
            Self::WorkerKilledAtItsAnswer => "worker killed at its answer",
            Self::SweeperKilled => "sweeper killed",
            Self::SocketsCut => "database sockets cut",
            Self::CommitAnswerLost => "answer to a commit lost",
            Self::PostgresRefuses => "database refuses",
            Self::PostgresSilent => "database silent",
            Self::PostgresStopped => "database stopped at once",
            Self::QueueRefuses => "queue refuses",
            Self::QueueDelays => "queue delays",
            Self::QueueRepeats => "queue repeats",
            Self::QueueLosesAnswers => "queue loses answers",
            Self::BothRefuse => "database and queue refuse",
        }
    }
}

impl Plan {
    pub(super) fn new(events: usize, seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let subscriptions = events.div_ceil(EVENTS_PER_SUBSCRIPTION);
        let events = draw_events(events, subscriptions, &mut rng);
        let order = draw_order(events.len(), &mut rng);
        let rounds = (DECKS_MIN * Fault::ALL.len()).max(order.len().div_ceil(DELIVERIES_PER_ROUND_MAX));
        let mut deck = Vec::new();
        let round = |number: usize| {
            if deck.is_empty() {
                deck.extend(Fault::ALL);
                rng.shuffle(&mut deck);
            }
            let mine = &order[number * order.len() / rounds..(number + 1) * order.len() / rounds];
            let lasts = Duration::from_millis(rng.u64(150..1000));
            // So that they come before, in and after the fault.
            let gap_ms = 2 * lasts.as_millis() as u64 / mine.len().max(1) as u64;
            Round {
                fault: deck.pop().unwrap_or(Fault::SocketsCut),
                lasts,
                deliveries: mine.iter().map(|event| (*event, Duration::from_millis(rng.u64(0..=gap_ms)))).collect(),
                choice: rng.u64(..),
            }
        };
        Self { rounds: (0..rounds).map(round).collect(), events, subscriptions }
    }

    pub(super) fn deliveries(&self) -> usize {
        self.rounds.iter().map(|round| round.deliveries.len()).sum()
    }
}

fn draw_events(count: usize, subscriptions: usize, rng: &mut Rng) -> Vec<SubscriptionEvent> {
    let mut so_far: HashMap<usize, i64> = HashMap::new();
    let mut events: Vec<SubscriptionEvent> = (0..count)
        .map(|number| {
            let subscription = rng.usize(..subscriptions);
            let version = so_far.entry(subscription).or_insert(0);
            *version += 1;
            SubscriptionEvent {
                id: format!("evt_{number}"),
                change: if *version == 1 { "created" } else { "updated" },
                subscription: format!("sub_{subscription}"),
                plan: format!("plan_{version}"),
                created_s: FIRST_CREATED_S + *version,
            }
        })
        .collect();
    for event in &mut events {
        let number = event.subscription.trim_start_matches("sub_").parse().unwrap_or(0);
        // Some end, and the end is the newest. It must not be undone by what comes late.
        if number % 7 == 0 && Some(&(event.created_s - FIRST_CREATED_S)) == so_far.get(&number) && event.change == "updated"
        {
            event.change = "deleted";
        }
    }
    events
}

/// Each event once and some again, near its place.
fn draw_order(events: usize, rng: &mut Rng) -> Vec<usize> {
    let mut order = Vec::with_capacity(events + events / 4);
    for event in 0..events {
        order.push((event + rng.usize(0..REORDERED_BY), event));
        while rng.u8(..100) < DUPLICATES_PERCENT {
            // Half of them at once.
            let later = if rng.bool() { 0 } else { rng.usize(0..2 * REORDERED_BY) };
            order.push((event + later, event));
        }
    }
    order.sort_by_key(|(place, _)| *place);
    order.into_iter().map(|(_, event)| event).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_a_plan_and_another_does_not() {
        let plan = |seed| {
            let plan = Plan::new(300, seed);
            let rounds: Vec<_> = plan.rounds.into_iter().map(|r| (r.fault, r.lasts, r.deliveries, r.choice)).collect();
            (plan.events, rounds)
        };
        assert_eq!(plan(7), plan(7));
        assert_ne!(plan(7), plan(8));
    }

    #[test]
    fn a_plan_has_every_event_duplicates_disorder_and_every_fault() {
        let plan = Plan::new(300, 1);
        let order: Vec<usize> = plan.rounds.iter().flat_map(|r| r.deliveries.iter().map(|(event, _)| *event)).collect();
        let mut distinct = order.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), 300);
        assert!(order.len() > 330 && !order.is_sorted());
        for fault in Fault::ALL {
            assert!(plan.rounds.iter().filter(|round| round.fault == fault).count() >= DECKS_MIN, "{fault:?}");
        }
        assert!(plan.events.iter().any(|event| event.change == "deleted"));
    }
}
