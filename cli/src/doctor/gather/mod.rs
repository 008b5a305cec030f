//! Asks AWS what the rules want to know. Reads only; nothing here fails: what cannot be read is a [`Gap`].

mod alarms;
mod functions;
mod gap;
mod operators;
mod permissions;
mod queue_policy;
mod queues;
mod resources;
mod tables;

use super::facts::{ConsumerFacts, Fact, Facts, Gap};
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
    let log_groups = resources::log_groups(deployment).await;
    let operators = operators::ask(deployment, wishes).await;
    let mut consumers = Vec::new();
    for named in deployment.consumers() {
        step.detail(&named.name);
        consumers.push(ConsumerFacts {
            alarms: alarms::on_depth(deployment, &named.dead_letter_queue).await,
            oldest_dead_letter_seconds: operators.oldest(&named.dead_letter_queue),
            ..look_at(deployment, &named, &log_groups).await
        });
    }
    step.detail("tables");
    let tables = tables::all(deployment).await;
    step.detail("permissions");
    let permissions = permissions::all(deployment, &consumers, &operators.queues).await;
    step.done();
    Facts {
        stack: deployment.name().to_owned(),
        place: deployment.place(),
        consumers,
        tables,
        redrive: operators.function,
        permissions,
        stuck: operators.stuck,
    }
}

/// Looks at a consumer alone, without what CloudFormation and the operators' function tell about it.
pub async fn consumer(deployment: &Deployment, named: &DeployedConsumer) -> ConsumerFacts {
    look_at(deployment, named, &not_needed()).await
}

fn not_needed<T>() -> Fact<T> {
    Fact::Unknown(Gap::NotAsked { reason: "nobody asked".to_owned(), mend: "`ikkai doctor`".to_owned() })
}

async fn look_at(deployment: &Deployment, named: &DeployedConsumer, log_groups: &Fact<Vec<String>>) -> ConsumerFacts {
    let lambda = aws_sdk_lambda::Client::new(deployment.config());
    let sqs = aws_sdk_sqs::Client::new(deployment.config());
    let (function, reserved, loops, mappings, queue, dead_letter_queue) = tokio::join!(
        functions::function(&lambda, &named.function, log_groups),
        functions::reserved(&lambda, &named.function),
        functions::loops(&lambda, &named.function),
        functions::mappings(&lambda, &named.function),
        queues::queue(&sqs, &named.queue),
        queues::queue(&sqs, &named.dead_letter_queue),
    );
    ConsumerFacts {
        name: named.name.clone(),
        function_name: named.function.clone(),
        function,
        reserved,
        loops,
        mappings,
        queue_name: named.queue.clone(),
        queue,
        dead_letter_queue_name: named.dead_letter_queue.clone(),
        dead_letter_queue,
        alarms: not_needed(),
        oldest_dead_letter_seconds: not_needed(),
    }
}
