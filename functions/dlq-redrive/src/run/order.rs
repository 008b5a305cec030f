//! What a run is asked to do, checked.

use std::time::Duration;

use ikkai::job::{FieldError, payload_digest};
use serde_json::{Map, Value};

use crate::matching;
use crate::protocol::{Action, Discard, Filter, Redrive, Refusal, RefusalCode};
use crate::queues::{StackQueue, StackQueues};

const MOST_MESSAGES: u32 = 1_000_000;
const MOST_PER_SECOND: u32 = 500;
const MOST_CANARIES: u32 = 100;
const LONGEST_CANARY_SECONDS: u32 = 86_400;
const LONGEST_REASON: usize = 500;
const LONGEST_NAME: usize = 200;
const LONGEST_RUN_ID: usize = 64;

/// What a run is asked to do.
#[derive(Debug, Clone)]
pub(super) struct Order {
    pub(super) task: Task,
    pub(super) queues: Vec<StackQueue>,
    pub(super) filter: Filter,
    /// Most messages that are put back or removed, over all parts.
    pub(super) max: u64,
    pub(super) dry_run: bool,
    pub(super) reason: String,
    pub(super) claimed_by: Option<String>,
    pub(super) run_id: Option<String>,
    /// Parts that the caller has seen.
    pub(super) cursor: Cursor,
    /// Digest of the request without its run id and its cursor.
    pub(super) digest: String,
}

/// Where the caller wants to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cursor {
    /// After so many parts; 0 is the beginning.
    After(u32),
    /// It is not one that this function has ever given.
    Foreign,
}

/// What becomes of messages.
#[derive(Debug, Clone)]
pub(super) enum Task {
    PutBack(PuttingBack),
    Discard,
}

/// How messages are put back.
#[derive(Debug, Clone)]
pub(super) struct PuttingBack {
    pub(super) rate_per_second: u32,
    pub(super) canary: u32,
    pub(super) canary_timeout: Duration,
    /// Percent; 100 is never exceeded.
    pub(super) stop_at_returned: u32,
    pub(super) patch: Option<Map<String, Value>>,
    pub(super) override_quarantine: bool,
}

impl Order {
    /// Reads a request to put messages back.
    pub(super) fn redrive(request: &Redrive, queues: &StackQueues) -> Result<Self, Refusal> {
        let mut errors = matching::check(&request.filter).into_iter().map(|error| error.under("/filter")).collect::<Vec<_>>();
        within(&mut errors, "/max", request.max, 1, MOST_MESSAGES);
        within(&mut errors, "/ratePerSecond", request.rate_per_second, 1, MOST_PER_SECOND);
        within(&mut errors, "/canary", request.canary, 0, MOST_CANARIES);
        within(&mut errors, "/canaryTimeoutSeconds", request.canary_timeout_seconds, 1, LONGEST_CANARY_SECONDS);
        within(&mut errors, "/stopAtReturnedPercent", request.stop_at_returned_percent, 0, 100);
        if request.patch.is_some() && request.filter.job_ids.is_empty() {
            let message = "a patch is for jobs that are named: add filter.jobIds";
            errors.push(FieldError::new("/patch", "not_allowed", message));
        }
        check_names(
            &mut errors,
            &request.reason,
            request.claimed_by.as_deref(),
            request.run_id.as_deref(),
            request.cursor.as_deref(),
        );
        refuse(errors)?;
        let digest = digest_of(Action::Redrive, &Redrive { run_id: None, cursor: None, ..request.clone() });
        Ok(Self {
            task: Task::PutBack(PuttingBack {
                rate_per_second: request.rate_per_second,
                canary: request.canary,
                canary_timeout: Duration::from_secs(request.canary_timeout_seconds.into()),
                stop_at_returned: request.stop_at_returned_percent,
                patch: request.patch.clone(),
                override_quarantine: request.override_quarantine,
            }),
            queues: queues.chosen(&request.queue)?.into_iter().cloned().collect(),
            filter: request.filter.clone(),
            max: request.max.into(),
            dry_run: request.dry_run,
            reason: request.reason.clone(),
            claimed_by: request.claimed_by.clone(),
            run_id: request.run_id.clone(),
            cursor: Cursor::read(request.cursor.as_deref()),
            digest,
        })
    }

    /// Reads a request to remove messages.
    pub(super) fn discard(request: &Discard, queues: &StackQueues) -> Result<Self, Refusal> {
        let mut errors = matching::check(&request.filter).into_iter().map(|error| error.under("/filter")).collect::<Vec<_>>();
        within(&mut errors, "/max", request.max, 1, MOST_MESSAGES);
        check_names(
            &mut errors,
            &request.reason,
            request.claimed_by.as_deref(),
            request.run_id.as_deref(),
            request.cursor.as_deref(),
        );
        refuse(errors)?;
        let digest = digest_of(Action::Discard, &Discard { run_id: None, cursor: None, ..request.clone() });
        Ok(Self {
            task: Task::Discard,
            queues: vec![by_full_name(&request.dead_letter_queue, queues)?.clone()],
            filter: request.filter.clone(),
            max: request.max.into(),
            dry_run: request.dry_run,
            reason: request.reason.clone(),
            claimed_by: request.claimed_by.clone(),
            run_id: request.run_id.clone(),
            cursor: Cursor::read(request.cursor.as_deref()),
            digest,
        })
    }

    pub(super) const fn action(&self) -> Action {
        match self.task {
            Task::PutBack(_) => Action::Redrive,
            Task::Discard => Action::Discard,
        }
    }

    pub(super) const fn putting_back(&self) -> Option<&PuttingBack> {
        match &self.task {
            Task::PutBack(putting_back) => Some(putting_back),
            Task::Discard => None,
        }
    }
}

impl Cursor {
    fn read(text: Option<&str>) -> Self {
        text.map_or(Self::After(0), |text| text.parse().map_or(Self::Foreign, Self::After))
    }
}

fn within(errors: &mut Vec<FieldError>, pointer: &str, value: u32, least: u32, most: u32) {
    if value < least || value > most {
        errors.push(FieldError::new(pointer, "out_of_range", format!("must be from {least} to {most}")));
    }
}

fn check_names(errors: &mut Vec<FieldError>, reason: &str, claimed_by: Option<&str>, run_id: Option<&str>, cursor: Option<&str>) {
    if reason.trim().is_empty() || reason.chars().count() > LONGEST_REASON {
        let message = format!("say why, in 1 to {LONGEST_REASON} characters; it is kept in the history");
        errors.push(FieldError::new("/reason", "invalid_value", message));
    }
    if claimed_by.is_some_and(|name| name.is_empty() || name.chars().count() > LONGEST_NAME) {
        errors.push(FieldError::new("/claimedBy", "invalid_value", format!("must have 1 to {LONGEST_NAME} characters")));
    }
    if run_id.is_some_and(|id| !is_run_id(id)) {
        let message = format!("must be 1 to {LONGEST_RUN_ID} letters, digits, dots, underscores and hyphens");
        errors.push(FieldError::new("/runId", "invalid_value", message));
    }
    if cursor.is_some() && run_id.is_none() {
        let message = "a cursor belongs to a run: add the runId of the answer that gave it";
        errors.push(FieldError::new("/runId", "missing_member", message));
    }
}

fn is_run_id(text: &str) -> bool {
    let allowed = |character: char| character.is_ascii_alphanumeric() || matches!(character, '.' | '_' | '-');
    (1..=LONGEST_RUN_ID).contains(&text.len()) && text.chars().all(allowed)
}

fn refuse(errors: Vec<FieldError>) -> Result<(), Refusal> {
    if errors.is_empty() { Ok(()) } else { Err(Refusal::fields(RefusalCode::InvalidRequest, errors)) }
}

fn by_full_name<'a>(name: &str, queues: &'a StackQueues) -> Result<&'a StackQueue, Refusal> {
    queues.all().iter().find(|queue| queue.dead_letter_queue_name.as_str() == name).ok_or_else(|| {
        let known = queues.all().iter().map(|queue| queue.dead_letter_queue_name.as_str()).collect::<Vec<_>>().join(", ");
        let message = format!("this stack has no dead-letter queue of that full name; it has {known}");
        Refusal::new(RefusalCode::UnknownQueue, message)
    })
}

fn digest_of(action: Action, request: &impl serde::Serialize) -> String {
    let members = serde_json::to_value(request).expect("requests are plain data");
    payload_digest(&serde_json::json!([action.as_str(), members]))
}
