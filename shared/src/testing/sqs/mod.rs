//! An SQS in memory, exact as far as operators' tools and simulations need it.

mod fault;
mod handle;
mod lambda_record;
mod queue_state;
mod rules;
mod stored;
mod world;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use self::fault::Faults;
pub use self::fault::{Moment, SqsFault, SqsOperation};
pub use self::handle::MemorySqsQueue;
pub use self::rules::{DeadLetterRule, QueueRules};
pub use self::stored::{Departure, StoredMessage, Whereabouts};
use self::world::World;
use crate::clock::{Clock, EpochMillis};
use crate::queue::OutgoingMessage;

/// Queues in memory with SQS's semantics: visibility, receive counts, a receipt handle a receive, redrive policies that move a message at the
/// receive after the last one that was allowed, FIFO order and deduplication, retention. Times follow the clock that is given; waits follow
/// tokio's, so that under paused time with a [`TokioClock`](super::TokioClock) nothing really waits.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// use ikkai::clock::SystemClock;
/// use ikkai::queue::{Inbox, OutgoingMessage, Queue};
/// use ikkai::testing::MemorySqs;
///
/// let sqs = MemorySqs::new(Arc::new(SystemClock));
/// let (email, dead_letters) = sqs.create_pair("email", 3);
/// sqs.bury("email", &[OutgoingMessage::new("{}")]);
/// let found = dead_letters.receive(10, Duration::from_secs(30), Duration::ZERO).await.unwrap();
/// assert_eq!(found[0].source.as_ref().unwrap().as_str(), "email");
/// assert!(email.send(&[found[0].copy()]).await.unwrap()[0].is_ok());
/// # });
/// ```
#[derive(Debug, Clone)]
pub struct MemorySqs {
    inner: Arc<Inner>,
}

struct Inner {
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
    crashed: Notify,
}

#[derive(Debug, Default)]
struct State {
    world: World,
    faults: Faults,
    calls: Vec<SqsCall>,
    latency: Duration,
}

/// One call, as one request to SQS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqsCall {
    /// Name of the queue.
    pub queue: String,
    /// What was asked.
    pub operation: SqsOperation,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemorySqs").field("calls", &self.locked().calls.len()).finish_non_exhaustive()
    }
}

impl Inner {
    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MemorySqs {
    /// An SQS without queues.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { inner: Arc::new(Inner { clock, state: Mutex::default(), crashed: Notify::new() }) }
    }

    /// Makes an empty queue, also in the place of one of the same name.
    pub fn create(&self, name: &str, rules: QueueRules) -> Arc<MemorySqsQueue> {
        self.inner.locked().world.create(name, rules);
        self.queue(name)
    }

    /// Makes a queue and its dead-letter queue: `email` and `email-dlq`, or `email.fifo` and `email-dlq.fifo`.
    pub fn create_pair(&self, name: &str, max_receives: u32) -> (Arc<MemorySqsQueue>, Arc<MemorySqsQueue>) {
        let dead_letters = match name.strip_suffix(".fifo") {
            Some(stem) => format!("{stem}-dlq.fifo"),
            None => format!("{name}-dlq"),
        };
        let dead = self.create(&dead_letters, QueueRules::default());
        (self.create(name, QueueRules::default().dead_letters(&dead_letters, max_receives)), dead)
    }

    /// A client of the queue called `name`, whether there is such a queue or not.
    #[must_use]
    pub fn queue(&self, name: &str) -> Arc<MemorySqsQueue> {
        Arc::new(MemorySqsQueue { inner: self.inner.clone(), name: name.to_owned() })
    }

    /// Removes a queue with all that is in it.
    pub fn remove(&self, name: &str) {
        self.inner.locked().world.remove(name);
    }

    /// Puts messages into the dead-letter queue of `source`, as they stand there after their last receive. No call is counted.
    ///
    /// # Panics
    /// When a message is not taken, or `source` has no dead-letter queue.
    pub fn bury(&self, source: &str, messages: &[OutgoingMessage]) {
        let now = self.inner.clock.now();
        self.inner
            .locked()
            .world
            .bury(source, messages, now)
            .expect("a queue that takes the messages, and its dead-letter queue");
    }

    /// Plays `fault` at the next call of this kind that has none yet. A delay of zero lets one call pass.
    pub fn fail_next(&self, queue: &str, operation: SqsOperation, fault: SqsFault) {
        self.inner.locked().faults.plan(queue, operation, fault);
    }

    /// Plays `fault` at every call of this kind, until [`Self::heal`]: such as access that is denied.
    pub fn fail_always(&self, queue: &str, operation: SqsOperation, fault: SqsFault) {
        self.inner.locked().faults.last(queue, operation, fault);
    }

    /// Lets so many calls in a thousand go wrong, the same ones for the same seed and order of calls. Entries fail for good or in passing, are not
    /// mentioned though done or not, answers get lost, receives find nothing or leave their messages visible; nothing crashes.
    pub fn fail_by_chance(&self, seed: u64, per_mille: u32) {
        self.inner.locked().faults.by_chance(seed, per_mille);
    }

    /// Whoever makes the call with this number, counted from one from now on over all queues, never gets on.
    pub fn crash_at(&self, call: u64, moment: Moment) {
        self.inner.locked().faults.crash_at(call, moment);
    }

    /// Nothing goes wrong any more.
    pub fn heal(&self) {
        self.inner.locked().faults.clear();
    }

    /// Ends when somebody has met a crash. A test selects on it beside the work, and drops the work:
    /// `tokio::select! { answer = work => …, () = sqs.crashed() => … }`.
    pub async fn crashed(&self) {
        self.inner.crashed.notified().await;
    }

    /// Every call takes this long from now on, on tokio's clock.
    pub fn set_latency(&self, latency: Duration) {
        self.inner.locked().latency = latency;
    }

    /// Every call so far, in order, those that failed included.
    #[must_use]
    pub fn calls(&self) -> Vec<SqsCall> {
        self.inner.locked().calls.clone()
    }

    /// How many calls of this kind a queue got.
    #[must_use]
    pub fn count(&self, queue: &str, operation: SqsOperation) -> usize {
        self.inner.locked().calls.iter().filter(|call| call.queue == queue && call.operation == operation).count()
    }

    /// Forgets the calls so far.
    pub fn forget_calls(&self) {
        self.inner.locked().calls.clear();
    }

    /// All messages in a queue, in the order in which they came, hidden ones included; none for a queue that is not there.
    #[must_use]
    pub fn messages(&self, queue: &str) -> Vec<StoredMessage> {
        let now = self.inner.clock.now();
        let mut state = self.inner.locked();
        state.world.queue(queue, now).map_or_else(|_| Vec::new(), |queue| queue.messages().cloned().collect())
    }

    /// All messages in all queues, each with its queue's name.
    #[must_use]
    pub fn all_messages(&self) -> Vec<(String, StoredMessage)> {
        let names = self.inner.locked().world.names();
        names.into_iter().flat_map(|name| self.messages(&name).into_iter().map(move |kept| (name.clone(), kept))).collect()
    }

    /// Whether any queue holds a message like this, hidden ones included. The name that is given is the queue's.
    #[must_use]
    pub fn holds(&self, like: impl Fn(&str, &StoredMessage) -> bool) -> bool {
        self.inner.locked().world.holds(like)
    }

    /// When the next message of a queue can be received, at once or later; `None` for an empty queue.
    #[must_use]
    pub fn next_due(&self, queue: &str) -> Option<EpochMillis> {
        let now = self.inner.clock.now();
        let mut state = self.inner.locked();
        state.world.queue(queue, now).ok()?.messages().map(|message| message.visible_at).min()
    }

    /// Moves up to `max` visible messages out of a dead-letter queue back to where they came from, as SQS's own redrive does: each becomes a
    /// new message, with an id and an age of its own
    /// (<https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-configure-dead-letter-queue-redrive.html>). Answers how many.
    pub fn move_back(&self, dead_letters: &str, max: usize) -> usize {
        let now = self.inner.clock.now();
        self.inner.locked().world.move_back(dead_letters, max, now)
    }

    /// The messages that left a queue for good, and how.
    #[must_use]
    pub fn departed(&self, queue: &str) -> Vec<(StoredMessage, Departure)> {
        let now = self.inner.clock.now();
        let mut state = self.inner.locked();
        state.world.queue(queue, now).map_or_else(|_| Vec::new(), |queue| queue.departed().to_vec())
    }
}
