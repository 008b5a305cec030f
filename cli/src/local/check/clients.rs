//! The SDK clients of a check, and how a call that no SDK makes is sent.

use std::collections::BTreeMap;
use std::time::Duration;

use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_sqs::config::{Credentials, SharedCredentialsProvider};

use super::calls::Calls;
use crate::local::aws::ACCESS_KEY;

/// Clients for one place. All requests are counted.
#[derive(Debug, Clone)]
pub struct Clients {
    config: SdkConfig,
    calls: Calls,
    pub(super) sqs: aws_sdk_sqs::Client,
    pub(super) lambda: aws_sdk_lambda::Client,
    pub(super) dynamodb: aws_sdk_dynamodb::Client,
    pub(super) s3: aws_sdk_s3::Client,
    pub(super) cloudformation: aws_sdk_cloudformation::Client,
    pub(super) ses: aws_sdk_sesv2::Client,
    pub(super) sts: aws_sdk_sts::Client,
}

impl Clients {
    /// Clients with these settings.
    #[must_use]
    pub fn new(config: &SdkConfig) -> Self {
        let calls = Calls::default();
        // Buckets as part of the host would need names of this machine for each.
        let path_style = config.endpoint_url().is_some();
        let s3 = aws_sdk_s3::config::Builder::from(config).force_path_style(path_style).interceptor(calls.clone()).build();
        macro_rules! client {
            ($service:ident) => {
                $service::Client::from_conf($service::config::Builder::from(config).interceptor(calls.clone()).build())
            };
        }
        Self {
            sqs: client!(aws_sdk_sqs),
            lambda: client!(aws_sdk_lambda),
            dynamodb: client!(aws_sdk_dynamodb),
            s3: aws_sdk_s3::Client::from_conf(s3),
            cloudformation: client!(aws_sdk_cloudformation),
            ses: client!(aws_sdk_sesv2),
            sts: client!(aws_sdk_sts),
            config: config.clone(),
            calls,
        }
    }

    /// Requests that were sent so far, by service.
    #[must_use]
    pub fn calls(&self) -> BTreeMap<String, u64> {
        self.calls.counts()
    }

    pub(super) fn config(&self) -> &SdkConfig {
        &self.config
    }

    /// A client of queues with other credentials.
    pub(super) fn queues_as(&self, credentials: Credentials) -> aws_sdk_sqs::Client {
        let config = aws_sdk_sqs::config::Builder::from(&self.config)
            .credentials_provider(SharedCredentialsProvider::new(credentials))
            .interceptor(self.calls.clone());
        aws_sdk_sqs::Client::from_conf(config.build())
    }
}

/// Settings for an engine at an endpoint: test credentials, and nothing of the user's own AWS settings.
#[must_use]
pub fn local_config(endpoint: &str) -> SdkConfig {
    let credentials = Credentials::new(ACCESS_KEY, ACCESS_KEY, None, None, "ikkai-check");
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(Duration::from_secs(5))
        // Longer than any long poll.
        .operation_attempt_timeout(Duration::from_secs(60))
        .build();
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static(crate::local::engine::REGION))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .endpoint_url(endpoint.trim_end_matches('/'))
        .retry_config(RetryConfig::standard().with_max_attempts(2))
        .timeout_config(timeouts)
        .build()
}
