//! Asks AWS what the rules want to know. Reads only; nothing here fails: what cannot be read is a [`Gap`](super::facts::Gap).

mod functions;
mod gap;
mod operators;
mod queue_policy;
mod queues;
mod resources;
mod tables;

use self::operators::Told;
use self::resources::Resources;
use super::facts::{ConsumerFacts, Fact, Facts};
use crate::deployment::{DeployedConsumer, Deployment};
use crate::progress::Progress;

/// What is asked for beyond the ordinary.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wishes {
    /// Jobs that have not moved for so many seconds are looked for, which reads the whole jobs table.
    pub stuck_after_seconds: Option<u64>,
}

/// Looks at everything.
pub async fn facts(deployment: &Deployment, wishes: Wishes, progress: &Progress) -> Facts {
    let step = progress.begin(format!("looking at the stack {}", deployment.name()));
    let resources = resources::of(deployment).await;
    let operators = operators::ask(deployment, wishes).await;
    let mut consumers = Vec::new();
    for consumer in deployment.consumers() {
        step.detail(&consumer.name);
        consumers.push(look_at(deployment, &consumer, &resources, &operators).await);
    }
    step.detail("tables");
    let tables = tables::all(deployment).await;
    step.done();
    Facts {
        stack: deployment.name().to_owned(),
        place: deployment.place(),
        consumers,
        tables,
        redrive: operators.function,
        stuck: operators.stuck,
    }
}

async fn look_at(
    deployment: &Deployment,
    consumer: &DeployedConsumer,
    resources: &Fact<Resources>,
    operators: &Told,
) -> ConsumerFacts {
    let lambda = aws_sdk_lambda::Client::new(deployment.config());
    let sqs = aws_sdk_sqs::Client::new(deployment.config());
    let (function, reserved, loops, mappings, queue, dead_letter_queue) = tokio::join!(
        functions::function(&lambda, &consumer.function, resources),
        functions::reserved(&lambda, &consumer.function),
        functions::loops(&lambda, &consumer.function),
        functions::mappings(&lambda, &consumer.function),
        queues::queue(&sqs, &consumer.queue),
        queues::queue(&sqs, &consumer.dead_letter_queue),
    );
    ConsumerFacts {
        name: consumer.name.clone(),
        function_name: consumer.function.clone(),
        function,
        reserved,
        loops,
        mappings,
        queue_name: consumer.queue.clone(),
        queue,
        dead_letter_queue_name: consumer.dead_letter_queue.clone(),
        oldest_dead_letter_seconds: operators.oldest(&consumer.dead_letter_queue),
        dead_letter_queue,
        alarms: resources.clone().map(|resources| resources.alarms_of(consumer)),
    }
}
