//! What each function may do.

use ikkai::idempotency::DynamoStore;
use ikkai_cli::local::consumers::Consumer;
use ikkai_tests::template::policy::{Request, allows};
use ikkai_tests::template::{Stack, rules::roles};
use report_consumer::DynamoDbHistory;
use serde_json::{Value, json};

use crate::stacks::{CONSUMERS, every_stack, full_stack, holds, notices, notices_in, remove_from_statement, set_in_statement};

/// Job types by the name of their consumer's blocks.
fn types() -> impl Iterator<Item = (&'static str, &'static str)> {
    Consumer::ALL.iter().map(|consumer| (consumer.prefix(), consumer.job_type()))
}

#[test]
fn roles_have_no_wildcards() {
    let rule = roles::roles_have_no_wildcards;
    holds(rule);
    notices(rule, "ProducerApiRole", |stack| set_in_statement(stack, "ProducerApiRole", "Jobs", "/Resource", json!("*")));
    notices(rule, "ProducerApiRole", |stack| {
        set_in_statement(stack, "ProducerApiRole", "Jobs", "/Action", json!(["dynamodb:*"]));
    });
    notices(rule, "EmailConsumerRole", |stack| {
        set_in_statement(stack, "EmailConsumerRole", "OwnJobs", "/NotAction", json!("dynamodb:DeleteTable"));
    });
    for everything in ["${AssetsBucket.Arn}/*", "${AssetsBucket.Arn}*", "${AssetsBucket.Arn}/up*", "*/uploads/*"] {
        notices(rule, "ImageConsumerRole", |stack| {
            set_in_statement(stack, "ImageConsumerRole", "Originals", "/Resource", json!({"Fn::Sub": everything}));
        });
    }
}

#[test]
fn every_function_has_a_role_of_its_own() {
    let rule = roles::roles_are_not_shared;
    holds(rule);
    notices(rule, "ProducerApiRole", |stack| {
        stack.set("EmailConsumerFunction", "/Role", json!({"Fn::GetAtt": ["ProducerApiRole", "Arn"]}));
    });
    for role in CONSUMERS
        .map(|name| format!("{name}ConsumerRole"))
        .iter()
        .map(String::as_str)
        .chain(["SesFeedbackRole", "DlqRedriveRole"])
    {
        notices(rule, role, |stack| stack.set(role, "/AssumeRolePolicyDocument/Statement/0/Principal", json!("*")));
        notices(rule, role, |stack| {
            stack.set(role, "/ManagedPolicyArns", json!(["arn:aws:iam::aws:policy/AdministratorAccess"]));
        });
    }
}

#[test]
fn consumers_reach_only_their_own_jobs_and_queue() {
    let rule = roles::consumers_reach_only_their_own;
    holds(rule);
    for (name, job_type) in types() {
        let (function, role) = (format!("{name}ConsumerFunction"), format!("{name}ConsumerRole"));
        for prefixes in [json!(["*"]), json!(["email.*"]), json!([format!("{job_type}-*"), "other.type-*"])] {
            notices(rule, &function, |stack| {
                let place = "/Condition/ForAllValues:StringLike/dynamodb:LeadingKeys";
                set_in_statement(stack, &role, "OwnJobs", place, prefixes);
            });
        }
        notices(rule, &function, |stack| remove_from_statement(stack, &role, "OwnJobs", "/Condition/Null"));
        notices(rule, &function, |stack| remove_from_statement(stack, &role, "OwnJobs", "/Condition"));
        notices(rule, &function, |stack| {
            let other = json!({"Fn::GetAtt": [format!("{name}DeadLetterQueue"), "Arn"]});
            set_in_statement(stack, &role, "OwnQueue", "/Resource", other);
        });
        if name != "Webhook" {
            notices(rule, &function, |stack| {
                set_in_statement(stack, &role, "Events", "/Action", json!(["sqs:GetQueueUrl", "sqs:ReceiveMessage"]));
            });
        }
    }
}

/// Reports and webhooks read records of other types; nobody writes them.
#[test]
fn records_of_other_types_are_read_by_those_who_need_them_and_written_by_nobody() {
    let rule = roles::consumers_reach_only_their_own;
    for (role, sid) in [("ReportConsumerRole", "JobsInReports"), ("WebhookConsumerRole", "EndedJobs")] {
        let function = role.replace("Role", "Function");
        notices(rule, &function, |stack| set_in_statement(stack, role, sid, "/Action", json!("dynamodb:UpdateItem")));
        notices(rule, &function, |stack| {
            set_in_statement(stack, role, sid, "/Action", json!(["dynamodb:GetItem", "dynamodb:Scan"]));
        });
        notices(rule, &function, |stack| remove_from_statement(stack, role, sid, "/Condition"));
        notices(rule, &function, |stack| {
            let place = "/Condition/ForAllValues:StringEquals/dynamodb:Attributes/0";
            set_in_statement(stack, role, sid, place, json!("data"));
        });
    }
}

#[test]
fn functions_write_their_own_logs_alone() {
    let rule = roles::functions_write_their_own_logs;
    holds(rule);
    notices(rule, "ProducerApiFunction", |stack| {
        let other = json!({"Fn::GetAtt": ["EmailConsumerLogGroup", "Arn"]});
        set_in_statement(stack, "ProducerApiRole", "OwnLogs", "/Resource", other);
    });
    for function in CONSUMERS.map(|name| format!("{name}ConsumerFunction")) {
        let role = function.replace("Function", "Role");
        notices(rule, &function, |stack| set_in_statement(stack, &role, "OwnLogs", "/Action", json!(["logs:PutLogEvents"])));
    }
}

#[test]
fn traces_are_written_where_they_are_asked_for_and_nowhere_else() {
    let rule = roles::traces_are_written_where_they_are_asked_for;
    holds(rule);
    for role in ["ProducerApiRole", "EmailConsumerRole", "DlqRedriveRole"] {
        let function = role.replace("Role", "Function");
        notices(rule, &function, |stack| stack.set(&function, "/TracingConfig/Mode", json!("Active")));
        notices_in(full_stack(), rule, &function, |stack| stack.set(&function, "/TracingConfig/Mode", json!("PassThrough")));
        notices_in(full_stack(), rule, &function, |stack| {
            set_in_statement(stack, role, "Traces", "/Action", json!("xray:PutTraceSegments"));
        });
        notices_in(full_stack(), roles::roles_have_no_wildcards, role, |stack| {
            set_in_statement(stack, role, "Traces", "/Action", json!(["xray:PutTraceSegments", "xray:GetSamplingRules"]));
        });
    }
}

#[test]
fn mail_is_sent_as_the_sender_alone() {
    let rule = roles::mail_is_sent_as_the_sender;
    holds(rule);
    notices(rule, "EmailConsumerFunction", |stack| {
        remove_from_statement(stack, "EmailConsumerRole", "SendAsSender", "/Condition");
    });
    notices(rule, "EmailConsumerFunction", |stack| {
        set_in_statement(stack, "EmailConsumerRole", "SendAsSender", "/Resource", json!("*"));
    });
}

/// A request of a table: of the job with this id.
pub(crate) fn of_job<'a>(action: &'a str, id: &str) -> Request<'a> {
    Request { action, resource: "JobsTable", context: json!({"dynamodb:leadingkeys": [id]}) }
}

/// A request that asks for these attributes of a job of another type.
fn attributes<'a>(action: &'a str, names: impl IntoIterator<Item = &'static str>) -> Request<'a> {
    let names: Vec<&str> = names.into_iter().collect();
    let context = json!({"dynamodb:leadingkeys": ["email.send-a"], "dynamodb:attributes": names});
    Request { action, resource: "JobsTable", context }
}

pub(crate) fn plain<'a>(action: &'a str, resource: &'a str) -> Request<'a> {
    Request { action, resource, context: json!({}) }
}

/// The requests are decided as expected, by an evaluator that is not ours.
#[track_caller]
pub(crate) fn decides(function: &str, cases: Vec<(Request<'_>, bool)>) {
    let (requests, expected): (Vec<_>, Vec<_>) = cases.into_iter().unzip();
    let stack: &Stack = &every_stack().stacks[0];
    for ((request, expected), decided) in requests.iter().zip(expected).zip(allows(stack, function, &requests)) {
        assert_eq!(decided, expected, "{function}: {request:?}");
    }
}

#[test]
fn an_evaluator_lets_every_consumer_at_its_own_jobs_and_queues_and_at_nothing_else() {
    for (name, job_type) in types() {
        let (own, other) = (format!("{job_type}-aaaa"), if name == "Email" { "billing.charge-aaaa" } else { "email.send-aaaa" });
        let (queue, dead) = (format!("{name}Queue"), format!("{name}DeadLetterQueue"));
        let sends_events = name != "Webhook";
        let several = Request {
            action: "dynamodb:UpdateItem",
            resource: "JobsTable",
            context: json!({"dynamodb:leadingkeys": [own, other]}),
        };
        let cases = vec![
            (of_job("dynamodb:UpdateItem", &own), true),
            (of_job("dynamodb:PutItem", &format!("{job_type}-msg-1")), true),
            (of_job("dynamodb:GetItem", &own), true),
            (of_job("dynamodb:UpdateItem", other), false),
            (of_job("dynamodb:PutItem", other), false),
            (of_job("dynamodb:UpdateItem", job_type), false),
            (of_job("dynamodb:DeleteItem", &own), false),
            (several, false),
            // No leading key: the case in which ForAllValues alone says yes.
            (plain("dynamodb:UpdateItem", "JobsTable"), false),
            (plain("dynamodb:Scan", "JobsTable"), false),
            (plain("sqs:SendMessage", &queue), true),
            (plain("sqs:ReceiveMessage", &queue), true),
            (plain("sqs:PurgeQueue", &queue), false),
            (plain("sqs:SendMessage", &dead), false),
            (plain("sqs:SendMessage", "WebhookQueue"), true),
            (plain("sqs:ReceiveMessage", "WebhookQueue"), !sends_events),
            (plain("secretsmanager:GetSecretValue", "PaymentSecret"), name == "Billing"),
            (plain("secretsmanager:GetSecretValue", "WebhookSecret"), name == "Webhook"),
            (plain("secretsmanager:PutSecretValue", "PaymentSecret"), false),
            (plain("dynamodb:PutItem", "ContactsTable"), false),
            (plain("s3:DeleteObject", "AssetsBucket/uploads/a.jpg"), false),
        ];
        decides(&format!("{name}ConsumerFunction"), cases);
    }
}

#[test]
fn an_evaluator_lets_mail_be_sent_as_the_sender() {
    let identity = "arn:aws:ses:us-east-1:123456789012:identity/example.com";
    let mail = |action, resource, context: Value| Request { action, resource, context };
    let from = |address: &str| json!({"ses:fromaddress": address});
    decides(
        "EmailConsumerFunction",
        vec![
            (mail("ses:SendEmail", identity, from("mail@example.com")), true),
            (mail("ses:SendRawEmail", identity, from("Mail@Example.com")), true),
            (mail("ses:SendEmail", identity, from("boss@example.com")), false),
            (mail("ses:SendEmail", identity, json!({})), false),
            (mail("ses:SendEmail", "arn:aws:ses:us-east-1:123456789012:identity/example.org", from("mail@example.com")), false),
            (plain("dynamodb:GetItem", "ContactsTable"), true),
        ],
    );
}

#[test]
fn an_evaluator_lets_pictures_be_read_from_uploads_and_written_beside_them() {
    decides(
        "ImageConsumerFunction",
        vec![
            (plain("s3:GetObject", "AssetsBucket/uploads/summer 2031/a.jpg"), true),
            (plain("s3:GetObjectVersion", "AssetsBucket/uploads/a.jpg"), true),
            (plain("s3:ListBucket", "AssetsBucket"), true),
            (plain("s3:PutObject", "AssetsBucket/derived/a.jpg/256.webp"), true),
            (plain("s3:PutObject", "AssetsBucket/uploads/a.jpg"), false),
            (plain("s3:GetObject", "AssetsBucket/derived/a.jpg/256.webp"), false),
            (plain("s3:GetObject", "AssetsBucket/other/a.jpg"), false),
            (plain("s3:GetObject", "ReportsBucket/reports/acme/1.csv"), false),
            (plain("s3:PutBucketPolicy", "AssetsBucket"), false),
        ],
    );
}

#[test]
fn an_evaluator_lets_reports_read_every_job_and_write_reports() {
    decides(
        "ReportConsumerFunction",
        vec![
            (plain("dynamodb:Query", "JobsTable/index/account-created"), true),
            (plain("dynamodb:Query", "JobsTable"), false),
            (attributes("dynamodb:BatchGetItem", DynamoDbHistory::attributes()), true),
            (attributes("dynamodb:BatchGetItem", DynamoDbHistory::attributes().chain(["payload"])), false),
            (attributes("dynamodb:BatchGetItem", ["data"]), false),
            // Without a projection everything is asked for.
            (plain("dynamodb:BatchGetItem", "JobsTable"), false),
            (plain("s3:PutObject", "ReportsBucket/reports/acme/1.csv"), true),
            (plain("s3:AbortMultipartUpload", "ReportsBucket/reports/acme/1.csv"), true),
            (plain("s3:DeleteObject", "ReportsBucket/reports/acme/1.csv"), false),
            (plain("s3:GetObject", "ReportsBucket/work/report.generate-1/a"), true),
            (plain("s3:DeleteObject", "ReportsBucket/work/report.generate-1/a"), true),
            (plain("s3:ListBucket", "ReportsBucket"), true),
            (plain("s3:PutObject", "ReportsBucket/other.csv"), false),
            (plain("s3:PutObject", "AssetsBucket/derived/a.jpg"), false),
        ],
    );
}

#[test]
fn an_evaluator_lets_webhooks_read_jobs_that_ended() {
    decides(
        "WebhookConsumerFunction",
        vec![
            (attributes("dynamodb:GetItem", DynamoStore::VIEWED.iter().copied()), true),
            (attributes("dynamodb:GetItem", DynamoStore::VIEWED.iter().copied().chain(["data"])), false),
            (of_job("dynamodb:GetItem", "email.send-aaaa"), false),
            (plain("dynamodb:GetItem", "ContactsTable"), false),
        ],
    );
}

#[test]
fn an_evaluator_lets_feedback_read_mail_jobs_and_mark_contacts() {
    decides(
        "SesFeedbackFunction",
        vec![
            (of_job("dynamodb:GetItem", "email.send-aaaa"), true),
            (of_job("dynamodb:GetItem", "billing.charge-aaaa"), false),
            (plain("dynamodb:GetItem", "JobsTable"), false),
            (of_job("dynamodb:UpdateItem", "email.send-aaaa"), false),
            (plain("dynamodb:GetItem", "ContactsTable"), true),
            (plain("dynamodb:UpdateItem", "ContactsTable"), true),
            (plain("dynamodb:PutItem", "ContactsTable"), false),
            (plain("dynamodb:DeleteItem", "ContactsTable"), false),
            (plain("sqs:SendMessage", "SesFeedbackDeadLetterQueue"), true),
            (plain("sqs:SendMessage", "EmailQueue"), false),
        ],
    );
}

#[test]
fn an_evaluator_lets_the_producer_enqueue_but_not_receive() {
    let mut cases = vec![
        (plain("dynamodb:PutItem", "JobsTable"), true),
        (plain("dynamodb:GetItem", "ContactsTable"), false),
        (plain("dynamodb:DeleteItem", "JobsTable"), false),
        (plain("sqs:SendMessage", "WebhookQueue"), false),
    ];
    let queues: Vec<_> = CONSUMERS.iter().filter(|name| **name != "Webhook").map(|name| format!("{name}Queue")).collect();
    for queue in &queues {
        cases.push((plain("sqs:SendMessage", queue), true));
        cases.push((plain("sqs:ReceiveMessage", queue), false));
        cases.push((plain("sqs:DeleteMessage", queue), false));
    }
    decides("ProducerApiFunction", cases);
}
