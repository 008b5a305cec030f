//! Entries of the history that are no runs over messages: a resolution, a move task.

use ikkai::clock::EpochMillis;
use serde_json::Value;

use crate::journal::{Begun, Run};
use crate::protocol::{Action, Filter, Refusal, RunState, RunSummary, Tally};
use crate::telling::moment;
use crate::workbench::{Invocation, Workbench};

/// What is written down about an action, before it is done and after.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// Names the deed where the action alone does not: `resolve-done`.
    pub(crate) deed: &'static str,
    pub(crate) action: Action,
    pub(crate) queues: Vec<String>,
    pub(crate) filter: Option<Filter>,
    pub(crate) reason: String,
    pub(crate) claimed_by: Option<String>,
}

impl Entry {
    fn begun(self, invocation: &Invocation, now: EpochMillis) -> Run {
        let run_id = format!("{}-{}", self.deed, ikkai::token::unique_in_order(now));
        let summary = RunSummary {
            run_id,
            action: self.action,
            queues: self.queues,
            started_at: moment(now),
            updated_at: moment(now),
            state: RunState::Continues,
            stopped: None,
            dry_run: false,
            by: invocation.caller.clone(),
            claimed_by: self.claimed_by,
            reason: self.reason,
            filter: self.filter,
            tally: Tally::default(),
        };
        Run { summary, request_digest: String::new(), parts: 0, began_at: now, progress: Value::Null, last_answer: None }
    }
}

impl Workbench {
    /// Writes down what is about to be done: who dies in the middle of it leaves an entry that is not finished.
    ///
    /// # Errors
    /// When the journal does not take it; then nothing may be done.
    pub(crate) async fn announce(&self, entry: Entry, invocation: &Invocation) -> Result<Run, Refusal> {
        let run = entry.begun(invocation, self.clock.now());
        match self.journal.begin(&run).await? {
            Begun::New => Ok(run),
            // Ids are made of the time and of chance.
            Begun::Exists(found) => Ok(*found),
        }
    }

    /// Writes down that it is done. It is, whatever the journal says, so a failure is only logged.
    pub(crate) async fn conclude(&self, mut run: Run, state: RunState) {
        run.summary.state = state;
        run.summary.updated_at = moment(self.clock.now());
        run.parts = 1;
        match self.journal.save(&run, 0).await {
            Ok(true) => {}
            Ok(false) => tracing::warn!(run_id = run.summary.run_id, "the entry in the history was changed by somebody else"),
            Err(error) => {
                tracing::warn!(run_id = run.summary.run_id, error = %error, "the entry in the history stays unfinished");
            }
        }
    }
}
