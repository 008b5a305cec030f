//! What is known of a deployed stack.

use std::fmt;

use crate::deployment::Place;

/// Something that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fact<T> {
    /// It is like this.
    Known(T),
    /// It is not known.
    Unknown(Gap),
}

/// Why something is not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gap {
    /// Whoever looked has not the permission.
    Denied {
        /// The permission, such as `sqs:GetQueueAttributes`.
        action: String,
    },
    /// There is no such thing.
    Missing,
    /// The engine does not know the call.
    Unsupported {
        /// The call, such as `sqs:ListMessageMoveTasks`.
        action: String,
    },
    /// The call failed in another way.
    Failed {
        /// The call.
        action: String,
        /// What the service said.
        reason: String,
    },
    /// It was not looked at.
    NotAsked {
        /// Why not.
        reason: String,
        /// How to have it looked at.
        mend: String,
    },
}

impl<T> Fact<T> {
    /// What is known.
    pub fn known(&self) -> Option<&T> {
        match self {
            Self::Known(value) => Some(value),
            Self::Unknown(_) => None,
        }
    }

    /// Why nothing is known.
    pub fn gap(&self) -> Option<&Gap> {
        match self {
            Self::Known(_) => None,
            Self::Unknown(gap) => Some(gap),
        }
    }

    /// What follows from what is known.
    pub(super) fn and_then<U>(self, next: impl FnOnce(T) -> Fact<U>) -> Fact<U> {
        match self {
            Self::Known(value) => next(value),
            Self::Unknown(gap) => Fact::Unknown(gap),
        }
    }

    /// What is known, seen in another way.
    pub(super) fn map<U>(self, next: impl FnOnce(T) -> U) -> Fact<U> {
        self.and_then(|value| Fact::Known(next(value)))
    }
}

impl fmt::Display for Gap {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied { action } => write!(out, "not known: {action} is denied"),
            Self::Missing => write!(out, "not known: it does not exist"),
            Self::Unsupported { action } => write!(out, "not known: this engine does not know {action}"),
            Self::Failed { action, reason } => write!(out, "not known: {action} failed: {reason}"),
            Self::NotAsked { reason, .. } => write!(out, "not looked at: {reason}"),
        }
    }
}

impl Gap {
    /// What to do about it, where something can be done.
    #[must_use]
    pub fn mend(&self) -> Option<String> {
        match self {
            Self::Denied { action } => Some(format!("allow yourself {action}, or ask somebody who may")),
            Self::Missing | Self::Unsupported { .. } => None,
            Self::Failed { .. } => Some("mend what it says, then look again".to_owned()),
            Self::NotAsked { mend, .. } => Some(mend.clone()),
        }
    }
}

/// Everything that the rules look at.
#[derive(Debug, Clone)]
pub struct Facts {
    /// The stack's name.
    pub stack: String,
    /// What plays AWS.
    pub place: Place,
    /// Its consumers.
    pub consumers: Vec<ConsumerFacts>,
    /// Its tables.
    pub tables: Vec<TableFacts>,
    /// The operators' function.
    pub redrive: RedriveFacts,
    /// Whether the roles of its functions suffice; what was asked, in order.
    pub permissions: Vec<PermissionFacts>,
    /// Jobs that do not go on by themselves.
    pub stuck: Fact<StuckJobs>,
}

/// A consumer with its queues.
#[derive(Debug, Clone)]
pub struct ConsumerFacts {
    /// What operators call it.
    pub name: String,
    /// The name of its function.
    pub function_name: String,
    /// Its function.
    pub function: Fact<FunctionFacts>,
    /// Invocations that are reserved for it.
    pub reserved: Fact<Option<u64>>,
    /// Whether Lambda lets it send to its own queue for ever.
    pub loops: Fact<Loops>,
    /// What feeds it.
    pub mappings: Fact<Vec<MappingFacts>>,
    /// The name of its queue.
    pub queue_name: String,
    /// Its queue.
    pub queue: Fact<QueueFacts>,
    /// The name of its dead-letter queue.
    pub dead_letter_queue_name: String,
    /// Its dead-letter queue.
    pub dead_letter_queue: Fact<QueueFacts>,
    /// The alarms that watch how many messages its dead-letter queue holds.
    pub alarms: Fact<Vec<String>>,
    /// How long ago the oldest message that was looked at in its dead-letter queue was sent, in seconds; nothing in an empty
    /// queue.
    pub oldest_dead_letter_seconds: Fact<Option<u64>>,
}

impl ConsumerFacts {
    /// The mapping from its own queue.
    #[must_use]
    pub fn mapping(&self) -> Option<&MappingFacts> {
        self.mappings.known()?.iter().find(|mapping| mapping.source() == self.queue_name)
    }
}

/// A function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionFacts {
    /// The ARN of the role that it works with.
    pub role: String,
    /// Its timeout in seconds.
    pub timeout_seconds: u64,
    /// Its runtime.
    pub runtime: String,
    /// `Active`, or what keeps it from working; empty where the engine does not say.
    pub state: String,
    /// The log group that it writes to.
    pub log_group: String,
    /// Whether that group is one of the stack's, whose retention the template sets.
    pub log_group_of_stack: Fact<bool>,
    /// What it was told about its queue.
    pub settings: Fact<SettingsFacts>,
}

/// The settings of a consumer that have to agree with its queue and mapping. Nothing else of a function's environment is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SettingsFacts {
    /// `IKKAI_QUEUE_NAME`
    pub queue_name: Option<String>,
    /// `IKKAI_MAX_RECEIVE_COUNT`
    pub max_receive_count: Option<u64>,
    /// `IKKAI_QUEUE_RETENTION_SECONDS`
    pub queue_retention_seconds: Option<u64>,
    /// `IKKAI_FUNCTION_TIMEOUT_SECONDS`
    pub function_timeout_seconds: Option<u64>,
    /// `IKKAI_MAX_CONCURRENCY`
    pub max_concurrency: Option<u64>,
    /// `IKKAI_MAX_ATTEMPTS`
    pub max_attempts: Option<u64>,
    /// `IKKAI_PROVIDER_RATE_PER_SECOND`
    pub provider_rate_per_second: Option<u64>,
}

/// Whether Lambda stops a function that sends to the queue it is fed from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loops {
    /// It lets it.
    Allowed,
    /// It stops it after some 16 rounds.
    Terminated,
}

/// What feeds a function from a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MappingFacts {
    /// Its id.
    pub uuid: String,
    /// The queue's ARN.
    pub source_arn: String,
    /// `Enabled`, `Disabled`, or on the way to either.
    pub state: String,
    /// Most messages in one invocation.
    pub batch_size: u64,
    /// How long it gathers messages, in seconds.
    pub window_seconds: u64,
    /// Whether the function's list of failed messages is read.
    pub reports_item_failures: bool,
    /// Most invocations at a time.
    pub max_concurrency: Option<u64>,
    /// How many filters it has.
    pub filters: usize,
    /// Whether it has pollers of its own, which bound it instead of a maximum concurrency.
    pub provisioned_pollers: bool,
}

impl MappingFacts {
    /// The name of the queue.
    #[must_use]
    pub fn source(&self) -> &str {
        last_part(&self.source_arn)
    }
}

/// A queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueFacts {
    /// Its ARN.
    pub arn: String,
    /// Whether it keeps order.
    pub fifo: bool,
    /// Its visibility timeout in seconds.
    pub visibility_seconds: u64,
    /// How long it keeps messages, in seconds.
    pub retention_seconds: u64,
    /// Its largest message in bytes.
    pub max_message_bytes: u64,
    /// Where messages go that were received too often.
    pub redrive_policy: Option<RedrivePolicy>,
    /// Which queues may name it as their dead-letter queue.
    pub allow_policy: AllowPolicy,
    /// How it is encrypted.
    pub encryption: Encryption,
    /// Whether its policy refuses requests without TLS.
    pub tls_only: bool,
    /// Messages that wait in it, approximately.
    pub visible: u64,
    /// Messages that somebody has received, approximately.
    pub in_flight: u64,
}

/// Where messages go that were received too often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedrivePolicy {
    /// The dead-letter queue's ARN.
    pub target_arn: String,
    /// After how many receives.
    pub max_receive_count: u64,
}

impl RedrivePolicy {
    /// The name of the dead-letter queue.
    #[must_use]
    pub fn target(&self) -> &str {
        last_part(&self.target_arn)
    }
}

/// The name in an ARN.
fn last_part(arn: &str) -> &str {
    arn.rsplit(':').next().unwrap_or(arn)
}

/// Which queues may name a queue as their dead-letter queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AllowPolicy {
    /// All of the account; what holds without a policy, too.
    All,
    /// None.
    None,
    /// These ARNs.
    Queues(Vec<String>),
}

/// How a queue is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encryption {
    /// Not at all.
    Nothing,
    /// With keys of SQS.
    Sqs,
    /// With a KMS key.
    Kms,
}

/// A table.
#[derive(Debug, Clone)]
pub struct TableFacts {
    /// What it is for: `jobs`, `contacts`, `redrive`.
    pub name: String,
    /// Its name in DynamoDB; empty where the stack's outputs do not say.
    pub table_name: String,
    /// Whether it is protected from deletion.
    pub deletion_protection: Fact<bool>,
    /// The attribute by which items expire, where they do.
    pub time_to_live: Fact<Option<String>>,
    /// Whether it can be brought back to an earlier moment.
    pub point_in_time_recovery: Fact<bool>,
}

/// The operators' function.
#[derive(Debug, Clone)]
pub struct RedriveFacts {
    /// Its name.
    pub function_name: Fact<String>,
    /// How often Lambda repeats an asynchronous invocation that failed.
    pub retries: Fact<u64>,
}

/// Whether the role of a function suffices for a part of what it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionFacts {
    /// The function's name.
    pub function_name: String,
    /// What its role does not allow.
    pub refusals: Fact<Vec<Refusal>>,
}

/// What a role does not allow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The role's ARN.
    pub role: String,
    /// The action, such as `sqs:SendMessage`.
    pub action: String,
    /// The ARN of what it would be done to.
    pub resource: String,
}

/// Jobs that do not go on by themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StuckJobs {
    /// For how long they have not moved, in seconds.
    pub after_seconds: u64,
    /// Their ids; the first hundred.
    pub job_ids: Vec<String>,
}
