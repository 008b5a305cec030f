//! Nothing is allowed that nobody needs: each action of a role is one that the function's code asks for, or stands in a list with its reason.

use std::path::{Path, PathBuf};

use crate::lab::on_engine;
use crate::roles::actions_of;

/// Actions that no line of the code asks for, by statement and action, and who needs them.
const NOT_IN_THE_CODE: [(&str, &str, &str); 9] = [
    ("OwnLogs", "logs:CreateLogStream", "Lambda writes the logs, as the function's role"),
    ("OwnLogs", "logs:PutLogEvents", "Lambda writes the logs, as the function's role"),
    ("OwnQueue", "sqs:ReceiveMessage", "only the mapping receives, as the function's role"),
    ("OwnQueue", "sqs:DeleteMessage", "only the mapping deletes, as the function's role"),
    ("OwnQueue", "sqs:GetQueueAttributes", "only the mapping looks at the queue, as the function's role"),
    ("DeadLetters", "sqs:ListDeadLetterSourceQueues", "SQS asks for it when it is told to move messages back"),
    ("GivenUp", "sqs:SendMessage", "Lambda puts there what the function failed at, as the function's role"),
    ("MissingOriginals", "s3:ListBucket", "without it S3 says of a missing object that it is forbidden"),
    ("MissingDrafts", "s3:ListBucket", "without it S3 says of a missing object that it is forbidden"),
];

/// Actions whose call bears another name: one needs both.
const CALLED_OTHERWISE: [(&str, &str); 2] = [("s3:GetObjectVersion", "get_object"), ("ses:SendRawEmail", "send_email")];

#[test]
fn each_action_of_a_role_is_asked_for_by_the_code_or_has_a_reason() {
    on_engine(async |lab| {
        for function in lab.stack().functions() {
            let folder = function.trim_start_matches("ikkai-");
            let code = code_of(&[&format!("functions/{folder}/src"), "shared/src"]);
            for statement in lab.statements_of(function).await {
                let sid = statement["Sid"].as_str().expect("a Sid");
                for action in actions_of(&statement) {
                    let excused = NOT_IN_THE_CODE.iter().any(|(place, excused, _)| *place == sid && *excused == action);
                    let method = method(&action);
                    // What is done to many at once needs the same permission.
                    let called = ["", "_batch"].iter().any(|many| code.contains(&format!(".{method}{many}()")));
                    assert!(called || excused, "{function}: nobody needs {action} of {sid}; remove it, or say who does");
                }
            }
        }
    });
}

/// The name of the SDK's method for an action.
fn method(action: &str) -> String {
    if let Some((_, method)) = CALLED_OTHERWISE.iter().find(|(otherwise, _)| *otherwise == action) {
        return (*method).to_owned();
    }
    let operation = action.split(':').nth(1).expect("service and operation");
    let mut method = String::new();
    for letter in operation.chars() {
        if letter.is_uppercase() && !method.is_empty() {
            method.push('_');
        }
        method.extend(letter.to_lowercase());
    }
    method
}

fn code_of(folders: &[&str]) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut open: Vec<PathBuf> = folders.iter().map(|folder| root.join(folder)).collect();
    let mut code = String::new();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(std::fs::read_dir(&path).expect("a folder").map(|entry| entry.expect("an entry").path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            code.push_str(&std::fs::read_to_string(&path).expect("a source file"));
        }
    }
    // A chain of calls may be broken after each of them.
    code.split_whitespace().collect()
}
