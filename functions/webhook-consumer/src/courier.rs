//! One POST to a receiver.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, USER_AGENT};
use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use ikkai::callback::{CallbackUrl, Reach};

use crate::delivery_error::DeliveryError;
use crate::event::EventId;
use crate::resolver::{CheckedResolver, Lookup};
use crate::retry_after::RetryAfter;
use crate::signature::SIGNATURE_HEADER;

/// The header that carries the event's id.
const EVENT_ID_HEADER: &str = "ikkai-event-id";

const AGENT: &str = concat!("ikkai-webhook/", env!("CARGO_PKG_VERSION"));

/// Most bytes of an answer's head; hyper wants no less.
const MAX_HEAD_BYTES: usize = 16 * 1024;

/// Most bytes of an answer's body that are taken off the wire, and the longest time for it. They are not looked at: a receiver that is cut off while it
/// writes logs an error that is none.
const MAX_BODY_BYTES: usize = 16 * 1024;
pub(crate) const MAX_BODY_TIME: Duration = Duration::from_millis(500);

type Connector = HttpsConnector<HttpConnector<CheckedResolver>>;

/// Calls receivers: checked addresses, TLS by the platform's certificates, HTTP/1.1, no redirects, no proxy, one connection a call. Connections
/// are not kept: a frozen sandbox would write into ones that are long gone, and few receivers hear twice within seconds.
#[derive(Clone)]
pub struct Courier {
    client: Client<Connector, Full<Bytes>>,
    reach: Reach,
    timeout: Duration,
}

/// Why there is no courier.
#[derive(Debug, thiserror::Error)]
#[error("the platform has no certificates to check receivers by")]
pub struct CourierError(#[source] std::io::Error);

impl std::fmt::Debug for Courier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Courier").field("reach", &self.reach).field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

/// What is delivered.
pub struct Delivery<'a> {
    /// The URL as the record has it.
    pub url: &'a str,
    /// The event.
    pub event_id: &'a EventId,
    /// The header's value.
    pub signature: &'a str,
    /// The bytes that were signed.
    pub body: String,
}

impl Courier {
    /// A courier that finds hosts through `lookup` and gives a receiver `timeout` for everything up to the head of its answer.
    ///
    /// # Errors
    /// When the platform has no certificates.
    pub fn new(lookup: Arc<dyn Lookup>, reach: Reach, timeout: Duration) -> Result<Self, CourierError> {
        let mut tcp = HttpConnector::new_with_resolver(CheckedResolver::new(lookup, reach));
        tcp.enforce_http(false);
        tcp.set_connect_timeout(Some(timeout / 2));
        let tls = HttpsConnectorBuilder::new().with_native_roots().map_err(CourierError)?;
        let connector = match reach {
            Reach::Public => tls.https_only(),
            Reach::Loopback => tls.https_or_http(),
        };
        let client = Client::builder(TokioExecutor::new())
            .pool_max_idle_per_host(0)
            .retry_canceled_requests(false)
            .http1_max_buf_size(MAX_HEAD_BYTES)
            .build(connector.enable_http1().wrap_connector(tcp));
        Ok(Self { client, reach, timeout })
    }

    /// How long a delivery may take, to the end of the answer's body.
    pub(crate) fn longest_delivery(&self) -> Duration {
        self.timeout + body_time(self.timeout)
    }

    /// Delivers, and says with which status it was taken.
    ///
    /// # Errors
    /// When it was not taken, or nobody knows.
    pub async fn deliver(&self, delivery: Delivery<'_>) -> Result<StatusCode, DeliveryError> {
        // The record's URL was checked when it was taken; what may be called is decided now.
        let url = CallbackUrl::parse(delivery.url, self.reach).map_err(|_| DeliveryError::UrlRefused)?;
        let request = Request::post(url.as_str())
            .header(CONTENT_TYPE, "application/json")
            .header(USER_AGENT, AGENT)
            .header(EVENT_ID_HEADER, delivery.event_id.as_str())
            .header(SIGNATURE_HEADER, delivery.signature)
            .body(Full::from(delivery.body))
            .map_err(|_| DeliveryError::UrlRefused)?;
        let answer = tokio::time::timeout(self.timeout, self.client.request(request))
            .await
            .map_err(|_| DeliveryError::TimedOut)?
            .map_err(|error| DeliveryError::of_call(&error))?;
        let (status, retry_after) = (answer.status(), RetryAfter::read(answer.headers()));
        drain(answer.into_body(), body_time(self.timeout)).await;
        DeliveryError::of_status(status, retry_after).map(|()| status)
    }
}

/// How long an answer's body may take after its head: a tenth of what the receiver has for everything before, and not more than is worth it.
pub(crate) fn body_time(timeout: Duration) -> Duration {
    (timeout / 10).min(MAX_BODY_TIME)
}

/// The head has said everything: what becomes of the body changes nothing.
async fn drain(mut body: hyper::body::Incoming, time: Duration) {
    let reading = async {
        let mut bytes = 0;
        while let Some(Ok(frame)) = body.frame().await {
            bytes += frame.data_ref().map_or(0, Bytes::len);
            if bytes > MAX_BODY_BYTES {
                break;
            }
        }
    };
    // Late is as good as done.
    let _in_time = tokio::time::timeout(time, reading).await;
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use ikkai::callback::MAX_CALLBACK_URL_BYTES;
    use proptest::prelude::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;
    use crate::resolver::SystemLookup;

    async fn called_over_tls(address: SocketAddr) -> DeliveryError {
        let courier = Courier::new(Arc::new(SystemLookup), Reach::Loopback, Duration::from_secs(5)).unwrap();
        let request = Request::post(format!("https://localhost:{}/", address.port())).body(Full::default()).unwrap();
        DeliveryError::of_call(&courier.client.request(request).await.unwrap_err())
    }

    #[tokio::test]
    async fn who_speaks_no_tls_gets_nothing() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(async move {
            let (mut connection, _) = listener.accept().await.unwrap();
            let mut hello = [0; 1];
            connection.read_exact(&mut hello).await.unwrap();
            connection.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
            hello
        });
        assert_eq!(called_over_tls(address).await, DeliveryError::Tls);
        assert_eq!(server.await.unwrap(), [0x16], "the first byte was a handshake's");
    }

    #[tokio::test]
    async fn who_does_not_listen_is_unreachable() {
        let address = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        assert_eq!(called_over_tls(address).await, DeliveryError::Unreachable);
    }

    proptest! {
        /// Two grammars, one meaning: what was taken as a callback URL can be asked for, at the host that was checked.
        #[test]
        fn every_callback_url_is_one_for_the_client_too(path in r"[/?][ -~]{0,40}") {
            if let Ok(url) = CallbackUrl::parse(&format!("https://shop.example{path}"), Reach::Public) {
                prop_assert!(url.as_str().len() <= MAX_CALLBACK_URL_BYTES);
                let uri: http::Uri = url.as_str().parse().expect("a URI");
                prop_assert_eq!((uri.host(), uri.port(), uri.scheme_str()), (Some("shop.example"), None, Some("https")));
                prop_assert_eq!(uri.to_string(), url.as_str());
            }
        }
    }
}
