//! Whether everybody did the work: a row for each delivery and, where the delivery was new, a message. The bare exchanges have to leave
//! the rows that hookledger leaves.

use anyhow::{Context, ensure};

use super::Subject;
use super::traffic::Traffic;
use crate::stage::Stage;

/// The rows of so many events, all without what tells them apart: if they are alike, that is one line.
const LEDGER: &str = "
SELECT count(*), array_agg(DISTINCT replace(replace(
    ROW(e.event_type, e.account, e.object_kind, e.object_id, e.version, e.lifecycle, e.via, e.status, p.headers,
        convert_from(p.body, 'UTF8'))::text, e.object_id, '(object)'), e.event_id, '(event)'))
FROM webhook_event e JOIN webhook_payload p USING (received_at, source, event_id)
WHERE e.source = 'stripe' AND e.event_id = ANY($1)";

const SEED: &str = "
SELECT count(*), array_agg(DISTINCT event_type) FROM seed_event WHERE source = 'stripe' AND event_id = ANY($1)";

/// What is there of the events, each of which has to be.
pub(super) async fn claims(subject: Subject, stage: &Stage, ids: &[String]) -> anyhow::Result<Vec<String>> {
    let statement = match subject {
        Subject::Answer200 => return Ok(Vec::new()),
        Subject::Bare | Subject::BareTls | Subject::Hookledger | Subject::HookledgerTls | Subject::Duplicates => LEDGER,
        Subject::Python | Subject::Powertools | Subject::Node => SEED,
    };
    let row = stage.sql.query_one(statement, &[&ids]).await?;
    let (count, claims) = (row.get::<_, i64>(0), row.get::<_, Option<Vec<String>>>(1));
    ensure!(count == ids.len() as i64, "{} claims {count} of {} events", subject.name(), ids.len());
    claims.with_context(|| format!("{} claims nothing", subject.name()))
}

pub(super) fn is_queued(subject: Subject, calls: u64, events: usize) -> anyhow::Result<()> {
    let wanted = match subject {
        Subject::Answer200 | Subject::Duplicates => 0,
        Subject::Bare
        | Subject::BareTls
        | Subject::Hookledger
        | Subject::HookledgerTls
        | Subject::Python
        | Subject::Powertools
        | Subject::Node => events as u64,
    };
    ensure!(calls == wanted, "{} sends {calls} messages of {wanted}", subject.name());
    Ok(())
}

/// What the bare exchanges claim is what hookledger does.
pub(super) fn is_the_same(traffic: &[(Subject, Traffic)]) -> anyhow::Result<()> {
    let of = |subject| traffic.iter().find(|(other, _)| *other == subject).map(|(_, traffic)| &traffic.claims);
    let ours = of(Subject::Hookledger);
    for subject in [Subject::Bare, Subject::BareTls] {
        ensure!(of(subject) == ours, "{} claims {:?}, and hookledger {ours:?}", subject.name(), of(subject));
    }
    Ok(())
}
