//! Runs, verdicts and locks as items, and back.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use ikkai::clock::EpochMillis;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::super::{JournalError, Locked, Run};
use super::corrupt;
use crate::protocol::{MessageVerdict, RunSummary};

/// An item as DynamoDB hands it out.
pub(super) type Item = HashMap<String, AttributeValue>;

/// Sort key of a run.
pub(super) const RUN: &str = "run";

/// An item has at most 400 KB (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html>): less for a run or a
/// page of verdicts, which have other attributes beside them.
const MOST_BYTES: usize = 300_000;

/// The run as JSON. An answer whose verdicts would make it too large is kept without them: each of them stands in the run's verdicts.
pub(super) fn run_text(run: &Run) -> Result<String, JournalError> {
    let whole = json(run)?;
    if whole.len() <= MOST_BYTES {
        return Ok(whole);
    }
    let mut lean = run.clone();
    if let Some(Value::Object(answer)) = &mut lean.last_answer {
        answer.insert("verdicts".to_owned(), Value::Array(Vec::new()));
    }
    json(&lean)
}

/// What is told about the run, beside the run itself: a history reads no more than this.
pub(super) fn summary_of(run: &Run) -> Result<String, JournalError> {
    json(&run.summary)
}

pub(super) fn run_of(item: &Item) -> Result<Run, JournalError> {
    read(item, "run")
}

pub(super) fn read_summary(item: &Item) -> Result<RunSummary, JournalError> {
    read(item, "summary")
}

/// The run's place in a queue's history. Digits are padded, so that the order of the texts is the order of the times.
pub(super) fn pointer(queue: &str, run: &Run) -> Item {
    let run_id = &run.summary.run_id;
    let began_at = run.began_at.as_i64().max(0);
    HashMap::from([
        ("pk".to_owned(), text(format!("queue#{queue}"))),
        ("sk".to_owned(), text(format!("run#{began_at:013}#{run_id}"))),
        ("run_id".to_owned(), text(run_id)),
    ])
}

/// A page of verdicts, in as many items as it needs: first the further ones, then the one that says how many there are. So a page that was
/// written in part is not there at all, and one that has shrunk leaves nothing behind that is read.
pub(super) fn verdict_pages(run_id: &str, page: u32, verdicts: &[MessageVerdict]) -> Result<Vec<Item>, JournalError> {
    let texts = split(verdicts)?;
    let mut items: Vec<_> = texts
        .iter()
        .enumerate()
        .map(|(index, verdicts)| {
            let suffix = if index == 0 { String::new() } else { format!(".{index}") };
            Item::from([
                ("pk".to_owned(), text(format!("run#{run_id}"))),
                ("sk".to_owned(), text(format!("verdicts#{page:06}{suffix}"))),
                ("verdicts".to_owned(), text(verdicts)),
                ("items".to_owned(), number(texts.len())),
                ("item".to_owned(), number(index)),
            ])
        })
        .collect();
    items.reverse();
    Ok(items)
}

fn split(verdicts: &[MessageVerdict]) -> Result<Vec<String>, JournalError> {
    let whole = json(&verdicts)?;
    if whole.len() <= MOST_BYTES || verdicts.len() <= 1 {
        return Ok(vec![whole]);
    }
    let (left, right) = verdicts.split_at(verdicts.len() / 2);
    let mut texts = split(left)?;
    texts.extend(split(right)?);
    Ok(texts)
}

/// The verdicts in items that are in the order of their keys.
pub(super) fn verdicts_of(items: &[Item]) -> Result<Vec<MessageVerdict>, JournalError> {
    let mut verdicts = Vec::new();
    let mut items_of_page = 0;
    for item in items {
        let index: usize = count(item, "item")?;
        if index == 0 {
            items_of_page = count(item, "items")?;
        }
        if index < items_of_page {
            verdicts.extend(read::<Vec<MessageVerdict>>(item, "verdicts")?);
        }
    }
    Ok(verdicts)
}

/// Who has a queue.
pub(super) fn lock_of(item: &Item) -> Result<Locked, JournalError> {
    let run_id = item.get("run_id").and_then(|value| value.as_s().ok()).ok_or_else(|| corrupt("a lock names no run"))?;
    let until = count::<i64>(item, "until").map(EpochMillis::from_i64)?;
    Ok(Locked::HeldBy { run_id: run_id.clone(), until })
}

pub(super) fn text(value: impl Into<String>) -> AttributeValue {
    AttributeValue::S(value.into())
}

pub(super) fn number(value: impl ToString) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

fn json(value: &impl Serialize) -> Result<String, JournalError> {
    serde_json::to_string(value).map_err(|_| corrupt("it cannot be written as JSON"))
}

/// serde's messages quote values, so what is wrong is told by place alone.
fn read<T: DeserializeOwned>(item: &Item, name: &str) -> Result<T, JournalError> {
    let document = item.get(name).and_then(|value| value.as_s().ok()).ok_or_else(|| corrupt(&format!("`{name}` is missing")))?;
    serde_json::from_str(document).map_err(|error| {
        corrupt(&format!("`{name}` is not what this version writes (line {} column {})", error.line(), error.column()))
    })
}

fn count<T: std::str::FromStr>(item: &Item, name: &str) -> Result<T, JournalError> {
    let digits = item.get(name).and_then(|value| value.as_n().ok());
    digits.and_then(|digits| digits.parse().ok()).ok_or_else(|| corrupt(&format!("`{name}` is no number")))
}

#[cfg(test)]
mod tests {
    use ikkai::clock::EpochMillis;
    use serde_json::json;

    use super::*;
    use crate::journal::conformance::run;
    use crate::protocol::VerdictCode;

    fn verdicts(count: usize, jobs: usize) -> Vec<MessageVerdict> {
        let verdict = |index: usize| MessageVerdict {
            message_id: Some(format!("message-{index}")),
            job_ids: (0..jobs).map(|job| format!("image.resize-{index:026}{job:026}")).collect(),
            verdict: VerdictCode::Redriven,
            detail: None,
        };
        (0..count).map(verdict).collect()
    }

    /// In the order of their keys, as a query returns them.
    fn stored(pages: impl IntoIterator<Item = Vec<Item>>) -> Vec<Item> {
        let mut by_key = std::collections::BTreeMap::new();
        for item in pages.into_iter().flatten() {
            by_key.insert(item["sk"].as_s().unwrap().clone(), item);
        }
        by_key.into_values().collect()
    }

    #[test]
    fn a_page_of_messages_with_a_hundred_jobs_each_is_kept_in_several_items() {
        let (large, small) = (verdicts(100, 100), verdicts(3, 1));
        let pages = [verdict_pages("r", 1, &large).unwrap(), verdict_pages("r", 2, &small).unwrap()];
        assert!(pages[0].len() > 1 && pages[1].len() == 1);
        for item in pages.iter().flatten() {
            assert!(item["verdicts"].as_s().unwrap().len() <= MOST_BYTES);
        }
        assert_eq!(verdicts_of(&stored(pages)).unwrap(), [large, small].concat());
    }

    #[test]
    fn a_page_that_has_shrunk_leaves_nothing_behind_that_is_read() {
        let (large, small) = (verdicts(100, 100), verdicts(3, 1));
        let pages = [verdict_pages("r", 1, &large).unwrap(), verdict_pages("r", 1, &small).unwrap()];
        assert_eq!(verdicts_of(&stored(pages)).unwrap(), small);
    }

    #[test]
    fn a_page_that_was_written_in_part_is_not_there() {
        let mut pages = verdict_pages("r", 1, &verdicts(100, 100)).unwrap();
        pages.pop();
        assert_eq!(verdicts_of(&stored([pages])).unwrap(), []);
    }

    #[test]
    fn an_answer_that_makes_a_run_too_large_is_kept_without_its_verdicts() {
        let mut large = run("r", &["email"], EpochMillis::from_i64(1));
        large.last_answer = Some(json!({"state": "finished", "verdicts": verdicts(100, 100)}));
        let kept: Run = serde_json::from_str(&run_text(&large).unwrap()).unwrap();
        assert_eq!(kept.last_answer, Some(json!({"state": "finished", "verdicts": []})));
        let small = Run { last_answer: Some(json!({"verdicts": verdicts(3, 1)})), ..large };
        assert_eq!(serde_json::from_str::<Run>(&run_text(&small).unwrap()).unwrap(), small);
    }
}
