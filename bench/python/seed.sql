CREATE TABLE seed_event (
    source      text        NOT NULL,
    event_id    text        NOT NULL,
    event_type  text        NOT NULL,
    payload     jsonb       NOT NULL,
    status      text        NOT NULL DEFAULT 'claimed',
    attempts    integer     NOT NULL DEFAULT 0,
    lease_until timestamptz,
    received_at timestamptz NOT NULL DEFAULT now(),
    settled_at  timestamptz,
    PRIMARY KEY (source, event_id)
);
