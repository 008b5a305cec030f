//! A request of an operator to the redrive function.

use std::collections::{BTreeMap, BTreeSet};

use dlq_redrive::protocol::{Action, Answer, Refusal, RefusalCode, Request};
use ikkai::idempotency::JobRecord;
use ikkai::job::{JobId, strict_json};
use serde_json::Value;

use crate::json_mutation::Vocabulary;
use crate::stack::{NO_JOB, Stack};
use crate::{masking, pointing, waiting};

/// Longest refusal that is of use to a person.
const LONGEST_MESSAGE: usize = 16_384;

/// Words of requests, with ids of jobs that the stack has.
pub const WORDS: Vocabulary = Vocabulary {
    names: &[
        "action",
        "version",
        "queue",
        "filter",
        "jobIds",
        "types",
        "classes",
        "codes",
        "minAgeSeconds",
        "maxAgeSeconds",
        "sources",
        "max",
        "ratePerSecond",
        "dryRun",
        "canary",
        "canaryTimeoutSeconds",
        "stopAtReturnedPercent",
        "patch",
        "overrideQuarantine",
        "reason",
        "claimedBy",
        "runId",
        "cursor",
        "operation",
        "taskHandle",
        "deadLetterQueue",
        "jobId",
        "as",
        "generation",
        "providerRef",
        "message",
        "messages",
        "stuckAfterSeconds",
        "templateId",
    ],
    values: &[
        "\"status\"",
        "\"list\"",
        "\"inspect\"",
        "\"redrive\"",
        "\"moveTask\"",
        "\"discard\"",
        "\"resolve\"",
        "\"cancel\"",
        "\"history\"",
        "\"all\"",
        "\"email\"",
        "\"billing\"",
        "\"email-dlq\"",
        "\"done\"",
        "\"runAgain\"",
        "\"start\"",
        "\"none\"",
        "\"permanent\"",
        "\"unknown_user\"",
        "1",
        "3",
        "100",
        "true",
        "{\"templateId\":\"welcome-v2\"}",
        "\"email.send-o4wkzteoy44cymennvjswfeazy\"",
        "\"email.send-wa5tt3rcbsgbp2kzrzmbdlk5gu\"",
        "\"email.send-g6bbk5bqr24qpnv2hdwu64lqem\"",
        "\"email.send-tvg6fqw3j4igjdol4khhrwezve\"",
        "\"email.send-mrktpypaldluheomjkr7ufhh4i\"",
        "\"email.send-tr2w6btx53ql42jvy4aamstkei\"",
        "[\"email.send\"]",
    ],
};

/// What has to hold for any text.
///
/// # Panics
/// When it does not.
pub fn check(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    // What is no strict JSON is refused before anybody asks what it means.
    let Ok(document) = strict_json::parse(text) else { return };
    if masking::shows(text) {
        // It would be found in the answer's copy of the reason.
        return;
    }
    let _paused = waiting::on_paused_time();
    let stack = Stack::new();
    let before = (stack.records(), stack.dead_letters());
    let read = Request::read(document.clone());
    let answer = stack.ask(document.clone());
    check_answer(&answer);
    match &read {
        Ok(request) => {
            let again = Request::read(request.to_json());
            assert_eq!(again.as_ref(), Ok(request), "a request is written as it is read");
            check_limits(request, &stack, &before.0);
        }
        Err(refusal) => {
            assert_eq!(refusal.code, RefusalCode::InvalidRequest);
            assert!(matches!(&answer, Answer::Refused(_, given) if given == refusal), "{answer:?}");
        }
    }
    if let Answer::Refused(_, refusal) = &answer {
        check_refusal(refusal, &document);
    }
    if changes_nothing(read.as_ref().ok(), &answer) {
        assert_eq!((stack.records(), stack.dead_letters()), before, "{answer:?} has changed something");
        assert_eq!(stack.put_back(), [""; 0]);
    }
    check_nothing_lost(read.as_ref().ok(), &stack, &before.1);
    check_nothing_repeated(&document);
}

/// An answer is what a program can read back, and holds no private data of any job.
fn check_answer(answer: &Answer) {
    let json = answer.to_json();
    assert_eq!(json["ok"], answer.is_ok());
    assert_eq!(Answer::read(json.clone()).as_ref().ok(), Some(answer));
    assert!(!masking::shows(&json.to_string()), "private data of a job");
}

/// Says what is wrong and where; a mistake of the caller is never a failure of the function.
fn check_refusal(refusal: &Refusal, document: &Value) {
    assert_ne!(refusal.code, RefusalCode::Internal, "{}", refusal.message);
    assert!(!refusal.message.is_empty() && refusal.message.len() < LONGEST_MESSAGE, "{}", refusal.message);
    if refusal.code == RefusalCode::InvalidRequest {
        assert!(!refusal.errors.is_empty(), "no member is named: {}", refusal.message);
    }
    for error in &refusal.errors {
        assert!(pointing::leads_into(document, &error.pointer), "{} leads nowhere: {}", error.pointer, error.message);
        assert!(!error.pointer.is_empty() || !document.is_object(), "no member is named: {}", error.message);
    }
}

/// Requests that look, and those that were refused because they cannot be read.
fn changes_nothing(request: Option<&Request>, answer: &Answer) -> bool {
    let invalid = matches!(answer, Answer::Refused(_, refusal) if refusal.code == RefusalCode::InvalidRequest);
    invalid
        || request.is_none_or(|request| match request {
            Request::Redrive(redrive) => redrive.dry_run,
            Request::Discard(discard) => discard.dry_run,
            Request::Resolve(_) | Request::Cancel(_) => false,
            // The double of SQS's own redrive moves nothing.
            _ => true,
        })
}

/// Not more is done than was asked for, and to nobody else.
fn check_limits(request: &Request, stack: &Stack, before: &BTreeMap<String, JobRecord>) {
    let after = stack.records();
    let changed: BTreeSet<&str> =
        after.iter().filter(|(id, record)| before.get(*id) != Some(record)).map(|(id, _)| id.as_str()).collect();
    let put_back = stack.put_back().len();
    let (most, named) = match request {
        Request::Redrive(redrive) => {
            let canary = if redrive.canary > 0 { redrive.canary } else { redrive.max };
            (redrive.max.min(canary), Some(&redrive.filter.job_ids).filter(|ids| !ids.is_empty()))
        }
        Request::Discard(discard) => (0, Some(&discard.filter.job_ids).filter(|ids| !ids.is_empty())),
        _ => (0, None),
    };
    assert!(put_back <= most as usize, "{put_back} messages were put back, {most} were asked for");
    if let Some(named) = named {
        assert!(changed.iter().all(|id| named.iter().any(|named| named == id)), "{changed:?} were changed, {named:?} were named");
    }
    let only = match request {
        Request::Resolve(resolve) => Some(&resolve.job_id),
        Request::Cancel(cancel) => Some(&cancel.job_id),
        _ => None,
    };
    if let Some(only) = only {
        assert!(changed.iter().all(|id| id == only), "{changed:?} were changed by a request for {only}");
    }
}

/// A message that is gone from its dead-letter queue was put back, or discarded, or its job is over.
fn check_nothing_lost(request: Option<&Request>, stack: &Stack, before: &BTreeSet<String>) {
    let gone = before.difference(&stack.dead_letters()).count();
    let may_remove =
        matches!(request.map(Request::action), Some(Action::Redrive | Action::Discard | Action::Resolve | Action::Cancel));
    assert!(gone == 0 || may_remove, "{gone} messages are gone");
    if let Some(Request::Redrive(_)) = request {
        // One of the stack's dead letters is of a job that is done.
        assert!(gone <= stack.put_back().len() + 1, "{gone} messages are gone, {} were put back", stack.put_back().len());
    }
    // What is no job is put back as it is: the consumer may know better by now.
    let bodies = stack.put_back();
    for body in bodies.iter().filter(|body| *body != NO_JOB) {
        let job: Value = serde_json::from_str(body).expect("what was put back is a job");
        let job_id = job["jobId"].as_str().expect("with its id");
        assert!(JobId::parse_stored(job_id).is_ok());
    }
}

/// A refusal of what cannot be read repeats no value of the request.
fn check_nothing_repeated(document: &Value) {
    if let Err(refusal) = Request::read(masking::values(document, &["action", "as", "operation"])) {
        assert!(!masking::shows(&refusal.message), "{}", refusal.message);
    }
}
