//! Looks at the queues, and into the dead-letter queues no more often than it must: a look hides messages from whoever wants them.

use std::time::Duration;

use dlq_redrive::protocol::{Answer, DeadGroup, Filter, List, Request, RunState, RunSummary, StatusAnswer, StatusRequest};

use crate::command::Failure;
use crate::command::dlq::{age, ask};
use crate::operator::{Desk, Reply};

/// Messages that are looked at, in each dead-letter queue.
const SAMPLE: u32 = 100;

/// A run that goes on and has written nothing for so long is at work no more.
const LEFT_AFTER: Duration = Duration::from_secs(20 * 60);

/// What was seen.
#[derive(Debug)]
pub(super) struct Look {
    /// The function's answer.
    pub(super) reply: Reply,
    /// What is in the dead-letter queues; `None` where that was not looked at.
    pub(super) groups: Option<Vec<DeadGroup>>,
    /// Why not.
    pub(super) no_reasons: Option<String>,
}

/// What was last seen in the dead-letter queues.
#[derive(Debug, Default)]
pub(super) struct Reasons(Option<(Vec<u64>, Vec<DeadGroup>)>);

/// Looks.
pub(super) async fn look(desk: &dyn Desk, request: StatusRequest, known: &mut Reasons) -> Result<Look, Failure> {
    let queue = request.queue.clone();
    let reply = ask(desk, &Request::Status(request)).await?;
    let Answer::Status(status) = &reply.answer else { return Ok(Look { reply, groups: None, no_reasons: None }) };
    let (groups, no_reasons) = match known.of(status) {
        Some(groups) => (Some(groups), None),
        None if at_work(status) => {
            let why = "the dead-letter queues are not looked into while a run takes messages out of them";
            (None, Some(why.to_owned()))
        }
        None => {
            let list = List { queue, filter: Filter::default(), max: SAMPLE, messages: false };
            match ask(desk, &Request::List(list)).await {
                Ok(Reply { answer: Answer::List(list), .. }) => {
                    known.0 = Some((counts(status), list.groups.clone()));
                    (Some(list.groups), None)
                }
                Ok(Reply { answer: Answer::Refused(_, refusal), .. }) => (None, Some(format!("no reasons: {refusal}"))),
                Ok(_) => (None, None),
                Err(error) => (None, Some(format!("no reasons: {error}"))),
            }
        }
    };
    Ok(Look { reply, groups, no_reasons })
}

impl Reasons {
    /// What is known without a look: all dead-letter queues are empty, or hold as many messages as at the last one.
    fn of(&self, status: &StatusAnswer) -> Option<Vec<DeadGroup>> {
        let counts = counts(status);
        if counts.iter().all(|count| *count == 0) {
            return Some(Vec::new());
        }
        self.0.as_ref().filter(|(seen, _)| *seen == counts).map(|(_, groups)| groups.clone())
    }
}

/// A message that is hidden by somebody's look counts too: else the count would change with every look.
fn counts(status: &StatusAnswer) -> Vec<u64> {
    status.queues.iter().map(|queue| queue.dead_letters.visible + queue.dead_letters.in_flight).collect()
}

/// A run writes its history as it goes, and a part takes a quarter of an hour at most: one that has written nothing for longer was left on its
/// way, and takes nothing out.
fn at_work(status: &StatusAnswer) -> bool {
    let is_left = |run: &RunSummary| age(&run.updated_at).is_some_and(|age| age > LEFT_AFTER);
    let goes_on = |run: &RunSummary| !run.dry_run && run.state == RunState::Continues && !is_left(run);
    status.queues.iter().any(|queue| queue.last_run.as_ref().is_some_and(goes_on))
}
