//! A consumer's function and what feeds it.

use std::collections::HashMap;

use aws_sdk_lambda::Client;
use aws_sdk_lambda::operation::get_function_configuration::GetFunctionConfigurationOutput;
use aws_sdk_lambda::types::{EventSourceMappingConfiguration, FunctionResponseType, RecursiveLoop, ScalingConfig};

use super::gap::{fact, gap};
use crate::doctor::facts::{Fact, FunctionFacts, Gap, Loops, MappingFacts, SettingsFacts};

/// The function and its settings.
pub(super) async fn function(client: &Client, name: &str, log_groups: &Fact<Vec<String>>) -> Fact<FunctionFacts> {
    let answer = client.get_function_configuration().function_name(name).send().await;
    fact("lambda:GetFunctionConfiguration", answer).map(|function| {
        let own = format!("/aws/lambda/{name}");
        let log_group = function.logging_config().and_then(|logging| logging.log_group()).unwrap_or(&own).to_owned();
        FunctionFacts {
            role: function.role().unwrap_or_default().to_owned(),
            timeout_seconds: number(function.timeout()),
            runtime: function.runtime().map(|runtime| runtime.as_str().to_owned()).unwrap_or_default(),
            state: function.state().map(|state| state.as_str().to_owned()).unwrap_or_default(),
            log_group_of_stack: log_groups.clone().map(|groups| groups.contains(&log_group)),
            log_group,
            settings: variables(&function).map(|variables| read_settings(&variables)),
        }
    })
}

/// The function's environment.
pub(super) fn variables(function: &GetFunctionConfigurationOutput) -> Fact<HashMap<String, String>> {
    let environment = function.environment();
    // Lambda answers without the variables where it may not decrypt them for whoever asks.
    if let Some(error) = environment.and_then(|environment| environment.error()) {
        let reason = error.error_code().unwrap_or("unknown error").to_owned();
        return Fact::Unknown(Gap::Failed { action: "kms:Decrypt of the function's environment".to_owned(), reason });
    }
    Fact::Known(environment.and_then(|environment| environment.variables()).cloned().unwrap_or_default())
}

fn read_settings(variables: &HashMap<String, String>) -> SettingsFacts {
    let number = |name: &str| variables.get(name).and_then(|value| value.trim().parse().ok());
    SettingsFacts {
        queue_name: variables.get("IKKAI_QUEUE_NAME").cloned(),
        max_receive_count: number("IKKAI_MAX_RECEIVE_COUNT"),
        queue_retention_seconds: number("IKKAI_QUEUE_RETENTION_SECONDS"),
        function_timeout_seconds: number("IKKAI_FUNCTION_TIMEOUT_SECONDS"),
        max_concurrency: number("IKKAI_MAX_CONCURRENCY"),
        max_attempts: number("IKKAI_MAX_ATTEMPTS"),
        provider_rate_per_second: number("IKKAI_PROVIDER_RATE_PER_SECOND"),
    }
}

/// Invocations that are reserved for the function.
pub(super) async fn reserved(client: &Client, name: &str) -> Fact<Option<u64>> {
    let answer = client.get_function_concurrency().function_name(name).send().await;
    fact("lambda:GetFunctionConcurrency", answer)
        .map(|answer| answer.reserved_concurrent_executions().and_then(|reserved| u64::try_from(reserved).ok()))
}

/// Whether Lambda lets it send to its own queue for ever.
pub(super) async fn loops(client: &Client, name: &str) -> Fact<Loops> {
    let answer = client.get_function_recursion_config().function_name(name).send().await;
    fact("lambda:GetFunctionRecursionConfig", answer).map(|answer| match answer.recursive_loop() {
        Some(RecursiveLoop::Allow) => Loops::Allowed,
        // What Lambda does where nothing is said.
        _ => Loops::Terminated,
    })
}

/// What feeds it.
pub(super) async fn mappings(client: &Client, name: &str) -> Fact<Vec<MappingFacts>> {
    let pages = client.list_event_source_mappings().function_name(name).into_paginator().items().send();
    match pages.collect::<Result<Vec<_>, _>>().await {
        Ok(mappings) => Fact::Known(mappings.iter().map(mapping).collect()),
        Err(error) => Fact::Unknown(gap("lambda:ListEventSourceMappings", &error)),
    }
}

fn mapping(mapping: &EventSourceMappingConfiguration) -> MappingFacts {
    MappingFacts {
        uuid: mapping.uuid().unwrap_or_default().to_owned(),
        source_arn: mapping.event_source_arn().unwrap_or_default().to_owned(),
        state: mapping.state().unwrap_or_default().to_owned(),
        batch_size: number(mapping.batch_size()),
        window_seconds: number(mapping.maximum_batching_window_in_seconds()),
        reports_item_failures: mapping.function_response_types().contains(&FunctionResponseType::ReportBatchItemFailures),
        max_concurrency: mapping.scaling_config().and_then(ScalingConfig::maximum_concurrency).map(|most| number(Some(most))),
        filters: mapping.filter_criteria().map_or(0, |criteria| criteria.filters().len()),
        provisioned_pollers: mapping.provisioned_poller_config().is_some(),
    }
}

fn number(value: Option<i32>) -> u64 {
    value.and_then(|value| u64::try_from(value).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_rules_compare_is_kept_of_an_environment() {
        let variables =
            [("IKKAI_QUEUE_NAME", "q"), ("IKKAI_MAX_ATTEMPTS", "3"), ("IKKAI_MAX_CONCURRENCY", "many"), ("SECRET", "s3cret")];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let settings = read_settings(&variables);
        assert_eq!((settings.queue_name.as_deref(), settings.max_attempts, settings.max_concurrency), (Some("q"), Some(3), None));
        assert!(!format!("{settings:?}").contains("s3cret"));
    }

    #[test]
    fn a_mapping_is_read_with_what_it_leaves_out() {
        let bare = mapping(&EventSourceMappingConfiguration::builder().uuid("u").state("Enabled").batch_size(10).build());
        assert_eq!((bare.batch_size, bare.max_concurrency, bare.filters, bare.reports_item_failures), (10, None, 0, false));
        let reporting =
            EventSourceMappingConfiguration::builder().function_response_types(FunctionResponseType::ReportBatchItemFailures);
        assert!(mapping(&reporting.build()).reports_item_failures);
    }
}
