//! From a request to its answer: the whole way of an invocation, whoever invokes.

use std::panic::AssertUnwindSafe;

use futures::FutureExt as _;
use serde_json::Value;
use tracing::Instrument as _;

use crate::actions;
use crate::protocol::{Action, Answer, Refusal, RefusalCode, Request};
use crate::run;
use crate::workbench::{Invocation, Workbench};

impl Workbench {
    /// Answers a request. Whatever goes wrong is an answer too: nothing here fails, and a panic is a refusal.
    ///
    /// Writes one line to the log: never the reason, which may name people, and no member of a request that could not be read.
    pub async fn answer(&self, request: Value, invocation: &Invocation) -> Answer {
        let span = tracing::info_span!("invocation", request_id = invocation.request_id);
        self.answer_in_span(request, invocation).instrument(span).await
    }

    async fn answer_in_span(&self, request: Value, invocation: &Invocation) -> Answer {
        let started_at = self.clock.now();
        // Known also where the rest of the request is wrong.
        let action = request.get("action").and_then(|action| serde_json::from_value::<Action>(action.clone()).ok());
        let (queue, answer) = match Request::read(request) {
            Ok(request) => {
                let queue = self.known_queue(&request);
                let acted = AssertUnwindSafe(self.act(&request, invocation)).catch_unwind().await;
                let answer = acted.unwrap_or_else(|_| Err(broken()));
                (queue, answer.unwrap_or_else(|refusal| Answer::Refused(action, refusal)))
            }
            Err(refusal) => (None, Answer::Refused(action, refusal)),
        };
        let duration_ms = u64::try_from(self.clock.now().since(started_at).as_millis()).unwrap_or(u64::MAX);
        log(&answer, queue, duration_ms);
        answer
    }

    async fn act(&self, request: &Request, invocation: &Invocation) -> Result<Answer, Refusal> {
        Ok(match request {
            Request::Status(request) => Answer::Status(actions::status(self, request, invocation).await?),
            Request::List(request) => Answer::List(actions::list(self, request, invocation).await?),
            Request::Inspect(request) => Answer::Inspect(Box::new(actions::inspect(self, request, invocation).await?)),
            Request::Redrive(request) => Answer::Redrive(run::redrive(self, request, invocation).await?),
            Request::MoveTask(request) => Answer::MoveTask(actions::move_task(self, request, invocation).await?),
            Request::Discard(request) => Answer::Discard(run::discard(self, request, invocation).await?),
            Request::Resolve(request) => Answer::Resolve(actions::resolve(self, request, invocation).await?),
            Request::Cancel(request) => Answer::Cancel(actions::cancel(self, request, invocation).await?),
            Request::History(request) => Answer::History(actions::history(self, request).await?),
        })
    }

    /// The queue that a request names, as far as the stack has it: a name that was made up may be anything.
    fn known_queue<'a>(&'a self, request: &Request) -> Option<&'a str> {
        let named = match request {
            Request::Status(request) => &request.queue,
            Request::List(request) => &request.queue,
            Request::Redrive(request) => &request.queue,
            Request::MoveTask(request) => &request.queue,
            Request::History(request) => &request.queue,
            Request::Discard(request) => &request.dead_letter_queue,
            Request::Inspect(_) | Request::Resolve(_) | Request::Cancel(_) => return None,
        };
        let mut queues = self.queues.all().iter();
        let known = queues.find(|queue| queue.name == *named || queue.dead_letter_queue_name.as_str() == named);
        if named == "all" { Some("all") } else { known.map(|queue| queue.name.as_str()) }
    }
}

fn broken() -> Refusal {
    Refusal::new(
        RefusalCode::Internal,
        "the function failed inside; what it was doing may be done in part: its log says where, and history what was written down",
    )
}

fn log(answer: &Answer, queue: Option<&str>, duration_ms: u64) {
    let action = answer.action().map(Action::as_str);
    let run_id = match answer {
        Answer::Redrive(run) => Some(run.run_id.as_str()),
        Answer::Discard(discard) => Some(discard.run.run_id.as_str()),
        Answer::Resolve(resolved) => Some(resolved.run_id.as_str()),
        Answer::Cancel(cancelled) => Some(cancelled.run_id.as_str()),
        _ => None,
    };
    match answer {
        Answer::Refused(_, refusal) => {
            let error_code = serde_json::to_value(refusal.code).unwrap_or_default();
            let error_code = error_code.as_str().unwrap_or_default();
            tracing::warn!(action, queue, outcome = "refused", error_code, duration_ms, "request answered");
        }
        answered => {
            let outcome = if answered.is_ok() { "done" } else { "failed_in_part" };
            tracing::info!(action, queue, run_id, outcome, duration_ms, "request answered");
        }
    }
}
