//! Move tasks as a test wants them.

use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use ikkai::queue::QueueName;

use super::{MoveTasks, is_active};
use crate::protocol::{MoveTask, Refusal, RefusalCode};

/// [`MoveTasks`] that answer what they were told, and keep SQS's rule of one active task a queue.
#[derive(Debug, Default)]
pub struct ScriptedMoveTasks {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    tasks: Vec<(QueueName, MoveTask)>,
    refusal: Option<Refusal>,
    started: usize,
}

impl ScriptedMoveTasks {
    /// An SQS without tasks.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// An engine that has no such operations.
    #[must_use]
    pub fn unsupported() -> Self {
        let tasks = Self::default();
        tasks.refuse(Some(Refusal::new(RefusalCode::Unsupported, "this engine has no move tasks; use redrive")));
        tasks
    }

    /// Every call is refused so from now on, or not any more.
    pub fn refuse(&self, refusal: Option<Refusal>) {
        self.locked().refusal = refusal;
    }

    /// Adds a task with this handle and status, as the youngest of its queue.
    pub fn add(&self, dead_letter_queue: &QueueName, task_handle: &str, status: &str) {
        let task = task(task_handle, status, None);
        self.locked().tasks.insert(0, (dead_letter_queue.clone(), task));
    }

    fn answer<T>(&self, answer: impl FnOnce(&mut State) -> Result<T, Refusal>) -> Result<T, Refusal> {
        let mut state = self.locked();
        match state.refusal.clone() {
            Some(refusal) => Err(refusal),
            None => answer(&mut state),
        }
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn task(task_handle: &str, status: &str, rate_per_second: Option<u32>) -> MoveTask {
    MoveTask {
        task_handle: Some(task_handle.to_owned()),
        status: Some(status.to_owned()),
        moved: Some(0),
        to_move: Some(0),
        rate_per_second: rate_per_second.and_then(|rate| i32::try_from(rate).ok()),
        started_at: None,
        failure: None,
    }
}

#[async_trait]
impl MoveTasks for ScriptedMoveTasks {
    async fn start(&self, dead_letter_queue: &QueueName, rate_per_second: Option<u32>) -> Result<MoveTask, Refusal> {
        self.answer(|state| {
            if state.tasks.iter().any(|(queue, task)| queue == dead_letter_queue && is_active(task)) {
                let message = "a move task of this queue is active; list shows it";
                return Err(Refusal::new(RefusalCode::MoveTaskInProgress, message));
            }
            state.started += 1;
            let started = task(&format!("task-{}", state.started), "RUNNING", rate_per_second);
            state.tasks.insert(0, (dead_letter_queue.clone(), started.clone()));
            Ok(started)
        })
    }

    async fn list(&self, dead_letter_queue: &QueueName) -> Result<Vec<MoveTask>, Refusal> {
        self.answer(|state| {
            let of_queue = state.tasks.iter().filter(|(queue, _)| queue == dead_letter_queue);
            Ok(of_queue.take(10).map(|(_, task)| task.clone()).collect())
        })
    }

    async fn cancel(&self, task_handle: &str) -> Result<MoveTask, Refusal> {
        self.answer(|state| {
            let is_meant = |(_, task): &&mut (QueueName, MoveTask)| task.task_handle.as_deref() == Some(task_handle);
            let Some((_, task)) = state.tasks.iter_mut().find(is_meant).filter(|(_, task)| is_active(task)) else {
                return Err(Refusal::new(RefusalCode::WrongState, "no such task is running; list shows those that are"));
            };
            task.status = Some("CANCELLING".to_owned());
            Ok(task.clone())
        })
    }
}
