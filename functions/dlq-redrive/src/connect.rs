//! A workbench on AWS, or on what stands in for it.

use std::sync::Arc;
use std::time::Duration;

use aws_config::SdkConfig;
use aws_config::timeout::TimeoutConfig;
use ikkai::clock::SystemClock;
use ikkai::idempotency::{DynamoStore, Ledger};
use ikkai::observability::Metrics;
use ikkai::queue::{Inbox, QueueName, SqsQueue};

use crate::archive::S3Archive;
use crate::journal::DynamoDbJournal;
use crate::move_tasks::SqsMoveTasks;
use crate::queues::{StackQueue, StackQueues};
use crate::settings::Settings;
use crate::stuck::DynamoDbStuckJobs;
use crate::sweep::SweepRules;
use crate::workbench::{Limits, Workbench};

/// How long one try of a call to SQS or S3 may take: a receive waits, and ten messages have up to ten megabytes. A receive whose answer is not
/// waited for hides its messages all the same.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(15);

/// How long such a call may take with its repetitions. Towards the end of an invocation a run waits for no call that long, see
/// [`Limits::reserve`].
const OPERATION_TIMEOUT: Duration = Duration::from_secs(40);

/// What a run keeps of its invocation. Nothing new is begun in it; the first half is for the calls of what was begun just before, the second for
/// writing down what happened and releasing what was left.
const RESERVE: Duration = Duration::from_secs(20);

/// How long a queue stays locked for a run whose next part does not come.
const LOCK_BETWEEN_PARTS: Duration = Duration::from_secs(120);

/// What a run has taken stays hidden beyond its invocation for this long.
const HIDDEN_BEYOND: Duration = Duration::from_secs(60);

impl Workbench {
    /// A workbench on the stack that `settings` describe. Nothing is asked yet.
    #[must_use]
    pub fn connect(settings: &Settings, aws: &SdkConfig) -> Self {
        let timeouts =
            TimeoutConfig::builder().operation_attempt_timeout(ATTEMPT_TIMEOUT).operation_timeout(OPERATION_TIMEOUT).build();
        let dynamodb = aws_sdk_dynamodb::Client::new(aws);
        let sqs = aws_sdk_sqs::config::Builder::from(aws).timeout_config(timeouts.clone()).build();
        let sqs = aws_sdk_sqs::Client::from_conf(sqs);
        let s3 = aws_sdk_s3::config::Builder::from(aws).timeout_config(timeouts).build();
        let s3 = aws_sdk_s3::Client::from_conf(s3);
        let clock = Arc::new(SystemClock);
        let records = Arc::new(DynamoStore::new(dynamodb.clone(), &settings.jobs_table));
        let inbox = |name: &QueueName| Arc::new(SqsQueue::new(sqs.clone(), name.clone())) as Arc<dyn Inbox>;
        let queues = settings.queues.iter().map(|queue| StackQueue {
            name: queue.name.clone(),
            kind: queue.kind,
            queue: inbox(&queue.queue),
            dead_letters: inbox(&queue.dead_letter_queue),
            queue_name: queue.queue.clone(),
            dead_letter_queue_name: queue.dead_letter_queue.clone(),
        });
        Self {
            queues: StackQueues::new(queues.collect()),
            ledger: Ledger::new(records.clone(), clock.clone()),
            records,
            journal: Arc::new(DynamoDbJournal::new(
                dynamodb.clone(),
                &settings.redrive_table,
                settings.history_retention,
                clock.clone(),
            )),
            archive: Arc::new(S3Archive::new(s3, &settings.archive_bucket, &settings.archive_prefix)),
            stuck: Arc::new(DynamoDbStuckJobs::new(dynamodb, &settings.jobs_table)),
            move_tasks: Arc::new(SqsMoveTasks::new(sqs)),
            clock,
            metrics: Metrics::new(&settings.metrics_namespace, &settings.service),
            limits: limits(settings),
        }
    }
}

fn limits(settings: &Settings) -> Limits {
    Limits {
        max_generations: settings.max_generations,
        record_retention: settings.record_retention,
        sweep: SweepRules {
            hidden_for: settings.function_timeout + HIDDEN_BEYOND,
            wait: settings.sweep_wait,
            empties: settings.sweep_empties,
        },
        // A short invocation has to have time for more than its own end.
        reserve: RESERVE.min(settings.function_timeout / 3),
        lock_between_parts: LOCK_BETWEEN_PARTS,
    }
}
