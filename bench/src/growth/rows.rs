//! A ledger with a history, made in SQL.
//!
//! Invariant: rows are as the ledger's own statements leave them, spread over a year, their ids in no order; both ledgers are
//! made the same way, and differ in how many rows there are.

use anyhow::Context;
use hookledger_ledger::Ledger;
use sha2::{Digest, Sha256};
use tokio_postgres::Client;

/// Ten events are about one object.
const EVENTS_PER_OBJECT: i64 = 10;

/// The id of the row of that number: as long as Stripe's, and in no order, as GitHub's.
pub(super) fn event_id(number: u64) -> String {
    let hash = hex::encode(Sha256::digest(number.to_string()));
    format!("evt_{}", hash.get(..24).unwrap_or_default())
}

const EVENTS: &str = "
INSERT INTO webhook_event (source, event_id, event_type, account, object_kind, object_id, version, lifecycle, via, received_at,
                           status, attempts, lease_token, settled_at, outcome)
SELECT 'stripe', 'evt_' || left(encode(sha256(n::text::bytea), 'hex'), 24), 'customer.subscription.updated', '', 'subscription',
       'sub_' || n / $2::int8, extract(epoch FROM at)::int8 * 1000000, 'updated', 'webhook', at, 'settled', 1, 1, at + interval '1 s',
       'applied'
FROM generate_series(0::int8, $1::int8 - 1) AS n
CROSS JOIN LATERAL (SELECT now() - interval '1 year' + interval '1 year' * (n::float8 / $1) AS at) AS received";

const PAYLOADS: &str = "
INSERT INTO webhook_payload (source, event_id, received_at, headers, body)
SELECT source, event_id, received_at, '{\"content-type\": \"application/json\"}', decode(repeat(encode(sha256(event_id::bytea), 'hex'), 62), 'hex')
FROM webhook_event ORDER BY received_at DESC LIMIT $1";

const OBJECTS: &str = "
INSERT INTO webhook_object (source, account, kind, object_id, version, deleted, event_id, tied_event_ids)
SELECT 'stripe', '', 'subscription', 'sub_' || n, 0, false, 'evt_0', ARRAY['evt_0'] FROM generate_series(0::int8, $1::int8) AS n";

/// As the sweeper left them when they were received.
const PARTITIONS: &str = "
SELECT webhook_payload_add_month((now() - make_interval(months => m))::date) FROM generate_series(0, 12) AS m";

/// Received an hour ago and never queued. As long as the others, so that what a sweep writes finds no room among them.
const BACKLOG: &str = "
INSERT INTO webhook_event (source, event_id, event_type, account, object_kind, object_id, version, lifecycle, via, received_at)
SELECT 'stripe', 'evt_' || left(encode(sha256(('waits' || n)::bytea), 'hex'), 24), 'customer.subscription.updated', '', 'subscription',
       'sub_' || n, extract(epoch FROM now())::int8 * 1000000, 'updated', 'webhook', now() - interval '1 hour'
FROM generate_series(1, $1::int4) AS n";

/// As far as there is room, which is as it would be after some days.
const WARM: &str = "
CREATE EXTENSION pg_prewarm;
SELECT pg_prewarm(oid) FROM pg_class WHERE relname IN ('webhook_event', 'webhook_event_pkey', 'webhook_object', 'webhook_object_pkey')";

/// Each part of shared memory costs a server process a page fault the first time that it looks there, which on a virtual machine takes as
/// long as a quarter of a claim, and never again.
const READ_ALL: &str = "
SET LOCAL statement_timeout = 0;
SET LOCAL max_parallel_workers_per_gather = 0;
SELECT count(lifecycle) FROM webhook_event;
SELECT count(event_id) FROM webhook_object;
SET LOCAL enable_seqscan = off;
SET LOCAL enable_bitmapscan = off;
SELECT count(event_id) FROM webhook_event WHERE source = 'stripe';
SELECT count(object_id) FROM webhook_object WHERE source = 'stripe'";

const INDEXES: &str = "
SELECT indexdef, indexname FROM pg_indexes i
WHERE tablename IN ('webhook_event', 'webhook_object')
  AND NOT EXISTS (SELECT FROM pg_constraint WHERE conname = indexname)";

const KEYS: &str = "
SELECT conrelid::regclass::text AS relation, conname, pg_get_constraintdef(oid) AS definition FROM pg_constraint
WHERE contype = 'p' AND conrelid IN ('webhook_event'::regclass, 'webhook_object'::regclass)";

/// Over the connection that is measured then.
pub(super) async fn read_all(ledger: &mut Ledger) -> anyhow::Result<()> {
    let work = ledger.begin().await?;
    work.transaction().batch_execute(READ_ALL).await.context("look at the whole ledger")?;
    Ok(())
}

/// `payloads` of the newest rows get their payload; `backlog` rows wait to be swept.
pub(super) async fn generate(sql: &Client, rows: u64, payloads: u64, backlog: u32) -> anyhow::Result<()> {
    let rows = i64::try_from(rows).context("too many rows")?;
    sql.batch_execute("SET maintenance_work_mem = '1GB'; SET max_parallel_maintenance_workers = 1").await?;
    sql.query(PARTITIONS, &[]).await?;
    // Indexes are made at the end, as a restored database's are: with them it would take five times as long.
    let indexes = sql.query(INDEXES, &[]).await?;
    let keys = sql.query(KEYS, &[]).await?;
    for index in &indexes {
        sql.batch_execute(&format!("DROP INDEX {}", index.get::<_, &str>("indexname"))).await?;
    }
    for key in &keys {
        let (relation, name): (&str, &str) = (key.get("relation"), key.get("conname"));
        sql.batch_execute(&format!("ALTER TABLE {relation} DROP CONSTRAINT {name}")).await?;
    }
    sql.execute(EVENTS, &[&rows, &EVENTS_PER_OBJECT]).await.context("make events")?;
    sql.execute(OBJECTS, &[&(rows / EVENTS_PER_OBJECT)]).await.context("make objects")?;
    for key in &keys {
        let (relation, name, definition): (&str, &str, &str) =
            (key.get("relation"), key.get("conname"), key.get("definition"));
        sql.batch_execute(&format!("ALTER TABLE {relation} ADD CONSTRAINT {name} {definition}")).await?;
    }
    for index in &indexes {
        sql.batch_execute(index.get("indexdef")).await?;
    }
    sql.execute(PAYLOADS, &[&i64::try_from(payloads)?]).await.context("make payloads")?;
    sql.execute(BACKLOG, &[&i32::try_from(backlog)?]).await.context("make a backlog")?;
    for statement in ["VACUUM (ANALYZE, FREEZE)", "CHECKPOINT"] {
        sql.batch_execute(statement).await?;
    }
    sql.batch_execute(WARM).await.context("read the ledger into memory")?;
    Ok(())
}
