//! The scene: two kinds of jobs, each with its queue, its dead-letter queue and its provider.

use std::time::Duration;

use ikkai::config::Reader;
use ikkai::consumer::ConsumerSettings;
use ikkai::queue::QueueName;
use ikkai::testing::QueueRules;

use crate::world::World;

/// A kind of jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line {
    /// Mails: an effect twice is harm, and nobody can be asked about it.
    Mail,
    /// Charges: their provider remembers keys for a while.
    Charge,
}

impl Line {
    pub(crate) const ALL: [Self; 2] = [Self::Mail, Self::Charge];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Mail => "email",
            Self::Charge => "billing",
        }
    }

    pub(crate) const fn queue(self) -> &'static str {
        self.name()
    }

    pub(crate) const fn dead_letters(self) -> &'static str {
        match self {
            Self::Mail => "email-dlq",
            Self::Charge => "billing-dlq",
        }
    }

    pub(crate) const fn job_type(self) -> &'static str {
        match self {
            Self::Mail => "email.send",
            Self::Charge => "billing.charge",
        }
    }

    /// The line that a queue or a dead-letter queue belongs to.
    pub(crate) fn of_queue(name: &str) -> Self {
        if name.starts_with("email") { Self::Mail } else { Self::Charge }
    }

    /// The line that a job belongs to.
    pub(crate) fn of_job(job_id: &str) -> Self {
        if job_id.starts_with("email") { Self::Mail } else { Self::Charge }
    }
}

/// How long a finished record is kept.
pub(crate) const RECORD_RETENTION: Duration = Duration::from_secs(20 * 86_400);
/// How long a message of a newer version waits for a newer consumer.
const SCHEMA_HOLD: Duration = Duration::from_secs(1_800);
const QUEUE_RETENTION: Duration = Duration::from_secs(4 * 86_400);
const DEAD_LETTER_RETENTION: Duration = Duration::from_secs(14 * 86_400);

/// Makes the queues.
pub(crate) fn set_up(world: &World) {
    for line in Line::ALL {
        world.sqs.create(line.dead_letters(), QueueRules::default().retention(DEAD_LETTER_RETENTION));
        let rules = QueueRules::default().retention(QUEUE_RETENTION);
        world.sqs.create(line.queue(), rules.dead_letters(line.dead_letters(), world.plan.max_receives));
    }
}

/// How long a message that the mapping has received stays invisible: AWS asks for six times the function's timeout.
pub(crate) fn visibility(world: &World) -> Duration {
    world.plan.timeout * 6
}

/// A consumer's settings, all at their defaults but what the run decides.
pub(crate) fn consumer_settings(world: &World, line: Line) -> ConsumerSettings {
    let plan = &world.plan;
    ConsumerSettings {
        queue_name: QueueName::new(line.queue()),
        max_receive_count: plan.max_receives,
        max_attempts: plan.max_attempts,
        max_concurrency: plan.concurrency,
        function_timeout: plan.timeout,
        schema_hold: SCHEMA_HOLD,
        ..DEFAULTS.with(Clone::clone)
    }
}

thread_local! {
    static DEFAULTS: ConsumerSettings = defaults();
}

fn defaults() -> ConsumerSettings {
    let mut reader = Reader::from_pairs([
        ("IKKAI_SERVICE", "sim"),
        ("IKKAI_JOBS_TABLE", "jobs"),
        ("IKKAI_QUEUE_NAME", "email"),
        ("IKKAI_MAX_RECEIVE_COUNT", "6"),
        ("IKKAI_FUNCTION_TIMEOUT_SECONDS", "30"),
    ]);
    let settings = ConsumerSettings::read(&mut reader);
    reader.finish(settings).expect("valid settings")
}
