// What people run instead: receiver and worker as Node.js Lambda functions, with stripe, pg and the AWS SDK.
//
// As good as one would write them, and the same statements as bench/python/seed.py: clients made once per environment, one
// statement to claim, the signature checked by Stripe's own library.

import { SQSClient, SendMessageCommand } from "@aws-sdk/client-sqs";
import pg from "pg";
import Stripe from "stripe";

const LEASE_S = 45;

const secret = process.env.STRIPE_WEBHOOK_SECRET;
const queueUrl = process.env.QUEUE_URL;
// Checking a signature calls nobody; the key is only what the constructor insists on.
const stripe = new Stripe("sk_test_unused");
const sqs = new SQSClient({});
const database = new pg.Client({ connectionString: process.env.DATABASE_URL });
await database.connect();

export async function receiver(event) {
  const body = event.isBase64Encoded ? Buffer.from(event.body, "base64") : event.body;
  let delivered;
  try {
    delivered = stripe.webhooks.constructEvent(body, event.headers["stripe-signature"] ?? "", secret);
  } catch {
    return answer(401, { error: "the signature does not fit" });
  }
  const claimed = await database.query(
    "INSERT INTO seed_event (source, event_id, event_type, payload) VALUES ('stripe', $1, $2, $3)" +
      " ON CONFLICT DO NOTHING RETURNING event_id",
    [delivered.id, delivered.type, delivered],
  );
  if (claimed.rowCount === 0) {
    return answer(200, { outcome: "duplicate", event_id: delivered.id });
  }
  const message = JSON.stringify({ source: "stripe", event_id: delivered.id });
  await sqs.send(new SendMessageCommand({ QueueUrl: queueUrl, MessageBody: message }));
  return answer(200, { outcome: "accepted", event_id: delivered.id });
}

export async function worker(event) {
  const batchItemFailures = [];
  for (const record of event.Records) {
    try {
      await processEvent(JSON.parse(record.body).event_id);
    } catch {
      batchItemFailures.push({ itemIdentifier: record.messageId });
    }
  }
  return { batchItemFailures };
}

// Leases, handles and settles one event: a commit for the lease, a commit for handler and settlement.
async function processEvent(eventId) {
  const leased = await database.query(
    "UPDATE seed_event SET status = 'processing', attempts = attempts + 1, lease_until = now() + make_interval(secs => $1)" +
      " WHERE source = 'stripe' AND event_id = $2 AND status IN ('claimed', 'failed') RETURNING payload",
    [LEASE_S, eventId],
  );
  if (leased.rowCount === 0) {
    return;
  }
  const { created, data } = leased.rows[0].payload;
  const subscription = data.object;
  await database.query("BEGIN");
  try {
    await database.query(
      "INSERT INTO subscription (subscription_id, plan, state, version) VALUES ($1, $2, $3, $4)" +
        " ON CONFLICT (subscription_id) DO UPDATE SET plan = excluded.plan, state = excluded.state, version = excluded.version" +
        " WHERE subscription.version < excluded.version",
      [subscription.id, subscription.items.data[0].price.id, subscription.status, created * 1_000_000],
    );
    await database.query(
      "UPDATE seed_event SET status = 'settled', settled_at = now(), lease_until = NULL" +
        " WHERE source = 'stripe' AND event_id = $1 AND status = 'processing'",
      [eventId],
    );
    await database.query("COMMIT");
  } catch (error) {
    await database.query("ROLLBACK");
    throw error;
  }
}

function answer(statusCode, body) {
  return { statusCode, headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
}
