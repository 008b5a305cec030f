//! Reads the records of the jobs whenever the functions have written them, for the live lines and for who waits.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ikkai::idempotency::{DynamoStore, JobRecord, JobStore};
use ikkai::job::JobId;
use tokio::sync::watch;

use super::Failure;
use super::live::Line;
use crate::local::environment::LocalAws;
use crate::local::stack::Stack;

/// How often the proxy's journal is looked at. The table itself is asked only after a write.
const EVERY: Duration = Duration::from_millis(40);

/// Watches all jobs of the demo.
#[derive(Debug, Default)]
pub(super) struct Observer(Mutex<Vec<Watched>>);

#[derive(Debug, Clone)]
struct Watched {
    job_id: JobId,
    store: DynamoStore,
    line: Arc<Line>,
    record: watch::Sender<Option<JobRecord>>,
    /// How many calls about the job had ended when the record was last read.
    calls: usize,
}

impl Observer {
    /// Watches a job from now on. The record is read past the proxy, so that nothing is counted.
    pub(super) fn watch(
        &self,
        aws: &LocalAws,
        stack: &Stack,
        job_id: &JobId,
        line: &Arc<Line>,
    ) -> watch::Receiver<Option<JobRecord>> {
        let (record, records) = watch::channel(None);
        let store = DynamoStore::new(aws_sdk_dynamodb::Client::new(&aws.sdk_config()), stack.jobs_table());
        let watched = Watched { job_id: job_id.clone(), store, line: Arc::clone(line), record, calls: 0 };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(watched);
        records
    }

    /// Watches until something goes wrong.
    ///
    /// # Errors
    /// The engine has ended or does not answer.
    pub(super) async fn run(&self, aws: &LocalAws) -> Failure {
        loop {
            if let Err(failure) = self.look(aws).await {
                // A dead engine explains more than a refused connection.
                return aws.check().err().map_or(failure, Failure::from);
            }
            tokio::time::sleep(EVERY).await;
        }
    }

    async fn look(&self, aws: &LocalAws) -> Result<(), Failure> {
        aws.check()?;
        let calls = aws.proxy().calls();
        let jobs = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for (index, job) in jobs.iter().enumerate() {
            let ended = calls.about(job.job_id.as_str()).filter(|call| call.elapsed.is_some()).count();
            if ended == job.calls {
                continue;
            }
            let record = job.store.get(&job.job_id).await?;
            if let Some(record) = &record {
                job.line.record(record);
            }
            job.record.send_replace(record);
            // Jobs are only ever added: the place stays the same.
            if let Some(watched) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get_mut(index) {
                watched.calls = ended;
            }
        }
        Ok(())
    }
}
