//! What has to be true of a message's records before it is sent.

use futures::future::join_all;
use ikkai::clock::EpochMillis;
use ikkai::consumer::MessageContent;
use ikkai::idempotency::{Event, JobRecord, PutBack, StoreError, Verdict};
use ikkai::job::JobId;
use ikkai::queue::OutgoingMessage;

use super::drafts::Draft;
use super::page::PAUSE;
use super::part::Part;
use super::patch;
use crate::dead_letter::{DeadLetter, Place};
use crate::protocol::VerdictCode;

/// What became of the preparation.
pub(super) enum Preparation {
    /// The message may go.
    Send {
        message: Box<OutgoingMessage>,
        /// Its jobs that run now.
        running: Vec<String>,
    },
    /// There is nothing left to do: somebody was faster.
    Done,
    /// The message stays, for this reason.
    Left(VerdictCode, Option<String>),
}

/// What a record says to being put back.
pub(super) enum Answered {
    /// It waits for its message.
    Ready,
    /// Its job is over.
    Over,
    /// It is not to be run, for this reason.
    Not(VerdictCode, Option<String>),
}

impl Draft {
    /// Whether it can be known what becomes of the message: one of its jobs runs now. What is no job gets another record after every
    /// sending.
    pub(super) fn can_be_followed(&self, now: EpochMillis) -> bool {
        !self.resets.is_empty() || !unrecorded_jobs(&self.letter, now).is_empty()
    }
}

impl Part<'_> {
    /// Puts the records of a message's jobs back, each only if it still lives the life that was looked at.
    pub(super) async fn prepare(&self, draft: &Draft) -> Preparation {
        if self.patch().is_some() {
            return self.prepare_patched(draft).await;
        }
        let answers = join_all(draft.resets.iter().map(|(job_id, generation)| self.reset(draft, job_id, *generation))).await;
        let ready: Vec<_> = draft.resets.iter().zip(&answers).filter(|(_, answer)| matches!(answer, Answered::Ready)).collect();
        if ready.is_empty() && !draft.resets.is_empty() {
            return none_runs(draft, answers);
        }
        let mut running = unrecorded_jobs(&draft.letter, self.workbench.clock.now());
        running.extend(ready.into_iter().map(|((job_id, _), _)| job_id.as_str().to_owned()));
        let mut message = draft.letter.message.copy();
        if let Some(job_id) = &draft.rebuilt_from {
            let Some(body) = record_in(&draft.letter, job_id).and_then(JobRecord::envelope).map(|job| job.to_body()) else {
                return Preparation::Left(
                    VerdictCode::NotRebuildable,
                    Some("its record does not hold all of the job".to_owned()),
                );
            };
            message.body = body;
        }
        Preparation::Send { message: Box::new(message), running }
    }

    async fn reset(&self, draft: &Draft, job_id: &JobId, generation: u32) -> Answered {
        let found = record_in(&draft.letter, job_id).cloned().map(Box::new);
        let event = self.wish(generation, None);
        let ledger = &self.workbench.ledger;
        let asked = match ledger.decide(job_id, found.clone(), &event).await {
            Err(_) => {
                // The same wish again does no harm, also when the first one was heard.
                tokio::time::sleep(PAUSE).await;
                ledger.decide(job_id, found, &event).await
            }
            answered => answered,
        };
        answered(asked)
    }

    /// The wish to run a job again.
    pub(super) fn wish(&self, generation: u32, payload: Option<(serde_json::Value, String)>) -> Event {
        let is_overridden = self.order.putting_back().is_some_and(|task| task.override_quarantine);
        let max_generations = if is_overridden { u32::MAX } else { self.workbench.limits.max_generations };
        Event::PutBack(PutBack { generation, max_generations, payload })
    }

    fn patch(&self) -> Option<&serde_json::Map<String, serde_json::Value>> {
        self.order.putting_back().and_then(|task| task.patch.as_ref())
    }

    /// A message whose job gets another payload is made again from the job's record.
    async fn prepare_patched(&self, draft: &Draft) -> Preparation {
        let now = self.workbench.clock.now();
        let record = match draft.letter.places.as_slice() {
            [Place { record, .. }] => record.as_ref().filter(|record| !record.is_expired(now)),
            _ => None,
        };
        let Some(record) = record else {
            let detail = "only a message of one job that has a record can be patched".to_owned();
            return Preparation::Left(VerdictCode::PatchInvalid, Some(detail));
        };
        match self.put_back_patched(record).await {
            Ok(body) => {
                let message = OutgoingMessage { body, ..draft.letter.message.copy() };
                Preparation::Send { message: Box::new(message), running: vec![record.job_id.as_str().to_owned()] }
            }
            Err(Answered::Not(verdict, detail)) => Preparation::Left(verdict, detail),
            Err(_) => Preparation::Done,
        }
    }

    /// Puts a record back, with the patched payload where the run has a patch; the body of its message.
    pub(super) async fn put_back_patched(&self, record: &JobRecord) -> Result<String, Answered> {
        let payload = match self.patch() {
            Some(patch) => {
                let merged = patch::merged(record, patch).map_err(|errors| {
                    let told = errors.iter().map(|error| format!("{}: {}", error.pointer, error.message));
                    Answered::Not(VerdictCode::PatchInvalid, Some(told.collect::<Vec<_>>().join("; ")))
                })?;
                Some(merged)
            }
            None => None,
        };
        let event = self.wish(record.generation, payload);
        let ledger = &self.workbench.ledger;
        let decision = match ledger.apply(&record.job_id, &event).await {
            Err(_) => {
                tokio::time::sleep(PAUSE).await;
                ledger.apply(&record.job_id, &event).await
            }
            decided => decided,
        };
        let changed = decision.as_ref().ok().and_then(|decision| decision.record.as_ref());
        let body = changed.and_then(|record| record.envelope()).map(|job| job.to_body());
        if self.patch().is_some() && matches!(&decision, Ok(decision) if decision.verdict == Verdict::Missing) {
            return Err(Answered::Not(VerdictCode::PatchInvalid, Some("the job's record is gone".to_owned())));
        }
        match answered(decision.map(|decision| decision.verdict)) {
            Answered::Ready => body.ok_or_else(|| {
                Answered::Not(VerdictCode::NotRebuildable, Some("its record does not hold all of the job".to_owned()))
            }),
            other => Err(other),
        }
    }
}

fn answered(asked: Result<Verdict, StoreError>) -> Answered {
    match asked {
        Ok(Verdict::Done(_) | Verdict::Waiting(_) | Verdict::Missing) => Answered::Ready,
        Ok(Verdict::AlreadySucceeded(_) | Verdict::Cancelled) => Answered::Over,
        Ok(Verdict::InDoubt(_) | Verdict::WasInDoubt(_)) => Answered::Not(VerdictCode::InDoubt, None),
        Ok(Verdict::Quarantined) => Answered::Not(VerdictCode::Quarantined, None),
        Ok(Verdict::RunningElsewhere(_)) => Answered::Not(VerdictCode::Running, None),
        Ok(_) => Answered::Not(VerdictCode::Changed, None),
        Err(error) => Answered::Not(VerdictCode::RecordFailed, Some(error.to_string())),
    }
}

/// No record may run. A message with more places than were asked about is not deleted: the others wait for it.
fn none_runs(draft: &Draft, answers: Vec<Answered>) -> Preparation {
    let left = answers.into_iter().find_map(|answer| match answer {
        Answered::Not(verdict, detail) => Some(Preparation::Left(verdict, detail)),
        _ => None,
    });
    match left {
        Some(left) => left,
        None if draft.letter.places.len() > 1 => Preparation::Left(VerdictCode::Changed, None),
        None => Preparation::Done,
    }
}

/// Jobs of a message that run with it and have no record that could be put back.
fn unrecorded_jobs(letter: &DeadLetter, now: EpochMillis) -> Vec<String> {
    let is_recorded = |place: &Place| place.record.as_ref().is_some_and(|record| !record.is_expired(now));
    let runs = |place: &&Place| matches!(place.content, MessageContent::Job { .. }) && !is_recorded(place);
    letter.places.iter().filter(runs).filter_map(Place::job_id).map(|job_id| job_id.as_str().to_owned()).collect()
}

fn record_in<'l>(letter: &'l DeadLetter, job_id: &JobId) -> Option<&'l JobRecord> {
    letter.places.iter().filter_map(|place| place.record.as_ref()).find(|record| record.job_id == *job_id)
}
