//! What goes wrong, each kind under its name.

/// A kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The table throttles a call; nothing is done.
    TableThrottled,
    /// The table answers 5xx; nothing is done.
    TableFailed,
    /// A call of the table times out; nothing is done.
    TableTimedOut,
    /// A write takes effect and its answer is lost.
    TableAnswerLost,
    /// A write takes effect, its answer is lost, and the client's own repetition is what answers.
    TableWriteRepeated,
    /// A write takes effect after its caller has given it up.
    TableWriteLate,
    /// A call of the table takes seconds.
    TableSlow,
    /// The queue refuses a call; nothing is done.
    QueueFailed,
    /// A call of the queue times out; nothing is done.
    QueueTimedOut,
    /// A call of the queue takes effect and its answer is lost.
    QueueAnswerLost,
    /// Some entries of a batch call fail.
    QueueEntryFailed,
    /// The answer of a batch call does not mention some entries.
    QueueEntryUnmentioned,
    /// A message is sent after its sender has given it up.
    QueueSendLate,
    /// A call of the queue takes seconds.
    QueueSlow,
    /// A receive finds nothing although there is something.
    ReceiveFoundNothing,
    /// A message is handed out twice.
    DuplicateDelivery,
    /// A message stands twice in one batch.
    TwiceInABatch,
    /// A batch comes in another order.
    Reordered,
    /// A message becomes visible while its worker has it.
    VisibilityRanOut,
    /// A handle of an earlier receive is used.
    StaleReceipt,
    /// The mapping's deletion of what was acknowledged is lost.
    AcknowledgementLost,
    /// A function's answer is lost on its way to the mapping.
    InvocationAnswerLost,
    /// A worker dies between sending a write and its effect.
    CrashBeforeWrite,
    /// A worker dies between the effect of a write and its answer.
    CrashAfterWrite,
    /// A worker dies while no call is out.
    CrashBetweenCalls,
    /// A worker dies after it has asked its provider, before the effect.
    CrashBeforeEffect,
    /// A worker dies after its provider's effect, before it knows.
    CrashAfterEffect,
    /// A sandbox stands still for a while, past its lease or not, and then goes on.
    SandboxFrozen,
    /// A worker's lease was over when it woke up.
    WokeUpPastLease,
    /// A machine's clock is wrong.
    ClockSkew,
    /// Lambda cuts an invocation off at its deadline.
    InvocationCutOff,
    /// A handler takes longer than it has.
    HandlerTooSlow,
    /// A handler panics.
    HandlerPanicked,
    /// A handler fails before its effect.
    HandlerFailed,
    /// The runtime gives no usable deadline.
    DeadlineUnknown,
    /// The provider is busy and says so.
    ProviderBusy,
    /// The provider fails without the effect, and says so.
    ProviderRefused,
    /// The provider fails without the effect, and nobody knows.
    ProviderFailed,
    /// The provider's effect happens, and its answer is lost.
    ProviderAnswerLost,
    /// The provider's effect happens after its caller has given up.
    ProviderSlow,
    /// A message holds no job.
    PoisonBody,
    /// A message is of a newer schema version than its consumer knows.
    NewerSchema,
    /// The client does not hear the API's answer.
    ClientAnswerLost,
    /// The API's sandbox dies in a request.
    ApiCrashed,
    /// An operator's function dies in a run.
    OperatorCrashed,
    /// The journal of operators does not answer, whether it has written or not.
    JournalFailed,
    /// SQS's own redrive moves messages while others are at work.
    NativeRedrive,
    /// An expired record is still there long after its end.
    LateExpiry,
}

impl Fault {
    /// Every kind.
    pub const ALL: [Self; 48] = [
        Self::TableThrottled,
        Self::TableFailed,
        Self::TableTimedOut,
        Self::TableAnswerLost,
        Self::TableWriteRepeated,
        Self::TableWriteLate,
        Self::TableSlow,
        Self::QueueFailed,
        Self::QueueTimedOut,
        Self::QueueAnswerLost,
        Self::QueueEntryFailed,
        Self::QueueEntryUnmentioned,
        Self::QueueSendLate,
        Self::QueueSlow,
        Self::ReceiveFoundNothing,
        Self::DuplicateDelivery,
        Self::TwiceInABatch,
        Self::Reordered,
        Self::VisibilityRanOut,
        Self::StaleReceipt,
        Self::AcknowledgementLost,
        Self::InvocationAnswerLost,
        Self::CrashBeforeWrite,
        Self::CrashAfterWrite,
        Self::CrashBetweenCalls,
        Self::CrashBeforeEffect,
        Self::CrashAfterEffect,
        Self::SandboxFrozen,
        Self::WokeUpPastLease,
        Self::ClockSkew,
        Self::InvocationCutOff,
        Self::HandlerTooSlow,
        Self::HandlerPanicked,
        Self::HandlerFailed,
        Self::DeadlineUnknown,
        Self::ProviderBusy,
        Self::ProviderRefused,
        Self::ProviderFailed,
        Self::ProviderAnswerLost,
        Self::ProviderSlow,
        Self::PoisonBody,
        Self::NewerSchema,
        Self::ClientAnswerLost,
        Self::ApiCrashed,
        Self::OperatorCrashed,
        Self::JournalFailed,
        Self::NativeRedrive,
        Self::LateExpiry,
    ];

    /// The name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::TableThrottled => "table_throttled",
            Self::TableFailed => "table_failed",
            Self::TableTimedOut => "table_timed_out",
            Self::TableAnswerLost => "table_answer_lost",
            Self::TableWriteRepeated => "table_write_repeated",
            Self::TableWriteLate => "table_write_late",
            Self::TableSlow => "table_slow",
            Self::QueueFailed => "queue_failed",
            Self::QueueTimedOut => "queue_timed_out",
            Self::QueueAnswerLost => "queue_answer_lost",
            Self::QueueEntryFailed => "queue_entry_failed",
            Self::QueueEntryUnmentioned => "queue_entry_unmentioned",
            Self::QueueSendLate => "queue_send_late",
            Self::QueueSlow => "queue_slow",
            Self::ReceiveFoundNothing => "receive_found_nothing",
            Self::DuplicateDelivery => "duplicate_delivery",
            Self::TwiceInABatch => "twice_in_a_batch",
            Self::Reordered => "reordered",
            Self::VisibilityRanOut => "visibility_ran_out",
            Self::StaleReceipt => "stale_receipt",
            Self::AcknowledgementLost => "acknowledgement_lost",
            Self::InvocationAnswerLost => "invocation_answer_lost",
            Self::CrashBeforeWrite => "crash_before_write",
            Self::CrashAfterWrite => "crash_after_write",
            Self::CrashBetweenCalls => "crash_between_calls",
            Self::CrashBeforeEffect => "crash_before_effect",
            Self::CrashAfterEffect => "crash_after_effect",
            Self::SandboxFrozen => "sandbox_frozen",
            Self::WokeUpPastLease => "woke_up_past_lease",
            Self::ClockSkew => "clock_skew",
            Self::InvocationCutOff => "invocation_cut_off",
            Self::HandlerTooSlow => "handler_too_slow",
            Self::HandlerPanicked => "handler_panicked",
            Self::HandlerFailed => "handler_failed",
            Self::DeadlineUnknown => "deadline_unknown",
            Self::ProviderBusy => "provider_busy",
            Self::ProviderRefused => "provider_refused",
            Self::ProviderFailed => "provider_failed",
            Self::ProviderAnswerLost => "provider_answer_lost",
            Self::ProviderSlow => "provider_slow",
            Self::PoisonBody => "poison_body",
            Self::NewerSchema => "newer_schema",
            Self::ClientAnswerLost => "client_answer_lost",
            Self::ApiCrashed => "api_crashed",
            Self::OperatorCrashed => "operator_crashed",
            Self::JournalFailed => "journal_failed",
            Self::NativeRedrive => "native_redrive",
            Self::LateExpiry => "late_expiry",
        }
    }
}

/// How often each kind happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tally([u64; Fault::ALL.len()]);

impl Default for Tally {
    fn default() -> Self {
        Self([0; Fault::ALL.len()])
    }
}

impl Tally {
    /// It happened once more.
    pub fn count(&mut self, fault: Fault) {
        self.0[fault as usize] += 1;
    }

    /// How often.
    #[must_use]
    pub fn of(&self, fault: Fault) -> u64 {
        self.0[fault as usize]
    }

    /// All of them together.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Adds what another run has counted.
    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine += theirs;
        }
    }
}
