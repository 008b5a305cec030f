//! What `redrive` and `discard` have in common: looked at first, asked about, followed to the end.

use dlq_redrive::protocol::{Answer, RedriveAnswer, RunState, Tally};

use super::ages::short;
use super::history::verdict_table;
use super::tell::{done, ending, tell};
use super::words::{meaning, messages, name, state};
use super::{Work, command_line};
use crate::command::Failure;
use crate::command::ending::Ending;
use crate::operator::{Course, Interrupt, Outcome, Pace, Reply, RunRequest, Sight};
use crate::screen::{Screen, chain, table_lines};

/// Verdicts that are told one by one; the history has them all.
const TOLD: usize = 10;

/// A run to be done.
pub(super) struct Order<'a> {
    /// What is asked.
    pub(super) request: RunRequest,
    /// Whether only to say what would be done.
    pub(super) dry: bool,
    /// What it does, such as `putting messages back`.
    pub(super) title: &'a str,
    /// The question, by what would be done.
    pub(super) question: &'a (dyn Fn(&RedriveAnswer) -> String + Sync),
    /// The command that goes on with a request.
    pub(super) again: &'a (dyn Fn(&RunRequest) -> String + Sync),
}

/// Does it, after a look and a question.
pub(super) async fn run(mut work: Work<'_>, order: Order<'_>) -> Result<Ending, Failure> {
    if !order.dry
        && let Some(ending) = work.asker.cannot_ask(work.screen)
    {
        return Ok(ending);
    }
    let screen = *work.screen;
    let mut interrupt = work.interrupt.take().unwrap_or_else(|| {
        Interrupt::listen(move || {
            screen.note("stopping when the part at work is over; Ctrl-C once more ends this command at once, not the part");
        })
    });
    if order.dry {
        return dry(&work, &order, &mut interrupt).await;
    }
    let total = match asked(&mut work, &order, &mut interrupt).await? {
        Ok(total) => total,
        Err(ending) => return Ok(ending),
    };
    let (course, outcome) = follow(&work, &order, order.request.clone(), total, &mut interrupt).await;
    Ok(match outcome {
        Outcome::Answered(reply) => {
            let ending = tell(&screen, &reply, |answer| report(&work, answer));
            if run_of(&reply).is_none() {
                goes_on(&work, &order, &course);
            }
            ending
        }
        Outcome::Interrupted(reply) => {
            let ending = tell(&screen, &reply, |answer| report(&work, answer));
            screen.note(format!("it goes on with:\n  {}", (order.again)(&course.request)));
            ending
        }
        Outcome::Lost(error) => {
            screen.error(&error);
            goes_on(&work, &order, &course);
            Ending::Failed
        }
    })
}

/// Where a run stands that has begun and whose end nobody has told, and how it goes on.
fn goes_on(work: &Work<'_>, order: &Order<'_>, course: &Course) {
    if let Some(run_id) = course.request.run_id().filter(|_| course.has_begun()) {
        work.screen.note(format!("`{}` says how far it came; it goes on with:", history_of(work, run_id)));
        work.screen.note(format!("  {}", (order.again)(&course.request)));
    }
}

/// The command that shows what became of every message of a run.
fn history_of(work: &Work<'_>, run_id: &str) -> String {
    command_line("history", &work.site, vec!["--run".to_owned(), run_id.to_owned()])
}

/// Only says what would be done.
async fn dry(work: &Work<'_>, order: &Order<'_>, interrupt: &mut Interrupt) -> Result<Ending, Failure> {
    match look(work, order, interrupt).await {
        Outcome::Answered(reply) => Ok(tell(work.screen, &reply, |answer| report(work, answer))),
        Outcome::Interrupted(_) => Ok(stopped_looking(work.screen)),
        Outcome::Lost(error) => Err(error.into()),
    }
}

/// Looks and asks. Returns how many messages it is about, where that was looked at, or how the command ends already.
async fn asked(
    work: &mut Work<'_>,
    order: &Order<'_>,
    interrupt: &mut Interrupt,
) -> Result<Result<Option<u64>, Ending>, Failure> {
    if !work.asker.will_ask() {
        return Ok(Ok(None));
    }
    if order.request.cursor().is_some() {
        let question = format!("go on with the run {}?", order.request.run_id().unwrap_or("?"));
        return Ok(work.asker.consent(work.screen, &question).await.map(|()| None));
    }
    let reply = match look(work, order, interrupt).await {
        Outcome::Answered(reply) => reply,
        Outcome::Interrupted(_) => return Ok(Err(stopped_looking(work.screen))),
        Outcome::Lost(error) => return Err(error.into()),
    };
    let Some(would) = run_of(&reply).filter(|would| done(would) > 0) else {
        let ending = match ending(&reply.answer) {
            // A look that came to its end has done what it could; what was wanted is not possible.
            Ending::Done => Ending::Failed,
            other => other,
        };
        tell(work.screen, &reply, |answer| report(work, answer));
        return Ok(Err(ending));
    };
    summary(would, &work.site).iter().for_each(|line| work.screen.note(line));
    let count = done(would);
    Ok(work.asker.consent(work.screen, &(order.question)(would)).await.map(|()| Some(count)))
}

async fn look(work: &Work<'_>, order: &Order<'_>, interrupt: &mut Interrupt) -> Outcome {
    let request = order.request.dry();
    follow(work, &Order { title: "looking at the messages", request: request.clone(), ..*order }, request, None, interrupt)
        .await
        .1
}

fn stopped_looking(screen: &Screen) -> Ending {
    screen.note("stopped while looking; nothing was changed");
    Ending::Failed
}

/// Follows a run, and shows how far it is.
async fn follow(
    work: &Work<'_>,
    order: &Order<'_>,
    request: RunRequest,
    total: Option<u64>,
    interrupt: &mut Interrupt,
) -> (Course, Outcome) {
    let screen = work.screen;
    let progress = screen.progress();
    let step = progress.begin(order.title);
    let mut pace: Option<Pace> = None;
    let (most, means_all) = (u64::from(request.max()), request.means_all());
    // What was not looked at before is known where everything is meant.
    let of = |tally: &Tally| {
        total.or_else(|| means_all.then_some(tally.snapshot)).filter(|total| *total > 0).map(|total| total.min(most))
    };
    let mut course = Course::new(request);
    let mut told = |sight: Sight<'_>| match sight {
        Sight::Counts(tally) => step.detail(how_far(observed(&mut pace, tally), of(tally))),
        Sight::Part { tally, detail, wait } => {
            let mut line = how_far(observed(&mut pace, tally), of(tally));
            if let Some(detail) = detail {
                line = format!("{line}; {detail}");
            }
            if !wait.is_zero() {
                line = format!("{line}; goes on in {}", short(wait));
            }
            match screen.moves() {
                true => step.detail(line),
                false => screen.note(line),
            }
        }
        Sight::Again(error) => screen.note(format!("{}; asking again under the same run id", chain(error))),
    };
    let outcome = course.follow(work.desk, interrupt, &mut told).await;
    if matches!(&outcome, Outcome::Answered(reply) if run_of(reply).is_some_and(|run| run.state == RunState::Finished)) {
        step.done();
    }
    (course, outcome)
}

fn observed<'a>(pace: &'a mut Option<Pace>, tally: &Tally) -> &'a Pace {
    let done = tally.by_verdict.iter().filter(|(code, _)| code.is_done()).map(|(_, count)| count).sum();
    let pace = pace.get_or_insert_with(|| Pace::begin(done));
    pace.observe(done);
    pace
}

/// `120 of 340, 9.8 a second, 22 s left`
fn how_far(pace: &Pace, total: Option<u64>) -> String {
    let mut words = match total {
        Some(total) => format!("{} of {total}", pace.done()),
        None => format!("{} so far", pace.done()),
    };
    if let Some(rate) = pace.per_second() {
        words.push_str(&format!(", {rate:.1} a second"));
    }
    if let Some(left) = total.and_then(|total| pace.left(total)) {
        words.push_str(&format!(", {} left", short(left)));
    }
    words
}

fn run_of(reply: &Reply) -> Option<&RedriveAnswer> {
    match &reply.answer {
        Answer::Redrive(run) => Some(run),
        Answer::Discard(discard) => Some(&discard.run),
        _ => None,
    }
}

/// What became of the messages, and of those that are left one by one.
fn report(work: &Work<'_>, answer: &Answer) {
    let screen = work.screen;
    let (run, archive) = match answer {
        Answer::Redrive(run) => (run, None),
        Answer::Discard(discard) => (&discard.run, Some(&discard.archive)),
        _ => return,
    };
    if run.replayed {
        screen.note("this was done before; its answer is given again");
    }
    summary(run, &work.site).iter().for_each(|line| screen.line(line));
    if let Some(archive) = archive.filter(|_| !run.dry_run && done(run) > 0) {
        screen.line(format!("what was removed is in {archive}"));
    }
    if run.tally.succeeded_again + run.tally.failed_again > 0 {
        let (well, badly) = (run.tally.succeeded_again, run.tally.failed_again);
        screen.line(format!("of those put back {well} are done by now and {badly} have failed again, as far as was looked"));
    }
    let left: Vec<_> = run.verdicts.iter().filter(|verdict| !verdict.verdict.is_done()).collect();
    if !left.is_empty() {
        screen.line("");
        verdict_table(left.iter().take(TOLD).copied()).iter().for_each(|line| screen.line(line));
        if left.len() > TOLD {
            screen.note(format!("and {} more; `{}` has them all", left.len() - TOLD, history_of(work, &run.run_id)));
        }
    }
    if let Some(detail) = &run.detail {
        screen.note(detail);
    }
}

/// The run, and how many messages became what.
fn summary(run: &RedriveAnswer, site: &[String]) -> Vec<String> {
    let dry = if run.dry_run { ", a dry run: nothing was changed" } else { "" };
    let mut lines = vec![format!("run {}: {}{dry}", run.run_id, state(run.state, run.stopped))];
    if run.tally.by_verdict.is_empty() {
        lines.push(format!("none of {} that were looked at is meant", messages(run.tally.seen)));
        return lines;
    }
    let rows = run.tally.by_verdict.iter().map(|(code, count)| vec![name(code), count.to_string(), meaning(*code, site)]);
    lines.extend(table_lines(&[], &[1], rows));
    lines
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn how_far_a_run_is_is_told_as_far_as_it_is_known() {
        let mut pace = Pace::begin(0);
        assert_eq!(how_far(&pace, None), "0 so far");
        assert_eq!(how_far(&pace, Some(340)), "0 of 340");
        tokio::time::advance(Duration::from_secs(10)).await;
        pace.observe(98);
        assert_eq!(how_far(&pace, Some(340)), "98 of 340, 9.8 a second, 24 s left");
        assert_eq!(how_far(&pace, None), "98 so far, 9.8 a second");
    }
}
