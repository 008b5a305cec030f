//! Everything that the actions work with.

use std::sync::Arc;
use std::time::Duration;

use ikkai::clock::{Clock, EpochMillis};
use ikkai::idempotency::{JobStore, Ledger};
use ikkai::observability::Metrics;

use crate::archive::Archive;
use crate::journal::Journal;
use crate::move_tasks::MoveTasks;
use crate::queues::StackQueues;
use crate::stuck::StuckJobs;
use crate::sweep::SweepRules;

/// Everything that the actions work with.
#[derive(Clone)]
pub struct Workbench {
    /// The stack's queues.
    pub queues: StackQueues,
    /// The jobs table.
    pub records: Arc<dyn JobStore>,
    /// Changes of records, over the same table.
    pub ledger: Ledger,
    /// What operators did.
    pub journal: Arc<dyn Journal>,
    /// Where discarded messages are kept.
    pub archive: Arc<dyn Archive>,
    /// Jobs that do not go on by themselves.
    pub stuck: Arc<dyn StuckJobs>,
    /// SQS's own redrive.
    pub move_tasks: Arc<dyn MoveTasks>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// What is counted.
    pub metrics: Metrics,
    /// Numbers.
    pub limits: Limits,
}

impl std::fmt::Debug for Workbench {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workbench").field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// Numbers that an operator of the stack can turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most put-backs of one job.
    pub max_generations: u32,
    /// How long the record of a job that was resolved as done, or discarded, is kept.
    pub record_retention: Duration,
    /// How queues are gone through.
    pub sweep: SweepRules,
    /// What a run keeps of its invocation to come to an orderly end: nothing new is begun in it, and no call is waited for in its second half.
    pub reserve: Duration,
    /// How long a queue stays locked for a run that goes on.
    pub lock_between_parts: Duration,
}

/// One call of the function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    /// When it is cut off.
    pub deadline: EpochMillis,
    /// Who calls, where the door has authenticated them.
    pub caller: Option<String>,
    /// Its name in logs.
    pub request_id: String,
}
