-- The business table of the worked example, functions/worker/src/handlers/stripe_subscription.rs. Yours go into
-- migrations of their own beside this one.
CREATE TABLE subscription (
    subscription_id text   NOT NULL CONSTRAINT subscription_pkey PRIMARY KEY,
    plan            text   NOT NULL,
    state           text   NOT NULL,
    version         bigint NOT NULL     -- microseconds since 1970 UTC: the event that this row shows
);
