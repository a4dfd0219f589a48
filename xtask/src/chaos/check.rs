//! The judge. It knows what was sent and acknowledged, looks at ledger and business rows, and asks three questions.

use std::collections::{BTreeMap, HashMap};

use hookledger_harness::subscription::SubscriptionEvent;

use super::evidence::{Evidence, Row, Subscription};

/// A sentence for each.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Violations {
    /// Acknowledged, and neither settled nor a dead letter; or settled as applied, and without an effect.
    pub(super) lost: Vec<String>,
    /// More effects than there should be.
    pub(super) twice: Vec<String>,
    /// An older version written over a newer one, or a state that is not the newest.
    pub(super) out_of_order: Vec<String>,
}

impl Violations {
    pub(super) fn count(&self) -> usize {
        self.lost.len() + self.twice.len() + self.out_of_order.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count() == 0
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &String> {
        self.lost.iter().chain(&self.twice).chain(&self.out_of_order)
    }
}

pub(super) fn check(evidence: &Evidence) -> Violations {
    let mut violations = Violations::default();
    let mut rows: HashMap<&str, Vec<&Row>> = HashMap::new();
    for row in &evidence.rows {
        rows.entry(&row.event_id).or_default().push(row);
    }
    let mut effects: HashMap<(&str, i64), usize> = HashMap::new();
    for effect in &evidence.effects {
        *effects.entry((&effect.subscription, effect.version)).or_default() += 1;
    }
    for (event, acknowledged) in &evidence.sent {
        let rows = rows.get(event.id.as_str()).map(Vec::as_slice).unwrap_or_default();
        let times = effects.remove(&(event.subscription.as_str(), event.version())).unwrap_or(0);
        judge_event(event, *acknowledged, rows, times, &mut violations);
    }
    for (subscription, version) in effects.keys() {
        violations.twice.push(format!("{subscription} was written for version {version}, which nobody sent"));
    }
    judge_order(evidence, &rows, &mut violations);
    violations
}

fn judge_event(event: &SubscriptionEvent, acknowledged: bool, rows: &[&Row], effects: usize, violations: &mut Violations) {
    let id = &event.id;
    let expected = match rows {
        [] if acknowledged => {
            violations.lost.push(format!("{id} was acknowledged and is not in the ledger"));
            0
        }
        [] => 0,
        [row] => match (row.status.as_str(), row.outcome.as_deref()) {
            ("settled", Some("applied")) => 1,
            ("settled", Some("stale")) | ("dead_letter", _) => 0,
            (status, outcome) => {
                if acknowledged {
                    violations.lost.push(format!("{id} was acknowledged and is {status} {}", outcome.unwrap_or_default()));
                }
                0
            }
        },
        several => {
            violations.twice.push(format!("{id} has {} rows in the ledger", several.len()));
            1
        }
    };
    if effects > expected {
        violations.twice.push(format!("{id} had {effects} effects instead of {expected}"));
    }
    if effects < expected {
        violations.lost.push(format!("{id} is settled as applied and had no effect"));
    }
}

/// Each subscription's effects go up in version, and it ends as the newest of its settled events says, which is at least as new
/// as any acknowledged one that is not a dead letter.
fn judge_order(evidence: &Evidence, rows: &HashMap<&str, Vec<&Row>>, violations: &mut Violations) {
    let mut newest_written: BTreeMap<&str, i64> = BTreeMap::new();
    for effect in &evidence.effects {
        if let Some(before) = newest_written.insert(&effect.subscription, effect.version).filter(|v| *v > effect.version) {
            let (subscription, version) = (&effect.subscription, effect.version);
            violations.out_of_order.push(format!("{subscription} was written with version {version} after {before}"));
        }
    }
    let mut newest: BTreeMap<&str, &SubscriptionEvent> = BTreeMap::new();
    for (event, acknowledged) in &evidence.sent {
        let status = rows.get(event.id.as_str()).and_then(|rows| rows.first()).map(|row| row.status.as_str());
        // One that is lost is told above; it must not excuse a state that is too old.
        let counts = status == Some("settled") || (*acknowledged && status != Some("dead_letter"));
        let newer = |known: &&SubscriptionEvent| known.version() < event.version();
        if counts && newest.get(event.subscription.as_str()).is_none_or(newer) {
            newest.insert(&event.subscription, event);
        }
    }
    let states: HashMap<&str, &Subscription> = evidence.subscriptions.iter().map(|s| (s.id.as_str(), s)).collect();
    for (id, event) in newest {
        let state = states.get(id);
        if state.map(|state| (state.plan.as_str(), state.version)) != Some((&event.plan, event.version())) {
            let shown = state.map_or("there is no row of it".to_owned(), |state| format!("it shows {}", state.plan));
            violations.out_of_order.push(format!("{id}: {shown}, and its newest event {} says {}", event.id, event.plan));
        }
    }
}

#[cfg(test)]
mod tests {
    use hookledger_harness::subscription::Effect;

    use super::*;

    /// Two events of one subscription, both applied as they should be.
    fn good() -> Evidence {
        let event = |number: i64| SubscriptionEvent {
            id: format!("evt_{number}"),
            change: "updated",
            subscription: "sub".to_owned(),
            plan: format!("plan_{number}"),
            created_s: number,
        };
        let row = |id: &str| Row {
            event_id: id.into(),
            status: "settled".into(),
            outcome: Some("applied".into()),
            attempts: 1,
            via: "webhook".into(),
        };
        let effect = |version| Effect { subscription: "sub".to_owned(), version };
        Evidence {
            sent: vec![(event(1), true), (event(2), true)],
            rows: vec![row("evt_1"), row("evt_2")],
            effects: vec![effect(1_000_000), effect(2_000_000)],
            subscriptions: vec![Subscription { id: "sub".into(), plan: "plan_2".into(), version: 2_000_000 }],
        }
    }

    /// How many violations of each kind there are when `spoil` is through with good evidence.
    #[track_caller]
    fn check_spoilt(spoil: impl FnOnce(&mut Evidence), lost: usize, twice: usize, out_of_order: usize) {
        let mut evidence = good();
        spoil(&mut evidence);
        let found = check(&evidence);
        let counts = (found.lost.len(), found.twice.len(), found.out_of_order.len());
        assert_eq!(counts, (lost, twice, out_of_order), "{found:?}");
    }

    #[test]
    fn good_evidence_is_not_complained_about() {
        check_spoilt(|_| (), 0, 0, 0);
    }

    #[test]
    fn a_lost_event_is_found() {
        let no_row = |e: &mut Evidence| {
            e.rows.remove(0);
            e.effects.remove(0);
        };
        check_spoilt(no_row, 1, 0, 0);
        let unfinished = |e: &mut Evidence| {
            e.rows[0] = Row { status: "failed".into(), outcome: None, ..e.rows[0].clone() };
            e.effects.remove(0);
        };
        check_spoilt(unfinished, 1, 0, 0);
        check_spoilt(|e| drop(e.effects.remove(0)), 1, 0, 0);
        let the_newest = |e: &mut Evidence| {
            e.rows.remove(1);
            e.effects.remove(1);
            e.subscriptions[0] = Subscription { plan: "plan_1".into(), version: 1_000_000, ..e.subscriptions[0].clone() };
        };
        check_spoilt(the_newest, 1, 0, 1);
    }

    #[test]
    fn a_doubled_event_is_found() {
        check_spoilt(|e| e.effects.insert(0, e.effects[0].clone()), 0, 1, 0);
        check_spoilt(|e| e.rows[0].outcome = Some("stale".into()), 0, 1, 0);
        check_spoilt(|e| e.rows.push(e.rows[0].clone()), 0, 1, 0);
        check_spoilt(|e| e.effects.insert(0, Effect { subscription: "sub".into(), version: 7 }), 0, 1, 0);
        let dead = |e: &mut Evidence| e.rows[0] = Row { status: "dead_letter".into(), outcome: None, ..e.rows[0].clone() };
        check_spoilt(dead, 0, 1, 0);
    }

    #[test]
    fn an_older_version_on_top_is_found() {
        check_spoilt(|e| e.effects.swap(0, 1), 0, 0, 1);
        check_spoilt(|e| e.subscriptions[0].version = 1_000_000, 0, 0, 1);
        check_spoilt(|e| e.subscriptions[0].plan = "plan_1".into(), 0, 0, 1);
        check_spoilt(|e| e.subscriptions.clear(), 0, 0, 1);
    }

    #[test]
    fn what_was_never_acknowledged_may_be_missing_and_what_is_a_dead_letter_may_be_without_effect() {
        let missing = |e: &mut Evidence| {
            e.sent[0].1 = false;
            e.rows.remove(0);
            e.effects.remove(0);
        };
        check_spoilt(missing, 0, 0, 0);
        let dead = |e: &mut Evidence| {
            e.rows[0] = Row { status: "dead_letter".into(), outcome: None, ..e.rows[0].clone() };
            e.effects.remove(0);
        };
        check_spoilt(dead, 0, 0, 0);
    }
}
