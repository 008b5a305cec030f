//! AWS clients with explicit limits, and their warm-up.

pub mod connections;

use std::future::Future;
use std::time::Duration;

use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, SdkConfig};

/// How long one HTTP attempt may take. DynamoDB and SQS answer in milliseconds; what takes longer than this is lost.
pub const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(3);

/// How long an operation may take with the SDK's own retries (three attempts).
pub const OPERATION_TIMEOUT: Duration = Duration::from_secs(10);

/// Longest time the start of a function waits for its connections.
const WARM_UP_TIMEOUT: Duration = Duration::from_secs(2);

/// The SDK configuration of every Ikkai function: behaviour pinned to a version, timeouts set (the SDK has none by default), and one HTTP
/// client for all AWS clients made from it.
pub async fn sdk_config() -> SdkConfig {
    let timeouts = TimeoutConfig::builder().operation_attempt_timeout(ATTEMPT_TIMEOUT).operation_timeout(OPERATION_TIMEOUT);
    let loader = aws_config::defaults(BehaviorVersion::v2026_01_12()).http_client(connections::shared());
    loader.timeout_config(timeouts.build()).load().await
}

/// Opens `connections` connections by making `call` that often at once. Whatever is answered, the connections stay in the client's
/// pool, so that the first invocation makes no TLS handshake: a function has its full CPU only while it starts.
pub async fn warm_up<F, O>(connections: usize, call: impl Fn() -> F)
where
    F: Future<Output = O>,
{
    let calls = futures::future::join_all((0..connections).map(|_| call()));
    if tokio::time::timeout(WARM_UP_TIMEOUT, calls).await.is_err() {
        tracing::debug!("connections could not be opened in time; the first invocation opens them");
    }
}

/// Opens connections to DynamoDB with a call that touches no table and that DynamoDB refuses, see [`connections::Unsigned`].
pub async fn warm_up_dynamodb(client: &aws_sdk_dynamodb::Client, count: usize) {
    let once = aws_sdk_dynamodb::config::retry::RetryConfig::disabled();
    warm_up(count, || {
        let lean = aws_sdk_dynamodb::Config::builder().retry_config(once.clone());
        let call = client.describe_endpoints().customize().config_override(lean);
        Box::pin(call.interceptor(connections::Unsigned).send())
    })
    .await;
}
