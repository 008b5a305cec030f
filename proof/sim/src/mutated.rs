//! Where mutants live: between the kit and what it stands on.

mod queue;
mod table;

use std::sync::{Arc, Mutex};

use ikkai::idempotency::{JobRecord, JobStore, Status};
use ikkai::job::{IdempotencyKey, JobId};
use ikkai::queue::{Inbox, ReceivedMessage};

use self::queue::MutatedQueue;
use self::table::MutatedTable;
use crate::actor::Actor;
use crate::laws;
use crate::mutant::Mutant;
use crate::sandbox::Answer;
use crate::troubled_queue::TroubledQueue;
use crate::troubled_table::TroubledTable;
use crate::world::World;

/// Put-backs that a mutant writes later.
pub(crate) type Stash = Arc<Mutex<Vec<JobRecord>>>;

/// The table, as a worker or the API sees it.
pub(crate) fn workers_table(world: &Arc<World>, actor: &Arc<Actor>) -> Arc<dyn JobStore> {
    operators_table(world, actor, &Stash::default())
}

/// The table, as an operator's function sees it.
pub(crate) fn operators_table(world: &Arc<World>, actor: &Arc<Actor>, stash: &Stash) -> Arc<dyn JobStore> {
    let inner: Arc<dyn JobStore> = match world.mutant {
        Some(mutant) => Arc::new(MutatedTable { table: world.table.clone(), mutant, stash: stash.clone() }),
        None => world.table.clone(),
    };
    Arc::new(TroubledTable { world: world.clone(), actor: actor.clone(), inner })
}

/// A consumer's own queue, as its worker sees it.
pub(crate) fn workers_queue(world: &Arc<World>, queue: Arc<TroubledQueue>) -> Arc<dyn Inbox> {
    mutated(
        world,
        queue,
        &[Mutant::RenewalNotSent, Mutant::HeartbeatAfterBackoff, Mutant::SendFailuresIgnored],
        &Stash::default(),
    )
}

/// The queue that the API sends to.
pub(crate) fn producers_queue(world: &Arc<World>, queue: Arc<TroubledQueue>) -> Arc<dyn Inbox> {
    mutated(world, queue, &[Mutant::AnswerBeforeSend, Mutant::SendFailuresIgnored], &Stash::default())
}

/// A queue, or a dead-letter queue, as an operator's function sees it.
pub(crate) fn operators_queue(world: &Arc<World>, queue: Arc<TroubledQueue>, stash: &Stash) -> Arc<dyn Inbox> {
    mutated(world, queue, &[Mutant::DeleteBeforeSend, Mutant::ResetAfterSend, Mutant::SendFailuresIgnored], stash)
}

fn mutated(world: &Arc<World>, queue: Arc<TroubledQueue>, here: &[Mutant], stash: &Stash) -> Arc<dyn Inbox> {
    match world.mutant.filter(|mutant| here.contains(mutant)) {
        Some(mutant) => Arc::new(MutatedQueue::new(world, queue, mutant, stash)),
        None => queue,
    }
}

/// The answer of a worker, on its way to the mapping.
pub(crate) fn answer(world: &World, answer: Answer, batch: &[ReceivedMessage]) -> Answer {
    let mut response = answer?;
    match world.mutant {
        Some(Mutant::EmptyItemIdentifier) => {
            if let Some(failure) = response.batch_item_failures.first_mut() {
                failure.item_identifier = String::new();
            }
        }
        Some(Mutant::AcknowledgeUnsettled) => response.batch_item_failures.retain(|failure| {
            let message = batch.iter().find(|message| message.message_id == failure.item_identifier);
            let job_id = message.and_then(|message| laws::job_of(&message.body));
            job_id.is_none_or(|job_id| world.table.status(&job_id) != Some(Status::Running))
        }),
        _ => {}
    }
    Ok(response)
}

/// The body of a message, on its way to a worker.
pub(crate) fn body(world: &World, message: &ReceivedMessage) -> String {
    if !world.is_mutant(Mutant::KeyedByMessage) {
        return message.body.clone();
    }
    let other = laws::job_of(&message.body).and_then(|job_id| {
        let key = IdempotencyKey::parse(&message.message_id).ok()?;
        Some((JobId::derive("message", &job_id.job_type(), &key), job_id))
    });
    match other {
        Some((other, job_id)) => message.body.replace(job_id.as_str(), other.as_str()),
        None => message.body.clone(),
    }
}
