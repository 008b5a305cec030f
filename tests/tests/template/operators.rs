//! The operators' function.

use ikkai_tests::template::rules::operators;
use serde_json::json;

use crate::roles::{decides, of_job, plain};
use crate::stacks::{CONSUMERS, holds, notices, remove_from_statement, set_in_statement, variable};

const FUNCTION: &str = "DlqRedriveFunction";
const ROLE: &str = "DlqRedriveRole";

#[test]
fn there_is_one() {
    holds(|stack| {
        let found =
            stack.of_type("AWS::Lambda::Function").filter(|function| !function.environment("IKKAI_REDRIVE_TABLE").is_null());
        let names: Vec<_> = found.map(|function| function.name).collect();
        if names == [FUNCTION] { Vec::new() } else { vec![format!("{names:?}")] }
    });
}

#[test]
fn every_queue_of_a_consumer_and_its_dead_letter_queue_are_known_to_operators() {
    let rule = operators::operators_know_every_queue;
    holds(rule);
    let only_mails = r#"[{"name":"email","type":"email.send","queue":"${EmailQueue.QueueName}","deadLetterQueue":"${EmailDeadLetterQueue.QueueName}"}]"#;
    notices(rule, &format!("{FUNCTION}: is told 0 times of ImageQueue"), |stack| {
        stack.set(FUNCTION, &variable("IKKAI_REDRIVE_QUEUES"), json!({"Fn::Sub": only_mails}));
    });
    for other in [
        only_mails.replace("EmailDeadLetterQueue", "ImageDeadLetterQueue"),
        only_mails.replace("email.send", "image.resize"),
        only_mails.replace("EmailQueue", "EmailDeadLetterQueue"),
    ] {
        notices(rule, &format!("{FUNCTION}: is told 0 times of EmailQueue"), |stack| {
            stack.set(FUNCTION, &variable("IKKAI_REDRIVE_QUEUES"), json!({"Fn::Sub": other}));
        });
    }
    for name in CONSUMERS {
        notices(rule, FUNCTION, |stack| {
            let elsewhere = json!({"Fn::GetAtt": ["SesFeedbackDeadLetterQueue", "Arn"]});
            stack.set(&format!("{name}Queue"), "/RedrivePolicy/deadLetterTargetArn", elsewhere);
        });
    }
}

#[test]
fn operators_put_back_and_take_out_nothing_else() {
    let rule = operators::operators_only_put_back;
    holds(rule);
    for action in
        ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility", "sqs:PurgeQueue", "sqs:SetQueueAttributes"]
    {
        notices(rule, &format!("{FUNCTION}: {action}"), |stack| {
            set_in_statement(stack, ROLE, "PutBack", "/Action", json!(["sqs:GetQueueUrl", "sqs:SendMessage", action]));
        });
    }
    notices(rule, &format!("{FUNCTION}: sqs:SendMessage"), |stack| {
        set_in_statement(stack, ROLE, "DeadLetters", "/Action/0", json!("sqs:SendMessage"));
    });
    notices(rule, &format!("{FUNCTION}: no sqs:ListMessageMoveTasks"), |stack| {
        set_in_statement(stack, ROLE, "DeadLetters", "/Action", json!(["sqs:ReceiveMessage"]));
    });
    for (index, sid) in [(0, "DeadLetters"), (CONSUMERS.len() - 1, "PutBack")] {
        notices(rule, FUNCTION, |stack| remove_from_statement(stack, ROLE, sid, &format!("/Resource/{index}")));
        notices(rule, FUNCTION, |stack| {
            let elsewhere = json!({"Fn::GetAtt": ["SesFeedbackDeadLetterQueue", "Arn"]});
            set_in_statement(stack, ROLE, sid, &format!("/Resource/{index}"), elsewhere);
        });
    }
}

#[test]
fn operators_reach_two_tables_and_one_prefix() {
    let rule = operators::operators_reach_their_tables_and_their_archive;
    holds(rule);
    notices(rule, &format!("{FUNCTION}: dynamodb:DeleteItem"), |stack| {
        set_in_statement(stack, ROLE, "Jobs", "/Action/0", json!("dynamodb:DeleteItem"));
    });
    notices(rule, &format!("{FUNCTION}: dynamodb:Scan"), |stack| {
        set_in_statement(stack, ROLE, "Jobs", "/Resource", json!({"Fn::GetAtt": ["ContactsTable", "Arn"]}));
    });
    for (place, value) in [
        ("/Action", json!("s3:GetObject")),
        ("/Action", json!(["s3:PutObject", "s3:DeleteObject"])),
        ("/Resource", json!({"Fn::Sub": "${ArchiveBucket.Arn}/*"})),
        ("/Resource", json!({"Fn::Sub": "${ReportsBucket.Arn}/discarded/*"})),
        ("/Resource", json!([{"Fn::Sub": "${ArchiveBucket.Arn}/discarded/*"}, {"Fn::Sub": "${AssetsBucket.Arn}/uploads/*"}])),
    ] {
        notices(rule, FUNCTION, |stack| set_in_statement(stack, ROLE, "Archive", place, value));
    }
    notices(rule, &format!("{FUNCTION}: has secretsmanager:GetSecretValue"), |stack| {
        set_in_statement(stack, ROLE, "Runs", "/Action/0", json!("secretsmanager:GetSecretValue"));
    });
}

#[test]
fn a_call_that_fails_is_not_repeated() {
    let rule = operators::failed_calls_are_not_repeated;
    holds(rule);
    let settings = format!("{FUNCTION}EventInvokeConfig");
    notices(rule, FUNCTION, |stack| stack.set(&settings, "/MaximumRetryAttempts", json!(1)));
    notices(rule, FUNCTION, |stack| stack.drop_resource(&settings));
}

#[test]
fn consumers_and_operators_agree_on_how_often_a_job_is_put_back() {
    let rule = operators::put_backs_have_one_limit;
    holds(rule);
    for function in CONSUMERS.map(|name| format!("{name}ConsumerFunction")) {
        notices(rule, &function, |stack| stack.set(&function, &variable("IKKAI_MAX_GENERATIONS"), json!("11")));
        notices(rule, &function, |stack| stack.remove(FUNCTION, &variable("IKKAI_MAX_GENERATIONS")));
    }
}

#[test]
fn what_is_thrown_away_is_kept_for_a_time() {
    let rule = operators::the_archive_keeps_what_it_is_given;
    holds(rule);
    notices(rule, "ArchiveBucket", |stack| stack.remove("ArchiveBucket", "/VersioningConfiguration"));
    notices(rule, "ArchiveBucket", |stack| stack.remove("ArchiveBucket", "/LifecycleConfiguration/Rules/1/ExpirationInDays"));
    notices(rule, "ArchiveBucket", |stack| stack.set(FUNCTION, &variable("IKKAI_ARCHIVE_PREFIX"), json!("thrown-away/")));
}

#[test]
fn an_evaluator_lets_operators_empty_dead_letter_queues_and_fill_queues() {
    let mut cases = vec![
        (of_job("dynamodb:GetItem", "billing.charge-aaaa"), true),
        (of_job("dynamodb:UpdateItem", "email.send-aaaa"), true),
        (plain("dynamodb:Scan", "JobsTable"), true),
        (of_job("dynamodb:DeleteItem", "email.send-aaaa"), false),
        (plain("dynamodb:DeleteTable", "JobsTable"), false),
        (plain("dynamodb:Query", "JobsTable/index/account-created"), false),
        (plain("dynamodb:PutItem", "RedriveTable"), true),
        (plain("dynamodb:Query", "RedriveTable"), true),
        (plain("dynamodb:Scan", "RedriveTable"), false),
        (plain("dynamodb:GetItem", "ContactsTable"), false),
        (plain("s3:PutObject", "ArchiveBucket/discarded/email-dlq/2031-01-01/run/message.json"), true),
        (plain("s3:PutObject", "ArchiveBucket/other/message.json"), false),
        (plain("s3:GetObject", "ArchiveBucket/discarded/email-dlq/2031-01-01/run/message.json"), false),
        (plain("s3:DeleteObject", "ArchiveBucket/discarded/email-dlq/2031-01-01/run/message.json"), false),
        (plain("s3:PutObject", "ReportsBucket/reports/acme/1.csv"), false),
        (plain("sqs:ReceiveMessage", "SesFeedbackDeadLetterQueue"), false),
        (plain("secretsmanager:GetSecretValue", "PaymentSecret"), false),
        (plain("lambda:InvokeFunction", FUNCTION), false),
    ];
    let queues = CONSUMERS.map(|name| (format!("{name}Queue"), format!("{name}DeadLetterQueue")));
    for (queue, dead) in &queues {
        cases.push((plain("sqs:SendMessage", queue), true));
        cases.push((plain("sqs:ReceiveMessage", queue), false));
        cases.push((plain("sqs:DeleteMessage", queue), false));
        cases.push((plain("sqs:PurgeQueue", queue), false));
        cases.push((plain("sqs:ReceiveMessage", dead), true));
        cases.push((plain("sqs:DeleteMessage", dead), true));
        cases.push((plain("sqs:StartMessageMoveTask", dead), true));
        cases.push((plain("sqs:SendMessage", dead), false));
        cases.push((plain("sqs:PurgeQueue", dead), false));
    }
    decides(FUNCTION, cases);
}
