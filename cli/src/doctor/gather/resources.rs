//! What CloudFormation made for the stack.

use super::gap::fact;
use crate::deployment::Deployment;
use crate::doctor::facts::Fact;

/// The stack's log groups.
pub(super) async fn log_groups(deployment: &Deployment) -> Fact<Vec<String>> {
    let client = aws_sdk_cloudformation::Client::new(deployment.config());
    let pages = client.list_stack_resources().stack_name(deployment.name()).into_paginator().items().send();
    fact("cloudformation:ListStackResources", pages.collect::<Result<Vec<_>, _>>().await).map(|resources| {
        let groups = resources.into_iter().filter(|resource| resource.resource_type() == Some("AWS::Logs::LogGroup"));
        groups.filter_map(|group| group.physical_resource_id).collect()
    })
}
