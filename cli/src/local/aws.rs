//! AWS clients for the local engine: fixed test credentials, the engine as endpoint.

use std::net::SocketAddr;
use std::time::Duration;

use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_sqs::config::{Credentials, SharedCredentialsProvider};

use super::engine::REGION;

/// The engine knows every access key; this one belongs to nobody.
pub(super) const ACCESS_KEY: &str = "test";

/// The SDK's settings for an engine. Nothing of the user's own AWS settings is read.
///
/// Each client built from it has connections of its own. A client belongs to the Tokio runtime that it is first used on, so a test
/// builds its clients itself.
#[must_use]
pub fn sdk_config(engine: SocketAddr) -> SdkConfig {
    let credentials = Credentials::new(ACCESS_KEY, ACCESS_KEY, None, None, "ikkai-local");
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(Duration::from_secs(2))
        .operation_attempt_timeout(Duration::from_secs(60))
        .build();
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static(REGION))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .endpoint_url(format!("http://{engine}"))
        .retry_config(RetryConfig::standard().with_max_attempts(2))
        .timeout_config(timeouts)
        .build()
}
