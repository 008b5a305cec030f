//! AWS clients with explicit limits, and their warm-up.
//!
//! ```no_run
//! # async fn start() {
//! // While the function starts: it has its full CPU, and the first invocation makes no TLS handshake.
//! let aws = ikkai::aws::sdk_config().await;
//! let dynamodb = aws_sdk_dynamodb::Client::new(&aws);
//! ikkai::aws::warm_up_dynamodb(&dynamodb, 10).await;
//! # }
//! ```

pub mod connections;
mod outage;

pub use self::outage::is_outage;

use std::future::Future;
use std::time::Duration;

use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, SdkConfig};
use futures::future::{join, join_all};

use crate::queue::SqsQueue;

/// How long one HTTP attempt may take. DynamoDB and SQS answer in milliseconds; what takes longer than this is lost.
pub const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(3);

/// How long an operation may take with the SDK's own retries (three attempts).
pub const OPERATION_TIMEOUT: Duration = Duration::from_secs(10);

/// Longest time the start of a function waits for its connections. Lambda ends a start that takes 10 s, and begins it anew inside an invocation.
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
    within_start(join_all((0..connections).map(|_| call()))).await;
}

async fn within_start(opening: impl Future) {
    if tokio::time::timeout(WARM_UP_TIMEOUT, opening).await.is_err() {
        tracing::debug!("connections could not be opened in time; the first invocation opens them");
    }
}

/// Opens what a function needs before its first invocation: connections to DynamoDB, and the URLs of its queues. A queue that does not answer in
/// time is looked up again by the first call that needs it.
pub async fn warm_up_clients(dynamodb: &aws_sdk_dynamodb::Client, connections: usize, queues: &[&SqsQueue]) {
    let lookups = join_all(queues.iter().map(|queue| queue.connect()));
    join(warm_up_dynamodb(dynamodb, connections), within_start(lookups)).await;
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

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;
    use crate::queue::QueueName;

    /// The listener's backlog takes connections, and nobody answers on them.
    #[tokio::test(start_paused = true)]
    async fn a_start_does_not_wait_for_services_that_hang() {
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", silent.local_addr().unwrap());
        let aws = aws_config::defaults(BehaviorVersion::v2026_01_12())
            .endpoint_url(endpoint)
            .region("us-east-1")
            .credentials_provider(aws_sdk_sqs::config::Credentials::new("key", "secret", None, None, "test"))
            .timeout_config(TimeoutConfig::builder().operation_timeout(OPERATION_TIMEOUT).build())
            .load()
            .await;
        let queue = SqsQueue::new(aws_sdk_sqs::Client::new(&aws), QueueName::new("jobs"));
        let started = Instant::now();
        warm_up_clients(&aws_sdk_dynamodb::Client::new(&aws), 2, &[&queue, &queue]).await;
        assert!(started.elapsed() <= WARM_UP_TIMEOUT + Duration::from_millis(100), "{:?}", started.elapsed());
    }
}
