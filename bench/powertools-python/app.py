"""Powertools for AWS Lambda (Python): batch processing with idempotency, as its documentation writes them together.

https://docs.powertools.aws.dev/lambda/python/latest/utilities/idempotency/#batch-integration
"""

import json
import os

from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord
from aws_lambda_powertools.utilities.idempotency import DynamoDBPersistenceLayer, IdempotencyConfig, idempotent_function

processor = BatchProcessor(event_type=EventType.SQS)
table = DynamoDBPersistenceLayer(table_name=os.environ["JOBS_TABLE"])
config = IdempotencyConfig(event_key_jmespath="messageId")


@idempotent_function(data_keyword_argument="record", config=config, persistence_store=table)
def record_handler(record: SQSRecord):
    job = json.loads(record.body)
    if job["payload"]["templateId"] == "fail":
        raise RuntimeError("the provider failed")
    return {"deliveryId": job["payload"]["deliveryId"]}


def lambda_handler(event, context):
    config.register_lambda_context(context)
    return process_partial_response(event=event, context=context, processor=processor, record_handler=record_handler)
