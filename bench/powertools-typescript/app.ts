// Powertools for AWS Lambda (TypeScript): batch processing with idempotency, as its documentation writes them together. Records of a batch are
// worked on side by side.
//
// https://docs.powertools.aws.dev/lambda/typescript/latest/features/idempotency/#batch-integration

import { BatchProcessor, EventType, processPartialResponse } from '@aws-lambda-powertools/batch';
import { IdempotencyConfig, makeIdempotent } from '@aws-lambda-powertools/idempotency';
import { DynamoDBPersistenceLayer } from '@aws-lambda-powertools/idempotency/dynamodb';
import type { Context, SQSEvent, SQSRecord } from 'aws-lambda';

const processor = new BatchProcessor(EventType.SQS);
const persistenceStore = new DynamoDBPersistenceLayer({ tableName: process.env.JOBS_TABLE as string });
const config = new IdempotencyConfig({ eventKeyJmesPath: 'messageId' });

const recordHandler = makeIdempotent(
  async (record: SQSRecord) => {
    const job = JSON.parse(record.body);
    if (job.payload.templateId === 'fail') throw new Error('the provider failed');
    return { deliveryId: job.payload.deliveryId };
  },
  { persistenceStore, config },
);

export const handler = async (event: SQSEvent, context: Context) => {
  config.registerLambdaContext(context);
  return processPartialResponse(event, recordHandler, processor, { context });
};
