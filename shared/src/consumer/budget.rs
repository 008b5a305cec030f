//! The time a batch has.

use std::time::Duration;

use super::settings::ConsumerSettings;
use crate::clock::EpochMillis;

/// When things have to be over in one invocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Budget {
    /// Lambda ends the invocation here.
    deadline: EpochMillis,
    /// Handlers end here, so that their records can still be settled.
    pub(super) handlers_end: EpochMillis,
    /// The heartbeat's calls end here: a settlement waits for them.
    pub(super) heartbeat_end: EpochMillis,
    /// Settlements end here, so that visibility can still be set.
    pub(super) settling_end: EpochMillis,
    /// Everything ends here: the answer has to go out.
    pub(super) answer_by: EpochMillis,
    /// A claim made now holds up to here.
    pub(super) lease: Lease,
}

/// How leases work in one invocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lease {
    /// One lease up to the deadline plus the skew allowance; nothing is renewed.
    Whole,
    /// Chunks that the heartbeat renews.
    Chunks,
}

/// No function runs for longer than this, so a deadline beyond is no deadline
/// (<https://docs.aws.amazon.com/lambda/latest/dg/lambda-managed-instances.html> allows 90 minutes, ordinary functions 15).
const LONGEST_INVOCATION: Duration = Duration::from_secs(5_400);

/// Less than this is no time to start a handler in.
const LEAST_HANDLER_TIME: Duration = Duration::from_millis(200);

impl Budget {
    /// The budget of an invocation that began at `now`. Some local runtimes send a constant or no deadline: one that is not in the
    /// future, or further away than any function may run, is unknown, and the configured timeout counts.
    pub(super) fn new(now: EpochMillis, deadline: Option<EpochMillis>, settings: &ConsumerSettings) -> Self {
        let possible = now..=now + LONGEST_INVOCATION.max(settings.function_timeout);
        let deadline =
            deadline.filter(|deadline| *deadline > now && possible.contains(deadline)).unwrap_or(now + settings.function_timeout);
        let total = deadline.since(now);
        // Short functions keep at most a quarter of their time for settling.
        let reserve = settings.settle_reserve.min(total / 4);
        let lease = if total <= settings.lease_whole_until { Lease::Whole } else { Lease::Chunks };
        let handlers_end = now + (total - reserve);
        Self {
            deadline,
            handlers_end,
            heartbeat_end: handlers_end + reserve / 4,
            settling_end: deadline - reserve / 4,
            answer_by: deadline - reserve / 16,
            lease,
        }
    }

    /// End of a lease that starts at `now`.
    pub(super) fn lease_until(&self, now: EpochMillis, settings: &ConsumerSettings) -> EpochMillis {
        match self.lease {
            Lease::Whole => self.deadline + settings.lease_skew,
            Lease::Chunks => now + settings.lease_chunk + settings.lease_skew,
        }
    }

    /// Time a handler started at `now` would have; `None` when that is not worth a start.
    pub(super) fn handler_time(&self, now: EpochMillis) -> Option<Duration> {
        let left = self.handlers_end.since(now);
        (left >= LEAST_HANDLER_TIME).then_some(left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Reader;

    fn settings() -> ConsumerSettings {
        let mut reader = Reader::from_pairs([
            ("IKKAI_JOBS_TABLE", "jobs"),
            ("IKKAI_QUEUE_NAME", "email"),
            ("IKKAI_MAX_RECEIVE_COUNT", "6"),
            ("IKKAI_FUNCTION_TIMEOUT_SECONDS", "30"),
        ]);
        let settings = ConsumerSettings::read(&mut reader);
        reader.finish(settings).unwrap()
    }

    const NOW: EpochMillis = EpochMillis::from_i64(1_800_000_000_000);

    #[test]
    fn a_deadline_that_cannot_be_true_falls_back_to_the_configured_timeout() {
        let far_away = NOW + Duration::from_secs(5_401);
        for deadline in [None, Some(EpochMillis::from_i64(600_000)), Some(EpochMillis::from_i64(0)), Some(NOW), Some(far_away)] {
            assert_eq!(Budget::new(NOW, deadline, &settings()).deadline, NOW + Duration::from_secs(30));
        }
    }

    #[test]
    fn a_lease_of_a_short_invocation_ends_after_its_deadline() {
        let budget = Budget::new(NOW, Some(NOW + Duration::from_secs(60)), &settings());
        assert_eq!(budget.lease, Lease::Whole);
        assert_eq!(budget.lease_until(NOW, &settings()), NOW + Duration::from_secs(70));
    }

    #[test]
    fn a_long_invocation_leases_in_chunks() {
        let budget = Budget::new(NOW, Some(NOW + Duration::from_secs(61)), &settings());
        assert_eq!(budget.lease, Lease::Chunks);
        assert_eq!(budget.lease_until(NOW, &settings()), NOW + Duration::from_secs(55));
    }

    #[test]
    fn nothing_is_started_in_the_time_kept_for_settling() {
        let budget = Budget::new(NOW, Some(NOW + Duration::from_secs(20)), &settings());
        assert_eq!(budget.handler_time(NOW), Some(Duration::from_secs(18)));
        assert_eq!(budget.handler_time(NOW + Duration::from_millis(17_900)), None);
    }

    #[test]
    fn what_is_left_after_the_handlers_is_shared_in_order() {
        for total in [Duration::from_millis(1), Duration::from_secs(3), Duration::from_secs(900)] {
            let budget = Budget::new(NOW, Some(NOW + total), &settings());
            let order = [budget.handlers_end, budget.heartbeat_end, budget.settling_end, budget.answer_by, budget.deadline];
            assert!(order.is_sorted(), "{order:?}");
        }
    }
}
