//! Nothing is allowed that nobody needs: each action of a role is one that the function's code asks for, or stands in a list with its reason.
//! Nothing is asked for that is not allowed: each call in a function's code is an action of its role.

use std::collections::BTreeSet;
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

/// Calls that need no permission of their own, and why.
const NEED_NOTHING: [(&str, &str); 3] = [
    ("describe_endpoints", "opens connections; what it is answered is not looked at"),
    ("get_account", "opens connections, unsigned"),
    ("list_buckets", "opens connections; what it is answered is not looked at"),
];

/// Calls that need the permission of another (<https://docs.aws.amazon.com/AmazonS3/latest/userguide/mpuoverview.html>).
const NEED_ANOTHER: [(&str, &str); 4] = [
    ("complete_multipart_upload", "put_object"),
    ("create_multipart_upload", "put_object"),
    ("head_object", "get_object"),
    ("upload_part", "put_object"),
];

#[test]
fn each_call_of_a_functions_code_is_an_action_of_its_role() {
    on_engine(async |lab| {
        let mut allowed_to_some = BTreeSet::new();
        for function in lab.stack().functions() {
            let statements = lab.statements_of(function).await;
            let allowed: BTreeSet<String> = statements.iter().flat_map(actions_of).map(|action| method(&action)).collect();
            let folder = function.trim_start_matches("ikkai-");
            for call in calls_in(&code_of(&[&format!("functions/{folder}/src")])) {
                assert!(allowed.contains(needed_for(&call)), "{function} calls {call}, which its role does not allow");
            }
            allowed_to_some.extend(allowed);
        }
        let of_the_library = calls_in(&code_of(&["shared/src"]));
        assert!(of_the_library.contains("update_item"), "calls are found: {of_the_library:?}");
        for call in of_the_library {
            assert!(allowed_to_some.contains(needed_for(&call)), "the library calls {call}, which no role allows");
        }
    });
}

/// The calls of AWS that code makes, by the SDK's methods: `client.get_item()` and the like.
fn calls_in(code: &str) -> BTreeSet<String> {
    let methods = code.split("client.").skip(1).filter_map(|rest| rest.split_once("()"));
    let methods = methods.map(|(method, _)| method).filter(|method| method.chars().all(|c| c.is_ascii_lowercase() || c == '_'));
    let needing = methods.filter(|method| !NEED_NOTHING.iter().any(|(nothing, _)| nothing == method));
    needing.filter(|method| *method != "clone").map(str::to_owned).collect()
}

/// The call whose permission a call needs. What is done to many at once needs the same permission, but for reads of many items.
fn needed_for(call: &str) -> &str {
    let another = NEED_ANOTHER.iter().find(|(of, _)| *of == call).map(|(_, another)| *another);
    another.unwrap_or_else(|| call.strip_suffix("_batch").unwrap_or(call))
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
