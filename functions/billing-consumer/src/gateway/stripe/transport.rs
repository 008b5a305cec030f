//! One HTTP request, one answer. No redirects, no repetitions.

use std::{error::Error, time::Duration};

use bytes::Bytes;
use http::{Request, Response, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use ikkai::aws::connections::MAX_CONNECT_TIME;
use tokio::time::{Instant, timeout_at};

use super::answer::Answer;

/// Longest answer that is read. A page of a hundred payments is some hundred kilobytes.
const MAX_ANSWER_BYTES: usize = 4 * 1024 * 1024;

/// How long an idle connection may be used again: a request on one that the other side has closed meanwhile is lost.
const MAX_IDLE_TIME: Duration = Duration::from_secs(10);

/// Longest `Retry-After` that is believed.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(3_600);

/// Sends requests to the provider.
#[derive(Debug)]
pub(super) struct Transport {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TransportError {
    /// No byte of the request went out.
    NotSent(&'static str),
    /// The request, or a part of it, went out.
    Lost(&'static str),
}

impl Transport {
    /// Connections are encrypted unless the provider is on this machine. `timeout` is the longest that an exchange may take.
    pub(super) fn new(encrypted: bool, timeout: Duration) -> Self {
        let mut tcp = HttpConnector::new();
        tcp.set_nodelay(true);
        // Under the whole timeout, so that a connection that never came up is told apart from an answer that never came.
        tcp.set_connect_timeout(Some((timeout / 2).min(MAX_CONNECT_TIME)));
        tcp.enforce_http(false);
        let tls = HttpsConnectorBuilder::new().with_native_roots().expect("the system has root certificates");
        let tls = if encrypted { tls.https_only() } else { tls.https_or_http() };
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(MAX_IDLE_TIME)
            .retry_canceled_requests(false)
            .build(tls.enable_http1().wrap_connector(tcp));
        Self { client }
    }

    /// The answer, if it is read to its end when it is due.
    pub(super) async fn send(&self, request: Request<String>, due: Instant) -> Result<Answer, TransportError> {
        let request = request.map(|body| Full::new(Bytes::from(body)));
        let exchange = async {
            let response = self.client.request(request).await.map_err(|error| {
                if error.is_connect() {
                    TransportError::NotSent("provider_unreachable")
                } else {
                    TransportError::Lost("provider_connection_lost")
                }
            })?;
            read(response).await
        };
        timeout_at(due, exchange).await.unwrap_or(Err(TransportError::Lost("provider_timeout")))
    }
}

async fn read(response: Response<Incoming>) -> Result<Answer, TransportError> {
    let (head, body) = response.into_parts();
    let body = Limited::new(body, MAX_ANSWER_BYTES).collect().await.map_err(|error| lost(error.as_ref()))?;
    let field = |name| head.headers.get(name).and_then(|value| value.to_str().ok());
    Ok(Answer {
        status: head.status.as_u16(),
        is_repeated: field("idempotent-replayed") == Some("true"),
        retry_after: field(header::RETRY_AFTER.as_str())
            .and_then(|text| text.trim().parse().ok())
            .map(|seconds| Duration::from_secs(seconds).min(MAX_RETRY_AFTER)),
        body: body.to_bytes(),
    })
}

fn lost(error: &(dyn Error + Send + Sync + 'static)) -> TransportError {
    let too_long = error.is::<http_body_util::LengthLimitError>();
    TransportError::Lost(if too_long { "provider_answer_unreadable" } else { "provider_connection_lost" })
}
