//! Abstract time: the clock stands still, and every moment in a record is one of a few.
//!
//! What a rule compares is kept (a lease that holds or is over, a message sent before or well after a death), the distance is not. Time passes by
//! [`Passing`]: one relation changes at a time, at any moment and in any order. That allows more than real clocks do, so what holds here holds
//! for clocks that differ, as far as the margins of the rules reach.

use std::time::Duration;

use ikkai::clock::{EpochMillis, EpochSeconds};
use ikkai::idempotency::{ErrorClass, JobRecord, LastError};

/// The moment at which everything is asked.
pub const NOW: EpochMillis = EpochMillis::from_i64(1_800_000_000_000);

/// How long a provider remembers a key.
pub const WINDOW: Duration = Duration::from_secs(3_600);

/// No second repetition of a send within this time.
pub const RESEND_AFTER: Duration = Duration::from_secs(60);

/// How long a record that ended is kept.
pub const KEEP_FOR: Duration = Duration::from_secs(2_592_000);

/// End of a lease that holds.
pub const LEASE_AHEAD: EpochMillis = after(60);
const LEASE_BEHIND: EpochMillis = before(60);
const FIRST_EFFECT_RECENT: EpochMillis = before(60);
const FIRST_EFFECT_LONG_AGO: EpochMillis = before(7_200);
const DIED: EpochMillis = before(600);
/// When a message was sent that somebody put back, more than the margin after the death.
pub const SENT_AFTER_DEATH: EpochMillis = before(60);
/// When a message was sent that was there before the death, or was sent within the margin after it.
pub const SENT_BEFORE_DEATH: EpochMillis = before(900);
/// End of a send lease that holds.
pub const SEND_LEASE_AHEAD: EpochMillis = after(5);
const SEND_LEASE_BEHIND: EpochMillis = before(5);
const ENQUEUED_JUST_NOW: EpochMillis = before(1);
const ENQUEUED_LONG_AGO: EpochMillis = before(120);
const LONG_AGO: EpochMillis = before(86_400);

const fn after(seconds: i64) -> EpochMillis {
    EpochMillis::from_i64(NOW.as_i64() + seconds * 1_000)
}

const fn before(seconds: i64) -> EpochMillis {
    after(-seconds)
}

const fn seconds_after(seconds: i64) -> EpochSeconds {
    EpochSeconds::from_i64(NOW.as_i64() / 1_000 + seconds)
}

/// Which write a record was left by: equal for equal writes, and nothing else about it counts.
pub fn version(number: u8) -> EpochMillis {
    before(10 * (i64::from(number) + 1))
}

/// The number of that write; a fresh one has none yet.
pub fn version_of(moment: EpochMillis) -> u8 {
    u8::try_from(NOW.since(moment).as_secs() / 10).map_or(u8::MAX, |tens| tens.wrapping_sub(1))
}

/// One relation to the clock that changes by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Passing {
    /// The lease of the running job is over.
    LeaseEnds,
    /// The lease of whoever sends the job's message is over.
    SendLeaseEnds,
    /// The last confirmed send is more than a minute ago.
    MinutePasses,
    /// The first try of the effect is longer ago than the provider remembers.
    WindowPasses,
    /// The record counts as absent; DynamoDB has not removed it yet.
    RecordExpires,
}

/// The record after that.
pub fn passed(record: &JobRecord, passing: Passing) -> JobRecord {
    let mut next = record.clone();
    match passing {
        Passing::LeaseEnds => next.lease_until = Some(LEASE_BEHIND),
        Passing::SendLeaseEnds => next.send_lease_until = Some(SEND_LEASE_BEHIND),
        Passing::MinutePasses => next.enqueued_at = Some(ENQUEUED_LONG_AGO),
        Passing::WindowPasses => next.first_effect_at = Some(FIRST_EFFECT_LONG_AGO),
        Passing::RecordExpires => next.expires_at = Some(seconds_after(-86_400)),
    }
    next
}

/// The record that would end by its age alone, as tables are often set up: what [`Variant::TtlOnUnfinished`](crate::Variant) writes.
pub fn with_end(record: &JobRecord) -> JobRecord {
    JobRecord { expires_at: record.expires_at.or(Some(seconds_after(3_600))), ..record.clone() }
}

/// Whether the record has an end that is not reached.
pub fn will_expire(record: &JobRecord) -> bool {
    record.expires_at.is_some_and(|end| end > seconds_after(0))
}

/// Whether the first try of the effect is longer ago than the provider remembers.
pub fn window_is_over(record: &JobRecord) -> bool {
    record.first_effect_at == Some(FIRST_EFFECT_LONG_AGO)
}

/// Whether a send was confirmed within the last minute.
pub fn was_just_sent(record: &JobRecord) -> bool {
    record.enqueued_at == Some(ENQUEUED_JUST_NOW)
}

/// Whether somebody may be sending the job's message.
pub fn send_lease_holds(record: &JobRecord) -> bool {
    record.send_lease_until == Some(SEND_LEASE_AHEAD)
}

/// Moves each moment of a record that was just written to the one that stands for all with the same relations, and leaves out what no rule that
/// is modelled looks at: how often workers died (it only decides whether a job steps back in its batch), the words of a reason, and when it was
/// put back (which only `discard` reads).
pub fn settled(record: JobRecord) -> JobRecord {
    let ahead = |moment: Option<EpochMillis>, ahead, behind| moment.map(|end| if end >= NOW { ahead } else { behind });
    let recent = |moment: Option<EpochMillis>, limit: Duration, recent, long_ago| {
        moment.map(|at| if at + limit > NOW { recent } else { long_ago })
    };
    JobRecord {
        lease_until: ahead(record.lease_until, LEASE_AHEAD, LEASE_BEHIND),
        send_lease_until: ahead(record.send_lease_until, SEND_LEASE_AHEAD, SEND_LEASE_BEHIND),
        first_effect_at: recent(record.first_effect_at, WINDOW, FIRST_EFFECT_RECENT, FIRST_EFFECT_LONG_AGO),
        enqueued_at: recent(record.enqueued_at, RESEND_AFTER, ENQUEUED_JUST_NOW, ENQUEUED_LONG_AGO),
        retry_at: record.retry_at.map(|at| if at > NOW { LEASE_AHEAD } else { LONG_AGO }),
        died_at: record.died_at.map(|_| DIED),
        put_back_at: None,
        created_at: LONG_AGO,
        expires_at: record
            .expires_at
            .map(|end| if end > seconds_after(0) { seconds_after(86_400) } else { seconds_after(-86_400) }),
        crashes: 0,
        last_error: record.last_error.map(|error| match error.class {
            ErrorClass::Ambiguous => LastError::new(ErrorClass::Ambiguous, "unclear", "the effect may have happened"),
            _ => LastError::new(ErrorClass::Permanent, "failed", "the effect did not happen"),
        }),
        ..record
    }
}
