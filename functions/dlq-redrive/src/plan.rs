//! What is to be done with a message, by the records of its jobs. Pure: the table of the design in one place.

use ikkai::clock::EpochMillis;
use ikkai::consumer::MessageContent;
use ikkai::idempotency::{JobRecord, Status};
use ikkai::job::JobId;

use crate::dead_letter::{DeadLetter, Place};
use crate::protocol::VerdictCode;

/// What is to be done with a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plan {
    /// Prepare these records; where one of them runs then, send the message and delete it.
    Send {
        /// Jobs whose records are put back first, with the generation that was read; one that waits only notes that its message was sent anew,
        /// and one whose worker died and that cannot run again gets its end.
        resets: Vec<(JobId, u32)>,
        /// The body is made again from this job's record: an operator has mended its payload.
        rebuilt_from: Option<JobId>,
    },
    /// Nothing is left to do for it: delete it.
    Delete,
    /// Leave it, for this reason.
    Leave(VerdictCode),
}

/// The rules that are not in the records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// Most put-backs of one job.
    pub max_generations: u32,
    /// Whether what was put back too often is put back once more.
    pub override_quarantine: bool,
}

impl Plan {
    /// The verdict that the plan aims at.
    #[must_use]
    pub const fn verdict(&self) -> VerdictCode {
        match self {
            Self::Send { .. } => VerdictCode::Redriven,
            Self::Delete => VerdictCode::AlreadyDone,
            Self::Leave(code) => *code,
        }
    }
}

/// One place of the message.
enum Part {
    Run { reset: Option<(JobId, u32)>, rebuilt_from: Option<JobId> },
    Done,
    Stay(VerdictCode),
}

/// What is to be done with `letter`. A message that holds anything that shall run is sent: consumers answer for the rest of it.
#[must_use]
pub fn plan(letter: &DeadLetter, rules: Rules, now: EpochMillis) -> Plan {
    let parts: Vec<_> = letter.places.iter().map(|place| part(place, rules, now)).collect();
    let (mut resets, mut rebuilt_from, mut runs, mut stays) = (Vec::new(), None, false, None);
    for part in parts {
        match part {
            Part::Run { reset, rebuilt_from: from } => {
                runs = true;
                resets.extend(reset);
                rebuilt_from = rebuilt_from.or(from);
            }
            Part::Done => {}
            Part::Stay(code) => stays = stays.or(Some(code)),
        }
    }
    match (runs, stays) {
        (true, _) => Plan::Send { resets, rebuilt_from },
        (false, Some(code)) => Plan::Leave(code),
        (false, None) => Plan::Delete,
    }
}

fn part(place: &Place, rules: Rules, now: EpochMillis) -> Part {
    let plain = Part::Run { reset: None, rebuilt_from: None };
    match &place.content {
        MessageContent::Nothing(_) => Part::Done,
        // The same body may be one that a newer consumer understands. It comes with a new message id, so its old record has no part in it.
        MessageContent::Unreadable { .. } => plain,
        MessageContent::Job { payload_digest, .. } => match place.record.as_ref().filter(|record| !record.is_expired(now)) {
            None => plain,
            Some(record) => job(record, payload_digest.as_deref(), rules, now),
        },
        _ => Part::Stay(VerdictCode::RecordFailed),
    }
}

fn job(record: &JobRecord, digest: Option<&str>, rules: Rules, now: EpochMillis) -> Part {
    let differs = matches!((&record.payload_digest, digest), (Some(known), Some(digest)) if known != digest);
    let mended = differs && digest.is_some_and(|digest| record.had_payload(digest));
    if differs && !mended {
        return Part::Stay(VerdictCode::OtherContent);
    }
    let rebuilt_from = mended.then(|| record.job_id.clone());
    let again = || Part::Run { reset: Some((record.job_id.clone(), record.generation)), rebuilt_from: rebuilt_from.clone() };
    let reset = || match record.generation < rules.max_generations || rules.override_quarantine {
        true => again(),
        false => Part::Stay(VerdictCode::Quarantined),
    };
    match record.status {
        Status::Succeeded | Status::Cancelled => Part::Done,
        Status::InDoubt => Part::Stay(VerdictCode::InDoubt),
        Status::Accepted | Status::RetryScheduled => again(),
        Status::Running if !record.lease_is_over(now) => Part::Stay(VerdictCode::Running),
        // The reset writes that it is in doubt, or dead where it was put back as often as it may be: nobody else does.
        Status::Running => again(),
        Status::Dead => reset(),
        _ => Part::Stay(VerdictCode::RecordFailed),
    }
}
