//! Whether the roles of the functions suffice, by IAM's own simulation. Nothing of it is done.

mod judgement;
mod simulator;

use std::collections::HashMap;

use aws_sdk_lambda::Client;
use aws_sdk_lambda::operation::get_function_configuration::GetFunctionConfigurationOutput;
use dlq_redrive::protocol::QueueStatus;

use super::functions::variables;
use super::gap::fact;
use crate::deployment::Deployment;
use crate::doctor::facts::{ConsumerFacts, Fact, Gap, PermissionFacts};
use crate::doctor::needs::{Need, Scope, Subject};
use simulator::Simulator;

/// The functions that no queue feeds: the package of each, and the output that names it.
const OTHERS: [(&str, &str); 3] = [
    (PRODUCER, "ProducerApiFunctionName"),
    ("ses-feedback", "SesFeedbackFunctionName"),
    ("dlq-redrive", "DlqRedriveFunctionName"),
];

/// The one that every stack has. Of the others a rule of its own, or nothing, says that they are not deployed.
const PRODUCER: &str = "producer-api";

/// A part of what a function does: who does it, with which role, and what it needs.
type Part = (String, Fact<(String, Need)>);

/// Asks about every function. After a question that IAM does not answer, none follows.
pub(super) async fn all(
    deployment: &Deployment,
    consumers: &[ConsumerFacts],
    queues: &Fact<Vec<QueueStatus>>,
) -> Vec<PermissionFacts> {
    let client = Client::new(deployment.config());
    let mut parts = Vec::new();
    for consumer in consumers {
        let job_type = queues.clone().and_then(|queues| job_type(&queues, &consumer.queue_name));
        let package = format!("{}-consumer", consumer.name);
        parts.extend(of_function(deployment, &client, &package, &consumer.function_name, job_type).await);
    }
    for (package, output) in OTHERS {
        // They work on jobs of every type, or of one that is always the same.
        let job_type = Fact::Unknown(Gap::Missing);
        match deployment.output(output) {
            Some(name) => parts.extend(of_function(deployment, &client, package, name, job_type).await),
            None if package == PRODUCER => parts.push((output.to_owned(), Fact::Unknown(Gap::Missing))),
            None => {}
        }
    }
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

async fn of_function(deployment: &Deployment, client: &Client, package: &str, name: &str, job_type: Fact<String>) -> Vec<Part> {
    let answer = client.get_function_configuration().function_name(name).send().await;
    let subject = fact("lambda:GetFunctionConfiguration", answer).and_then(|function| {
        variables(&function).and_then(|settings| subject(deployment, package, &function, settings, job_type))
    });
    match subject {
        Fact::Known((role, subject)) => {
            subject.needs().into_iter().map(|need| (name.to_owned(), need.map(|need| (role.clone(), need)))).collect()
        }
        Fact::Unknown(gap) => vec![(name.to_owned(), Fact::Unknown(gap))],
    }
}

/// A function with its role.
fn subject(
    deployment: &Deployment,
    package: &str,
    function: &GetFunctionConfigurationOutput,
    settings: HashMap<String, String>,
    job_type: Fact<String>,
) -> Fact<(String, Subject)> {
    let region = deployment.config().region().map(ToString::to_string).unwrap_or_default();
    let role = function.role().unwrap_or_default();
    let Some(scope) = Scope::of(role, &region) else {
        return Fact::Unknown(Gap::Failed {
            action: "lambda:GetFunctionConfiguration".to_owned(),
            reason: "it told no role".to_owned(),
        });
    };
    let identity = deployment.site().parameter("SenderIdentityArn").filter(|arn| !arn.is_empty());
    let subject = Subject {
        package: package.to_owned(),
        scope,
        settings,
        job_type,
        sender_identity: identity.map(str::to_owned),
        dead_letter_target: function.dead_letter_config().and_then(|config| config.target_arn()).map(str::to_owned),
    };
    Fact::Known((role.to_owned(), subject))
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
