//! Least privilege: roles and code.

use ikkai_tests::template::policy::allows;
use ikkai_tests::template::rules::{doctor, permissions};
use serde_json::json;

use crate::stacks::{full_stack, holds, notices, notices_in, plain_stack, set_in_statement};

#[test]
fn roles_allow_what_the_code_calls_and_nothing_else() {
    let rule = permissions::actions_are_those_that_the_code_uses;
    holds(rule);
    for (role, sid, binary) in [
        ("ProducerApiRole", "Enqueue", "producer-api"),
        ("EmailConsumerRole", "OwnQueue", "email-consumer"),
        ("ImageConsumerRole", "Outputs", "image-consumer"),
        ("BillingConsumerRole", "PaymentKey", "billing-consumer"),
        ("ReportConsumerRole", "Drafts", "report-consumer"),
        ("WebhookConsumerRole", "SigningSecret", "webhook-consumer"),
        ("SesFeedbackRole", "Contacts", "ses-feedback"),
        ("DlqRedriveRole", "Runs", "dlq-redrive"),
    ] {
        let function = role.replace("Role", "Function");
        // Both at once: what the statement allowed is missing, and what nobody calls is there.
        for said in [format!("{function}: {binary} calls "), format!("{function}: sqs:TagQueue is allowed and {binary} never")] {
            notices(rule, &said, |stack| set_in_statement(stack, role, sid, "/Action", json!("sqs:TagQueue")));
        }
    }
    // Of others it is allowed.
    notices(rule, "ProducerApiFunction: sqs:ReceiveMessage", |stack| {
        set_in_statement(stack, "ProducerApiRole", "Enqueue", "/Action/0", json!("sqs:ReceiveMessage"));
    });
    notices_in(full_stack(), rule, "EmailConsumerFunction: kms:Encrypt", |stack| {
        set_in_statement(stack, "EmailConsumerRole", "Key", "/Action/0", json!("kms:Encrypt"));
    });
}

#[test]
fn the_doctor_asks_about_every_action_that_a_role_allows_on_every_resource() {
    let rule = doctor::questions_are_about_what_the_roles_allow;
    holds(rule);
    for (role, sid, action) in [
        ("ProducerApiRole", "Enqueue", "sqs:SendMessage"),
        ("EmailConsumerRole", "SendAsSender", "ses:SendEmail"),
        ("ImageConsumerRole", "Originals", "s3:GetObject"),
        ("BillingConsumerRole", "PaymentKey", "secretsmanager:GetSecretValue"),
        ("ReportConsumerRole", "JobsOfAnAccount", "dynamodb:Query"),
        ("WebhookConsumerRole", "OwnJobs", "dynamodb:PutItem"),
        ("SesFeedbackRole", "GivenUp", "sqs:SendMessage"),
        ("DlqRedriveRole", "Archive", "s3:PutObject"),
    ] {
        let function = role.replace("Role", "Function");
        // Both at once: what the statement allowed is missing, and what the doctor does not know is there.
        for said in [format!("the doctor asks about {action} "), "the doctor does not ask about sqs:TagQueue ".to_owned()] {
            notices(rule, &format!("{function}: {said}"), |stack| {
                set_in_statement(stack, role, sid, "/Action", json!("sqs:TagQueue"));
            });
        }
    }
    // The actions are right, and what they are allowed on is not.
    notices(rule, "DlqRedriveFunction: the doctor asks about dynamodb:DeleteItem on RedriveTable", |stack| {
        set_in_statement(stack, "DlqRedriveRole", "Runs", "/Resource", json!({"Fn::GetAtt": ["ContactsTable", "Arn"]}));
    });
    notices(rule, "ImageConsumerFunction: the doctor does not ask about s3:PutObject on AssetsBucket/other/x", |stack| {
        set_in_statement(stack, "ImageConsumerRole", "Outputs", "/Resource", json!({"Fn::Sub": "${AssetsBucket.Arn}/other/*"}));
    });
}

#[test]
fn an_evaluator_allows_whatever_the_doctor_asks_about() {
    for stack in [plain_stack(), full_stack()] {
        for function in stack.of_type("AWS::Lambda::Function").map(|function| function.name) {
            let questions = doctor::questions(stack, function);
            let requests: Vec<_> = questions.iter().map(doctor::request).collect();
            for (question, allowed) in questions.iter().zip(allows(stack, function, &requests)) {
                assert!(allowed, "{function}: {question:?}");
            }
        }
    }
    // The conditions count: without what a request carries, roles that look at it refuse.
    for function in ["EmailConsumerFunction", "ReportConsumerFunction", "WebhookConsumerFunction", "SesFeedbackFunction"] {
        let mut questions = doctor::questions(plain_stack(), function);
        questions.retain(|(_, _, context)| context != &json!({}));
        questions.iter_mut().for_each(|question| question.2 = json!({}));
        let requests: Vec<_> = questions.iter().map(doctor::request).collect();
        assert!(!requests.is_empty() && !allows(plain_stack(), function, &requests).contains(&true), "{function}: {questions:?}");
    }
}
