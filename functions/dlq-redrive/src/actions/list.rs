//! `list`: what is in dead-letter queues, grouped by type and reason.

use std::collections::HashMap;
use std::ops::ControlFlow;

use ikkai::clock::EpochMillis;
use ikkai::consumer::MessageContent;
use ikkai::idempotency::{LastError, Status};

use super::members::Members;
use crate::advice::{Subject, advice};
use crate::dead_letter::{DeadLetter, Place};
use crate::matching;
use crate::plan::{Rules, plan};
use crate::protocol::{DeadGroup, List, ListAnswer, Refusal, SeenMessage, VerdictCode};
use crate::queues::StackQueue;
use crate::telling::{moment, seen_message};
use crate::workbench::{Invocation, Workbench};

/// Most messages that are told one by one.
const MOST_MESSAGES: usize = 1_000;

/// Most messages that are looked at in one queue.
const MOST_SEEN: u64 = 10_000;

/// Jobs that are named in a group.
const EXAMPLES: usize = 5;

/// What is in the dead-letter queues. Looks, and changes nothing.
pub(crate) async fn list(bench: &Workbench, request: &List, invocation: &Invocation) -> Result<ListAnswer, Refusal> {
    let mut members = Members::default();
    members.within("/max", request.max.into(), 1, MOST_SEEN);
    members.wrong_under("/filter", matching::check(&request.filter));
    members.check()?;
    let rules = Rules { max_generations: bench.limits.max_generations, override_quarantine: false };
    let most = usize::try_from(request.max).unwrap_or(usize::MAX);
    let mut shelf = Shelf::default();
    let (mut seen, mut matched, mut more) = (0, 0, false);
    let mut messages: Vec<SeenMessage> = Vec::new();
    for queue in bench.queues.chosen(&request.queue)? {
        let look = bench.look_through(queue, most, invocation, |letter| {
            let now = bench.clock.now();
            if matching::is_meant(&request.filter, &letter, queue, now) {
                let verdict = plan(&letter, rules, now).verdict();
                matched += 1;
                if request.messages && messages.len() < MOST_MESSAGES {
                    messages.push(seen_message(&letter, queue, verdict, now));
                }
                shelf.put(&letter, queue, verdict, now);
            }
            ControlFlow::Continue(())
        });
        let looked = look.await?;
        seen += looked.count;
        more |= looked.more;
    }
    Ok(ListAnswer { seen, matched, more, groups: shelf.groups(), messages: request.messages.then_some(messages) })
}

/// What the messages of a group have in common.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Reason {
    queue: String,
    job_type: Option<String>,
    status: String,
    class: Option<&'static str>,
    code: Option<String>,
    verdict: VerdictCode,
}

/// The groups so far.
#[derive(Debug, Default)]
struct Shelf(HashMap<Reason, Group>);

#[derive(Debug)]
struct Group {
    error_message: Option<String>,
    count: u64,
    oldest: Option<EpochMillis>,
    youngest: Option<EpochMillis>,
    examples: Vec<String>,
    advice: String,
}

impl Shelf {
    fn put(&mut self, letter: &DeadLetter, queue: &StackQueue, verdict: VerdictCode, now: EpochMillis) {
        let Some(place) = telling_place(letter, now) else { return };
        let record = place.record.as_ref().filter(|record| !record.is_expired(now));
        let error = record.and_then(|record| record.last_error.as_ref()).or_else(|| reason(&place.content));
        let common = Reason {
            queue: queue.name.clone(),
            job_type: matches!(place.content, MessageContent::Job { .. }).then(|| queue.kind.job_type.to_owned()),
            status: record.map_or("none", |record| record.status.as_str()).to_owned(),
            class: error.map(|error| error.class.as_str()),
            code: error.map(|error| error.code.clone()),
            verdict,
        };
        let group = self.0.entry(common).or_insert_with(|| {
            let has_source = letter.message.source.is_some();
            let subject = Subject { content: Some(&place.content), record, has_source, verdict };
            Group {
                error_message: error.map(|error| error.message.clone()).or_else(|| nothing(&place.content)),
                count: 0,
                oldest: None,
                youngest: None,
                examples: Vec::new(),
                advice: advice(subject, now),
            }
        });
        group.count += 1;
        if let Some(sent_at) = letter.message.sent_at {
            group.oldest = Some(group.oldest.map_or(sent_at, |oldest| oldest.min(sent_at)));
            group.youngest = Some(group.youngest.map_or(sent_at, |youngest| youngest.max(sent_at)));
        }
        if let Some(job_id) = place.job_id().filter(|_| group.examples.len() < EXAMPLES) {
            group.examples.push(job_id.to_string());
        }
    }

    /// The largest first; groups of one size in the order of their reasons, so that the same queue is told the same way twice.
    fn groups(self) -> Vec<DeadGroup> {
        let mut groups: Vec<_> = self.0.into_iter().collect();
        groups.sort_by(|(left, one), (right, other)| other.count.cmp(&one.count).then_with(|| left.cmp(right)));
        let told = groups.into_iter().map(|(reason, group)| DeadGroup {
            queue: reason.queue,
            job_type: reason.job_type,
            status: reason.status,
            error_class: reason.class.map(str::to_owned),
            error_code: reason.code,
            error_message: group.error_message,
            count: group.count,
            oldest_at: group.oldest.map(moment),
            youngest_at: group.youngest.map(moment),
            examples: group.examples,
            verdict: reason.verdict,
            advice: group.advice,
        });
        told.collect()
    }
}

/// A message stands in one group: that of the first of its jobs that is not done, since it is here because of that one.
fn telling_place(letter: &DeadLetter, now: EpochMillis) -> Option<&Place> {
    let is_done = |place: &&Place| {
        let record = place.record.as_ref().filter(|record| !record.is_expired(now));
        let ended = record.is_some_and(|record| matches!(record.status, Status::Succeeded | Status::Cancelled));
        ended || matches!(place.content, MessageContent::Nothing(_))
    };
    letter.places.iter().find(|place| !is_done(place)).or_else(|| letter.places.first())
}

fn reason(content: &MessageContent) -> Option<&LastError> {
    match content {
        MessageContent::Unreadable { reason, .. } => Some(reason),
        _ => None,
    }
}

fn nothing(content: &MessageContent) -> Option<String> {
    match content {
        MessageContent::Nothing(why) => Some((*why).to_owned()),
        _ => None,
    }
}
