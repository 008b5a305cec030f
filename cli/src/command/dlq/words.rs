//! What the names of the protocol mean to a person.

use dlq_redrive::protocol::{RecordSummary, RunState, Stopped, VerdictCode};
use serde::Serialize;

use super::command_line;

/// The name that something has in requests and answers.
pub(super) fn name(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name,
        _ => "?".to_owned(),
    }
}

/// What nobody here has words for.
const NEWER: &str = "a newer function than this command knows of";

/// What became of a message.
pub(super) fn meaning(code: VerdictCode, site: &[String]) -> String {
    let words = match code {
        VerdictCode::Redriven => "back in the queue",
        VerdictCode::AlreadyDone => "the job had ended: only the message is deleted",
        VerdictCode::Discarded => "archived and deleted",
        VerdictCode::SentNotDeleted => "back in the queue, perhaps here too: harmless, it is the same job",
        VerdictCode::NotDeleted => "archived or done, perhaps still here: the next run removes it",
        VerdictCode::Running => "left: a worker has the job",
        VerdictCode::InDoubt => {
            return format!("left: look at the provider, then `{}`", command_line("resolve", site, Vec::new()));
        }
        VerdictCode::Quarantined => "left: put back as often as it may be; `--override-quarantine` does it once more",
        VerdictCode::CameBack => "left: this run has put it back, and it failed again",
        VerdictCode::Changed => "left: somebody else changed the job meanwhile",
        VerdictCode::OtherContent => "left: not the payload that the job was accepted with; it can only be discarded",
        VerdictCode::NoSource => "left: not from a queue of this stack",
        VerdictCode::NotRebuildable => "left: no message, and the record does not allow to make one",
        VerdictCode::PatchInvalid => "left: the mended payload is not valid",
        VerdictCode::NotArchived => "left: the archive could not be written",
        VerdictCode::RecordFailed => "left: the record could not be read or written",
        VerdictCode::SendFailed => "left: could not be sent",
        VerdictCode::NotFound => "no message and no record of this job",
        _ => NEWER,
    };
    words.to_owned()
}

/// What a redrive would do, in a column.
pub(super) fn plan(code: VerdictCode) -> String {
    match code {
        VerdictCode::Redriven => "put it back".to_owned(),
        VerdictCode::AlreadyDone => "delete it, it is done".to_owned(),
        other => format!("leave it ({})", name(&other)),
    }
}

/// The state of a run, and why it stopped.
pub(in crate::command) fn state(state: RunState, stopped: Option<Stopped>) -> String {
    match stopped {
        Some(stopped) => format!("{} ({})", name(&state), name(&stopped)),
        None => name(&state),
    }
}

/// Why jobs are dead: code and class, or the status of the record where there is no reason in it.
pub(in crate::command) fn reason(code: Option<&str>, class: Option<&str>, status: &str) -> String {
    match (code, class) {
        (Some(code), Some(class)) => format!("{code} ({class})"),
        (Some(one), None) | (None, Some(one)) => one.to_owned(),
        (None, None) => format!("{status} record"),
    }
}

/// Why a job is dead, with what was told.
pub(in crate::command) fn full_reason(record: &RecordSummary) -> Option<String> {
    record.error_code.as_ref().or(record.error_class.as_ref())?;
    let short = reason(record.error_code.as_deref(), record.error_class.as_deref(), &record.status);
    Some(match &record.error_message {
        Some(message) => format!("{short}: {message}"),
        None => short,
    })
}

/// Who did something: as the door has authenticated them, or what they said.
pub(in crate::command) fn who(by: Option<&str>, claimed: Option<&str>) -> String {
    match (by, claimed) {
        (Some(by), _) => by.to_owned(),
        (None, Some(claimed)) => format!("{claimed} (claimed)"),
        (None, None) => "nobody said".to_owned(),
    }
}

/// `1 message`, `2 messages`
pub(super) fn messages(count: u64) -> String {
    if count == 1 { "1 message".to_owned() } else { format!("{count} messages") }
}

#[cfg(test)]
mod tests {
    use dlq_redrive::protocol::answer_schema;

    use super::*;

    #[test]
    fn every_verdict_has_words_of_its_own() {
        let schema = answer_schema();
        let codes: Vec<VerdictCode> = schema["$defs"]["VerdictCode"]["oneOf"]
            .as_array()
            .unwrap()
            .iter()
            .map(|code| serde_json::from_value(code["const"].clone()).unwrap())
            .collect();
        assert!(codes.contains(&VerdictCode::Redriven) && codes.contains(&VerdictCode::NotDeleted), "{codes:?}");
        let mut told = std::collections::BTreeSet::new();
        for code in codes {
            let words = meaning(code, &[]);
            assert_ne!(words, NEWER, "{code:?}");
            assert!(told.insert(words), "{code:?} is told like another one");
        }
    }

    #[test]
    fn a_command_in_words_names_the_stack() {
        let words = meaning(VerdictCode::InDoubt, &["--stack".to_owned(), "shop".to_owned()]);
        assert!(words.ends_with("ikkai dlq resolve --stack shop`"), "{words}");
    }
}
