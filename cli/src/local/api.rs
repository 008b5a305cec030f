//! Calls the producer API with signed requests, as a client in production does.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, Uri, header};

use super::loopback::{Loopback, LoopbackError};
use super::signed::{SigningError, sign_request};

/// Longer than any timeout of the API's function.
const ANSWERS_WITHIN: Duration = Duration::from_secs(35);

/// A call to the API failed before there was an answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApiError {
    /// The URL is none.
    #[error("`{url}` is no URL of a local API; give the one that `ikkai local status` prints")]
    NotLocal {
        /// What was given.
        url: String,
    },
    /// The request could not be made.
    #[error("cannot make the request")]
    Request(#[from] http::Error),
    /// The request could not be signed.
    #[error(transparent)]
    Signing(#[from] SigningError),
    /// The API could not be reached.
    #[error("cannot reach the API")]
    Unreachable(#[from] LoopbackError),
}

/// Where the API is: the address to connect to, the host to name, and what stands before each path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiAddress {
    connect: SocketAddr,
    host: String,
    prefix: String,
}

impl ApiAddress {
    /// Reads a URL. A function URL (`https://<id>.lambda-url.<region>.on.aws/`) is served by the engine, which routes by its host;
    /// an `http` URL is used as it is.
    ///
    /// # Errors
    /// The URL leads away from this machine.
    pub fn parse(url: &str, engine: Option<SocketAddr>) -> Result<Self, ApiError> {
        let not_local = || ApiError::NotLocal { url: url.to_owned() };
        let uri: Uri = url.parse().map_err(|_| not_local())?;
        let host = uri.authority().ok_or_else(not_local)?.to_string();
        let prefix = uri.path().trim_end_matches('/').to_owned();
        if let Some(connect) = engine
            && uri.host().is_some_and(|host| host.contains(".lambda-url."))
        {
            return Ok(Self { connect, host, prefix });
        }
        let loopback = match uri.host() {
            // Every name under `localhost` is this machine (RFC 6761, 6.3).
            Some(host) if host == "localhost" || host.ends_with(".localhost") => {
                format!("127.0.0.1:{}", uri.port_u16().unwrap_or(80))
            }
            Some(host) => format!("{host}:{}", uri.port_u16().unwrap_or(80)),
            None => return Err(not_local()),
        };
        match loopback.parse::<SocketAddr>() {
            Ok(connect) if connect.ip().is_loopback() && uri.scheme_str() == Some("http") => Ok(Self { connect, host, prefix }),
            _ => Err(not_local()),
        }
    }

    /// The address in a form that `curl` understands. The name of a function URL on AWS leads to AWS; an engine that gives such names serves
    /// them under a path, too.
    #[must_use]
    pub fn plain_url(&self) -> String {
        match self.host.split_once(".lambda-url.") {
            Some((id, rest)) if rest.ends_with(".on.aws") => {
                format!("http://{}/_aws/lambda-url/{id}{}", self.connect, self.prefix)
            }
            _ => format!("http://{}{}", self.host, self.prefix),
        }
    }
}

/// A client of the API, in the name of one caller. Bound to the Tokio runtime that it is first used on.
#[derive(Debug, Clone)]
pub struct Api {
    address: ApiAddress,
    caller: String,
    http: Loopback,
}

impl Api {
    /// A client that signs with the access key id `caller`. Locally that is the caller's identity.
    #[must_use]
    pub fn new(address: ApiAddress, caller: impl Into<String>) -> Self {
        Self { address, caller: caller.into(), http: Loopback::new(ANSWERS_WITHIN) }
    }

    /// Sends any request: `path` begins with `/v1/…`.
    ///
    /// # Errors
    /// There was no answer. Whatever the API answers, also 5xx, is an answer.
    pub async fn call(&self, method: Method, path: &str, headers: HeaderMap, body: Bytes) -> Result<Response<Bytes>, ApiError> {
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.address.prefix)).body(body)?;
        *request.headers_mut() = headers;
        let host = header::HeaderValue::from_str(&self.address.host).map_err(http::Error::from)?;
        request.headers_mut().insert(header::HOST, host);
        sign_request(&mut request, "lambda", &self.caller)?;
        Ok(self.http.send(self.address.connect, request).await?)
    }

    /// Posts a job under an idempotency key.
    ///
    /// # Errors
    /// As for [`call`](Self::call).
    pub async fn post_job(&self, key: &str, job: &serde_json::Value) -> Result<Response<Bytes>, ApiError> {
        let mut headers = json_headers();
        let key = header::HeaderValue::from_str(&quoted(key)).map_err(http::Error::from)?;
        headers.insert("idempotency-key", key);
        self.call(Method::POST, "/v1/jobs", headers, Bytes::from(job.to_string())).await
    }

    /// Posts a batch of jobs, each with a key of its own in its body.
    ///
    /// # Errors
    /// As for [`call`](Self::call).
    pub async fn post_batch(&self, batch: &serde_json::Value) -> Result<Response<Bytes>, ApiError> {
        self.call(Method::POST, "/v1/jobs/batch", json_headers(), Bytes::from(batch.to_string())).await
    }

    /// Asks for a job.
    ///
    /// # Errors
    /// As for [`call`](Self::call).
    pub async fn job(&self, job_id: &str) -> Result<Response<Bytes>, ApiError> {
        self.call(Method::GET, &format!("/v1/jobs/{job_id}"), HeaderMap::new(), Bytes::new()).await
    }

    /// Cancels a job.
    ///
    /// # Errors
    /// As for [`call`](Self::call).
    pub async fn cancel(&self, job_id: &str) -> Result<Response<Bytes>, ApiError> {
        self.call(Method::DELETE, &format!("/v1/jobs/{job_id}"), HeaderMap::new(), Bytes::new()).await
    }
}

/// A text as a string of a structured header (RFC 8941, 3.3.3).
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn json_headers() -> HeaderMap {
    HeaderMap::from_iter([(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"))])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_with_quotes_and_backslashes_stays_one_header_string() {
        assert_eq!(quoted("order-1"), r#""order-1""#);
        assert_eq!(quoted(r#"a "b" \c"#), r#""a \"b\" \\c""#);
    }

    const FUNCTION_URL: &str = "https://0123456789abcdef0123456789abcdef.lambda-url.us-east-1.on.aws/";

    #[test]
    fn a_function_url_goes_to_the_engine_under_its_own_host() {
        let engine = "127.0.0.1:4000".parse().unwrap();
        let address = ApiAddress::parse(FUNCTION_URL, Some(engine)).unwrap();
        assert_eq!((address.connect, address.prefix.as_str()), (engine, ""));
        assert_eq!(address.host, "0123456789abcdef0123456789abcdef.lambda-url.us-east-1.on.aws");
        assert_eq!(address.plain_url(), "http://127.0.0.1:4000/_aws/lambda-url/0123456789abcdef0123456789abcdef");
    }

    #[test]
    fn a_function_url_under_localhost_is_used_as_it_is() {
        let url = "http://abc.lambda-url.us-east-1.localhost:4566/";
        for engine in [None, Some("127.0.0.1:4566".parse().unwrap())] {
            let address = ApiAddress::parse(url, engine).unwrap();
            assert_eq!(address.connect, "127.0.0.1:4566".parse().unwrap());
            assert_eq!(address.host, "abc.lambda-url.us-east-1.localhost:4566");
            assert_eq!(address.plain_url(), "http://abc.lambda-url.us-east-1.localhost:4566");
        }
    }

    #[test]
    fn a_plain_local_url_keeps_its_path() {
        let address = ApiAddress::parse("http://localhost:4000/_aws/lambda-url/abc/", None).unwrap();
        assert_eq!(address.connect, "127.0.0.1:4000".parse().unwrap());
        assert_eq!(address.plain_url(), "http://localhost:4000/_aws/lambda-url/abc");
    }

    #[test]
    fn what_leads_away_from_this_machine_is_refused() {
        for url in ["https://example.com/", "http://192.0.2.1:80/", FUNCTION_URL, "nonsense", ""] {
            let error = ApiAddress::parse(url, None).unwrap_err().to_string();
            assert!(error.contains("ikkai local status"), "{url}: {error}");
        }
    }
}
