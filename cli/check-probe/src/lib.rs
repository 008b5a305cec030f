//! What the messages of `ikkai local check` ask of its function, and what the function tells: shared by both sides.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// How a message wants to be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Wish {
    /// As done.
    Done,
    /// As failed, alone.
    Fail,
    /// As done, after a while.
    Sleep {
        /// How long.
        ms: u64,
    },
    /// The batch: with an empty `itemIdentifier`.
    EmptyIdentifier,
    /// The batch: with `itemIdentifier` null.
    NullIdentifier,
    /// The batch: with the id of a message that is not in it.
    UnknownIdentifier,
    /// The batch: with a misspelt key.
    MisspeltKey,
    /// The batch: `{}`.
    EmptyObject,
    /// The batch: `{"batchItemFailures": null}`.
    NullList,
    /// The batch: `null`.
    Null,
    /// The batch: with an error of the function.
    Error,
}

/// The body of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instruction {
    /// What the check calls the message.
    pub tag: String,
    /// The URL of the queue that takes the report.
    pub reports: String,
    /// The answer that is wanted.
    pub wish: Wish,
    /// SQS's id of the message; not part of the body.
    #[serde(skip)]
    pub message_id: String,
}

impl Instruction {
    /// Reads a record of an SQS event.
    #[must_use]
    pub fn of(record: &Value) -> Option<Self> {
        let body: Self = serde_json::from_str(record["body"].as_str()?).ok()?;
        Some(Self { message_id: record["messageId"].as_str()?.to_owned(), ..body })
    }
}

/// What the function tells of one invocation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// When it began, milliseconds since 1970.
    pub began_ms: u64,
    /// The deadline that it was given, milliseconds since 1970.
    pub deadline_ms: u64,
    /// The messages of its batch, in their order.
    pub tags: Vec<String>,
}

/// The answer to a batch. What is asked for the batch goes before what is asked for one message.
///
/// # Errors
/// A message asks for an error.
pub fn answer(instructions: &[Instruction]) -> Result<Value, &'static str> {
    let reported = |identifier: Value| Ok(json!({ "batchItemFailures": [{ "itemIdentifier": identifier }] }));
    for instruction in instructions {
        match instruction.wish {
            Wish::EmptyIdentifier => return reported(json!("")),
            Wish::NullIdentifier => return reported(Value::Null),
            Wish::UnknownIdentifier => return reported(json!("00000000-0000-0000-0000-000000000000")),
            Wish::MisspeltKey => return Ok(json!({ "batchItemFailures": [{ "ItemId": instruction.message_id }] })),
            Wish::EmptyObject => return Ok(json!({})),
            Wish::NullList => return Ok(json!({ "batchItemFailures": null })),
            Wish::Null => return Ok(Value::Null),
            Wish::Error => return Err("a message asked for an error"),
            Wish::Done | Wish::Fail | Wish::Sleep { .. } => {}
        }
    }
    let failed = instructions.iter().filter(|instruction| instruction.wish == Wish::Fail);
    let failed: Vec<_> = failed.map(|instruction| json!({ "itemIdentifier": instruction.message_id })).collect();
    Ok(json!({ "batchItemFailures": failed }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(wishes: &[Wish]) -> Vec<Instruction> {
        let record = |(number, wish): (usize, &Wish)| {
            let body = json!({ "tag": format!("m{number}"), "reports": "http://localhost/r", "wish": wish }).to_string();
            Instruction::of(&json!({ "messageId": format!("id-{number}"), "body": body })).expect("an instruction")
        };
        wishes.iter().enumerate().map(record).collect()
    }

    #[test]
    fn only_the_messages_that_ask_for_it_are_reported() {
        let answer = answer(&asked(&[Wish::Done, Wish::Fail, Wish::Sleep { ms: 1 }, Wish::Fail])).unwrap();
        let failed = json!([{ "itemIdentifier": "id-1" }, { "itemIdentifier": "id-3" }]);
        assert_eq!(answer, json!({ "batchItemFailures": failed }));
    }

    #[test]
    fn what_is_asked_for_the_batch_goes_first() {
        assert_eq!(answer(&asked(&[Wish::Fail, Wish::Null])), Ok(Value::Null));
        assert_eq!(answer(&asked(&[Wish::Fail, Wish::EmptyObject])), Ok(json!({})));
        let empty = answer(&asked(&[Wish::EmptyIdentifier])).unwrap();
        assert_eq!(empty["batchItemFailures"][0]["itemIdentifier"], "");
        assert_eq!(answer(&asked(&[Wish::Done, Wish::Error])), Err("a message asked for an error"));
    }

    #[test]
    fn a_record_that_is_no_instruction_is_left_out() {
        assert_eq!(Instruction::of(&json!({ "messageId": "a", "body": "hello" })), None);
    }
}
