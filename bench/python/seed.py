"""What people run instead: receiver and worker as Python Lambda functions, with psycopg and boto3.

As good as one would write them: clients made once per environment, one statement to claim, signatures compared in constant time.
"""

import base64
import hashlib
import hmac
import json
import os
import time

import boto3
import psycopg
from psycopg.types.json import Jsonb

TOLERANCE_S = 300
LEASE_S = 45

secret = os.environ["STRIPE_WEBHOOK_SECRET"].encode()
queue_url = os.environ["QUEUE_URL"]
sqs = boto3.client("sqs")
database = psycopg.connect(os.environ["DATABASE_URL"], autocommit=True)


def receiver(event, context):
    delivered = verified(event)
    return answer(401, {"error": "the signature does not fit"}) if delivered is None else accept(delivered)


def verified(event):
    body = base64.b64decode(event["body"]) if event["isBase64Encoded"] else event["body"].encode()
    return json.loads(body) if is_genuine(event["headers"].get("stripe-signature", ""), body) else None


def accept(delivered):
    event_id = delivered["id"]
    claimed = database.execute(
        "INSERT INTO seed_event (source, event_id, event_type, payload) VALUES ('stripe', %s, %s, %s)"
        " ON CONFLICT DO NOTHING RETURNING event_id",
        (event_id, delivered["type"], Jsonb(delivered)),
    ).fetchone()
    if claimed is None:
        return answer(200, {"outcome": "duplicate", "event_id": event_id})
    sqs.send_message(QueueUrl=queue_url, MessageBody=json.dumps({"source": "stripe", "event_id": event_id}))
    return answer(200, {"outcome": "accepted", "event_id": event_id})


def worker(event, context):
    failures = []
    for record in event["Records"]:
        try:
            process(json.loads(record["body"])["event_id"])
        except Exception:
            failures.append({"itemIdentifier": record["messageId"]})
    return {"batchItemFailures": failures}


def process(event_id):
    """Leases, handles and settles one event: a commit for the lease, a commit for handler and settlement."""
    leased = database.execute(
        "UPDATE seed_event SET status = 'processing', attempts = attempts + 1, lease_until = now() + make_interval(secs => %s)"
        " WHERE source = 'stripe' AND event_id = %s AND status IN ('claimed', 'failed') RETURNING payload",
        (LEASE_S, event_id),
    ).fetchone()
    if leased is None:
        return
    subscription = leased[0]["data"]["object"]
    with database.transaction():
        database.execute(
            "INSERT INTO subscription (subscription_id, plan, state, version) VALUES (%s, %s, %s, %s)"
            " ON CONFLICT (subscription_id) DO UPDATE SET plan = excluded.plan, state = excluded.state, version = excluded.version"
            " WHERE subscription.version < excluded.version",
            (
                subscription["id"],
                subscription["items"]["data"][0]["price"]["id"],
                subscription["status"],
                leased[0]["created"] * 1_000_000,
            ),
        )
        database.execute(
            "UPDATE seed_event SET status = 'settled', settled_at = now(), lease_until = NULL"
            " WHERE source = 'stripe' AND event_id = %s AND status = 'processing'",
            (event_id,),
        )


def is_genuine(header, body):
    parts = [part.split("=", 1) for part in header.split(",") if "=" in part]
    times = [value for name, value in parts if name == "t"]
    if not times or abs(time.time() - int(times[0])) > TOLERANCE_S:
        return False
    expected = hmac.new(secret, times[0].encode() + b"." + body, hashlib.sha256).hexdigest()
    return any(hmac.compare_digest(expected, value) for name, value in parts if name == "v1")


def answer(status, body):
    return {"statusCode": status, "headers": {"content-type": "application/json"}, "body": json.dumps(body)}
