//! What must have become of the story. Anything else fails the demo.

use super::play::{Answer, Played, Row, Subscription};
use super::story::STORY;

/// A scene's name; its answers as status, outcome and how many; its row's status, outcome and attempts; its effects.
type Must = (&'static str, &'static [(u16, Option<&'static str>, usize)], Option<(&'static str, &'static str, i32)>, usize);

const ACCEPTED: Option<&str> = Some("accepted");
const DUPLICATE: Option<&str> = Some("duplicate");

const MUST: &[Must] = &[
    ("created v1", &[(200, ACCEPTED, 1)], Some(("settled", "applied", 1)), 1),
    ("updated v3", &[(200, ACCEPTED, 1)], Some(("settled", "applied", 1)), 1),
    ("updated v2, late", &[(200, ACCEPTED, 1)], Some(("settled", "stale", 1)), 0),
    // The row and the effect are those of its first delivery.
    ("updated v3, again", &[(200, DUPLICATE, 1)], Some(("settled", "applied", 1)), 1),
    ("50 copies at once", &[(200, ACCEPTED, 1), (200, DUPLICATE, 49)], Some(("settled", "applied", 1)), 1),
    ("bad signature", &[(401, None, 1)], None, 0),
    ("push at GitHub", &[(200, ACCEPTED, 1)], Some(("settled", "ignored", 1)), 0),
];

const SUBSCRIPTIONS: &[(&str, &str, &str)] = &[("sub_ada", "team", "active"), ("sub_grace", "starter", "active")];

/// What is not as it must be, a phrase each; empty if all is well.
pub(super) fn complaints(played: &[Played], subscriptions: &[Subscription]) -> Vec<String> {
    let mut complaints: Vec<_> = played.iter().filter_map(complaint).collect();
    if played.len() != STORY.len() || played.len() != MUST.len() {
        complaints.push(format!("{} of {} scenes were played and {} are checked", played.len(), STORY.len(), MUST.len()));
    }
    let ended: Vec<_> = subscriptions.iter().map(|s| (s.id.as_str(), s.plan.as_str(), s.state.as_str())).collect();
    if ended != SUBSCRIPTIONS {
        complaints.push(format!("the subscriptions ended as {ended:?} instead of {SUBSCRIPTIONS:?}"));
    }
    complaints
}

/// What is wrong with one scene.
pub(super) fn complaint(played: &Played) -> Option<String> {
    let name = played.scene.name;
    let Some((_, answers, row, effects)) = MUST.iter().find(|(of, ..)| *of == name) else {
        return Some(format!("{name}: nothing says what must become of it"));
    };
    let must_answer =
        answers.iter().map(|(status, outcome, n)| (Answer { status: *status, outcome: outcome.map(str::to_owned) }, *n));
    let must_row =
        row.map(|(status, outcome, attempts)| Row { status: status.into(), outcome: Some(outcome.into()), attempts });
    if played.answers != must_answer.collect() {
        return Some(format!("{name}: the answers were {:?}", played.answers));
    }
    if played.row != must_row {
        return Some(format!("{name}: the ledger row is {:?} instead of {must_row:?}", played.row));
    }
    (played.effects != *effects).then(|| format!("{name}: {} effects instead of {effects}", played.effects))
}
