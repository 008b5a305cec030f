//! Asks a desk, and tells what it answered.

use dlq_redrive::protocol::{Answer, MoveOperation, RedriveAnswer, Refusal, RefusalCode, Request, RunState, VerdictCode};

use crate::command::Failure;
use crate::command::ending::Ending;
use crate::operator::{Desk, DeskError, Reply};
use crate::screen::{Format, Screen};

/// Asks, and sees to it that the answer is one to this question.
pub(in crate::command) async fn ask(desk: &dyn Desk, request: &Request) -> Result<Reply, Failure> {
    let reply = desk.ask(request).await?;
    match reply.answer.action() {
        Some(action) if action != request.action() => {
            let why = format!("`{}` was answered to `{}`", action.as_str(), request.action().as_str());
            Err(DeskError::NotAnAnswer { why }.into())
        }
        _ => Ok(reply),
    }
}

/// Shows an answer: as it came for programs, else in `words`, or why it was refused.
pub(in crate::command) fn tell(screen: &Screen, reply: &Reply, words: impl FnOnce(&Answer)) -> Ending {
    match (screen.format(), &reply.answer) {
        (Format::Json, _) => screen.json(&reply.json),
        (Format::Text, Answer::Refused(_, refusal)) => screen.note(refused(refusal)),
        (Format::Text, answer) => words(answer),
    }
    ending(&reply.answer)
}

/// A refusal in words: the reason, and each member that is wrong.
pub(super) fn refused(refusal: &Refusal) -> String {
    let mut words = match refusal.errors.as_slice() {
        [] => format!("error: {}", refusal.message),
        errors => errors.iter().fold("error: the request was refused".to_owned(), |words, error| {
            let place = if error.pointer.is_empty() { String::new() } else { format!("{}: ", error.pointer) };
            format!("{words}\n  {place}{}", error.message)
        }),
    };
    if let Some(seconds) = refusal.retry_after_seconds {
        words.push_str(&format!("\ntry again in {seconds} s"));
    }
    words
}

/// How a command ends with this answer.
pub(in crate::command) fn ending(answer: &Answer) -> Ending {
    let unless_empty = |is_empty: bool| if is_empty { Ending::Nothing } else { Ending::Done };
    match answer {
        Answer::Status(status) => unless_empty(status.queues.is_empty()),
        Answer::List(list) => unless_empty(list.matched == 0),
        Answer::Inspect(found) => unless_empty(found.record.is_none() && found.message.is_none()),
        Answer::Redrive(run) => of_run(run, answer.is_ok()),
        Answer::Discard(discard) => of_run(&discard.run, answer.is_ok()),
        Answer::MoveTask(moved) => unless_empty(moved.operation == MoveOperation::List && moved.tasks.is_empty()),
        Answer::Resolve(_) | Answer::Cancel(_) => Ending::Done,
        Answer::History(history) => unless_empty(history.runs.is_empty()),
        Answer::Refused(_, refusal) => match refusal.code {
            RefusalCode::InvalidRequest => Ending::Usage,
            RefusalCode::UnknownQueue | RefusalCode::UnknownJob | RefusalCode::UnknownRun => Ending::Nothing,
            _ => Ending::Failed,
        },
    }
}

/// A run that left everything where it is has not done what was wanted, although nothing failed.
fn of_run(run: &RedriveAnswer, is_ok: bool) -> Ending {
    let found_nothing = run.tally.by_verdict.keys().all(|code| *code == VerdictCode::NotFound);
    match (run.state, is_ok) {
        (RunState::Finished, _) if found_nothing => Ending::Nothing,
        (RunState::Finished, true) if done(run) > 0 => Ending::Done,
        _ => Ending::Failed,
    }
}

/// Messages that the operator wanted out of the queue and that are, or in a dry run would be.
pub(super) fn done(run: &RedriveAnswer) -> u64 {
    run.tally.by_verdict.iter().filter(|(code, _)| code.is_done()).map(|(_, count)| count).sum()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::operator::scripted::{ScriptedDesk, refusal, run};

    fn ending_of(answer: Value) -> Ending {
        ending(&Answer::read(answer).unwrap())
    }

    #[test]
    fn a_run_ends_by_what_became_of_its_messages() {
        for (state, verdicts, expected) in [
            ("finished", &[("redriven", &["a"][..])][..], Ending::Done),
            ("finished", &[("already_done", &["a"])], Ending::Done),
            ("finished", &[("redriven", &["a"]), ("in_doubt", &["b"])], Ending::Done),
            ("finished", &[("redriven", &["a"]), ("send_failed", &["b"])], Ending::Failed),
            ("finished", &[("redriven", &["a"]), ("not_found", &["b"])], Ending::Failed),
            ("finished", &[("in_doubt", &["a"])], Ending::Failed),
            ("finished", &[("not_found", &["a"])], Ending::Nothing),
            ("finished", &[], Ending::Nothing),
            ("stopped", &[("redriven", &["a"])], Ending::Failed),
            ("stopped", &[], Ending::Failed),
            ("continues", &[("redriven", &["a"])], Ending::Failed),
        ] {
            for action in ["redrive", "discard"] {
                assert_eq!(ending_of(run(action, state, verdicts)), expected, "{action} {state} {verdicts:?}");
            }
        }
    }

    #[test]
    fn a_refusal_ends_by_its_reason() {
        for (code, expected) in [
            ("invalid_request", Ending::Usage),
            ("unknown_job", Ending::Nothing),
            ("unknown_run", Ending::Nothing),
            ("unknown_queue", Ending::Nothing),
            ("run_in_progress", Ending::Failed),
            ("access_denied", Ending::Failed),
        ] {
            assert_eq!(ending_of(refusal("redrive", code, "no")), expected, "{code}");
        }
    }

    #[test]
    fn a_refusal_is_told_by_member() {
        let refusal = json!({"code": "invalid_request", "message": "all of it", "retryAfterSeconds": 5, "errors": [
            {"pointer": "/max", "code": "range", "message": "must be at least 1"}, {"pointer": "", "code": "x", "message": "odd"}]});
        let words = refused(&serde_json::from_value(refusal).unwrap());
        assert_eq!(words, "error: the request was refused\n  /max: must be at least 1\n  odd\ntry again in 5 s");
    }

    #[tokio::test]
    async fn an_answer_to_another_question_is_none() {
        let desk = ScriptedDesk::says([json!({"version": 1, "action": "history", "ok": true, "runs": []})]);
        let error = ask(&desk, &Request::read(json!({"action": "list"})).unwrap()).await.unwrap_err();
        assert!(error.to_string().contains("`history` was answered to `list`"), "{error}");
    }
}
