-- The ledger: one narrow row per event, for ever. It is the deduplication key, the outbox and the state of the event.
CREATE TABLE webhook_event (
    source          text        NOT NULL,
    event_id        text        NOT NULL,
    event_type      text        NOT NULL,
    -- The object the event is about and the provider's version of it, as the version guard compares them.
    account         text,
    object_kind     text,
    object_id       text,
    version         bigint,                 -- microseconds since 1970 UTC, by the provider's clock
    lifecycle       text        NOT NULL,
    via             text        NOT NULL,
    received_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    status          text        NOT NULL DEFAULT 'claimed',
    attempts        integer     NOT NULL DEFAULT 0,
    lease_token     bigint      NOT NULL DEFAULT 0,
    lease_until     timestamptz,
    next_attempt_at timestamptz,
    requeued_at     timestamptz,            -- last time its id was sent to the queue again
    settled_at      timestamptz,            -- when it left the working set, settled or as a dead letter
    outcome         text,
    last_error      text,
    would_skip      integer     NOT NULL DEFAULT 0,  -- duplicates processed all the same in observe mode

    -- Two providers may use one id. No serial id: ON CONFLICT would burn a number for every duplicate.
    CONSTRAINT webhook_event_pkey PRIMARY KEY (source, event_id)
)
-- Vacuumed after so many changes, not after a fifth of all rows: every settled event leaves a dead entry in the index of the
-- unsettled, and a poll has to pass by them all.
WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 50000);

-- Makes impossible rows impossible, each kind under a name of its own. One function over the row: Postgres reads the text of a CHECK
-- anew at every statement, and twelve of them were a quarter of its work for a claim.
CREATE FUNCTION webhook_event_check(e webhook_event) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    broken text := CASE
        WHEN octet_length(e.source) NOT BETWEEN 1 AND 64 THEN 'webhook_event_source_fits'
        WHEN octet_length(e.event_id) NOT BETWEEN 1 AND 255 THEN 'webhook_event_id_fits'
        WHEN e.lifecycle NOT IN ('created', 'updated', 'deleted') THEN 'webhook_event_lifecycle_known'
        WHEN e.via NOT IN ('webhook', 'replay', 'spill') THEN 'webhook_event_via_known'
        WHEN num_nulls(e.account, e.object_kind, e.object_id) NOT IN (0, 3) THEN 'webhook_event_object_whole'
        -- A new row, which every delivery makes, needs no further look: that is a twenty-fifth of Postgres's work for a claim.
        WHEN e.status = 'claimed' AND e.attempts >= 0
            AND num_nonnulls(e.outcome, e.settled_at, e.lease_until, e.next_attempt_at) = 0 THEN NULL
        WHEN e.status NOT IN ('claimed', 'processing', 'failed', 'settled', 'dead_letter') THEN 'webhook_event_status_known'
        WHEN e.outcome NOT IN ('applied', 'stale', 'ignored') THEN 'webhook_event_outcome_known'
        WHEN (e.status = 'settled') <> (e.outcome IS NOT NULL) THEN 'webhook_event_outcome_when_settled'
        WHEN (e.status IN ('settled', 'dead_letter')) <> (e.settled_at IS NOT NULL) THEN 'webhook_event_settled_at_when_done'
        WHEN (e.status = 'processing') <> (e.lease_until IS NOT NULL) THEN 'webhook_event_lease_when_processing'
        WHEN (e.status = 'failed') <> (e.next_attempt_at IS NOT NULL) THEN 'webhook_event_due_when_failed'
        WHEN e.attempts < CASE WHEN e.status IN ('processing', 'failed') THEN 1 ELSE 0 END THEN 'webhook_event_attempted' END;
BEGIN
    IF broken IS NOT NULL THEN
        RAISE check_violation USING
            CONSTRAINT = broken, TABLE = 'webhook_event',
            MESSAGE = format('row of relation "webhook_event" violates check constraint "%s"', broken);
    END IF;
    RETURN true;
END $$;
ALTER TABLE webhook_event ADD CONSTRAINT webhook_event_possible CHECK (webhook_event_check(webhook_event));

-- Over the backlog only, so a poll costs the backlog and never the history. `status` stays out of key and predicate:
-- leasing an event is then a heap-only update.
CREATE INDEX webhook_event_unsettled ON webhook_event (received_at) WHERE settled_at IS NULL;

-- Dead letters, which stay until somebody asks for them again. Said without `status`, for the same reason.
CREATE INDEX webhook_event_dead_letter ON webhook_event (settled_at) WHERE settled_at IS NOT NULL AND outcome IS NULL;

-- For lists and pruning by time: rows stand on disk in about this order, so a summary per block range is enough.
CREATE INDEX webhook_event_received ON webhook_event USING brin (received_at);

-- The truth: the bytes that were signed. Never jsonb: `\u0000`, a lone surrogate or 1e400000 are bodies that a provider
-- can send and jsonb refuses.
CREATE TABLE webhook_payload (
    source      text        NOT NULL,
    event_id    text        NOT NULL,
    received_at timestamptz NOT NULL,
    headers     jsonb       NOT NULL,
    body        bytea       NOT NULL,
    -- Time first, so that a new payload goes to the index's end and not to a page of its own anywhere in it.
    CONSTRAINT webhook_payload_pkey PRIMARY KEY (received_at, source, event_id)
) PARTITION BY RANGE (received_at);

-- A server may be built without lz4; where it has it, compressing a body costs a fraction of what PostgreSQL's own way costs, for the
-- same size. Said before there are partitions, which are made like this table.
DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_settings WHERE name = 'default_toast_compression' AND 'lz4' = ANY (enumvals)) THEN
        ALTER TABLE webhook_payload ALTER COLUMN body SET COMPRESSION lz4;
    END IF;
END $$;

-- So that nothing is ever refused, whatever its date.
CREATE TABLE webhook_payload_default PARTITION OF webhook_payload DEFAULT;

-- Makes the partition of a month (UTC), and moves into it what the default partition holds of that month.
CREATE FUNCTION webhook_payload_add_month(month date) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    first timestamptz := date_trunc('month', month)::timestamp AT TIME ZONE 'UTC';
    next  timestamptz := (date_trunc('month', month) + interval '1 month')::timestamp AT TIME ZONE 'UTC';
    part  text        := 'webhook_payload_' || to_char(month, 'YYYYMM');
BEGIN
    IF to_regclass(part) IS NOT NULL THEN
        RETURN false;
    END IF;
    LOCK TABLE webhook_payload IN ACCESS EXCLUSIVE MODE;
    EXECUTE format('CREATE TABLE %I (LIKE webhook_payload INCLUDING ALL)', part);
    EXECUTE format('WITH moved AS (DELETE FROM webhook_payload_default WHERE received_at >= %L AND received_at < %L RETURNING *)
                    INSERT INTO %I SELECT * FROM moved', first, next, part);
    EXECUTE format('ALTER TABLE webhook_payload ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', part, first, next);
    RETURN true;
END $$;

-- Drops the partitions of months (UTC) that ended before `cutoff`, except where a row still needs its payload.
CREATE FUNCTION webhook_payload_drop_before(cutoff timestamptz) RETURNS TABLE (part text, dropped boolean) LANGUAGE plpgsql AS $$
DECLARE
    first timestamptz;
    next  timestamptz;
BEGIN
    FOR part IN
        SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = 'webhook_payload'::regclass AND c.relname ~ '^webhook_payload_[0-9]{6}$' ORDER BY 1
    LOOP
        first := to_date(right(part, 6), 'YYYYMM')::timestamp AT TIME ZONE 'UTC';
        next := (to_date(right(part, 6), 'YYYYMM') + interval '1 month')::timestamp AT TIME ZONE 'UTC';
        CONTINUE WHEN next > cutoff;
        -- Locked first, so that no row can become in need of it between the look and the drop.
        EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', part);
        dropped := NOT EXISTS (
            SELECT FROM webhook_event e
            WHERE e.received_at >= first AND e.received_at < next AND (e.settled_at IS NULL OR e.outcome IS NULL));
        IF dropped THEN
            EXECUTE format('DROP TABLE %I', part);
        END IF;
        RETURN NEXT;
    END LOOP;
END $$;

SELECT webhook_payload_add_month((now() AT TIME ZONE 'UTC')::date),
       webhook_payload_add_month((now() AT TIME ZONE 'UTC' + interval '1 month')::date);

-- NULL where jsonb cannot hold the body.
CREATE FUNCTION webhook_body_as_json(body bytea) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
    RETURN convert_from(body, 'UTF8')::jsonb;
EXCEPTION WHEN OTHERS THEN
    RETURN NULL;
END $$;

CREATE VIEW webhook_payload_json AS
    SELECT source, event_id, received_at, headers, webhook_body_as_json(body) AS payload FROM webhook_payload;

-- The version guard's memory: the newest version of each object that was applied.
CREATE TABLE webhook_object (
    source         text    NOT NULL,
    account        text    NOT NULL,
    kind           text    NOT NULL,
    object_id      text    NOT NULL,
    version        bigint  NOT NULL,
    deleted        boolean NOT NULL,
    event_id       text    NOT NULL,    -- the event whose state is in force
    tied_event_ids text[]  NOT NULL,    -- every event seen of this version, from which the newest is chosen
    CONSTRAINT webhook_object_pkey PRIMARY KEY (source, account, kind, object_id),
    CONSTRAINT webhook_object_in_force_is_tied CHECK (event_id = ANY (tied_event_ids))
) WITH (fillfactor = 85);

-- What people and the system did to rows outside of an event's normal way.
CREATE TABLE webhook_audit (
    at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    action   text        NOT NULL,
    source   text        NOT NULL,
    event_id text        NOT NULL,
    detail   text        NOT NULL DEFAULT ''
);
CREATE INDEX webhook_audit_event ON webhook_audit (source, event_id);

-- What a duplicate finds: the status of the row, with ' requeue' behind it where its id is to be sent to the queue again. That is what
-- should have been processed by now, and a dead letter: asking the provider to deliver again is how people retry.
CREATE FUNCTION webhook_duplicate(source text, event_id text, queue_patience_s double precision, observe boolean)
RETURNS text LANGUAGE plpgsql
-- A plan that a connection made when the ledger had one page, and keeps, would read all of it a million rows later.
SET enable_seqscan = off AS $$
DECLARE
    found_status text;
    row_seen     xid;
    requeue      boolean;
BEGIN
    SELECT e.status, e.xmin, observe OR e.status = 'dead_letter' OR (
        coalesce(e.requeued_at, e.received_at) < clock_timestamp() - make_interval(secs => queue_patience_s)
        AND CASE e.status
            WHEN 'claimed' THEN true
            WHEN 'failed' THEN e.next_attempt_at <= clock_timestamp()
            WHEN 'processing' THEN e.lease_until <= clock_timestamp()
            ELSE false END)
    INTO found_status, row_seen, requeue
    FROM webhook_event e WHERE e.source = webhook_duplicate.source AND e.event_id = webhook_duplicate.event_id;
    IF NOT FOUND THEN
        RAISE serialization_failure USING MESSAGE = 'the row was deleted between two looks';
    END IF;
    IF NOT requeue THEN
        RETURN found_status;
    END IF;
    -- SKIP LOCKED: a row that a worker holds is in flight, and a duplicate never waits. One that has changed since the look was taken
    -- care of.
    PERFORM FROM webhook_event e
    WHERE e.source = webhook_duplicate.source AND e.event_id = webhook_duplicate.event_id AND e.xmin = row_seen
    FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN found_status;
    END IF;
    UPDATE webhook_event e
    SET requeued_at = clock_timestamp(),
        status = CASE WHEN e.status IN ('settled', 'dead_letter') THEN 'claimed' ELSE e.status END,
        attempts = CASE WHEN e.status IN ('settled', 'dead_letter') THEN 0 ELSE e.attempts END,
        settled_at = NULL,
        outcome = NULL,
        would_skip = e.would_skip + observe::integer
    WHERE e.source = webhook_duplicate.source AND e.event_id = webhook_duplicate.event_id;
    IF found_status = 'dead_letter' THEN
        INSERT INTO webhook_audit (action, source, event_id, detail)
        VALUES ('rearmed', webhook_duplicate.source, webhook_duplicate.event_id, 'delivered again');
    END IF;
    RETURN found_status || ' requeue';
END $$;

-- Claims an event: the first of all its deliveries makes the row, which is answered with 'new', and every other one finds it there.
-- The caller of several claims goes by the order of their keys, so that two deliveries of the same events cannot deadlock. A function,
-- because what it runs is parsed and planned once a connection and not once a delivery; of scalars and for the SELECT list, because
-- what calls it is parsed and planned each time.
CREATE FUNCTION webhook_claim(
    source text, event_id text, event_type text, account text, object_kind text, object_id text, version bigint, lifecycle text,
    via text, received_at_us bigint, headers text, body bytea, queue_patience_s double precision, observe boolean
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    claimed_at timestamptz;
BEGIN
    -- Never DO UPDATE: it would wait for the row lock of a worker that is busy with the event.
    INSERT INTO webhook_event
        (source, event_id, event_type, account, object_kind, object_id, version, lifecycle, via, received_at)
    VALUES (webhook_claim.source, webhook_claim.event_id, webhook_claim.event_type, webhook_claim.account, webhook_claim.object_kind,
            webhook_claim.object_id, webhook_claim.version, webhook_claim.lifecycle, webhook_claim.via,
            coalesce('epoch'::timestamptz + received_at_us * interval '1 microsecond', clock_timestamp()))
    ON CONFLICT DO NOTHING
    RETURNING received_at INTO claimed_at;
    IF NOT FOUND THEN
        -- By statements of its own, which see what a concurrent claim has just committed.
        RETURN webhook_duplicate(source, event_id, queue_patience_s, observe);
    END IF;
    INSERT INTO webhook_payload (source, event_id, received_at, headers, body)
    VALUES (webhook_claim.source, webhook_claim.event_id, claimed_at, webhook_claim.headers::jsonb, webhook_claim.body);
    RETURN 'new';
END $$;

-- The worker's three calls are functions for the same reason. Each takes its events in an order that all workers agree on, and goes
-- through them one by one: a join over all of them could be planned as a scan, and would lock in any order.

-- Leases what is free among the events. A row of the answer for each, in the same order: with a token and the event where it was
-- leased, else with what was found, and with nothing where there is no such event.
CREATE FUNCTION webhook_lease(sources text[], event_ids text[], term interval, attempts_max integer, retries boolean)
RETURNS TABLE (
    token bigint, attempt integer, found_status text, wait_s integer, event_type text, account text, object_kind text, object_id text,
    version bigint, lifecycle text, via text, received_at_us bigint, headers text, body bytea
) LANGUAGE plpgsql SET enable_seqscan = off
-- For one key any plan is as good as another, and making one for each payload would cost more than reading it.
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    claimed_at timestamptz;
BEGIN
    FOR n IN 1 .. cardinality(event_ids) LOOP
        token := NULL;
        -- Nobody holds it and it is due. SKIP LOCKED: a row that is locked is being leased or settled by somebody else.
        PERFORM FROM webhook_event e
        WHERE e.source = sources[n] AND e.event_id = event_ids[n]
          AND CASE e.status
                WHEN 'claimed' THEN true
                WHEN 'failed' THEN e.next_attempt_at <= clock_timestamp()
                WHEN 'processing' THEN e.lease_until <= clock_timestamp()
                ELSE false END
          AND e.attempts < attempts_max AND (e.attempts = 0 OR retries)
        FOR UPDATE SKIP LOCKED;
        IF FOUND THEN
            UPDATE webhook_event e
            SET status = 'processing', attempts = e.attempts + 1, lease_token = e.lease_token + 1,
                lease_until = clock_timestamp() + term, next_attempt_at = NULL
            WHERE e.source = sources[n] AND e.event_id = event_ids[n]
            RETURNING e.lease_token, e.attempts, e.event_type, e.account, e.object_kind, e.object_id, e.version, e.lifecycle, e.via,
                      e.received_at, (extract(epoch FROM e.received_at) * 1000000)::int8
            INTO token, attempt, event_type, account, object_kind, object_id, version, lifecycle, via, claimed_at, received_at_us;
            SELECT p.headers::text, p.body INTO headers, body
            FROM webhook_payload p
            WHERE p.received_at = claimed_at AND p.source = sources[n] AND p.event_id = event_ids[n];
        ELSE
            SELECT e.status, e.attempts, ceil(extract(epoch FROM coalesce(e.lease_until, e.next_attempt_at) - clock_timestamp()))
            INTO found_status, attempt, wait_s
            FROM webhook_event e WHERE e.source = sources[n] AND e.event_id = event_ids[n];
        END IF;
        RETURN NEXT;
    END LOOP;
END $$;

-- Whether each of the events is the newest of its object; if so, it is in force from now on. A row of the answer for each, in the same
-- order, up to the first tie: only the events' bodies tell how that ends, and events after it may be about the same object. An event
-- sees what those before it have done.
CREATE FUNCTION webhook_guard(
    sources text[], accounts text[], kinds text[], object_ids text[], versions bigint[], deletions boolean[], event_ids text[]
) RETURNS TABLE (is_newest boolean, is_tied boolean) LANGUAGE plpgsql SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    -- Called behind a BEGIN, with the bounds that belong to it, whose answer nobody has waited for. Where that was refused, this would
    -- be a transaction of its own, and not undone with the attempt that it is for.
    IF current_setting('idle_in_transaction_session_timeout') <> '10s' THEN
        RAISE EXCEPTION 'webhook_guard is called outside of the transaction that it is for' USING ERRCODE = '25P01';
    END IF;
    FOR n IN 1 .. cardinality(event_ids) LOOP
        -- Deleted is for ever, so it counts before the version. Where the row is not updated it is locked all the same.
        INSERT INTO webhook_object AS stored (source, account, kind, object_id, version, deleted, event_id, tied_event_ids)
        VALUES (sources[n], accounts[n], kinds[n], object_ids[n], versions[n], deletions[n], event_ids[n], ARRAY[event_ids[n]])
        ON CONFLICT (source, account, kind, object_id) DO UPDATE
        SET version = excluded.version, deleted = excluded.deleted, event_id = excluded.event_id,
            tied_event_ids = excluded.tied_event_ids
        WHERE (stored.deleted, stored.version) < (excluded.deleted, excluded.version);
        is_newest := FOUND;
        is_tied := false;
        IF NOT is_newest THEN
            SELECT (o.deleted, o.version) = (deletions[n], versions[n]) INTO is_tied
            FROM webhook_object o
            WHERE o.source = sources[n] AND o.account = accounts[n] AND o.kind = kinds[n] AND o.object_id = object_ids[n];
        END IF;
        RETURN NEXT;
        EXIT WHEN is_tied;
    END LOOP;
END $$;

-- Settles all of the leases, or raises LL001 where one was lost. An error, because the COMMIT is on its way behind this call: it has to
-- become a ROLLBACK. A row of the answer for each, in the same order.
CREATE FUNCTION webhook_settle(sources text[], event_ids text[], tokens bigint[], outcomes text[])
RETURNS TABLE (lag_ms bigint) LANGUAGE plpgsql SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    FOR n IN 1 .. cardinality(event_ids) LOOP
        UPDATE webhook_event e
        SET status = 'settled', outcome = outcomes[n], settled_at = clock_timestamp(), lease_until = NULL, last_error = NULL
        -- The fence: a token that has been passed on settles nothing.
        WHERE e.source = sources[n] AND e.event_id = event_ids[n] AND e.lease_token = tokens[n] AND e.status = 'processing'
        RETURNING greatest(0, extract(epoch FROM e.settled_at - e.received_at) * 1000) INTO lag_ms;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'a lease was lost' USING ERRCODE = 'LL001';
        END IF;
        RETURN NEXT;
    END LOOP;
END $$;
