//! Every change of a record: the kit's own [`transition`], asked with the kit's own events.
//!
//! Answers are remembered, because the same question comes up in many states. The remembered answer is what the function said.

use std::cell::RefCell;

use ikkai::clock::EpochMillis;
use ikkai::idempotency::{
    Certainty, Claim, ClaimRules, EffectPolicy, Ending, ErrorClass, Event, Failing, JobRecord, LastError, Outcome, PutBack,
    Resolution, Status, Takeover, Verdict, transition,
};
use ikkai::job::{JobId, JobType};
use serde_json::json;

use crate::book::Kept;
use crate::quick::QuickMap;
use crate::times::{self, NOW};
use crate::token::Token;

/// What happens when the job's effect is tried twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Policy {
    /// Twice is harm.
    Hold,
    /// Twice is harmless while the provider remembers the key.
    Keyed,
    /// Believed to be harmless for ever. No scope has it; a variant claims with it at a provider that forgets.
    Rerun,
}

impl Policy {
    fn kit(self) -> EffectPolicy {
        match self {
            Self::Hold => EffectPolicy::Hold,
            Self::Keyed => EffectPolicy::Rerun { idempotent_for: Some(times::WINDOW), looks_up: false },
            Self::Rerun => EffectPolicy::RERUN,
        }
    }
}

/// The consumer's rules about claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rules {
    /// Most handler starts in one generation.
    pub max_attempts: u32,
    /// Most put-backs.
    pub max_generations: u32,
    /// Whether the job needs private data.
    pub needs_data: bool,
    /// What a repeated effect does.
    pub policy: Policy,
}

/// When a message was sent, as far as a dead job can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sent {
    /// Before the last death, or within the margin after it.
    BeforeDeath,
    /// Well after it.
    AfterDeath,
}

/// How a failed run shall end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Way {
    /// Again, and the attempt counts.
    Retry,
    /// Again, and the attempt is given back.
    Defer,
    /// Never again by itself.
    Die,
}

/// What is known about the effect of a failed run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Known {
    /// The run did not get as far.
    NotTried,
    /// It surely did not happen in this run.
    NotDone,
    /// Nothing was said.
    Unstated,
    /// It may have happened.
    MayBeDone,
}

/// An event, small enough to be remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ask {
    /// A worker wants to run the job.
    Claim(Token, Sent, Rules),
    /// The handler is about to do its irreversible step.
    BeginEffect(Token),
    /// The heartbeat extends the lease.
    Renew(Token),
    /// The handler is done.
    Complete(Token),
    /// The handler failed.
    Fail {
        /// The worker's lease.
        token: Token,
        /// What it wants.
        way: Way,
        /// What it knows.
        known: Known,
        /// The claim of this run noted the first try of the effect.
        noted: bool,
        /// The consumer's rules.
        rules: Rules,
    },
    /// A repeated request wants to send.
    TakeOverSending(Token),
    /// The send failed, or nobody knows.
    EndSendLease(Token),
    /// A repeated send was confirmed.
    ConfirmSent(Token),
    /// Somebody takes the job back.
    Cancel,
    /// An operator wants the job to run again.
    PutBack {
        /// The generation that was looked at.
        generation: u32,
        /// Most put-backs.
        max_generations: u32,
    },
    /// An operator says what became of a job in doubt.
    Resolve {
        /// The generation that was looked at.
        generation: u32,
        /// Whether it is done; else it shall run again.
        done: bool,
    },
}

/// What the record answered, without the details that the model does not look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Said {
    /// The claim holds.
    Started {
        /// The claim noted the first try of the effect itself.
        noted: bool,
    },
    /// Done before, or taken back.
    Over,
    /// Somebody else's turn, or nobody's yet.
    Waits,
    /// Given up.
    Dead,
    /// In doubt.
    InDoubt,
    /// The change was made, and this is the status.
    Done(Status),
    /// The lease is somebody else's.
    LeaseLost,
    /// The job's message is in the queue, or was.
    KnownEnqueued,
    /// The sending is the asker's.
    SendTakenOver,
    /// It waits for a message.
    Waiting,
    /// Nothing can be done.
    Refused,
}

/// An answer: the record to be written, if any, and what is true once it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// The record to be written.
    pub next: Option<Kept>,
    /// The verdict.
    pub said: Said,
}

thread_local! {
    static ANSWERS: RefCell<QuickMap<(Option<Kept>, Ask), Answer>> = RefCell::default();
}

/// Asks the record that is stored.
pub fn ask(stored: Option<Kept>, ask: Ask) -> Answer {
    ANSWERS.with_borrow_mut(|known| *known.entry((stored, ask)).or_insert_with(|| answer(stored, ask)))
}

fn answer(stored: Option<Kept>, ask: Ask) -> Answer {
    let decided = transition(stored.map(Kept::record), &event(ask), NOW);
    Answer { next: decided.next.map(|next| Kept::keep(times::settled(*next))), said: said(&decided.verdict) }
}

/// The record that the producer writes for a request.
pub fn accepted(token: Token, has_data: bool) -> Kept {
    let record = JobRecord {
        idempotency_key: Some("order-1".to_owned()),
        payload: Some(json!({})),
        payload_digest: Some("digest".to_owned()),
        data: has_data.then(|| json!({})),
        accept_token: Some(token.as_str().to_owned()),
        send_lease_until: Some(times::SEND_LEASE_AHEAD),
        ..JobRecord::new(job_id(), job_type(), 1, "caller", Status::Accepted, NOW)
    };
    Kept::keep(times::settled(record))
}

fn job_type() -> JobType {
    JobType::parse("model.job").expect("it is a type")
}

fn job_id() -> JobId {
    JobId::for_message(&job_type(), "model")
}

fn event(ask: Ask) -> Event {
    let text = |token: Token| token.as_str().to_owned();
    match ask {
        Ask::Claim(token, sent, rules) => Event::Claim(Box::new(claim(token, sent, rules))),
        Ask::BeginEffect(token) => Event::BeginEffect { token: text(token), lease_until: times::LEASE_AHEAD },
        Ask::Renew(token) => Event::Renew { token: text(token), lease_until: times::LEASE_AHEAD },
        Ask::Complete(token) => {
            Event::Complete { token: text(token), result: None, provider_ref: None, keep_for: times::KEEP_FOR }
        }
        Ask::Fail { token, way, known, noted, rules } => Event::Fail(failing(token, way, known, noted, rules)),
        Ask::TakeOverSending(token) => Event::TakeOverSending {
            token: text(token),
            send_lease_until: times::SEND_LEASE_AHEAD,
            min_interval: times::RESEND_AFTER,
        },
        Ask::EndSendLease(token) => Event::EndSendLease { token: text(token) },
        Ask::ConfirmSent(token) => Event::ConfirmSent { token: text(token) },
        Ask::Cancel => Event::Cancel { keep_for: times::KEEP_FOR },
        Ask::PutBack { generation, max_generations } => Event::PutBack(PutBack { generation, max_generations, payload: None }),
        Ask::Resolve { generation, done } => {
            let outcome = if done { Outcome::Done { provider_ref: None, keep_for: times::KEEP_FOR } } else { Outcome::RunAgain };
            Event::Resolve(Resolution { generation, outcome })
        }
    }
}

fn claim(token: Token, sent: Sent, rules: Rules) -> Claim {
    let sent_at: EpochMillis = match sent {
        Sent::BeforeDeath => times::SENT_BEFORE_DEATH,
        Sent::AfterDeath => times::SENT_AFTER_DEATH,
    };
    Claim {
        job_id: job_id(),
        job_type: job_type(),
        schema_version: 1,
        caller: "caller".to_owned(),
        idempotency_key: "order-1".to_owned(),
        business_id: None,
        payload: json!({}),
        payload_digest: "digest".to_owned(),
        token: token.as_str().to_owned(),
        lease_until: times::LEASE_AHEAD,
        sent_at: Some(sent_at),
        // A batch of one: what killed a worker is always last and alone.
        takeover: Takeover::Now,
        rules: ClaimRules {
            max_attempts: rules.max_attempts,
            max_generations: rules.max_generations,
            needs_data: rules.needs_data,
            effect: rules.policy.kit(),
        },
    }
}

fn failing(token: Token, way: Way, known: Known, noted: bool, rules: Rules) -> Failing {
    let class = match (way, known) {
        (_, Known::MayBeDone) => ErrorClass::Ambiguous,
        (Way::Die, _) => ErrorClass::Permanent,
        (Way::Defer, _) => ErrorClass::Deferred,
        (Way::Retry, _) => ErrorClass::Transient,
    };
    Failing {
        token: token.as_str().to_owned(),
        ending: match way {
            Way::Retry => Ending::Retry(NOW),
            Way::Defer => Ending::Defer(NOW),
            Way::Die => Ending::Die,
        },
        certainty: match known {
            Known::NotTried => Certainty::NotTried,
            Known::NotDone => Certainty::NotDone,
            Known::Unstated => Certainty::Unstated,
            Known::MayBeDone => Certainty::MayBeDone,
        },
        max_attempts: rules.max_attempts,
        effect: rules.policy.kit(),
        first_effect_noted_by_claim: noted,
        error: LastError::new(class, "failed", "the handler failed"),
    }
}

fn said(verdict: &Verdict) -> Said {
    match verdict {
        // As the consumer tells: the claim's own write left the note.
        Verdict::Started(record) => Said::Started { noted: record.first_effect_at == Some(record.updated_at) },
        Verdict::AlreadySucceeded(_) | Verdict::Cancelled => Said::Over,
        Verdict::RunningElsewhere(_) | Verdict::NotDue(_) | Verdict::SendInProgress(_) => Said::Waits,
        Verdict::Dead(_) | Verdict::WasDead(_) => Said::Dead,
        Verdict::InDoubt(_) | Verdict::WasInDoubt(_) => Said::InDoubt,
        Verdict::Done(status) => Said::Done(*status),
        Verdict::LeaseLost => Said::LeaseLost,
        Verdict::KnownEnqueued => Said::KnownEnqueued,
        Verdict::SendTakenOver => Said::SendTakenOver,
        Verdict::Waiting(_) => Said::Waiting,
        _ => Said::Refused,
    }
}
