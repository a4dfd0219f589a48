//! The report for a program: one JSON object on standard output.

use serde_json::{Value, json};

use super::Report;
use super::check::complaint;
use super::play::Played;
use crate::stage::Stage;

pub(super) fn render(report: &Report, stage: &Stage) -> String {
    let subscriptions = report.subscriptions.iter();
    let value = json!({
        "ok": report.complaints.is_empty(),
        "seconds": report.took.as_secs_f64(),
        "deliveries": report.played.iter().map(delivery).collect::<Vec<_>>(),
        "subscriptions": subscriptions
            .map(|s| json!({ "subscription_id": s.id, "plan": s.plan, "state": s.state, "version": s.version }))
            .collect::<Vec<_>>(),
        "complaints": report.complaints,
        "urls": { "webhooks": format!("{}/webhooks", stage.watch.url()), "database": stage.database_url, "queue": stage.queue_url },
    });
    format!("{value:#}")
}

fn delivery(played: &Played) -> Value {
    let answers = played.answers.iter();
    json!({
        "name": played.scene.name,
        "source": played.scene.source(),
        "event_id": played.scene.event_id,
        "copies": played.scene.copies,
        "answers": answers
            .map(|(answer, count)| json!({ "status": answer.status, "outcome": answer.outcome, "count": count }))
            .collect::<Vec<_>>(),
        "row": played.row.as_ref().map(|row| json!({
            "status": row.status, "outcome": row.outcome, "attempts": row.attempts,
        })),
        "effects": played.effects,
        "seconds": played.took.as_secs_f64(),
        "ok": complaint(played).is_none(),
    })
}
