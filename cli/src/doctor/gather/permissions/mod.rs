//! Whether the roles of the functions suffice, by IAM's own simulation. Nothing of it is done.

mod judgement;
mod needs;
mod simulator;

use std::collections::HashMap;

use aws_sdk_lambda::Client;
use dlq_redrive::protocol::QueueStatus;

use super::gap::fact;
use crate::deployment::Deployment;
use crate::doctor::facts::{ConsumerFacts, Fact, Gap, PermissionFacts};
use needs::{Need, Scope};
use simulator::Simulator;

/// The output that names the producer.
const PRODUCER: &str = "ProducerApiFunctionName";

/// A part of what a function does: who does it, with which role, and what it needs.
type Part = (String, Fact<(String, Need)>);

/// Asks about the consumers, the producer and the operators' function. After a question that IAM does not answer, none follows.
pub(super) async fn all(
    deployment: &Deployment,
    consumers: &[ConsumerFacts],
    queues: &Fact<Vec<QueueStatus>>,
) -> Vec<PermissionFacts> {
    let client = Client::new(deployment.config());
    let mut parts: Vec<Part> = consumers.iter().flat_map(|consumer| of_consumer(deployment, consumer, queues)).collect();
    parts.extend(of_producer(deployment, &client).await);
    parts.extend(of_operators(deployment, &client, queues).await);
    ask(deployment, parts).await
}

async fn ask(deployment: &Deployment, parts: Vec<Part>) -> Vec<PermissionFacts> {
    let simulator = Simulator::new(deployment.config());
    let mut asked = Vec::new();
    for (function_name, part) in parts {
        let is_question = part.known().is_some();
        let refusals = match (&simulator, part) {
            (_, Fact::Unknown(gap)) => Fact::Unknown(gap),
            (Err(gap), Fact::Known(_)) => Fact::Unknown(gap.clone()),
            (Ok(simulator), Fact::Known((role, need))) => simulator.refusals(&role, &need).await,
        };
        let is_unanswered = is_question && refusals.gap().is_some();
        asked.push(PermissionFacts { function_name, refusals });
        if is_unanswered {
            break;
        }
    }
    asked
}

fn of_consumer(deployment: &Deployment, consumer: &ConsumerFacts, queues: &Fact<Vec<QueueStatus>>) -> Vec<Part> {
    let role = consumer.function.clone().map(|function| function.role);
    let job_type = queues.clone().and_then(|queues| job_type(&queues, &consumer.queue_name));
    let on_queue = scoped(deployment, role.clone()).map(|(role, scope)| (role, scope.own_queue(&consumer.queue_name)));
    let on_jobs = scoped(deployment, role).and_then(|(role, scope)| {
        let table = jobs_table(deployment);
        job_type.and_then(|job_type| table.map(|table| (role, scope.own_jobs(&table, &job_type))))
    });
    [on_queue, on_jobs].map(|part| (consumer.function_name.clone(), part)).into()
}

async fn of_producer(deployment: &Deployment, client: &Client) -> Vec<Part> {
    let Some(name) = deployment.output(PRODUCER) else {
        return vec![(PRODUCER.to_owned(), Fact::Unknown(Gap::Missing))];
    };
    let answer = client.get_function_configuration().function_name(name).send().await;
    let function = fact("lambda:GetFunctionConfiguration", answer);
    let role = function.clone().map(|function| function.role.unwrap_or_default());
    let queues = function.and_then(|function| {
        let variables = function.environment.and_then(|environment| environment.variables).unwrap_or_default();
        queues_of_producer(&variables)
    });
    let on_queues =
        scoped(deployment, role.clone()).and_then(|(role, scope)| queues.map(|queues| (role, scope.sent_to(&queues))));
    let on_jobs =
        scoped(deployment, role).and_then(|(role, scope)| jobs_table(deployment).map(|table| (role, scope.every_job(&table))));
    [on_queues, on_jobs].map(|part| (name.to_owned(), part)).into()
}

async fn of_operators(deployment: &Deployment, client: &Client, queues: &Fact<Vec<QueueStatus>>) -> Vec<Part> {
    // A rule of its own says that it is not deployed.
    let Some(name) = deployment.site().function() else {
        return Vec::new();
    };
    let answer = client.get_function_configuration().function_name(name).send().await;
    let role = fact("lambda:GetFunctionConfiguration", answer).map(|function| function.role.unwrap_or_default());
    let on = |need: fn(&Scope, &[QueueStatus]) -> Need| {
        let queues = queues.clone();
        scoped(deployment, role.clone()).and_then(|(role, scope)| queues.map(|queues| (role, need(&scope, &queues))))
    };
    let dead_letters = on(|scope, queues| scope.taken_from(queues.iter().map(|queue| queue.dead_letter_queue.as_str())));
    let put_back = on(|scope, queues| scope.put_back(queues.iter().map(|queue| queue.queue.as_str())));
    let on_jobs = scoped(deployment, role)
        .and_then(|(role, scope)| jobs_table(deployment).map(|table| (role, scope.reopened_jobs(&table))));
    [dead_letters, put_back, on_jobs].map(|part| (name.to_owned(), part)).into()
}

fn scoped(deployment: &Deployment, role: Fact<String>) -> Fact<(String, Scope)> {
    let region = deployment.config().region().map(ToString::to_string).unwrap_or_default();
    role.and_then(|role| match Scope::of(&role, &region) {
        Some(scope) => Fact::Known((role, scope)),
        None => Fact::Unknown(Gap::Failed {
            action: "lambda:GetFunctionConfiguration".to_owned(),
            reason: "it told no role".to_owned(),
        }),
    })
}

fn jobs_table(deployment: &Deployment) -> Fact<String> {
    deployment.output("JobsTableName").map_or(Fact::Unknown(Gap::Missing), |table| Fact::Known(table.to_owned()))
}

fn job_type(queues: &[QueueStatus], name: &str) -> Fact<String> {
    match queues.iter().find(|queue| queue.queue == name) {
        Some(queue) => Fact::Known(queue.job_type.clone()),
        None => Fact::Unknown(Gap::NotAsked {
            reason: format!("the operators' function does not know the type of the jobs in {name}"),
            mend: "name the queue in IKKAI_REDRIVE_QUEUES: deploy the present template".to_owned(),
        }),
    }
}

/// The queues that the producer sends to, by its own settings.
fn queues_of_producer(variables: &HashMap<String, String>) -> Fact<Vec<String>> {
    let queues = variables.get("IKKAI_QUEUES").and_then(|queues| serde_json::from_str::<HashMap<String, String>>(queues).ok());
    match queues {
        Some(queues) if !queues.is_empty() => {
            let mut names: Vec<_> = queues.into_values().collect();
            names.sort();
            names.dedup();
            Fact::Known(names)
        }
        _ => Fact::Unknown(Gap::Failed {
            action: "lambda:GetFunctionConfiguration".to_owned(),
            reason: "the producer's IKKAI_QUEUES names no queues".to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_producers_queues_are_those_of_its_settings() {
        let read = |queues: &str| queues_of_producer(&[("IKKAI_QUEUES".to_owned(), queues.to_owned())].into());
        assert_eq!(read(r#"{"b":"s-b","a":"s-a","c":"s-a"}"#), Fact::Known(vec!["s-a".to_owned(), "s-b".to_owned()]));
        for nothing in ["{}", "nonsense", ""] {
            assert!(read(nothing).gap().is_some(), "{nothing}");
        }
        assert!(queues_of_producer(&HashMap::new()).gap().is_some());
    }
}
