//! Calls of CloudWatch, signed here: its SDK brings a licence that this project does not take (minicbor, BlueOak).

use std::time::Duration;

use aws_config::SdkConfig;
use aws_sdk_sqs::config::{Credentials, ProvideCredentials};
use bytes::Bytes;
use http::{Request, header};
use http_body_util::{BodyExt, Full};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;

use crate::local::signed::{SigningError, sign_as};

/// A figure is not worth a longer wait.
const WITHIN: Duration = Duration::from_secs(10);

/// What stands before an operation in AWS's JSON protocol
/// (<https://smithy.io/2.0/aws/protocols/aws-json-1_0-protocol.html>).
const SERVICE: &str = "GraniteServiceVersion20100801";

/// CloudWatch did not tell.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FiguresError {
    /// The AWS settings lack something.
    #[error("your AWS settings have no {0}")]
    Setting(&'static str),
    /// The request could not be made.
    #[error("cannot make the request")]
    Request(#[from] http::Error),
    /// The request could not be signed.
    #[error(transparent)]
    Signing(#[from] SigningError),
    /// There was no answer.
    #[error("CloudWatch does not answer: {0}")]
    Unreachable(String),
    /// The answer was a refusal.
    #[error("CloudWatch refuses (cloudwatch:{operation}): {told}")]
    Refused {
        /// The operation, which is the permission's name too.
        operation: &'static str,
        /// What CloudWatch said.
        told: String,
    },
}

/// CloudWatch in one region.
#[derive(Debug)]
pub(super) struct CloudWatch {
    http: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    endpoint: String,
    region: String,
    config: SdkConfig,
}

impl CloudWatch {
    /// In the region, and at the endpoint, of these settings.
    pub(super) fn new(config: &SdkConfig) -> Result<Self, FiguresError> {
        let region = config.region().ok_or(FiguresError::Setting("region"))?.to_string();
        let endpoint = config.endpoint_url().map_or_else(|| default_endpoint(&region), ToOwned::to_owned);
        let connector = HttpsConnectorBuilder::new()
            .with_native_roots()
            .map_err(|error| FiguresError::Unreachable(error.to_string()))?
            .https_or_http()
            .enable_http1()
            .build();
        let http = Client::builder(TokioExecutor::new()).build(connector);
        Ok(Self { http, endpoint, region, config: config.clone() })
    }

    /// Asks.
    pub(super) async fn ask(&self, operation: &'static str, query: &Value) -> Result<Value, FiguresError> {
        let credentials = self.credentials().await?;
        let uri: http::Uri = format!("{}/", self.endpoint.trim_end_matches('/')).parse().map_err(http::Error::from)?;
        let host = uri.authority().ok_or(FiguresError::Setting("valid endpoint"))?.to_string();
        let mut request = Request::post(uri)
            .header(header::HOST, host)
            .header(header::CONTENT_TYPE, "application/x-amz-json-1.0")
            .header("x-amz-target", format!("{SERVICE}.{operation}"))
            .body(Bytes::from(query.to_string()))?;
        sign_as(&mut request, "monitoring", &self.region, &credentials)?;
        let exchange = async {
            let answer = self.http.request(request.map(Full::new)).await?;
            let status = answer.status();
            let body = answer.into_body().collect().await?.to_bytes();
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>((status, body))
        };
        let (status, body) = match tokio::time::timeout(WITHIN, exchange).await {
            Ok(Ok(answered)) => answered,
            Ok(Err(error)) => return Err(FiguresError::Unreachable(crate::screen::chain(error.as_ref()))),
            Err(_) => return Err(FiguresError::Unreachable(format!("no answer within {} s", WITHIN.as_secs()))),
        };
        let answer: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
        if !status.is_success() {
            let told = ["message", "Message", "__type"].iter().find_map(|member| answer[member].as_str());
            let told = told.map_or_else(|| format!("status {status}"), ToOwned::to_owned);
            return Err(FiguresError::Refused { operation, told });
        }
        Ok(answer)
    }

    async fn credentials(&self) -> Result<Credentials, FiguresError> {
        let provider = self.config.credentials_provider().ok_or(FiguresError::Setting("credentials"))?;
        provider.provide_credentials().await.map_err(|_| FiguresError::Setting("valid credentials"))
    }
}

/// Where CloudWatch is in a region (<https://docs.aws.amazon.com/general/latest/gr/cw_region.html>).
fn default_endpoint(region: &str) -> String {
    let domain = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
    format!("https://monitoring.{region}.{domain}")
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::sync::{Arc, Mutex};

    use http::Response;
    use hyper::service::service_fn;
    use hyper_util::rt::TokioIo;
    use serde_json::json;
    use tokio::net::TcpListener;

    use super::*;
    use crate::local::aws::sdk_config;

    type Seen = Arc<Mutex<Vec<http::request::Parts>>>;

    async fn served(status: u16, body: &'static str) -> (SocketAddr, Seen) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, seen) = (listener.local_addr().unwrap(), Seen::default());
        let log = Arc::clone(&seen);
        tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let service = service_fn(|request: Request<hyper::body::Incoming>| {
                log.lock().unwrap().push(request.into_parts().0);
                async move { Response::builder().status(status).body(Full::new(Bytes::from(body))) }
            });
            let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
        (address, seen)
    }

    #[tokio::test]
    async fn the_question_is_signed_for_cloudwatch() {
        let (address, seen) = served(200, r#"{"MetricDataResults":[]}"#).await;
        let answer = CloudWatch::new(&sdk_config(address)).unwrap().ask("GetMetricData", &json!({})).await.unwrap();
        assert_eq!(answer, json!({"MetricDataResults": []}));
        let seen = seen.lock().unwrap();
        let headers = &seen[0].headers;
        assert_eq!(headers["x-amz-target"], "GraniteServiceVersion20100801.GetMetricData");
        assert!(headers["authorization"].to_str().unwrap().contains("/us-east-1/monitoring/aws4_request"));
    }

    #[tokio::test]
    async fn a_refusal_and_silence_are_told() {
        let (address, _) = served(400, r#"{"__type":"AccessDenied","message":"not allowed"}"#).await;
        let error = CloudWatch::new(&sdk_config(address)).unwrap().ask("GetMetricData", &json!({})).await.unwrap_err();
        assert_eq!(error.to_string(), "CloudWatch refuses (cloudwatch:GetMetricData): not allowed");
        let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let error = CloudWatch::new(&sdk_config(nobody)).unwrap().ask("GetMetricData", &json!({})).await.unwrap_err();
        assert!(matches!(error, FiguresError::Unreachable(_)), "{error}");
    }

    #[test]
    fn china_has_a_domain_of_its_own() {
        assert_eq!(default_endpoint("eu-central-1"), "https://monitoring.eu-central-1.amazonaws.com");
        assert_eq!(default_endpoint("cn-north-1"), "https://monitoring.cn-north-1.amazonaws.com.cn");
    }
}
