//! The job types that this deployment serves, each with its queue.

use std::sync::Arc;

use ikkai::job::{self, JobKind, JobType};
use ikkai::queue::{Queue, QueueName};

use crate::admission::Gate;
use crate::settings::Settings;

/// One job type with its queue.
#[derive(Debug)]
pub struct Served {
    pub(crate) kind: JobKind,
    pub(crate) job_type: JobType,
    pub(crate) name: QueueName,
    pub(crate) queue: QueueHandle,
    pub(crate) gate: Gate,
}

/// A queue, without a wall of text in `Debug`.
#[derive(Clone)]
pub(crate) struct QueueHandle(pub(crate) Arc<dyn Queue>);

impl std::fmt::Debug for QueueHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Queue")
    }
}

impl Served {
    /// Serves `kind` through `queue`.
    #[must_use]
    pub fn new(kind: JobKind, name: QueueName, queue: Arc<dyn Queue>, max_queue_depth: u64) -> Self {
        Self {
            job_type: kind.job_type(),
            kind,
            name,
            queue: QueueHandle(queue.clone()),
            gate: Gate::new(QueueHandle(queue), max_queue_depth),
        }
    }
}

/// All job types that are served.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    served: Vec<Arc<Served>>,
}

impl Catalog {
    /// A catalogue of these.
    #[must_use]
    pub fn new(served: impl IntoIterator<Item = Served>) -> Self {
        Self { served: served.into_iter().map(Arc::new).collect() }
    }

    /// The registered types that `settings` names a queue for, each queue made by `open`.
    pub fn from_settings(settings: &Settings, mut open: impl FnMut(&QueueName) -> Arc<dyn Queue>) -> Self {
        let kinds = settings.queues.iter().filter_map(|(job_type, name)| Some((*job::find(job_type)?, name)));
        Self::new(kinds.map(|(kind, name)| Served::new(kind, name.clone(), open(name), settings.max_queue_depth)))
    }

    pub(crate) fn find(&self, job_type: &str) -> Option<&Arc<Served>> {
        self.served.iter().find(|served| served.job_type.as_str() == job_type)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.served.iter().map(|served| served.job_type.as_str())
    }
}
