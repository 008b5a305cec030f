//! A small HTTP/1.1 client for servers on this machine.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

/// A call to a local server failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoopbackError {
    /// The server did not answer.
    #[error("no answer from {address}")]
    NoAnswer {
        /// Who was asked.
        address: SocketAddr,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// It did not answer in time.
    #[error("no answer from {address} within {} s", limit.as_secs())]
    TimedOut {
        /// Who was asked.
        address: SocketAddr,
        /// How long was waited.
        limit: Duration,
    },
}

/// Connections to local servers, kept between calls. Bound to the Tokio runtime that it is first used on.
#[derive(Debug, Clone)]
pub struct Loopback {
    http: Client<HttpConnector, Full<Bytes>>,
    limit: Duration,
}

impl Loopback {
    /// A client that waits up to `limit` for each answer.
    #[must_use]
    pub fn new(limit: Duration) -> Self {
        // The Host header is the caller's: function URLs are routed by it.
        Self { http: Client::builder(TokioExecutor::new()).set_host(false).build_http(), limit }
    }

    /// Sends a request, whose URI is only a path, to a server.
    ///
    /// # Errors
    /// The server cannot be reached or does not answer in time.
    pub async fn send(&self, address: SocketAddr, request: Request<Bytes>) -> Result<Response<Bytes>, LoopbackError> {
        let failed = |source: Box<dyn std::error::Error + Send + Sync>| LoopbackError::NoAnswer { address, source };
        let (mut parts, body) = request.into_parts();
        let path = parts.uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
        parts.uri = http::Uri::builder()
            .scheme("http")
            .authority(address.to_string())
            .path_and_query(path)
            .build()
            .map_err(|error| failed(Box::new(error)))?;
        if !parts.headers.contains_key(http::header::HOST)
            && let Ok(host) = http::HeaderValue::from_str(&address.to_string())
        {
            parts.headers.insert(http::header::HOST, host);
        }
        let exchange = async {
            let answer = self.http.request(Request::from_parts(parts, Full::new(body))).await?;
            let (parts, body) = answer.into_parts();
            let body = body.collect().await?.to_bytes();
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(Response::from_parts(parts, body))
        };
        match tokio::time::timeout(self.limit, exchange).await {
            Ok(answer) => answer.map_err(failed),
            Err(_) => Err(LoopbackError::TimedOut { address, limit: self.limit }),
        }
    }

    /// A GET.
    ///
    /// # Errors
    /// As for [`send`](Self::send).
    pub async fn get(&self, address: SocketAddr, path: &str) -> Result<Response<Bytes>, LoopbackError> {
        let mut request = Request::new(Bytes::new());
        *request.headers_mut() = HeaderMap::new();
        *request.uri_mut() = path.parse().unwrap_or_default();
        self.send(address, request).await
    }
}
