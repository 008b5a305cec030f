//! Backpressure: a queue that is too deep takes no new jobs.
//!
//! The depth is a coarse signal: SQS's numbers lag by up to a minute
//! (<https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_GetQueueAttributes.html>), so reading it for every request would
//! cost a call and tell nothing more. It is read at most once in [`FRESH_FOR`] for all requests of a sandbox.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ikkai::clock::EpochMillis;

use crate::catalog::QueueHandle;

/// How long a reading counts.
const FRESH_FOR: Duration = Duration::from_secs(5);

/// How long a request waits for a reading.
const READ_WITHIN: Duration = Duration::from_secs(1);

/// Shortest, usual and longest time after which a refused client is told to come back.
const RETRY_SECONDS: (u64, u64, u64) = (5, 30, 300);

/// Whether new jobs are let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admission {
    Open,
    /// Come back after this time.
    TooDeep(Duration),
}

/// The gate in front of one queue.
#[derive(Debug)]
pub(crate) struct Gate {
    queue: QueueHandle,
    max_depth: u64,
    readings: Mutex<Readings>,
    /// Held by whoever asks the queue.
    asking: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Readings {
    last: Option<Reading>,
    before: Option<Reading>,
}

#[derive(Debug, Clone, Copy)]
struct Reading {
    at: EpochMillis,
    /// `None`: the queue did not say.
    depth: Option<u64>,
}

impl Reading {
    /// A clock that was set back makes no reading fresh.
    fn is_fresh(&self, now: EpochMillis) -> bool {
        now >= self.at && now.since(self.at) < FRESH_FOR
    }
}

impl Gate {
    pub(crate) fn new(queue: QueueHandle, max_depth: u64) -> Self {
        Self { queue, max_depth, readings: Mutex::default(), asking: tokio::sync::Mutex::default() }
    }

    /// Whether a new job is let in now. Where the last reading let jobs in, it still counts, however old: whoever gets in then brings it up to
    /// date with [`refresh`](Self::refresh) and does not wait for it. Nobody is refused on an old reading; requests that ask at the same time
    /// wait for one new one. An unreadable depth lets everything in: the queue itself takes any number of messages, and refusing work because
    /// a number is missing would be an outage made at home.
    pub(crate) async fn admission(&self, now: EpochMillis) -> Admission {
        if let Some(known) = self.known(now) {
            return known;
        }
        let _turn = self.asking.lock().await;
        match self.known(now) {
            Some(known) => known,
            None => {
                self.ask(now).await;
                self.known(now).unwrap_or(Admission::Open)
            }
        }
    }

    /// Brings the reading up to date if it is old and nobody else is at it. To be awaited beside other work.
    pub(crate) async fn refresh(&self, now: EpochMillis) {
        if self.readings().last.is_some_and(|last| last.is_fresh(now)) {
            return;
        }
        if let Ok(_turn) = self.asking.try_lock() {
            self.ask(now).await;
        }
    }

    /// The verdict, where no question to the queue is needed for it.
    fn known(&self, now: EpochMillis) -> Option<Admission> {
        let readings = self.readings();
        let last = readings.last?;
        match last.depth {
            Some(depth) if depth >= self.max_depth => {
                let wait = || jittered(self.drain_seconds(depth, readings.before, last.at));
                last.is_fresh(now).then(|| Admission::TooDeep(wait()))
            }
            _ => Some(Admission::Open),
        }
    }

    async fn ask(&self, now: EpochMillis) {
        let reading = Reading { at: now, depth: self.read().await };
        let mut readings = self.readings();
        readings.before = readings.last.replace(reading);
    }

    fn readings(&self) -> MutexGuard<'_, Readings> {
        self.readings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn read(&self) -> Option<u64> {
        match tokio::time::timeout(READ_WITHIN, self.queue.0.depth()).await {
            Ok(Ok(depth)) => Some(depth.total()),
            Ok(Err(error)) => {
                tracing::warn!(error = %error, "the queue's depth is unknown; jobs are let in");
                None
            }
            Err(_) => {
                tracing::warn!("the queue's depth was not answered in time; jobs are let in");
                None
            }
        }
    }

    /// How long the queue needs to get below its limit at the speed of the last two readings.
    fn drain_seconds(&self, depth: u64, before: Option<Reading>, at: EpochMillis) -> u64 {
        let (least, usual, most) = RETRY_SECONDS;
        let Some(Reading { at: earlier, depth: Some(deeper) }) = before else { return usual };
        let seconds = at.since(earlier).as_secs();
        match deeper.checked_sub(depth) {
            Some(drained) if drained > 0 && seconds > 0 => {
                let excess = depth.saturating_sub(self.max_depth).saturating_add(1);
                (excess.saturating_mul(seconds) / drained).clamp(least, most)
            }
            _ => usual,
        }
    }
}

/// Spreads refused clients, so that they do not come back all at once.
fn jittered(seconds: u64) -> Duration {
    Duration::from_secs(seconds + fastrand::u64(0..=seconds / 2))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ikkai::queue::{QueueDepth, QueueError};
    use ikkai::testing::{MemoryQueue, QueueCall, QueueFault};

    use super::*;

    const START: EpochMillis = EpochMillis::from_i64(1_800_000_000_000);

    fn gate(max_depth: u64) -> (Gate, Arc<MemoryQueue>) {
        let queue = Arc::new(MemoryQueue::new());
        (Gate::new(QueueHandle(queue.clone()), max_depth), queue)
    }

    fn of_depth(visible: u64) -> QueueDepth {
        QueueDepth { visible, ..QueueDepth::default() }
    }

    fn reads(queue: &MemoryQueue) -> usize {
        queue.calls().iter().filter(|call| **call == QueueCall::Depth).count()
    }

    #[tokio::test]
    async fn waiting_delayed_and_in_flight_messages_count() {
        let (gate, queue) = gate(3);
        queue.set_depth(QueueDepth { visible: 1, in_flight: 1, delayed: 1 });
        assert!(matches!(gate.admission(START).await, Admission::TooDeep(_)));
    }

    #[tokio::test]
    async fn one_reading_serves_everybody_for_some_seconds() {
        let (gate, queue) = gate(3);
        for millis in [0, 1, 4_999] {
            assert_eq!(gate.admission(START + Duration::from_millis(millis)).await, Admission::Open);
        }
        gate.refresh(START + Duration::from_millis(4_999)).await;
        assert_eq!(reads(&queue), 1);
        queue.set_depth(of_depth(3));
        gate.refresh(START + Duration::from_secs(5)).await;
        assert!(matches!(gate.admission(START + Duration::from_secs(5)).await, Admission::TooDeep(_)));
        assert_eq!(reads(&queue), 2);
    }

    #[tokio::test]
    async fn an_old_reading_lets_in_and_refuses_nobody() {
        let (gate, queue) = gate(3);
        gate.admission(START).await;
        queue.set_depth(of_depth(3));
        let later = START + Duration::from_secs(60);
        assert_eq!(gate.admission(later).await, Admission::Open);
        assert_eq!(reads(&queue), 1, "nobody waits for a new reading");
        gate.refresh(later).await;
        assert!(matches!(gate.admission(later).await, Admission::TooDeep(_)));
        queue.set_depth(of_depth(2));
        assert_eq!(gate.admission(later + Duration::from_secs(5)).await, Admission::Open);
        assert_eq!(reads(&queue), 3, "before anybody is refused the queue is asked");
    }

    #[tokio::test(start_paused = true)]
    async fn one_of_many_asks_and_the_others_do_not_wait() {
        let (gate, queue) = gate(3);
        gate.admission(START).await;
        let later = START + Duration::from_secs(6);
        queue.set_depth_latency(Duration::from_millis(500));
        let begun = tokio::time::Instant::now();
        let others = async {
            tokio::task::yield_now().await;
            assert_eq!(gate.admission(later).await, Admission::Open);
            gate.refresh(later).await;
            assert!(begun.elapsed().is_zero());
        };
        futures::future::join(gate.refresh(later), others).await;
        assert!(begun.elapsed() >= Duration::from_millis(500));
        assert_eq!(reads(&queue), 2);
    }

    #[tokio::test]
    async fn a_clock_that_was_set_back_does_not_freeze_the_reading() {
        let (gate, queue) = gate(3);
        gate.admission(START).await;
        gate.refresh(START - Duration::from_secs(3_600)).await;
        assert_eq!(reads(&queue), 2);
    }

    #[tokio::test]
    async fn an_unreadable_depth_lets_jobs_in_and_is_not_asked_for_again_at_once() {
        let (gate, queue) = gate(1);
        queue.set_depth(of_depth(100));
        queue.fail_next(QueueFault::Refuse(QueueError::Unavailable { operation: "GetQueueAttributes", code: "down".into() }));
        assert_eq!(gate.admission(START).await, Admission::Open);
        assert_eq!(gate.admission(START).await, Admission::Open);
        assert_eq!(reads(&queue), 1);
    }

    #[tokio::test]
    async fn the_wait_follows_the_speed_at_which_the_queue_drains() {
        let (gate, queue) = gate(1_000);
        queue.set_depth(of_depth(2_000));
        let Admission::TooDeep(unknown) = gate.admission(START).await else { panic!("too deep") };
        assert!((30..=45).contains(&unknown.as_secs()), "{unknown:?}");
        queue.set_depth(of_depth(1_900));
        let Admission::TooDeep(known) = gate.admission(START + Duration::from_secs(10)).await else { panic!("too deep") };
        assert!((90..=135).contains(&known.as_secs()), "901 jobs at 10 a second: {known:?}");
    }
}
