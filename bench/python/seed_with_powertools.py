"""The receiver of seed.py behind the idempotency of AWS Lambda Powertools, which keeps its records in Redis.

The signature is checked first, so that nobody gets a stored answer without one. The idempotency key is the event's id.
"""

import os

from aws_lambda_powertools.utilities.idempotency import IdempotencyConfig, idempotent_function
from aws_lambda_powertools.utilities.idempotency.persistence.redis import CachePersistenceLayer

import seed

config = IdempotencyConfig(event_key_jmespath="id", raise_on_no_idempotency_key=True)
records = CachePersistenceLayer(url=os.environ["REDIS_URL"], ssl=False)


def receiver(event, context):
    config.register_lambda_context(context)
    delivered = seed.verified(event)
    return seed.answer(401, {"error": "the signature does not fit"}) if delivered is None else accept(delivered=delivered)


@idempotent_function(data_keyword_argument="delivered", config=config, persistence_store=records)
def accept(delivered):
    return seed.accept(delivered)
