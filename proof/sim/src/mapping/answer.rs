//! How Lambda reads the answer of a function whose mapping has `ReportBatchItemFailures`.

use std::collections::BTreeSet;

use serde_json::Value;

/// What became of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Report {
    /// Everything comes back, for this reason.
    AllFailed(&'static str),
    /// These come back; the rest is deleted.
    Failed(BTreeSet<String>),
}

/// Reads an answer by the rules of
/// <https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html>: an empty or missing list is success; what is no JSON, has a bad
/// key, an empty or null identifier or one that is not in the batch fails all of it.
pub(super) fn read(text: &str, batch: &BTreeSet<&str>) -> Report {
    let answer = match serde_json::from_str::<Value>(text) {
        Err(_) => return Report::AllFailed("the answer is no JSON"),
        Ok(Value::Null) => return Report::Failed(BTreeSet::new()),
        Ok(answer) => answer,
    };
    let list = match answer.get("batchItemFailures") {
        None if answer.as_object().is_some_and(serde_json::Map::is_empty) => return Report::Failed(BTreeSet::new()),
        None => return Report::AllFailed("the answer has another key"),
        Some(Value::Null) => return Report::Failed(BTreeSet::new()),
        Some(list) => list,
    };
    let Some(list) = list.as_array() else { return Report::AllFailed("the failures are no list") };
    let mut failed = BTreeSet::new();
    for failure in list {
        match failure.get("itemIdentifier").and_then(Value::as_str) {
            None => return Report::AllFailed("an identifier is missing or null"),
            Some("") => return Report::AllFailed("an identifier is empty"),
            Some(id) if !batch.contains(id) => return Report::AllFailed("an identifier is not in the batch"),
            Some(id) => drop(failed.insert(id.to_owned())),
        }
    }
    Report::Failed(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_as_lambda_does() {
        let batch = BTreeSet::from(["a", "b"]);
        let failed = |ids: &[&str]| Report::Failed(ids.iter().map(|id| (*id).to_owned()).collect());
        for (text, report) in [
            ("null", failed(&[])),
            ("{}", failed(&[])),
            (r#"{"batchItemFailures":[]}"#, failed(&[])),
            (r#"{"batchItemFailures":null}"#, failed(&[])),
            (r#"{"batchItemFailures":[{"itemIdentifier":"a"}]}"#, failed(&["a"])),
            ("nothing", Report::AllFailed("the answer is no JSON")),
            (r#"{"BatchItemFailures":[]}"#, Report::AllFailed("the answer has another key")),
            (r#"{"batchItemFailures":[{"itemIdentifier":""}]}"#, Report::AllFailed("an identifier is empty")),
            (r#"{"batchItemFailures":[{"itemIdentifier":null}]}"#, Report::AllFailed("an identifier is missing or null")),
            (r#"{"batchItemFailures":[{"itemId":"a"}]}"#, Report::AllFailed("an identifier is missing or null")),
            (r#"{"batchItemFailures":[{"itemIdentifier":"c"}]}"#, Report::AllFailed("an identifier is not in the batch")),
        ] {
            assert_eq!(read(text, &batch), report, "{text}");
        }
    }
}
