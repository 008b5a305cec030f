//! Where AWS says why a rule matters.

pub(super) const LAMBDA_SQS: &str = "https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html";
pub(super) const LAMBDA_SQS_ERRORS: &str = "https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html";
pub(super) const LAMBDA_SQS_SCALING: &str = "https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html";
pub(super) const LAMBDA_FILTERS: &str = "https://docs.aws.amazon.com/lambda/latest/dg/with-sqs-filtering.html";
pub(super) const LAMBDA_LOOPS: &str = "https://docs.aws.amazon.com/lambda/latest/dg/invocation-recursion.html";
pub(super) const LAMBDA_RUNTIMES: &str = "https://docs.aws.amazon.com/lambda/latest/dg/functions-states.html";
pub(super) const LAMBDA_ASYNC: &str = "https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-error-handling.html";
pub(super) const LOG_GROUPS: &str =
    "https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/Working-with-log-groups-and-streams.html";
pub(super) const SET_QUEUE_ATTRIBUTES: &str =
    "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html";
pub(super) const SQS_DEAD_LETTERS: &str =
    "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-dead-letter-queues.html";
pub(super) const SQS_RETENTION: &str =
    "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/setting-up-dead-letter-queue-retention.html";
pub(super) const SQS_ENCRYPTION: &str =
    "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-server-side-encryption.html";
pub(super) const SQS_TLS: &str =
    "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-security-best-practices.html";
pub(super) const SQS_METRICS: &str =
    "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-available-cloudwatch-metrics.html";
pub(super) const TABLE_TTL: &str = "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/TTL.html";
pub(super) const TABLE_RECOVERY: &str =
    "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Point-in-time-recovery.html";
pub(super) const TABLE_PROTECTION: &str =
    "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/WorkingWithTables.Basics.html";
