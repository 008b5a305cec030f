//! What the functions do, and on what: one row for each thing that a function's settings name.

use super::JobsOf;

/// Something that a function does, by its code or with a service that acts in its name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deed {
    /// Who does it.
    pub(super) by: By,
    /// On what.
    pub(super) on: On,
    /// Which actions it takes.
    pub(super) actions: &'static [&'static str],
}

/// Whose deed it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// Every consumer's.
    Consumers,
    /// That of the function of this package.
    Only(&'static str),
}

/// What a deed is done to. Names in capitals are settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum On {
    /// A queue.
    Queue(&'static str),
    /// A queue that need not be there.
    QueueIfNamed(&'static str),
    /// The queues that jobs are sent to, by type.
    JobQueues,
    /// The queues of the operators' function.
    Sources,
    /// Their dead-letter queues.
    DeadLetters,
    /// Where Lambda sends the events that it has given up, in the name of the function.
    DeadLetterTarget,
    /// A table.
    Table(&'static str),
    /// Records of these jobs.
    Jobs(JobsOf),
    /// A few attributes of the records of jobs of any type.
    Glance,
    /// An index of the jobs table.
    JobsIndex(&'static str),
    /// A bucket.
    Bucket(&'static str),
    /// The objects of a bucket below a prefix, which has a setting of its own.
    Objects(&'static str, &'static str),
    /// The objects of a bucket below a prefix that the code knows.
    ObjectsUnder(&'static str, &'static str),
    /// A secret.
    Secret(&'static str),
    /// The address that mails are sent from, with the set that tells what becomes of them.
    Sender,
}

const PRODUCER: By = By::Only("producer-api");
const EMAIL: By = By::Only("email-consumer");
const IMAGE: By = By::Only("image-consumer");
const BILLING: By = By::Only("billing-consumer");
const REPORT: By = By::Only("report-consumer");
const WEBHOOK: By = By::Only("webhook-consumer");
const FEEDBACK: By = By::Only("ses-feedback");
const OPERATORS: By = By::Only("dlq-redrive");

/// What it takes to work on the records of jobs.
const WORK_ON_JOBS: &[&str] = &["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"];

/// What it takes to send to a queue whose depth is looked at.
const SEND_AND_LOOK: &[&str] = &["sqs:GetQueueAttributes", "sqs:GetQueueUrl", "sqs:SendMessage"];

/// Every deed. A test holds it against the roles of the template, and another one the roles against the code.
pub(super) const DEEDS: &[Deed] = &[
    // ---- The producer
    deed(PRODUCER, On::Jobs(JobsOf::All), WORK_ON_JOBS),
    deed(PRODUCER, On::JobQueues, SEND_AND_LOOK),
    // ---- Every consumer
    deed(By::Consumers, On::Jobs(JobsOf::Own), WORK_ON_JOBS),
    deed(
        By::Consumers,
        On::Queue("IKKAI_QUEUE_NAME"),
        &[
            "sqs:ChangeMessageVisibility",
            "sqs:DeleteMessage",
            "sqs:GetQueueAttributes",
            "sqs:GetQueueUrl",
            "sqs:ReceiveMessage",
            "sqs:SendMessage",
        ],
    ),
    deed(By::Consumers, On::QueueIfNamed("IKKAI_EVENTS_QUEUE_NAME"), &["sqs:GetQueueUrl", "sqs:SendMessage"]),
    // ---- Email
    deed(EMAIL, On::Table("IKKAI_CONTACTS_TABLE"), &["dynamodb:GetItem"]),
    deed(EMAIL, On::Sender, &["ses:SendEmail", "ses:SendRawEmail"]),
    // ---- Image
    deed(IMAGE, On::Objects("IKKAI_ORIGINALS_BUCKET", "IKKAI_ORIGINALS_PREFIX"), &["s3:GetObject", "s3:GetObjectVersion"]),
    deed(IMAGE, On::Bucket("IKKAI_ORIGINALS_BUCKET"), &["s3:ListBucket"]),
    deed(IMAGE, On::Objects("IKKAI_DERIVED_BUCKET", "IKKAI_DERIVED_PREFIX"), &["s3:PutObject"]),
    // ---- Billing
    deed(BILLING, On::Secret("IKKAI_PAYMENT_SECRET_ID"), &["secretsmanager:GetSecretValue"]),
    // ---- Report
    deed(REPORT, On::JobsIndex("IKKAI_ACCOUNT_INDEX"), &["dynamodb:Query"]),
    deed(REPORT, On::Glance, &["dynamodb:BatchGetItem"]),
    deed(REPORT, On::Objects("IKKAI_REPORTS_BUCKET", "IKKAI_REPORTS_PREFIX"), &["s3:AbortMultipartUpload", "s3:PutObject"]),
    deed(REPORT, On::ObjectsUnder("IKKAI_REPORTS_BUCKET", "work/"), &["s3:DeleteObject", "s3:GetObject", "s3:PutObject"]),
    deed(REPORT, On::Bucket("IKKAI_REPORTS_BUCKET"), &["s3:ListBucket"]),
    // ---- Webhook
    deed(WEBHOOK, On::Glance, &["dynamodb:GetItem"]),
    deed(WEBHOOK, On::Secret("IKKAI_WEBHOOK_SECRET_ID"), &["secretsmanager:GetSecretValue"]),
    // ---- SES feedback
    deed(FEEDBACK, On::Jobs(JobsOf::Type("email.send")), &["dynamodb:GetItem"]),
    deed(FEEDBACK, On::Table("IKKAI_CONTACTS_TABLE"), &["dynamodb:GetItem", "dynamodb:UpdateItem"]),
    deed(FEEDBACK, On::DeadLetterTarget, &["sqs:SendMessage"]),
    // ---- Operators
    deed(OPERATORS, On::Jobs(JobsOf::All), &["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Scan", "dynamodb:UpdateItem"]),
    deed(
        OPERATORS,
        On::Table("IKKAI_REDRIVE_TABLE"),
        &["dynamodb:DeleteItem", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:UpdateItem"],
    ),
    deed(
        OPERATORS,
        On::DeadLetters,
        &[
            "sqs:CancelMessageMoveTask",
            "sqs:ChangeMessageVisibility",
            "sqs:DeleteMessage",
            "sqs:GetQueueAttributes",
            "sqs:GetQueueUrl",
            "sqs:ListDeadLetterSourceQueues",
            "sqs:ListMessageMoveTasks",
            "sqs:ReceiveMessage",
            "sqs:StartMessageMoveTask",
        ],
    ),
    deed(OPERATORS, On::Sources, SEND_AND_LOOK),
    deed(OPERATORS, On::Objects("IKKAI_ARCHIVE_BUCKET", "IKKAI_ARCHIVE_PREFIX"), &["s3:PutObject"]),
];

const fn deed(by: By, on: On, actions: &'static [&'static str]) -> Deed {
    Deed { by, on, actions }
}

impl By {
    /// Whether the function of a package does it.
    pub(super) fn is(self, package: &str) -> bool {
        match self {
            Self::Consumers => package.ends_with("-consumer"),
            Self::Only(one) => one == package,
        }
    }
}
