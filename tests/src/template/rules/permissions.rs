//! Least privilege: what a role allows is what the code of its function does, no more and no less.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::OnceLock;

use super::functions::binary;
use super::roles::{statements_of, texts};
use crate::template::stack::Stack;
use crate::template::synthesis::checkout;

/// Calls of the AWS SDK, as they are written, with the action that each of them needs.
const CALLS: &[(&str, &str)] = &[
    (".batch_get_item()", "dynamodb:BatchGetItem"),
    (".delete_item()", "dynamodb:DeleteItem"),
    (".get_item()", "dynamodb:GetItem"),
    (".put_item()", "dynamodb:PutItem"),
    (".query()", "dynamodb:Query"),
    (".scan()", "dynamodb:Scan"),
    (".transact_write_items()", "dynamodb:PutItem"),
    (".update_item()", "dynamodb:UpdateItem"),
    (".abort_multipart_upload()", "s3:AbortMultipartUpload"),
    (".complete_multipart_upload()", "s3:PutObject"),
    (".copy_object()", "s3:PutObject"),
    (".create_multipart_upload()", "s3:PutObject"),
    (".delete_object()", "s3:DeleteObject"),
    (".get_object()", "s3:GetObject"),
    (".head_object()", "s3:GetObject"),
    (".list_objects_v2()", "s3:ListBucket"),
    (".put_object()", "s3:PutObject"),
    (".set_version_id(", "s3:GetObjectVersion"),
    (".get_secret_value()", "secretsmanager:GetSecretValue"),
    (".put_secret_value()", "secretsmanager:PutSecretValue"),
    (".send_email()", "ses:SendEmail"),
    (".publish()", "sns:Publish"),
    (".cancel_message_move_task()", "sqs:CancelMessageMoveTask"),
    (".change_message_visibility()", "sqs:ChangeMessageVisibility"),
    (".change_message_visibility_batch()", "sqs:ChangeMessageVisibility"),
    (".delete_message()", "sqs:DeleteMessage"),
    (".delete_message_batch()", "sqs:DeleteMessage"),
    (".get_queue_attributes()", "sqs:GetQueueAttributes"),
    (".get_queue_url()", "sqs:GetQueueUrl"),
    (".list_message_move_tasks()", "sqs:ListMessageMoveTasks"),
    (".purge_queue()", "sqs:PurgeQueue"),
    (".receive_message()", "sqs:ReceiveMessage"),
    (".send_message()", "sqs:SendMessage"),
    (".send_message_batch()", "sqs:SendMessage"),
    (".start_message_move_task()", "sqs:StartMessageMoveTask"),
];

/// Where the kit makes calls, with what a function has that makes these calls through it.
const OF_THE_KIT: &[(&str, &[&str])] = &[
    ("shared/src/idempotency/dynamodb", &["producer-api", CONSUMERS, "dlq-redrive"]),
    ("shared/src/queue/sqs.rs", &["producer-api", CONSUMERS, "dlq-redrive"]),
    ("shared/src/queue/sqs", &["dlq-redrive"]),
];

/// The functions that a mapping calls.
const CONSUMERS: &str = "consumers";

/// Actions that no code of ours calls: of whom, which, and who needs it.
const OF_SERVICES: &[(&str, &str, &str)] = &[
    (EVERY, "logs:CreateLogStream", "Lambda writes the log lines"),
    (EVERY, "logs:PutLogEvents", "Lambda writes the log lines"),
    (EVERY, "xray:PutTelemetryRecords", "Lambda writes the traces"),
    (EVERY, "xray:PutTraceSegments", "Lambda writes the traces"),
    (EVERY, "kms:Decrypt", "SQS, DynamoDB, S3 and Secrets Manager ask in the name of their caller"),
    (EVERY, "kms:GenerateDataKey", "SQS and S3 ask in the name of their caller"),
    (CONSUMERS, "sqs:ReceiveMessage", "the mapping receives"),
    (CONSUMERS, "sqs:DeleteMessage", "the mapping deletes what was acknowledged"),
    (CONSUMERS, "sqs:GetQueueAttributes", "the mapping looks at its queue"),
    ("email-consumer", "ses:SendRawEmail", "SES checks it for a SendEmail whose content is raw"),
    ("image-consumer", "s3:ListBucket", "S3 answers 404 instead of 403 to who may list"),
    ("report-consumer", "s3:ListBucket", "S3 answers 404 instead of 403 to who may list"),
    ("ses-feedback", "sqs:SendMessage", "Lambda sends what it has given up to the dead-letter queue"),
    ("dlq-redrive", "sqs:ListDeadLetterSourceQueues", "SQS's own redrive asks in the name of its caller"),
];

/// Every function.
const EVERY: &str = "every function";

/// What looks like a call of a function and is none: of whom, which, and why.
const NOT_CALLED: &[(&str, &str, &str)] = &[
    ("producer-api", "sqs:ChangeMessageVisibility", "it sends, and receives nothing"),
    ("billing-consumer", "dynamodb:Query", "its `query()` is that of a URL"),
];

/// Every action of a role is called by its function's code, or needed by a service that acts for it; and every action that the code calls is in
/// the role.
#[must_use]
pub fn actions_are_those_that_the_code_uses(stack: &Stack) -> Vec<String> {
    let consumers = stack.consumers();
    let mut violations = Vec::new();
    for function in stack.of_type("AWS::Lambda::Function") {
        let Some(binary) = binary(&function) else { continue };
        let consumes = consumers.iter().any(|consumer| consumer.function.name == function.name);
        let is_meant = |whom: &str| whom == EVERY || whom == binary || (whom == CONSUMERS && consumes);
        let granted: BTreeSet<&str> =
            statements_of(stack, &function).into_iter().flat_map(|statement| texts(&statement["Action"])).collect();
        let mut called: BTreeSet<&str> = calls_under(&format!("functions/{binary}/src"));
        for (folder, users) in OF_THE_KIT {
            if users.iter().any(|user| is_meant(user)) {
                called.extend(calls_under(folder));
            }
        }
        called.retain(|action| !NOT_CALLED.iter().any(|(whom, not, _)| is_meant(whom) && not == action));
        let of_services = |action: &&str| OF_SERVICES.iter().any(|(whom, of_service, _)| is_meant(whom) && of_service == action);
        let unused = granted.iter().filter(|action| !called.contains(**action) && !of_services(action));
        violations.extend(unused.map(|action| format!("{}: {action} is allowed and {binary} never calls it", function.name)));
        let refused = called.iter().filter(|action| !granted.contains(**action));
        violations.extend(refused.map(|action| format!("{}: {binary} calls {action} and may not", function.name)));
    }
    violations
}

/// Whether an action is taken by a service in the name of every function, whatever its code does.
pub(super) fn is_of_every_function(action: &str) -> bool {
    OF_SERVICES.iter().any(|(whom, of_service, _)| *whom == EVERY && *of_service == action)
}

/// The actions that the code in a file or folder of the checkout calls.
fn calls_under(place: &str) -> BTreeSet<&'static str> {
    static READ: OnceLock<std::sync::Mutex<std::collections::HashMap<String, BTreeSet<&'static str>>>> = OnceLock::new();
    let mut read = READ.get_or_init(std::sync::Mutex::default).lock().expect("nobody panics while reading");
    read.entry(place.to_owned())
        .or_insert_with(|| {
            let mut text = String::new();
            append_sources(&checkout().file(place), &mut text);
            assert!(!text.is_empty(), "{place} has code");
            CALLS.iter().filter(|(call, _)| text.contains(call)).map(|(_, action)| *action).collect()
        })
        .clone()
}

/// Without blanks, so that a call that is broken over lines is found.
fn append_sources(place: &Path, text: &mut String) {
    if let Ok(entries) = std::fs::read_dir(place) {
        entries.flatten().for_each(|entry| append_sources(&entry.path(), text));
    } else if place.extension().is_some_and(|kind| kind == "rs") {
        let source = std::fs::read_to_string(place).expect("a source file");
        text.extend(source.chars().filter(|character| !character.is_whitespace()));
    }
}
