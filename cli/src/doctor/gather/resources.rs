//! What CloudFormation made for the stack.

use super::gap::fact;
use crate::deployment::{DeployedConsumer, Deployment};
use crate::doctor::facts::Fact;

/// The resources that the rules look at.
#[derive(Debug, Clone, Default)]
pub(super) struct Resources {
    log_groups: Vec<String>,
    alarms: Vec<Alarm>,
}

#[derive(Debug, Clone)]
struct Alarm {
    logical_id: String,
    name: String,
}

/// All resources of the stack.
pub(super) async fn of(deployment: &Deployment) -> Fact<Resources> {
    let client = aws_sdk_cloudformation::Client::new(deployment.config());
    let pages = client.list_stack_resources().stack_name(deployment.name()).into_paginator().items().send();
    fact("cloudformation:ListStackResources", pages.collect::<Result<Vec<_>, _>>().await).map(|summaries| {
        let mut resources = Resources::default();
        for summary in summaries {
            let name = summary.physical_resource_id.unwrap_or_default();
            match summary.resource_type.as_deref() {
                Some("AWS::Logs::LogGroup") => resources.log_groups.push(name),
                Some("AWS::CloudWatch::Alarm") => {
                    resources.alarms.push(Alarm { logical_id: summary.logical_resource_id.unwrap_or_default(), name });
                }
                _ => {}
            }
        }
        resources
    })
}

impl Resources {
    /// Whether a log group is one of the stack's.
    pub(super) fn has_log_group(&self, name: &str) -> bool {
        self.log_groups.iter().any(|group| group == name)
    }

    /// The stack's alarms that are named after a consumer's dead-letter queue. What an alarm watches, CloudFormation does not
    /// tell.
    pub(super) fn alarms_of(&self, consumer: &DeployedConsumer) -> Vec<String> {
        let logical = format!("{}DeadLetter", consumer.prefix);
        let of_queue = |alarm: &&Alarm| {
            alarm.logical_id.starts_with(&logical)
                || (!consumer.dead_letter_queue.is_empty() && alarm.name.contains(&consumer.dead_letter_queue))
        };
        self.alarms.iter().filter(of_queue).map(|alarm| alarm.name.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alarm_is_found_by_the_name_of_its_queue() {
        let alarm = |logical: &str, name: &str| Alarm { logical_id: logical.into(), name: name.into() };
        let resources = Resources {
            log_groups: vec!["/aws/lambda/f".into()],
            alarms: vec![
                alarm("EmailDeadLettersAlarm", "a"),
                alarm("Other", "watch-s-email-dlq"),
                alarm("ImageDeadLettersAlarm", "s-image-dlq"),
                alarm("RedriveQuarantinedAlarm", "q"),
            ],
        };
        let email = DeployedConsumer {
            name: "email".into(),
            prefix: "Email".into(),
            function: "f".into(),
            queue: "s-email".into(),
            dead_letter_queue: "s-email-dlq".into(),
        };
        assert_eq!(resources.alarms_of(&email), ["a", "watch-s-email-dlq"]);
        let unnamed = DeployedConsumer { prefix: "Report".into(), dead_letter_queue: String::new(), ..email };
        assert_eq!(resources.alarms_of(&unnamed), [""; 0]);
        assert!(resources.has_log_group("/aws/lambda/f") && !resources.has_log_group("/aws/lambda"));
    }
}
