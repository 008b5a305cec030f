//! A consumer's settings, read once from the environment.

use std::time::Duration;

use crate::config::Reader;
use crate::queue::QueueName;
use crate::visibility::Backoff;

/// Everything an operator can turn on a consumer. Defaults suit a function of up to a minute on a standard queue.
#[derive(Debug, Clone, PartialEq)]
pub struct ConsumerSettings {
    /// Name in logs and metrics.
    pub service: String,
    /// Namespace of the metrics.
    pub metrics_namespace: String,
    /// The `jobs` table.
    pub jobs_table: String,
    /// The queue this function works on.
    pub queue_name: QueueName,
    /// The queue of the webhook consumer, which gets an event for every ended job whose caller wants to be told; `None`: no events.
    pub events_queue_name: Option<QueueName>,
    /// The queue's redrive limit, from the same template parameter as its redrive policy.
    pub max_receive_count: u32,
    /// How long the queue keeps a message, counted from its send.
    pub queue_retention: Duration,
    /// Most handler starts of a job before it is dead.
    pub max_attempts: u32,
    /// Most invocations that a long job may be spread over, so that one which never ends does.
    pub max_parts: u32,
    /// Most put-backs of a job, so that a redrive loop ends.
    pub max_generations: u32,
    /// Time for a batch where the runtime gives no usable deadline.
    pub function_timeout: Duration,
    /// Handlers at a time in one batch.
    pub batch_concurrency: usize,
    /// The mapping's maximum concurrency: sandboxes that share the provider's rate.
    pub max_concurrency: u32,
    /// Handler starts a second over all sandboxes; `None`: no limit.
    pub provider_rate_per_second: Option<u32>,
    /// Delays between attempts.
    pub backoff: Backoff,
    /// Delay of a deferral whose provider named none.
    pub defer: Duration,
    /// How far clocks may differ; added to every lease.
    pub lease_skew: Duration,
    /// A message stays invisible this much longer than its lease, so that it comes back to a lease that is over.
    pub lease_margin: Duration,
    /// Invocations up to this long get one lease without renewal.
    pub lease_whole_until: Duration,
    /// Length of the lease that the heartbeat renews in longer ones.
    pub lease_chunk: Duration,
    /// Transient failures in a row that open the circuit.
    pub circuit_failures: u32,
    /// How long the circuit stays open.
    pub circuit_cooldown: Duration,
    /// How long messages of a newer schema version wait for a newer consumer.
    pub schema_hold: Duration,
    /// How often such a message looks again.
    pub schema_defer: Duration,
    /// Whether a batch starts with one call that sets its messages' visibility to the lease's end.
    pub opening_visibility: bool,
    /// Whether the invocation errors when every started record failed transiently, so that the mapping slows down.
    pub error_when_all_fail: bool,
    /// What happens to a FIFO group after its head died.
    pub fifo_after_death: FifoAfterDeath,
    /// Time kept back for settling.
    pub settle_reserve: Duration,
    /// How long a finished record is kept.
    pub record_retention: Duration,
    /// Whether connections are opened while the function starts.
    pub warm_up: bool,
}

/// What happens to the rest of a FIFO group in a batch after its head died.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FifoAfterDeath {
    /// The next message runs.
    Continue,
    /// The rest comes back after the head has left for the DLQ.
    HoldGroup,
}

const DAY: u64 = 86_400;

impl ConsumerSettings {
    /// Reads the settings; problems are collected in `reader`.
    pub fn read(reader: &mut Reader) -> Self {
        let max_attempts = reader.number("IKKAI_MAX_ATTEMPTS", 3, 1..=100);
        let max_receive_count = reader.required_number("IKKAI_MAX_RECEIVE_COUNT", 1..=1000);
        if max_receive_count < max_attempts + 2 {
            reader.problem(
                "IKKAI_MAX_RECEIVE_COUNT",
                "leaves no room for renewal: make the queue's maxReceiveCount at least IKKAI_MAX_ATTEMPTS + 2",
            );
        }
        let events_queue_name = reader.optional_text("IKKAI_EVENTS_QUEUE_NAME").map(QueueName::new);
        let base = reader.millis("IKKAI_BACKOFF_BASE_MS", 10_000, 1..=DAY * 1000 / 2);
        let cap = reader.millis("IKKAI_BACKOFF_CAP_MS", 900_000, 1..=43_200_000);
        let narrow = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        Self {
            service: reader.service("consumer"),
            metrics_namespace: reader.text("IKKAI_METRICS_NAMESPACE", "Ikkai"),
            jobs_table: reader.required_text("IKKAI_JOBS_TABLE"),
            queue_name: QueueName::new(reader.required_text("IKKAI_QUEUE_NAME")),
            events_queue_name,
            max_receive_count: narrow(max_receive_count),
            queue_retention: reader.seconds("IKKAI_QUEUE_RETENTION_SECONDS", 4 * DAY, 60..=14 * DAY),
            max_attempts: narrow(max_attempts),
            max_parts: narrow(reader.number("IKKAI_MAX_PARTS", 1_000, 1..=1_000_000)),
            max_generations: narrow(reader.number("IKKAI_MAX_GENERATIONS", 10, 1..=1000)),
            function_timeout: Duration::from_secs(reader.required_number("IKKAI_FUNCTION_TIMEOUT_SECONDS", 1..=5_400)),
            batch_concurrency: usize::try_from(reader.number("IKKAI_BATCH_CONCURRENCY", 10, 1..=1000)).unwrap_or(10),
            max_concurrency: narrow(reader.number("IKKAI_MAX_CONCURRENCY", 2, 1..=10_000)),
            provider_rate_per_second: reader.optional_number("IKKAI_PROVIDER_RATE_PER_SECOND", 1..=1_000_000).map(narrow),
            backoff: Backoff { base, cap },
            defer: reader.seconds("IKKAI_DEFER_SECONDS", 60, 1..=43_200),
            lease_skew: reader.millis("IKKAI_LEASE_SKEW_MS", 10_000, 0..=60_000),
            lease_margin: reader.seconds("IKKAI_LEASE_MARGIN_SECONDS", 30, 0..=600),
            lease_whole_until: reader.seconds("IKKAI_LEASE_WHOLE_UNTIL_SECONDS", 60, 0..=5_400),
            lease_chunk: reader.seconds("IKKAI_LEASE_CHUNK_SECONDS", 45, 3..=600),
            circuit_failures: narrow(reader.number("IKKAI_CIRCUIT_FAILURES", 5, 1..=1_000_000)),
            circuit_cooldown: reader.millis("IKKAI_CIRCUIT_COOLDOWN_MS", 30_000, 1..=3_600_000),
            schema_hold: reader.seconds("IKKAI_SCHEMA_HOLD_SECONDS", DAY, 1..=14 * DAY),
            schema_defer: reader.seconds("IKKAI_SCHEMA_DEFER_SECONDS", 300, 1..=43_200),
            opening_visibility: reader.switch("IKKAI_OPENING_VISIBILITY", true),
            error_when_all_fail: reader.switch("IKKAI_ERROR_WHEN_ALL_FAIL", true),
            fifo_after_death: reader.choice(
                "IKKAI_FIFO_AFTER_DEATH",
                &[("continue", FifoAfterDeath::Continue), ("hold_group", FifoAfterDeath::HoldGroup)],
                FifoAfterDeath::Continue,
            ),
            settle_reserve: reader.millis("IKKAI_SETTLE_RESERVE_MS", 2_000, 100..=60_000),
            record_retention: reader.seconds("IKKAI_RECORD_RETENTION_SECONDS", 20 * DAY, 60..=400 * DAY),
            warm_up: reader.switch("IKKAI_WARM_UP", true),
        }
    }
}
