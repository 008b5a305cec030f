//! SQS's own redrive, which knows nothing of jobs.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use dlq_redrive::move_tasks::MoveTasks;
use dlq_redrive::protocol::{MoveTask, Refusal, RefusalCode};
use ikkai::queue::QueueName;

use crate::fault::Fault;
use crate::stage::Line;
use crate::world::World;

/// The move tasks of the run's SQS: as far as the operators' function can see, there are none, as where a task begins right after the look.
pub(super) struct NativeMoves {
    pub(super) world: Arc<World>,
}

#[async_trait]
impl MoveTasks for NativeMoves {
    async fn start(&self, _dead_letter_queue: &QueueName, _rate_per_second: Option<u32>) -> Result<MoveTask, Refusal> {
        Err(Refusal::new(RefusalCode::Unsupported, "tasks are started by hand here"))
    }

    async fn list(&self, _dead_letter_queue: &QueueName) -> Result<Vec<MoveTask>, Refusal> {
        self.world.called();
        Ok(Vec::new())
    }

    async fn cancel(&self, _task_handle: &str) -> Result<MoveTask, Refusal> {
        Err(Refusal::new(RefusalCode::Unsupported, "tasks are started by hand here"))
    }
}

/// Moves a dead-letter queue back, some messages at a time.
pub(super) async fn native(world: &World, line: Line) {
    if !world.allows(Fault::NativeRedrive) {
        return;
    }
    for _ in 0..5 {
        let moved = world.sqs.move_back(line.dead_letters(), world.roll(|dice| dice.usize(1..5)));
        if moved == 0 {
            return;
        }
        world.happened(Fault::NativeRedrive);
        world.tell("sqs", || format!("moves {moved} messages back to {}", line.queue()));
        world.arrived(line);
        tokio::time::sleep(world.some_time(Duration::from_millis(100), Duration::from_secs(5))).await;
    }
}
