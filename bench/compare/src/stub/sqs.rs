//! What the contenders ask of SQS. Messages are handed out by the harness, so there is no queue to keep.

use serde_json::{Value, json};

/// SQS takes no longer time than this.
const MAX_VISIBILITY_SECONDS: u64 = 43_200;

/// Answers a call; the error says what is wrong with it.
pub(super) fn call(operation: &str, request: &Value, base: &str) -> Result<Value, String> {
    match operation {
        "GetQueueUrl" => {
            let name = request["QueueName"].as_str().ok_or("no QueueName")?;
            Ok(json!({"QueueUrl": format!("{base}/000000000000/{name}")}))
        }
        "SendMessage" => {
            request["MessageBody"].as_str().ok_or("no MessageBody")?;
            Ok(json!({"MessageId": "7b270e59-b47a-4a90-a5a6-5c0f4e9d6f3c", "MD5OfMessageBody": null}))
        }
        "ChangeMessageVisibility" => change(request).map(|_| json!({})),
        "ChangeMessageVisibilityBatch" => {
            let entries = request["Entries"].as_array().filter(|entries| (1..=10).contains(&entries.len()));
            let entries = entries.ok_or("a batch has one to ten entries")?;
            let done = entries.iter().map(|entry| change(entry).map(|()| json!({"Id": entry["Id"]})));
            Ok(json!({"Successful": done.collect::<Result<Vec<_>, _>>()?, "Failed": []}))
        }
        _ => Err(format!("the stub has no operation {operation:?}")),
    }
}

fn change(entry: &Value) -> Result<(), String> {
    entry["ReceiptHandle"].as_str().filter(|handle| !handle.is_empty()).ok_or("no ReceiptHandle")?;
    let seconds = entry["VisibilityTimeout"].as_u64().filter(|seconds| *seconds <= MAX_VISIBILITY_SECONDS);
    seconds.map(drop).ok_or_else(|| format!("VisibilityTimeout is 0 to {MAX_VISIBILITY_SECONDS}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change_to(seconds: u64, entries: usize) -> Result<Value, String> {
        let entry = |id| json!({"Id": format!("{id}"), "ReceiptHandle": "r", "VisibilityTimeout": seconds});
        let entries: Vec<_> = (0..entries).map(entry).collect();
        call("ChangeMessageVisibilityBatch", &json!({"QueueUrl": "u", "Entries": entries}), "http://stub")
    }

    #[test]
    fn a_batch_of_changes_is_answered_entry_by_entry_within_the_services_limits() {
        assert_eq!(change_to(43_200, 2), Ok(json!({"Successful": [{"Id": "0"}, {"Id": "1"}], "Failed": []})));
        assert!(change_to(43_201, 1).is_err() && change_to(1, 11).is_err() && change_to(1, 0).is_err());
    }

    #[test]
    fn a_queues_address_is_the_stubs() {
        let answer = call("GetQueueUrl", &json!({"QueueName": "email"}), "http://stub");
        assert_eq!(answer, Ok(json!({"QueueUrl": "http://stub/000000000000/email"})));
        assert!(call("DeleteMessage", &json!({}), "http://stub").is_err());
    }
}
